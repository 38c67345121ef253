/**
 * NAME      expiry - mails that come to the end of their time while nothing can be sent
 * DESCRIPTION
 *   A pool that has had no upstream up for the longest retry wait is claimed from
 *   only here: what is past its lifetime ends, the rest goes back at once. Not so in a paused pool: time stands still there. Nothing
 *   ends for as long after the start or a step of the wall clock, whatever it says.
 */

import type { Claimed } from '../../lifecycle/facts.js'
import { type AttemptEnd, endOfLife, type RetryPlan } from '../../outcome/reply.js'
import type { Queue } from '../../store/port/mail.js'

interface ExpiryParts {
  readonly queue: Pick<Queue, 'claim'>
  readonly plan: Pick<RetryPlan, 'retry' | 'lifetime' | 'steadySince'>
  readonly now: () => number
  readonly tick: () => number
  readonly giveBack: (claimed: Claimed) => void
  readonly conclude: (end: AttemptEnd) => void
  readonly stopping: () => boolean
}

interface Standing {
  readonly row: { readonly id: string }
  readonly isUp: boolean
  readonly isPaused: boolean
  readonly isElsewhere: boolean
}

const AT_ONCE = 100
const LEASE_MS = 3_600_000
const NOBODY = {
  untried: true,
  upstreamId: null,
  host: null,
  stage: 'connect',
  reply: null,
  error: 'no upstream was up',
}

export class Expiry {
  readonly #parts: ExpiryParts
  /** Since when a pool is down, on the tick clock. */
  readonly #down = new Map<string, number>()

  constructor(parts: ExpiryParts) {
    this.#parts = parts
  }

  /** To be called often: a pool that was up in between begins anew. */
  look(pools: Iterable<Standing>): void {
    const tick = this.#parts.tick()
    for (const { row, isUp, isPaused, isElsewhere } of pools) {
      if (isUp || isPaused || isElsewhere) this.#down.delete(row.id)
      else if (!this.#down.has(row.id)) this.#down.set(row.id, tick)
    }
  }

  async run(pools: readonly Standing[]): Promise<void> {
    this.look(pools)
    const { plan, tick, stopping } = this.#parts
    const before = tick() - Math.max(...plan.retry)
    if (plan.steadySince() > before) return
    for (const { row, isUp } of pools) {
      const since = this.#down.get(row.id) ?? Number.POSITIVE_INFINITY
      if (isUp || since > before) continue
      while (!stopping() && (await this.#some(row.id))) {}
    }
  }

  /** Resolves with true when there may be more. */
  async #some(poolId: string): Promise<boolean> {
    const { queue, plan, giveBack, conclude } = this.#parts
    const at = this.#parts.now()
    const began = { at, tick: this.#parts.tick() }
    const claimed = await queue.claim(poolId, AT_ONCE, at + LEASE_MS, at)
    let dead = 0
    for (const one of claimed) {
      if (at < endOfLife(one, plan)) {
        giveBack(one)
        continue
      }
      dead++
      conclude({ claimed: one, at, began, ...NOBODY })
    }
    return dead > 0 && dead === claimed.length
  }
}
