/**
 * NAME      unheard - leases that were given, and whose taker never heard of them
 * DESCRIPTION
 *   The database went away after they were stored and before the answer was whole. They are known by their end, and freed
 *   before the next claim, or as soon as that can be: none may come while nothing else is due. Whoever had heard of one all
 *   the same finds it taken from him before he sends it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Queue } from '../../port/queue.js'
import { run } from '../../sql/query.js'
import { failureOf } from '../connect/failure.js'
import type { Writer } from '../write/writer.js'

/** Those at rest meanwhile go when they run out (reap.ts). */
const FREE = `UPDATE queue q SET boot = NULL, lease_until = NULL, gen = q.gen + 1, due_at = CAST(? AS BIGINT)
  FROM recipient_rows r WHERE q.boot = ? AND q.lease_until = ANY(CAST(? AS BIGINT[])) AND q.attempting IS NULL
    AND r.id = q.recipient_id AND r.status IN ('queued', 'deferred')`

const AGAIN_MS = 1000

export const freeingUnheard = (
  { boot, mail, hints }: Pick<Writer, 'boot' | 'mail' | 'hints'>,
  claim: Queue['claim'],
): Queue['claim'] => {
  const unheard = new Set<number>()
  let isFreeing = false

  const free = async (now: number): Promise<void> => {
    const ends = [...unheard]
    await mail(() => run(FREE, now, boot, ends))
    for (const end of ends) unheard.delete(end)
  }

  /** Until they are free, or nothing of this writer is stored any more. */
  const freeSoon = async (now: number): Promise<void> => {
    if (isFreeing) return
    isFreeing = true
    for (let isOver = false; unheard.size > 0 && !isOver; ) {
      await sleep(AGAIN_MS, undefined, { ref: false })
      if (unheard.size === 0) break
      try {
        await free(now)
        hints.due()
      } catch (error) {
        isOver = failureOf(error) === 'broken'
      }
    }
    isFreeing = false
  }

  return async (poolId, limit, leaseUntil, now) => {
    if (unheard.size > 0) await free(now)
    try {
      return await claim(poolId, limit, leaseUntil, now)
    } catch (error) {
      unheard.add(leaseUntil)
      void freeSoon(now)
      throw error
    }
  }
}
