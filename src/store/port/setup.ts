/**
 * NAME      port/setup - what an applied setup made, and whose turn it is to apply it
 * DESCRIPTION
 *   A setup is a set of files that describes things of an installation (setup/). Of each thing that it made or took
 *   over there is a row: under which name the files know it, which object it is, and what was applied. The row stays
 *   when a person removes the object: it is the mark that says so.
 *   A setup is applied under a lock with an end: who was killed holds it no longer than that, and who finds another
 *   owner in it stops.
 */

const MANAGED_KINDS = [
  ...(['pool', 'workspace', 'domain', 'key', 'credential', 'webhook', 'suppressions', 'person'] as const),
] as const
export type ManagedKind = (typeof MANAGED_KINDS)[number]

/** By which the files know a thing. */
export interface ManagedKey {
  readonly kind: ManagedKind
  /** The slug that stands before the name; empty where there is none. */
  readonly workspace: string
  readonly name: string
}

export interface ManagedRow extends ManagedKey {
  readonly setup: string
  /** null: it was about to be made. */
  readonly objectId: string | null
  /** The fields as they were when they were applied, secrets as a keyed hash. */
  readonly applied: Readonly<Record<string, unknown>>
  readonly at: number
}

/** Whose an object is, and by which name the files know it. */
export type ManagedName = Pick<ManagedRow, 'setup' | 'kind' | 'workspace' | 'name'> & {
  readonly objectId: string
}

export interface SetupLock {
  readonly accountId: string
  readonly setup: string
  readonly owner: string
  /** It ends by itself then. */
  readonly until: number
}

export interface Setups {
  /** Of all setups of the account, in the order of setup, kind, workspace and name. */
  managed(accountId: string): Promise<readonly ManagedRow[]>
  /** Of these objects, those that setups made. */
  managedNames(accountId: string, objectIds: readonly string[]): Promise<readonly ManagedName[]>
  /** `taken`: another owner has it until later than `now`. */
  beginSetup(lock: SetupLock, now: number): Promise<'done' | 'taken'>
  /** Writes rows and removes others while the lock is this owner's, and lets it last until then; false when it is not. */
  noteManaged(
    lock: SetupLock,
    kept: readonly Omit<ManagedRow, 'setup'>[],
    gone: readonly ManagedKey[],
  ): Promise<boolean>
  /** Gives the lock back, where it is this owner's. */
  endSetup(lock: SetupLock): Promise<void>
}
