/**
 * NAME      time - the clock of the database is that of all
 * DESCRIPTION
 *   Due times of several machines are compared, so each goes by the same clock. What a heartbeat brought counts from the middle
 *   of its way, and runs on by the tick clock: when this machine's own clock is set, nothing here notices.
 *   A heartbeat that took long says too little, and is not gone by.
 */
import { followTime, STEP_MS } from '../../../base/clock.js'
import type { Log } from '../../../base/log.js'

const LONGEST_WAY_MS = 1000

/** `log` hears when the database and this machine begin to differ by more than a correction, and when they agree again. */
export const followDatabase = (log?: Log, wall: () => number = Date.now) => {
  let isFollowing = false
  let told = 0
  return (now: number, sent: number, answered: number): void => {
    if (isFollowing && answered - sent > LONGEST_WAY_MS) return
    isFollowing = true
    const at = now + (answered - sent) / 2
    followTime({ at, tick: answered })
    const by = at - wall()
    if (Math.abs(by - told) <= STEP_MS) return
    told = by
    log?.warn({ by_s: Math.round(by / 1000) }, 'clock of the database differs')
  }
}
