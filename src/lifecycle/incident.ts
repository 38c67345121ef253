/**
 * NAME      incident - when refusals say more of the server than of the addresses
 * DESCRIPTION
 *   Hard bounces with one text, in ten minutes of one upstream and one domain of
 *   recipients. Addresses do not become bad all at once: where too many bounce, none of them
 *   is suppressed before a person has looked. Pure; the store counts, and acts on it in one commit.
 */
const MINUTE = 60_000
const DAY = 1_440 * MINUTE

export const INCIDENT_WINDOW_MS = 10 * MINUTE
/** Nobody has decided by then: the addresses are written to again. */
export const INCIDENT_STANDS_MS = 7 * DAY

/** Fewer distinct addresses are no incident, whatever their share. */
const MOST_ALONE = 20
const SHARE = 0.3
/** So many of them that took mail before are enough, whatever the share. */
export const MOST_LIVING = 10

/** A mail that was taken then, and not sent back since, reached somebody. */
export const LIVING_WITHIN_MS = 90 * DAY
/** A report may take as long to come back. */
export const LIVING_AFTER_MS = 60 * MINUTE

export interface Refusals {
  /** Distinct addresses, hard, with one text. */
  readonly addresses: number
  /** Of those, the ones that were delivered to before. */
  readonly living: number
  /** What upstream and domain had to answer in all, as far as it is known. */
  readonly outcomes: number
}

export const isIncident = ({ addresses, living, outcomes }: Refusals): boolean =>
  living >= MOST_LIVING || (addresses >= MOST_ALONE && addresses >= SHARE * outcomes)
