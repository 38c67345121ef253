/**
 * NAME      hot - the mails that go to the relay without touching the disk again
 * DESCRIPTION
 *   Counts what was accepted already leased and is not settled yet. The bounds
 *   keep memory independent of the queue, and the bound per workspace leaves
 *   room for others when one tenant pours in a hundred thousand mails: what is
 *   not admitted waits in the store and is claimed in turn. So does mail of a
 *   pool that can not carry any: handing it over would be two commits for nothing.
 */
const MAX_RECIPIENTS = 2000
const MAX_BYTES = 32 * 1024 * 1024
const MAX_PER_WORKSPACE = 500

export interface HotSet {
  /** Whether someone takes hot mail at all. */
  open: boolean
  /** The pools whose mail the taker wants; null while it has not said. */
  ready: ReadonlySet<string> | null
  /** Whether the taker could do anything with mail of this pool. */
  wants(poolId: string): boolean
  /** Takes a recipient in if it fits. */
  admit(recipientId: string, poolId: string, workspace: number, bytes: number): boolean
  drop(recipientId: string): void
  clear(): void
  readonly size: number
}

export const createHotSet = (): HotSet => {
  const held = new Map<string, readonly [workspace: number, bytes: number]>()
  const perWorkspace = new Map<number, number>()
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
    admit(recipientId, poolId, workspace, bytes) {
      const mine = perWorkspace.get(workspace) ?? 0
      if (!this.open || !this.wants(poolId) || held.size >= MAX_RECIPIENTS || mine >= MAX_PER_WORKSPACE)
        return false
      if (bytesHeld + bytes > MAX_BYTES) return false
      held.set(recipientId, [workspace, bytes])
      perWorkspace.set(workspace, mine + 1)
      bytesHeld += bytes
      return true
    },
    drop(recipientId) {
      const entry = held.get(recipientId)
      if (entry === undefined) return
      held.delete(recipientId)
      bytesHeld -= entry[1]
      const left = (perWorkspace.get(entry[0]) ?? 1) - 1
      if (left === 0) perWorkspace.delete(entry[0])
      else perWorkspace.set(entry[0], left)
    },
    clear() {
      held.clear()
      perWorkspace.clear()
      bytesHeld = 0
    },
  }
}
