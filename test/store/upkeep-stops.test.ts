/** Housekeeping that is cut off because the daemon stops is no failure; what fails while it runs is one. */
import { mock } from 'node:test'
import t from 'tap'
import { OutageError } from '../../src/base/fault.js'
import { createUpkeep } from '../../src/store/upkeep.js'

t.test('what is said of a sweep that fails', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  for (const [ended, error, said] of [
    ['while it runs', new OutageError('the database is gone'), ['the database is gone']],
    ['while it stops', new OutageError('the store is closed'), []],
    ['while it stops', new Error('a row is damaged'), ['a row is damaged']],
  ] as const) {
    const told: unknown[] = []
    let cut = (_error: Error): void => {}
    let sweeps = 0
    const log = { error: (fields: object) => told.push(Object.values(fields)[0]), warn() {}, info() {} }
    const upkeep = createUpkeep({
      store: {
        clockLead: async () => 0,
        sweep: () => {
          sweeps++
          return new Promise((_, reject) => {
            cut = reject
          })
        },
      },
      retention: () => ({ bodies: 1, emails: 1, log: 1, reports: 1, domain_reports: 1 }),
      log: log as never,
      clock: { now: () => Date.now(), tick: () => performance.now() },
      retry: [1],
    })
    await upkeep.start()
    mock.timers.tick(60_000)
    await new Promise(setImmediate)
    t.equal(sweeps, 1)
    if (ended === 'while it stops') await upkeep.stop()
    cut(error)
    await new Promise(setImmediate)
    t.same(told, said, `${error.message} ${ended}`)
    await upkeep.stop()
  }
})
