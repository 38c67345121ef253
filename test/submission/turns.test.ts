/** Test mail beside live mail, on a clock that the test moves. */
import t from 'tap'
import { createGiveWay } from '../../src/base/give-way.js'
import { createTurns } from '../../src/submission/deps.js'

const begin = () => {
  const at = { ms: 0 }
  const way = createGiveWay(
    () => {},
    () => at.ms,
  )
  const rests: number[] = []
  let under = 0
  const seen = { most: 0 }
  const inTurn = createTurns(way, {
    tick: () => at.ms,
    rest: async (ms) => {
      rests.push(ms)
      at.ms += ms
    },
  })
  const work = (took: number) => async () => {
    seen.most = Math.max(seen.most, ++under)
    await null
    at.ms += took
    under--
  }
  return { at, way, rests, seen, inTurn, work }
}
const ten = Array.from({ length: 10 }, (_, i) => i)

t.test('alone it waits for nobody', async (t) => {
  const { inTurn, work, seen, rests } = begin()
  await Promise.all(ten.map(() => inTurn('test', work(5))))
  t.same([seen.most, rests], [10, []])
})

t.test('beside live mail it comes one by one, with rests; live mail never waits', async (t) => {
  const { inTurn, work, seen, rests, way } = begin()
  await Promise.all(ten.map(() => inTurn('live', work(0))))
  t.equal(seen.most, 10)
  seen.most = 0
  await Promise.all(
    ten.map(() =>
      inTurn('test', async () => {
        way.live()
        await work(5)()
      }),
    ),
  )
  t.equal(seen.most, 1)
  t.ok(rests.length >= 9)
  t.ok(rests.every((ms) => ms === 45))
})

t.test('where the log is behind, a rest is a second at least, while live mail is about', async (t) => {
  const { at, inTurn, work, rests, way } = begin()
  way.behind()
  await Promise.all(ten.map(() => inTurn('test', work(5))))
  t.same(rests, [], 'no live mail')
  for (const took of [5, 500]) {
    await inTurn('live', work(0))
    way.behind()
    await inTurn('test', work(took))
    // its rest is that of who comes next
    await inTurn('test', work(0))
  }
  t.same(rests, [1_000, 4_500])
  at.ms += 10_000
  way.live()
  t.equal(way.restAfter(5), 45, 'it is read to its end again')
})

t.test('what fails takes its turn, and rests, too; its failure is its own', async (t) => {
  const { inTurn, work } = begin()
  await inTurn('live', work(0))
  const bad = inTurn('test', () => Promise.reject(new Error('disk')))
  const good = inTurn('test', async () => 'good')
  await t.rejects(bad, { message: 'disk' })
  t.equal(await good, 'good')
})

t.test('beyond some that wait it is refused; later it is free again', async (t) => {
  const { inTurn, work, at, seen } = begin()
  await inTurn('live', work(0))
  const all = await Promise.allSettled(Array.from({ length: 108 }, () => inTurn('test', work(5))))
  t.match(
    all.filter(({ status }) => status === 'rejected'),
    Array.from({ length: 8 }, () => ({
      reason: { code: 'rate_limit.exceeded', options: { retryAfter: 5 } },
    })),
  )
  at.ms += 60_000
  seen.most = 0
  await Promise.all(ten.map(() => inTurn('test', work(5))))
  t.equal(seen.most, 10)
})
