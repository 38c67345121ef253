/**
 * NAME      port/upkeep - housekeeping of the store, and what is done to a database beside it
 *   What is done to a database beside the store: For operators: while a daemon uses it (copy, examine), or while
 *   none does (lock, compact, what a restore does to a copy). `file` is the place that the database has in the
 *   data folder, or that of a copy.
 */

import type { KeptFile } from '../../keys/in-backup.js'
import type { Actor } from './identity.js'
import type { QueueOwner } from './operations.js'
import type { CredentialRow, KeyRow, WorkspaceRow } from './tenants.js'

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

/** The database was written by an older Postern than 0.9.0, and never opened by a later one. */
export class OlderDatabaseError extends Error {
  override readonly name = 'OlderDatabaseError'
}

/** `oldest` is the schema of 0.9.0; 0 is a database that is still empty. */
export const refuseOlder = (version: number, oldest: number): void => {
  if (version === 0 || version >= oldest) return
  throw new OlderDatabaseError(
    `the database has schema version ${version}, this Postern opens ${oldest} and newer: ${OPEN_ONCE}`,
  )
}

/** What helps then. */
export const OPEN_ONCE = 'open it once with Postern 0.9 or 0.10, then with this one'

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
  /** How long reports about domains are kept; unsaid, all are. */
  readonly domainReportsMs?: number
  /** False while the clock can not be believed: mail that others hold is not called expired. */
  readonly deadlines?: boolean
}

export interface TimeVerbs {
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

/** At once where it is at hand. */
type Soon<T> = T | Promise<T>

/**
 * Rows by which a send is decided, kept at hand. They may be older than the store, so a send that is decided by them
 * says under which rules, and accept compares; a refusal, and whatever is no send, looks first.
 */
export interface Known {
  /** Under which the rows that follow were read. */
  rules(): Soon<number>
  /** Looks at the store: the rows that are asked for after it are as they are now. Resolves with the rules. */
  look(): Soon<number>
  /** The same, unless somebody has looked in this turn. */
  lookOnce(): Soon<unknown>
  keyByLookup(lookup: string): Soon<KeyRow | null>
  key(accountId: string, id: string): Soon<KeyRow | null>
  credential(id: string): Soon<CredentialRow | null>
  workspace(accountId: string, ref: string): Soon<WorkspaceRow | null>
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

export interface Access {
  readonly id: string
  /** Of a key; of a credential its user name, or its range of addresses; of a person the address. */
  readonly name: string
  readonly workspace_id: string | null
  readonly created_at: number
}

export interface Restored {
  /** Recipients at rest by now. */
  readonly held: number
  /** Recipients that stay due. */
  readonly due: number
  readonly sessions: number
  readonly keys: readonly Access[]
  readonly credentials: readonly Access[]
  /** Who may sign in, disabled since or not, with the role and the password of then. */
  readonly people: readonly Access[]
}

export interface Resting {
  /** What waits stays due. */
  readonly send: boolean
  readonly now: number
  /** Who restores, and from which file; null: it was done by other means. */
  readonly actor: Actor
  readonly copy: string | null
}

export interface Examined {
  readonly version: number
  /** The oldest schema that this Postern opens, and the one that it makes. */
  readonly opensFrom: number
  readonly current: number
  /** Which Postern the database wants, where that is not this one. */
  readonly wants: string
  /** None is good. */
  readonly faults: readonly string[]
  /** Bodies that rows name and that are not there; looked for only in the current schema. */
  readonly missing: readonly string[]
  /** The log of commits that are not in the database yet. */
  readonly log: { readonly file: string; readonly bytes: number }
}

export interface Admin {
  /** Takes the lock of the daemon, or throws StoreBusyError. The answer gives it back. */
  lock(): () => void
  /** Whether a daemon has it. */
  isLocked(): boolean
  /** The schema; 0 when there is no database. */
  version(): number
  /** The mark of the pepper that it belongs to; null when it has none, or cannot be read. */
  pepperMark(): string | null
  /** Looks without changing anything. */
  examine(): Promise<Examined>
  /** Rewrites it without unused room; nobody else may have it open. */
  compact(): void
  /** A copy that is whole and checked, with these files in it. */
  backup(path: string, files: readonly KeptFile[]): Promise<Copied>
  /** False for an empty file or the database of another program. */
  isOurs(): boolean
  /** Makes a copy safe to start on. */
  putToRest(how: Resting): Restored
  /** The files that were kept in a copy, which are gone from it afterwards. */
  takeFiles(): readonly KeptFile[]
}
