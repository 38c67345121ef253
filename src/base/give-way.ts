/**
 * NAME      give-way - work for test mail leaves the machine to live mail
 *   While live mail is about, whoever has done a piece of work for test mail rests nine times as long as
 *   that took: a tenth of the time is the most that it has, on a fast machine as on a busy one. Each piece leaves
 *   records in the log, which are read in their order: while that is behind, a rest is a second at least, so that live
 *   mail is not found late for test mail that came before it. Without live mail nobody rests.
 */
import { systemClock } from './clock.js'

/** Why test mail gives way. */
export type Reason = 'live' | 'behind'

export interface GiveWay {
  live(): void
  /** Records of the log come faster than they are read. */
  behind(): void
  readonly isLive: boolean
  /** How long to rest after work that took so long. */
  restAfter(ms: number): number
}

const RECENT_MS = 2_000
/** Others are told this often. */
const TELL_MS = 500
const REST = 9
const BEHIND_MS = 1_000

/** `told` passes it on, to threads that do not see it themselves. */
export const createGiveWay = (told: (why: Reason) => void = () => {}, tick = systemClock.tick): GiveWay => {
  const noted = (why: Reason) => {
    let last = Number.NEGATIVE_INFINITY
    let toldAt = Number.NEGATIVE_INFINITY
    return {
      note(): void {
        last = tick()
        if (last - toldAt < TELL_MS) return
        toldAt = last
        told(why)
      },
      isWithin: (ms: number): boolean => tick() - last < ms,
    }
  }
  const [live, behind] = [noted('live'), noted('behind')]
  return {
    live: live.note,
    behind: behind.note,
    get isLive() {
      return live.isWithin(RECENT_MS)
    },
    restAfter(ms) {
      if (!live.isWithin(RECENT_MS)) return 0
      return behind.isWithin(BEHIND_MS) ? Math.max(REST * ms, BEHIND_MS) : REST * ms
    },
  }
}
