/**
 * Daemons, writers, heartbeats, takeover and cursors in a model: what is promised holds in some hundred schedules, and what
 * is done wrong on purpose is found. POSTERN_RUNS runs so many more, from POSTERN_SEED on; a failure prints its seed.
 */
import t from 'tap'
import { follower, pagePoller } from './simulation/pollers.js'
import { schedule } from './simulation/schedule.js'
import type { Fault } from './simulation/writer.js'

const RUNS = 100 + Number(process.env.POSTERN_RUNS ?? 0)
const FIRST = Number(process.env.POSTERN_SEED ?? 1)

t.test('every schedule keeps what is promised', async (t) => {
  const began = performance.now()
  for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
    const wrong = schedule(seed)
    if (wrong.length > 0) t.fail(`seed ${seed}: ${wrong.join('; ')}`)
  }
  t.ok(RUNS > 0, `${RUNS} schedules, ${Math.round(performance.now() - began)} ms`)
})

/** A schedule in which it is found. */
const FOUND: Readonly<Record<Fault, readonly [seed: number, wrong: RegExp]>> = {
  'takeover in one statement': [577, /stuck/],
  'death by the own clock': [5, /was taken over, and lived/],
  'frontier after the commit': [19, /seen twice/],
  'frontier before the commit': [28, /missed/],
  'no fence': [6, /after it had ended/],
  'no promise': [12, /a dot of/],
  'joins beside others': [392, /missed/],
  'looks before the fence': [359, /stored twice/],
}

for (const [fault, [seed, wrong]] of Object.entries(FOUND))
  t.test(`${fault} is found`, async (t) => {
    t.match(schedule(seed, [fault as Fault]).join(), wrong)
    t.same(schedule(seed), [])
  })

t.test('who polls by the place alone loses', async (t) => {
  const lost = Array.from({ length: 60 }, (_, seed) =>
    schedule(seed, [], (db) => [pagePoller(db, 7, true), pagePoller(db, 7), follower(db, 7)]),
  ).filter((wrong) => wrong.length > 0)
  t.ok(lost.length > 0, `${lost.length} of 60`)
  t.ok(lost.flat().every((one) => one.startsWith('control')))
})
