/**
 * NAME      progress - how far counting has come
 */

import type { EventLog } from '../store/port/log.js'
import type { Reading } from '../store/port/watch.js'

const STEP = 50

/** When the oldest record was stored that is not counted yet; `now` when there is none. */
export const countedUntil = async (
  store: Pick<Reading, 'readPlaces' | 'readLog'> & Pick<EventLog, 'logEnds'>,
  now: number,
): Promise<number> => {
  let place = (await store.readPlaces()).statistics
  for (;;) {
    place ??= (await store.logEnds()).oldest
    const next = await store.readLog('log', place, null, STEP)
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
