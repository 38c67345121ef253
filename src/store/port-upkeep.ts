/**
 * NAME      port-upkeep - what the housekeeping verbs of the store answer
 */
/** How often a value fell under each bound, with those beyond the last one at the end. */
export interface Distribution {
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
  readonly sum: number
}

/** A finished backup. */
export interface Copied {
  /** Mails whose bodies were not to be found. */
  readonly missing: readonly string[]
}

export interface WriterLoad {
  readonly verbsPerCommit: Distribution
  /** The fsync, mostly. */
  readonly commitSeconds: Distribution
}
