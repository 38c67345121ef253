/**
 * NAME      depths - how much waits, by pool and workspace
 */
import type { Depth } from '../../record/queue.js'
import { SANDBOX_POOL } from '../../store/built-in.js'
import type { Operations, QueueOwner } from '../../store/port/operations.js'
import type { Tenants } from '../../store/port/tenants/tenants.js'
import type { Upkeep } from '../../store/port/upkeep.js'

const keyOf = (row: { readonly poolId: string; readonly workspaceId: string }): string =>
  `${row.poolId} ${row.workspaceId}`

/** Of an account, or of one workspace; what is due most comes first. `liveOnly`: not what is for the sandbox. */
export const queueDepths = async (
  store: Pick<Upkeep, 'depth'> & Pick<Operations, 'heldDepth'> & Pick<Tenants, 'pool'>,
  of: QueueOwner,
  liveOnly = false,
): Promise<readonly Depth[]> => {
  const sandbox = liveOnly ? await store.pool(of.accountId, SANDBOX_POOL) : null
  const found = new Map<string, Depth>(
    (await store.depth(of)).map((row) => [keyOf(row), { ...row, held: 0 }]),
  )
  for (const row of await store.heldDepth(of)) {
    const other = found.get(keyOf(row)) ?? { ...row, due: 0, leased: 0, waiting: 0, oldestDueAt: null }
    found.set(keyOf(row), { ...other, held: row.held })
  }
  return [...found.values()].filter(({ poolId }) => poolId !== sandbox?.id).sort((a, b) => b.due - a.due)
}
