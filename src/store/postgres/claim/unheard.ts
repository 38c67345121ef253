/**
 * NAME      unheard - leases that were given, and whose taker never heard of them
 * DESCRIPTION
 *   The database went away after they were stored and before the answer was whole. They are known by their end, and freed
 *   before the next claim; whoever had heard of one all the same finds it taken from him before he sends it.
 */
import type { Queue } from '../../port/queue.js'
import { run } from '../../sql/query.js'
import type { Writer } from '../write/writer.js'

/** Those at rest meanwhile go when they run out (reap.ts). */
const FREE = `UPDATE queue q SET boot = NULL, lease_until = NULL, gen = q.gen + 1, due_at = CAST(? AS BIGINT)
  FROM recipient_rows r WHERE q.boot = ? AND q.lease_until = ANY(CAST(? AS BIGINT[])) AND q.attempting IS NULL
    AND r.id = q.recipient_id AND r.status IN ('queued', 'deferred')`

export const freeingUnheard = (
  { boot, mail }: Pick<Writer, 'boot' | 'mail'>,
  claim: Queue['claim'],
): Queue['claim'] => {
  const unheard = new Set<number>()
  return async (poolId, limit, leaseUntil, now) => {
    if (unheard.size > 0) {
      const ends = [...unheard]
      await mail(() => run(FREE, now, boot, ends))
      for (const end of ends) unheard.delete(end)
    }
    try {
      return await claim(poolId, limit, leaseUntil, now)
    } catch (error) {
      unheard.add(leaseUntil)
      throw error
    }
  }
}
