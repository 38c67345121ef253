/** Places rise over commits, restarts, rollbacks and every step of the clock; a clock far ahead is not followed at once. */
import t from 'tap'
import { ordAt, timeOf } from '../../src/store/sql/pages.js'
import { openWriter, prepareFile } from '../../src/store/sqlite/connect.js'
import { createGiver } from '../../src/store/sqlite/giver.js'
import { migrate } from '../../src/store/sqlite/migrate/migrate.js'
import { HOUR, T0 } from './fixture.js'

const open = (dir: string) => {
  const db = openWriter(prepareFile(dir))
  migrate(db, T0, '0.0.0')
  const hand = { wall: T0, ticks: 0 }
  const clock = { now: () => hand.wall, tick: () => hand.ticks }
  const pass = (ms: number): void => {
    hand.wall += ms
    hand.ticks += ms
  }
  /** One transaction that stores `n` rows; the places they got. */
  const commit = (giver: ReturnType<typeof createGiver>, n: number): number[] => {
    giver.begin()
    const places = Array.from({ length: n }, () => giver.next())
    giver.keep()
    return places
  }
  return { db, hand, clock, pass, commit, start: () => createGiver(db, clock) }
}

t.test('they rise, whatever the clock does, over restarts too', async (t) => {
  const { hand, pass, commit, start, db } = open(t.testdir())
  let giver = start()
  const places: number[] = []
  for (let i = 0; i < 300; i++) {
    places.push(...commit(giver, (i % 3) * 3_000))
    if (i % 5 === 0) hand.wall += (i % 2 === 0 ? -1 : 1) * i * 60_000
    if (i % 7 === 0) giver = start()
    pass(i % 4)
  }
  const wrong = places.findIndex((place, i) => i > 0 && place <= (places[i - 1] ?? 0))
  t.equal(wrong, -1)
  t.ok(Number.isSafeInteger(places.at(-1)))
  db.close()
})

t.test('what a rollback undid is left out', async (t) => {
  const { commit, start, db } = open(t.testdir())
  const giver = start()
  giver.begin()
  const lost = giver.next()
  t.ok((commit(giver, 1)[0] ?? 0) > lost)
  db.close()
})

t.test('they read as the time', async (t) => {
  const { commit, start, pass, db } = open(t.testdir())
  const giver = start()
  pass(1_000)
  t.equal(timeOf(commit(giver, 1)[0] ?? 0), T0 + 1_000)
  t.equal(timeOf(ordAt(T0)), T0)
  db.close()
})

for (const [name, ahead] of [
  ['at start', true],
  ['by a step', false],
] as const) {
  t.test(`a clock two days ahead ${name} is followed after an hour of steady time`, async (t) => {
    const { hand, commit, start, pass, db } = open(t.testdir())
    let giver = start()
    const [first = 0] = commit(giver, 1)
    hand.wall += 48 * HOUR
    if (ahead) giver = start()
    t.equal(commit(giver, 1)[0], first + 1)
    giver.begin()
    giver.beat()
    giver.keep()
    pass(HOUR - 1)
    t.equal(commit(giver, 1)[0], first + 2)
    hand.wall += 10_000 // not steady: the hour begins again
    pass(1)
    t.equal(commit(giver, 1)[0], first + 3)
    pass(HOUR)
    t.equal(timeOf(commit(giver, 1)[0] ?? 0), hand.wall)
    db.close()
  })
}

t.test('or when somebody confirms it, in another process', async (t) => {
  const { hand, commit, start, db } = open(t.testdir())
  const giver = start()
  const [first = 0] = commit(giver, 1)
  hand.wall += 48 * HOUR
  t.equal(commit(giver, 1)[0], first + 1)
  const other = start()
  other.begin()
  other.follow()
  other.keep()
  t.equal(timeOf(commit(giver, 1)[0] ?? 0), hand.wall)
  db.close()
})

t.test('a daemon that is alive and idle is not behind its clock', async (t) => {
  const { commit, start, pass, db, hand } = open(t.testdir())
  const giver = start()
  for (let minute = 0; minute < 180; minute++) {
    pass(60_000)
    giver.begin()
    giver.beat()
    giver.keep()
  }
  t.equal(timeOf(commit(start(), 1)[0] ?? 0), hand.wall, 'a restart now finds it trusted')
  db.close()
})
