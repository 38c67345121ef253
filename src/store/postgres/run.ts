/**
 * NAME      run - work that yields statements, answered by a connection
 * DESCRIPTION
 *   A verb that only reads takes a connection for itself while it runs, and repeats when the connection is lost or
 *   others were in its way. What does not come back in time is an outage that its caller hears of.
 */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { systemClock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import { type Asking, BEGIN_SNAPSHOT, isPause, NOTHING_FOUND, type Query } from '../sql/query.js'
import type { Connection } from './connect/connection.js'
import { failureOf } from './connect/failure.js'

/** So long a verb waits for a database that is away. */
export const AWAY_MS = 5000
const MOST_REPEATS = 5

const SNAPSHOT: Query = { text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', values: [] }

export const answer = async <T>(connection: Pick<Connection, 'query'>, asking: Asking<T>): Promise<T> => {
  let step = asking.next()
  while (step.done !== true) {
    if (isPause(step.value)) {
      await turn()
      step = asking.next(NOTHING_FOUND)
      continue
    }
    const query = step.value === BEGIN_SNAPSHOT ? SNAPSHOT : step.value
    const found = await connection.query(query).catch((error: unknown) => ({ error }))
    step = 'error' in found ? asking.throw(found.error) : asking.next(found)
  }
  return step.value
}

/** Nothing is wrong with this machine: 451, and not the 452 of a full disk. */
const unavailable = (cause: unknown): Fault =>
  Object.assign(new Fault('service.unavailable', { retryAfter: 5, smtp: '451 4.3.0' }), { cause })

/** Until then a caller of now will wait. */
export const patience = (): number => systemClock.tick() + AWAY_MS

/** Does it again while the database is away or others are in the way, for so long as a caller will wait. */
export const persistently = async <T>(work: () => Promise<T>, until = patience()): Promise<T> => {
  for (let repeats = 1; ; repeats++) {
    try {
      return await work()
    } catch (error) {
      const failure = failureOf(error)
      if (failure === 'full')
        throw Object.assign(new Fault('service.unavailable', { retryAfter: 5 }), { cause: error })
      if (failure !== 'away' && failure !== 'again') throw error
      const isOver = failure === 'away' ? systemClock.tick() >= until : repeats >= MOST_REPEATS
      if (isOver) throw unavailable(error)
      await sleep(failure === 'away' ? 100 : Math.random() * 20 * repeats)
    }
  }
}
