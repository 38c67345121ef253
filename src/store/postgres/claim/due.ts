/**
 * NAME      due - when mail falls due
 * DESCRIPTION
 *   A seek for each pair of pool and workspace with mail waiting, all in one statement; from a floor on (floor.ts) one for
 *   each pair that there could be.
 */
import { systemClock } from '../../../base/clock.js'
import type { Store } from '../../port/store.js'
import { type Asking, all } from '../../sql/query.js'
import type { Readers } from '../readers.js'
import type { Floors, PoolDue, Standing } from './floor.js'

const PAIRS = `WITH RECURSIVE pairs AS (
  (SELECT pool, workspace, due_at FROM queue WHERE due_at IS NOT NULL ORDER BY pool, workspace, due_at LIMIT 1)
  UNION ALL
  SELECT n.pool, n.workspace, n.due_at FROM pairs p CROSS JOIN LATERAL (
    SELECT q.pool, q.workspace, q.due_at FROM queue q
    WHERE q.due_at IS NOT NULL AND (q.pool, q.workspace) > (p.pool, p.workspace)
    ORDER BY q.pool, q.workspace, q.due_at LIMIT 1) n)
SELECT p.n, p.id, min(f.due_at) AS due_at FROM pairs f JOIN pools p ON p.n = f.pool GROUP BY p.n, p.id`

const FROM = `SELECT p.n, p.id, min(d.due_at) AS due_at
FROM pools p LEFT JOIN unnest(CAST(? AS BIGINT[]), CAST(? AS BIGINT[])) AS f (pool, due_at) ON f.pool = p.n
CROSS JOIN workspaces w CROSS JOIN LATERAL (
  SELECT q.due_at FROM queue q WHERE q.pool = p.n AND q.workspace = w.n AND q.due_at >= coalesce(f.due_at, ?)
  ORDER BY q.due_at LIMIT 1) d
GROUP BY p.n, p.id`

/** When the first of each pool is due: of all, or of what is due at its floor or later. */
export function* leastDue(from: Standing | null = null): Asking<readonly PoolDue[]> {
  const found =
    from === null
      ? yield* all(PAIRS)
      : yield* all(FROM, [...from.pools.keys()], [...from.pools.values()], from.rest)
  return found as unknown as readonly PoolDue[]
}

export const dueVerbs = (readers: Readers, floors: Floors): Pick<Store, 'nextDue' | 'duePools'> => {
  const least = async (): Promise<readonly PoolDue[]> => {
    const [from, began] = [floors.standing(), systemClock.tick()]
    const found = await readers.read(() => leastDue(from))
    floors.note(systemClock.tick() - began, from)
    return found
  }
  return {
    async nextDue(poolIds) {
      const wanted = (await least()).filter(({ id }) => poolIds === undefined || poolIds.includes(id))
      return wanted.length === 0 ? null : Math.min(...wanted.map(({ due_at }) => due_at))
    },
    async duePools(now) {
      return (await least()).filter(({ due_at }) => due_at <= now).map(({ id }) => id)
    },
  }
}
