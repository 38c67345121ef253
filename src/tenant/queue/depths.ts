/**
 * NAME      depths - how much waits, by pool and workspace
 */
import type { Depth } from '../../record/queue.js'
import { SANDBOX_POOL } from '../../store/pools.js'
import type { HeldDepth, Operations, QueueOwner } from '../../store/port/operations.js'
import type { Tenants } from '../../store/port/tenants.js'
import type { QueueDepth, Upkeep } from '../../store/port/upkeep.js'

const keyOf = (row: { readonly poolId: string; readonly workspaceId: string }): string =>
  `${row.poolId} ${row.workspaceId}`

/** What waits and what is held, together; what is due most comes first. */
export const depthsOf = (waiting: readonly QueueDepth[], held: readonly HeldDepth[]): readonly Depth[] => {
  const found = new Map<string, Depth>(waiting.map((row) => [keyOf(row), { ...row, held: 0 }]))
  for (const { poolId, workspaceId, held: n } of held) {
    const none = { poolId, workspaceId, due: 0, leased: 0, waiting: 0, oldestDueAt: null, held: 0 }
    const other = found.get(keyOf(none)) ?? none
    found.set(keyOf(none), { ...other, held: other.held + n })
  }
  return [...found.values()].sort((a, b) => b.due - a.due)
}

/** Of an account, or of one workspace. `liveOnly`: not what is for the sandbox. */
export const queueDepths = async (
  store: Pick<Upkeep, 'depth'> & Pick<Operations, 'heldDepth'> & Pick<Tenants, 'pool'>,
  of: QueueOwner,
  liveOnly = false,
): Promise<readonly Depth[]> => {
  const sandbox = liveOnly ? await store.pool(of.accountId, SANDBOX_POOL) : null
  const rows = depthsOf(await store.depth(of), await store.heldDepth(of))
  return rows.filter(({ poolId }) => poolId !== sandbox?.id)
}
