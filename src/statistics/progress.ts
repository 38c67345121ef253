/**
 * NAME      progress - how far counting has come
 */

import type { EventLog } from '../store/port/log.js'
import type { Statistics } from '../store/port/statistics.js'

const STEP = 50

/** When the oldest record was stored that is not counted yet; `now` when there is none. */
export const countedUntil = async (
  store: Pick<Statistics, 'statisticsPlace'> & Pick<EventLog, 'follow'>,
  now: number,
): Promise<number> => {
  let place = await store.statisticsPlace()
  for (;;) {
    const next = await store.follow(null, place, STEP)
    if (next === 'gone') {
      place = null
      continue
    }
    const [first] = next.rows
    if (first !== undefined) return Math.min(now, first.createdAt)
    // what is there may be nothing that is told, such as mail of a deleted workspace
    if (next.isEnd) return now
    place = next.mark
  }
}
