/** Has all of the log counted and all mail indexed, as the daemon does. */
import { systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { createReader } from '../../src/followers/reader.js'
import { countedUntil } from '../../src/statistics/record.js'
import type { Store } from '../../src/store/port/store.js'
import { eventually } from './eventually.js'

export const countAll = async (store: Store): Promise<void> => {
  const reader = createReader({ store, clock: systemClock, log: silentLog() })
  await reader.start()
  await eventually('all is counted', async () => {
    const now = Date.now()
    return (await countedUntil(store, now)) === now && (await store.notIndexedSince()) === null
  })
  await reader.stop()
}
