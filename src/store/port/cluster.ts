/**
 * NAME      port/cluster - the daemons that share a store, and their keys for return paths
 *   Whoever writes has joined under a number. With SQLite that is one daemon, and it has all to itself.
 */

export type WriterRole = 'main' | 'relay' | 'followers' | 'command'

/** What a writer says of itself when it joins. */
export interface About {
  /** Of its Postern. */
  readonly version: string
  readonly host: string
  /** A digest of the settings that all daemons of one database have alike. */
  readonly settings: string | null
  /** Of a relay: the pools that it serves, by name or id; null: all. */
  readonly pools: readonly string[] | null
}

/** Somebody who writes to this store now. */
export interface WriterRow extends About {
  /** Its number. */
  readonly n: number
  /** Of the daemon whose part it is. */
  readonly daemonId: string
  readonly role: WriterRole
  /** How often the number was taken, or taken away. */
  readonly epoch: number
  /** How long ago it was last heard of. */
  readonly lagMs: number
}

/** What the last heartbeat told of the others. */
export interface ClusterView {
  /** Others may use the same database, whose clock is then the time for all. */
  readonly isShared: boolean
  /** How many daemons live, this one among them. */
  readonly daemons: number
  /** The relays that live, this one among them, in the order of their numbers. */
  readonly relays: readonly Pick<WriterRow, 'n' | 'pools'>[]
  /** The number of this one. */
  readonly self: number
  /** On the tick clock: before it the others may not know of this one. */
  readonly from: number
  /** On the tick clock: after it there may be others that are not in here. */
  readonly until: number
  /** On the tick clock: until then nobody takes this one for dead, and its leases away. */
  readonly promisedUntil: number
  /** How often this one has found the database as it was earlier, after a failover that lost what came last. */
  readonly putBacks: number
}

/** Of whoever has a store to itself. */
export const ALONE: ClusterView = {
  isShared: false,
  daemons: 1,
  relays: [{ n: 0, pools: null }],
  self: 0,
  from: Number.NEGATIVE_INFINITY,
  until: Number.POSITIVE_INFINITY,
  promisedUntil: Number.POSITIVE_INFINITY,
  putBacks: 0,
}

/** A transaction that holds back what could be cleaned up since it began. */
export interface Snapshot {
  readonly ageMs: number
  /** What its program calls itself. */
  readonly holder: string
}

/** When a daemon found the database as it was earlier, the last time, and how much of the past was missing then. */
export interface NotedPutBack {
  readonly at: number
  readonly lostMs: number
}

/** Of a database that is a server's. */
export interface ServerState {
  /** The oldest of all in this database, whoever's it is. */
  readonly oldest: Snapshot | null
  /** Rows of the queue that live, and that are dead and not yet cleared away; when it was cleared last. */
  readonly queue: { readonly live: number; readonly dead: number; readonly cleared: number | null }
  /** Octets that it takes on its disk, and the bodies of mail of these. */
  readonly room: { readonly total: number; readonly bodies: number }
  readonly putBack: NotedPutBack | null
}

export interface Cluster {
  /** Who writes to this store now, in the order of their numbers. */
  writers(): Promise<readonly WriterRow[]>
  /** Whether the database is kept clean; null: it is a file. */
  serverState(): Promise<ServerState | null>
  /** Costs nothing. */
  cluster(): ClusterView
  /**
   * Whether this one does work of a kind that one daemon does at a time; it takes it when nobody has it. Who has it keeps
   * it while it lives.
   */
  holdsWork(kind: string): Promise<boolean>
  /** Another text when pools, domains or the keys of return paths are no longer the same; null: only reading them tells. */
  relayMark(): Promise<string | null>
}

export interface ReturnPathRing {
  /** As keys/return-path.ts wrote it; null: nobody has rotated a key. */
  returnPathRing(): Promise<string | null>
  /** False when it is not what it was taken for. */
  replaceReturnPathRing(was: string | null, is: string): Promise<boolean>
}
