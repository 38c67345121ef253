/**
 * NAME      port/admin - what is done to a database beside the store
 * DESCRIPTION
 *   For operators: while a daemon uses it (copy, examine), or while none does (lock, compact,
 *   what a restore does to a copy). `file` is the place that the database has in the data folder,
 *   or that of a copy.
 */
import type { KeptFile } from '../../keys/in-backup.js'
import type { Actor } from './tenants/audit.js'
import type { Copied } from './upkeep.js'

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
  /** The schema that this Postern makes. */
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
