/**
 * NAME      turns - test mail comes in one request at a time while live mail comes in
 * DESCRIPTION
 *   What is composed and stored for one request is one turn; between two of them there is a rest (base/time/give-way).
 *   So a flood of test mail, by however many keys, leaves the doors and the disk to live mail. It waits for its turn in
 *   the order of coming; beyond some that wait the next is refused, to come again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { GiveWay } from '../base/time/give-way.js'
import type { Mode } from '../lifecycle/page.js'

export type InTurn = <T>(mode: Mode, work: () => Promise<T>) => Promise<T>

const MOST_WAITING = 100
const RETRY_AFTER_S = 5

interface Clocks {
  readonly tick: () => number
  readonly rest: (ms: number) => Promise<unknown>
}

export const createTurns = (
  way: GiveWay,
  { tick, rest }: Clocks = { tick: systemClock.tick, rest: sleep },
): InTurn => {
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()
  const later = async <T>(work: () => Promise<T>): Promise<T> => {
    if (waiting === 0 && !way.isLive) return work()
    if (waiting >= MOST_WAITING)
      throw new Fault('rate_limit.exceeded', {
        detail: `Test mail gives way to live mail, and more of it waits already; retry in ${RETRY_AFTER_S}s`,
        retryAfter: RETRY_AFTER_S,
      })
    waiting++
    const began = last.then(tick)
    const done = began.then(work).finally(() => waiting--)
    last = done
      .catch(() => {})
      .then(async () => {
        const ms = way.restAfter(tick() - (await began))
        if (ms > 0) await rest(ms)
      })
    return done
  }
  return (mode, work) => {
    if (mode !== 'live') return later(work)
    way.live()
    return work()
  }
}
