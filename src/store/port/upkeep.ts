/**
 * NAME      port/upkeep - housekeeping of the store, and what its verbs answer
 */

import type { QueueOwner } from './operations.js'
import type { CredentialRow, KeyRow, WorkspaceRow } from './tenants/tenants.js'

/** A row says that its body is in a file, and it is not there. */
export class MissingBodyError extends Error {
  override readonly name = 'MissingBodyError'
}

/** Another daemon owns this data folder, or runs on this database. */
export class StoreBusyError extends Error {
  override readonly name = 'StoreBusyError'
}

/** The database was written by a newer Postern than this one. */
export class NewerDatabaseError extends Error {
  override readonly name = 'NewerDatabaseError'
}

/** Another daemon took this one for dead and ended its epoch: nothing more can be written. */
export class TakenOverError extends Error {
  override readonly name = 'TakenOverError'
}

/** For whoever can go on without: `store.body(id).catch(nullWhenMissing)`. */
export const nullWhenMissing = (error: unknown): null => {
  if (error instanceof MissingBodyError) return null
  throw error
}

/** How old what is swept must be. */
export interface Keep {
  readonly bodiesMs: number
  readonly emailsMs: number
  /** How far back the log of events can be followed; unsaid, as far as it is. */
  readonly logMs?: number
  /** How long reports are kept as they came; unsaid, as long as their mails. */
  readonly reportsMs?: number
  /** False while the clock can not be believed: mail that others hold is not called expired. */
  readonly deadlines?: boolean
}

export interface Times {
  /**
   * The wall clock was set by so much: what is queued or deferred, waiting, held or leased, waits as long as before.
   * By 0, at a start: it waits no longer than it was told. In both no longer than `longestWait` from now. Appointments
   * stand. Resolves with the number of recipients that were moved.
   */
  adjustTimes(now: number, by: number, longestWait: number): Promise<number>
}

/** A clock that is found further ahead of the last stored row than this is not followed at once. */
export const CLOCK_AHEAD_MS = 3600_000

interface OrderClock {
  /**
   * How far the clock is ahead of the last stored row, in ms; below 0 it is behind. Beyond CLOCK_AHEAD_MS rows keep
   * their order and do not follow it, until it ran steadily for an hour or followClock() says that it is right.
   */
  clockLead(now: number): Promise<number>
  followClock(): Promise<void>
}

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

/**
 * Rows by which a send is decided, without a wait. They may be older than the store, so a send that is decided by them
 * says under which rules, and accept compares; a refusal, and whatever is no send, looks first.
 */
export interface Known {
  /** Under which the rows that follow were read. */
  rules(): number
  /** Looks at the store: the rows that are asked for in this turn are as they are now. */
  look(): void
  /** The same, unless somebody has looked in this turn. */
  lookOnce(): void
  keyByLookup(lookup: string): KeyRow | null
  key(accountId: string, id: string): KeyRow | null
  credential(id: string): CredentialRow | null
  workspace(accountId: string, ref: string): WorkspaceRow | null
}

export interface Lifecycle {
  /** Where the daemon has them at hand; else they are read. */
  readonly known?: Known
  /** Which database it is, by the name that OpenTelemetry has for it (`db.system.name`). */
  readonly system: string
  open(): Promise<void>
  /** Waits for accepted verbs, then closes. Twice is fine. */
  close(): Promise<void>
  /** Resolves, with the reason, when the store can no longer keep its promise. */
  readonly broken: Promise<Error>
}

export interface QueueDepth {
  readonly poolId: string
  readonly workspaceId: string
  readonly due: number
  readonly leased: number
  readonly waiting: number
  readonly oldestDueAt: number | null
}

/**
 * Boots by number, or `earlier`: all whose leases the store found when it was opened with the lock of
 * its data, since nobody of then can live. Without the lock these are none.
 */
export type DeadBoots = 'earlier' | readonly number[]

export interface Upkeep extends OrderClock {
  /** Brings the schema up to date; refuses a newer one. Idempotent. */
  migrate(): Promise<void>
  /** Integrity and durability settings; resolves with the faults found, none is good. */
  check(): Promise<readonly string[]>
  /** Frees the leases of dead boots, and of no other. Ambiguous ones (journaled, unsettled) are counted and follow `ambiguous`. */
  recover(dead: DeadBoots, now: number): Promise<{ readonly released: number; readonly ambiguous: number }>
  /** Small steps of housekeeping: retention, dead locks, old windows, unused room. Resolves with rows and files removed. */
  sweep(now: number, keep: Keep): Promise<number>
  /** An online copy, consistent and complete but for the bodies that it names as missing. */
  backup(path: string): Promise<Copied>
  depth(of?: QueueOwner): Promise<readonly QueueDepth[]>
  /** Since the store was opened; costs nothing. */
  load(): WriterLoad
}
