/**
 * Daemons, writers, heartbeats, takeover and cursors in a model: what is promised holds in some hundred schedules, and what
 * is done wrong on purpose is found. POSTERN_RUNS runs so many more, from POSTERN_SEED on; a failure prints its seed.
 */
import t from 'tap'
import { follower, pagePoller } from './simulation/pollers.js'
import { schedule } from './simulation/schedule.js'
import type { Fault } from './simulation/writer.js'

const RUNS = 300 + Number(process.env.POSTERN_RUNS ?? 0)
const FIRST = Number(process.env.POSTERN_SEED ?? 1)

/** What so many schedules are to bring about. */
const MET = [
  ...['killed', 'stopped', 'cut off', 'session ended', 'answer lost', 'leaves', 'clock set', 'database away'],
  ...['disk stands still', 'waits for a lock', 'lock timeout', 'no answer in time', 'the database is away'],
  ...[
    'answer lost, it is in',
    'answer lost, it is not in',
    'goes on under a new epoch',
    'found its epoch ended',
  ],
  ...['taken over', 'taken for dead, and had moved', 'predecessor ended', 'its promise has lapsed'],
  ...['claim passes by what another one claims', 'page with writers that are behind', 'work taken'],
  ...[
    'work was taken meanwhile',
    'waits for its part',
    'uses all of its part',
    'all connections of the upstream',
  ],
]

t.test('every schedule keeps what is promised', async (t) => {
  const began = performance.now()
  const met = new Map<string, number>()
  for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
    const { wrong, met: here } = schedule(seed)
    if (wrong.length > 0) t.fail(`seed ${seed}: ${wrong.join('; ')}`)
    for (const [what, times] of here) met.set(what, (met.get(what) ?? 0) + times)
  }
  t.ok(RUNS > 0, `${RUNS} schedules, ${Math.round(performance.now() - began)} ms`)
  for (const what of MET) t.ok(met.has(what), `${what}: ${met.get(what) ?? 0}`)
})

/** A schedule in which it is found. */
const FOUND: Readonly<Record<Fault, readonly [seed: number, wrong: RegExp]>> = {
  'takeover in one statement': [1465, /a dot of/],
  'death by the own clock': [350, /was taken over, and lived/],
  'frontier after the commit': [15, /seen twice/],
  'frontier before the commit': [17, /missed/],
  'no fence': [8, /after it had ended/],
  'no promise': [127, /a dot of/],
  'joins beside others': [211, /seen twice/],
  'looks before the fence': [239, /stored twice/],
  'a newcomer does not wait': [22, /4 connections of 3/],
  'work is not fenced': [1343, /did the work of/],
}

for (const [fault, [seed, wrong]] of Object.entries(FOUND))
  t.test(`${fault} is found`, async (t) => {
    t.match(schedule(seed, [fault as Fault]).wrong.join(), wrong)
    t.same(schedule(seed).wrong, [])
  })

t.test('who polls by the place alone loses', async (t) => {
  const lost = Array.from(
    { length: 60 },
    (_, seed) =>
      schedule(seed, [], (db) => [pagePoller(db, 7, true), pagePoller(db, 7), follower(db, 7)]).wrong,
  ).filter((wrong) => wrong.length > 0)
  t.ok(lost.length > 0, `${lost.length} of 60`)
  t.ok(lost.flat().every((one) => one.startsWith('control')))
})
