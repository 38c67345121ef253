/**
 * NAME      hot - the mails that go to the relay without touching the disk again
 * DESCRIPTION
 *   Counts what was accepted already leased and is not settled yet. The bounds
 *   keep memory independent of the queue, and the bound per workspace leaves
 *   room for others when one tenant pours in a hundred thousand mails: what is
 *   not admitted waits in the store and is claimed in turn. So does mail of a
 *   pool that can not carry any: handing it over would be two commits for nothing.
 *   Where others could carry it as well, a pool has no more at hand than it has room for.
 *   What is known of a recipient can be kept with it, for as long as it is here.
 */
const MAX_RECIPIENTS = 2000
const MAX_BYTES = 32 * 1024 * 1024
const MAX_PER_WORKSPACE = 500

export interface HotSet<Known = never> {
  /** Whether someone takes hot mail at all. */
  open: boolean
  /** The pools whose mail the taker wants; null while it has not said. */
  ready: ReadonlySet<string> | null
  /** Whether the taker could do anything with mail of this pool. */
  wants(poolId: string): boolean
  /** Takes a recipient in if it fits. */
  admit(
    recipientId: string,
    poolId: string,
    workspace: number | string,
    bytes: number,
    known?: Known,
  ): boolean
  known(recipientId: string): Known | undefined
  drop(recipientId: string): void
  clear(): void
  readonly size: number
}

interface Entry<Known> {
  readonly poolId: string
  readonly workspace: number | string
  readonly bytes: number
  readonly known: Known | undefined
}

/** How many there are of each. */
const createTally = <Key>() => {
  const counts = new Map<Key, number>()
  return {
    of: (key: Key): number => counts.get(key) ?? 0,
    add(key: Key, by: 1 | -1): void {
      const left = (counts.get(key) ?? 0) + by
      if (left === 0) counts.delete(key)
      else counts.set(key, left)
    },
    clear: (): void => counts.clear(),
  }
}

/** `roomOf`: how many mails of a pool there is room for; unsaid, any number. */
export const createHotSet = <Known = never>(roomOf?: (poolId: string) => number): HotSet<Known> => {
  const held = new Map<string, Entry<Known>>()
  const ofWorkspace = createTally<number | string>()
  const ofPool = createTally<string>()
  let bytesHeld = 0
  return {
    open: false,
    ready: null,
    wants(poolId) {
      return this.ready === null || this.ready.has(poolId)
    },
    get size() {
      return held.size
    },
    admit(recipientId, poolId, workspace, bytes, known) {
      if (!this.open || !this.wants(poolId) || held.size >= MAX_RECIPIENTS) return false
      if (ofWorkspace.of(workspace) >= MAX_PER_WORKSPACE || bytesHeld + bytes > MAX_BYTES) return false
      if (roomOf !== undefined && ofPool.of(poolId) >= roomOf(poolId)) return false
      held.set(recipientId, { poolId, workspace, bytes, known })
      ofWorkspace.add(workspace, 1)
      ofPool.add(poolId, 1)
      bytesHeld += bytes
      return true
    },
    known: (recipientId) => held.get(recipientId)?.known,
    drop(recipientId) {
      const entry = held.get(recipientId)
      if (entry === undefined) return
      held.delete(recipientId)
      bytesHeld -= entry.bytes
      ofWorkspace.add(entry.workspace, -1)
      ofPool.add(entry.poolId, -1)
    },
    clear() {
      held.clear()
      ofWorkspace.clear()
      ofPool.clear()
      bytesHeld = 0
    },
  }
}
