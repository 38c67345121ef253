/**
 * NAME      giver - gives each row its place
 * DESCRIPTION
 *   The last place is a row of the database, read and written in the transaction
 *   of the rows themselves, so no process gives a place below one that is
 *   committed. Places that a rollback undid are left out.
 *   A clock that is found far ahead, at start or by a step, is not followed:
 *   places go on by one until it has run steadily for an hour, or until somebody
 *   confirms it (`follow`). Or else one wrong start would spend years of places.
 */
import type { Clock } from '../../../base/clock.js'
import { CLOCK_AHEAD_MS } from '../../port-upkeep.js'
import type { Db } from '../connect.js'
import { after, ordAt, timeOf } from './ord.js'

/** The wall clock moved by more than this against the tick clock: it was set. */
const STEP_MS = 5_000
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

export const createGiver = (db: Db, clock: Clock): Giver => {
  const read = db.prepare<[], number>('SELECT last FROM order_state').pluck()
  const write = db.prepare('UPDATE order_state SET last = ?')
  let last = 0
  let kept = 0
  let isAhead = false
  let seen: { readonly now: number; readonly tick: number } | null = null
  let steadySince = 0

  const look = (): void => {
    const now = clock.now()
    const tick = clock.tick()
    const stepped = seen === null || Math.abs(now - seen.now - (tick - seen.tick)) > STEP_MS
    seen = { now, tick }
    if (stepped) steadySince = tick
    const lead = now - timeOf(last)
    if (lead <= CLOCK_AHEAD_MS) isAhead = false
    else if (stepped) isAhead = true
    else if (tick - steadySince >= STEADY_MS) isAhead = false
  }

  return {
    begin() {
      kept = read.get() ?? 0
      last = Math.max(last, kept)
      look()
    },
    next() {
      last = isAhead ? last + 1 : after(last, clock.now())
      return last
    },
    keep() {
      if (last !== kept) write.run(last)
    },
    beat() {
      if (!isAhead) last = Math.max(last, ordAt(clock.now()))
    },
    follow() {
      last = Math.max(last, ordAt(clock.now()))
      isAhead = false
    },
  }
}
