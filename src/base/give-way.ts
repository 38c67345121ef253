/**
 * NAME      give-way - work for test mail leaves the machine to live mail
 * DESCRIPTION
 *   While live mail is about, whoever has done a piece of work for test mail rests nine times as long as
 *   that took: a tenth of the time is the most that it has, on a fast machine as on a busy one. Without live
 *   mail nobody rests.
 */
import { systemClock } from './clock.js'

export interface GiveWay {
  /** Live mail is at work now. */
  live(): void
  readonly isLive: boolean
  /** How long to rest after work that took so long. */
  restAfter(ms: number): number
}

const RECENT_MS = 2_000
/** Others are told this often. */
const TELL_MS = 500
const REST = 9

/** `told` passes it on, to threads that do not see it themselves. */
export const createGiveWay = (told: () => void = () => {}, tick = systemClock.tick): GiveWay => {
  let liveAt = Number.NEGATIVE_INFINITY
  let toldAt = Number.NEGATIVE_INFINITY
  const isLive = (): boolean => tick() - liveAt < RECENT_MS
  return {
    live() {
      liveAt = tick()
      if (liveAt - toldAt < TELL_MS) return
      toldAt = liveAt
      told()
    },
    get isLive() {
      return isLive()
    },
    restAfter: (ms) => (isLive() ? REST * ms : 0),
  }
}
