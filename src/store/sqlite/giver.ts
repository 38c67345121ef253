/**
 * NAME      giver - gives each row its place
 *   The last place is a row of the database, read and written in the transaction of the rows themselves, so no process
 *   gives a place below one that is committed. Places that a rollback undid are left out.
 *   A clock that is found far ahead, at start or by a step, is not followed: places go on by one until it has run
 *   steadily for an hour, or until somebody confirms it (`follow`). Or else one wrong start would spend years of
 *   places.
 */
import { type Clock, steadyClock } from '../../base/clock.js'
import { CLOCK_AHEAD_MS } from '../port/upkeep.js'
import { after, ordAt, timeOf } from '../sql/pages.js'
import type { Db } from './connect.js'

const STEADY_MS = 3600_000

export interface Giver {
  /** First in each transaction: others may have given places meanwhile. */
  begin(): void
  next(): number
  /** Last in each transaction. */
  keep(): void
  /** Raises the last place to the present, if the clock is trusted: what is alive is not behind its clock. */
  beat(): void
  /** The clock is right, somebody says. */
  follow(): void
}

export const createGiver = (db: Db, wall: Clock): Giver => {
  const read = db.prepare<[], number>('SELECT last FROM order_state').pluck()
  const write = db.prepare('UPDATE order_state SET last = ?')
  const clock = steadyClock(wall)
  let last = 0
  let kept = 0
  let isAhead = false
  let steps = -1 // the first look finds one: nobody knows what was before

  const look = (): void => {
    const lead = clock.now() - timeOf(last)
    const isNew = clock.steps !== steps
    steps = clock.steps
    if (lead <= CLOCK_AHEAD_MS) isAhead = false
    else if (isNew) isAhead = true
    else if (clock.tick() - clock.steadySince() >= STEADY_MS) isAhead = false
  }

  return {
    begin() {
      kept = read.get() ?? 0
      last = Math.max(last, kept)
      look()
    },
    next() {
      last = isAhead ? last + 1 : after(last, wall.now())
      return last
    },
    keep() {
      if (last !== kept) write.run(last)
    },
    beat() {
      if (!isAhead) last = Math.max(last, ordAt(wall.now()))
    },
    follow() {
      last = Math.max(last, ordAt(wall.now()))
      isAhead = false
    },
  }
}
