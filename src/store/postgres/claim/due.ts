/**
 * NAME      due - when mail falls due
 * DESCRIPTION
 *   A seek for each pair of pool and workspace with mail waiting, all in one statement.
 */
import { type Asking, all } from '../../sql/query.js'

/** The least due time of each pair. */
const PAIRS = `WITH RECURSIVE pairs AS (
  (SELECT pool, workspace, due_at FROM queue WHERE due_at IS NOT NULL ORDER BY pool, workspace, due_at LIMIT 1)
  UNION ALL
  SELECT n.pool, n.workspace, n.due_at FROM pairs p CROSS JOIN LATERAL (
    SELECT q.pool, q.workspace, q.due_at FROM queue q
    WHERE q.due_at IS NOT NULL AND (q.pool, q.workspace) > (p.pool, p.workspace)
    ORDER BY q.pool, q.workspace, q.due_at LIMIT 1) n)
SELECT p.id, min(f.due_at) AS due_at FROM pairs f JOIN pools p ON p.n = f.pool GROUP BY p.id`

interface Due {
  readonly id: string
  readonly due_at: number
}

function* duePerPool(): Asking<readonly Due[]> {
  return (yield* all(PAIRS)) as unknown as readonly Due[]
}

export const dueReads = {
  *nextDue(poolIds?: readonly string[]): Asking<number | null> {
    const pools = yield* duePerPool()
    const wanted = pools.filter(({ id }) => poolIds === undefined || poolIds.includes(id))
    return wanted.length === 0 ? null : Math.min(...wanted.map(({ due_at }) => due_at))
  },
  *duePools(now: number): Asking<readonly string[]> {
    return (yield* duePerPool()).filter(({ due_at }) => due_at <= now).map(({ id }) => id)
  },
}
