/** How often work is done again that failed since others were in its way. */
import t from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import { persistently } from '../../../src/store/postgres/run.js'

/** Nobody gives way; answers how often it was tried. */
const triesUntil = async (until: number, code = '55P03'): Promise<number> => {
  let tries = 0
  const work = async (): Promise<never> => {
    tries += 1
    throw Object.assign(new Error('others are in the way'), { code })
  }
  await t.rejects(persistently(work, until), { code: 'service.unavailable' })
  return tries
}

t.test('others hold a lock', async (t) => {
  t.equal(await triesUntil(Number.POSITIVE_INFINITY), 5, 'some times, while its caller waits')
  t.equal(await triesUntil(systemClock.tick()), 1, 'once, when its caller waits no longer')
  t.equal(await triesUntil(systemClock.tick(), '40P01'), 5, 'a deadlock is no wait')
})
