/**
 * NAME      unheard - leases that were given, and whose taker never heard of them
 * DESCRIPTION
 *   The database went away after they were stored and before the answer was whole. They are known by their end, and freed
 *   before the next claim, or as soon as that can be: none may come while nothing else is due. Whoever had heard of one all
 *   the same finds it taken from him before he sends it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Queue } from '../../port/mail.js'
import { run } from '../../sql/query.js'
import { failureOf } from '../connect/failure.js'
import type { Writer } from '../write/writer.js'

/** Those at rest meanwhile go when they run out (reap.ts). */
const FREE = `UPDATE queue q SET boot = NULL, lease_until = NULL, gen = q.gen + 1, due_at = CAST(? AS BIGINT)
  FROM recipient_rows r WHERE (q.boot, q.lease_until) IN (
      SELECT * FROM unnest(CAST(? AS BIGINT[]), CAST(? AS BIGINT[])))
    AND q.attempting IS NULL AND r.id = q.recipient_id AND r.status IN ('queued', 'deferred')`

const AGAIN_MS = 1000

export interface Unheard {
  /** Those of this boot with this end, as soon as that can be. */
  free(boot: number, until: number, now: number): void
  /** Now, if there are any. */
  freeAll(now: number): Promise<void>
}

export const createUnheard = ({ mail, hints }: Pick<Writer, 'mail' | 'hints'>): Unheard => {
  const unheard = new Map<string, readonly [boot: number, until: number]>()
  let isFreeing = false

  const freeAll = async (now: number): Promise<void> => {
    if (unheard.size === 0) return
    const ends = [...unheard]
    const [boots, untils] = [ends.map(([, [boot]]) => boot), ends.map(([, [, until]]) => until)]
    await mail(() => run(FREE, now, boots, untils))
    for (const [key] of ends) unheard.delete(key)
  }

  /** Until they are free, or nothing of this writer is stored any more. */
  const freeSoon = async (now: number): Promise<void> => {
    if (isFreeing) return
    isFreeing = true
    for (let isOver = false; unheard.size > 0 && !isOver; ) {
      await sleep(AGAIN_MS, undefined, { ref: false })
      try {
        await freeAll(now)
        hints.due()
      } catch (error) {
        isOver = failureOf(error) === 'broken'
      }
    }
    isFreeing = false
  }

  return {
    free(boot, until, now) {
      unheard.set(`${boot} ${until}`, [boot, until])
      void freeSoon(now)
    },
    freeAll,
  }
}

export const freeingUnheard =
  (boot: number, unheard: Unheard, claim: Queue['claim']): Queue['claim'] =>
  async (poolId, limit, leaseUntil, now) => {
    await unheard.freeAll(now)
    try {
      return await claim(poolId, limit, leaseUntil, now)
    } catch (error) {
      unheard.free(boot, leaseUntil, now)
      throw error
    }
  }
