/** The age of a mail is the time in which its pool was not paused. */
import fc from 'fast-check'
import t from 'tap'
import { isPaused, moved, type Pause, rested, waitsSince } from '../../../src/lifecycle/orders.js'

t.test('a pool is paused while it has upstreams and none is active', async (t) => {
  t.equal(isPaused([]), false)
  t.equal(isPaused([{ state: 'paused' }, { state: 'draining' }]), true)
  t.equal(isPaused([{ state: 'paused' }, { state: 'active' }]), false)
})

t.test('since when a mail waits', async (t) => {
  t.same(waitsSince([], 10, 100), [10, null])
  t.same(waitsSince([[20, 50]], 10, 100), [40, 50], 'the pause does not count')
  t.same(waitsSince([[20, null]], 10, 100), [90, null], 'one that goes on counts until now')
  t.same(waitsSince([[0, 5]], 10, 100), [10, null], 'one that was over before is none of it')
  t.same(waitsSince([[0, 10]], 10, 100), [10, null], 'nor one that ended when it began')
  t.same(waitsSince([[5, 30]], 10, 100), [30, 30], 'only the part that it waited through')
  t.same(
    waitsSince(
      [
        [60, 70],
        [20, 30],
      ],
      10,
      100,
    ),
    [30, 70],
  )
})

t.test('a rest does not count, nor a pause within it twice', async (t) => {
  t.equal(rested([], 10, 30, 100), 80)
  t.equal(rested([[40, 60]], 10, 30, 100), 80, 'paused while it rested')
  t.equal(rested([[90, 95]], 10, 30, 100), 75, 'the age is reckoned back over the pause')
  t.equal(rested([], 10, 200, 100), 10, 'a rest that begins later than now took nothing')
  t.equal(rested([], 50, 30, 100), 100, 'no age below none')
})

t.test('as old in another pool as it was in the first', async (t) => {
  const gaps = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 8 })
  const pausesOf = (lengths: readonly number[]): Pause[] => {
    const pauses: Pause[] = []
    let at = 0
    for (let i = 0; i + 1 < lengths.length; i += 2) {
      const from = at + (lengths[i] ?? 0)
      at = from + (lengths[i + 1] ?? 0)
      pauses.unshift([from, at])
    }
    return pauses
  }
  fc.assert(
    fc.property(gaps, gaps, fc.nat(300), fc.nat(300), (a, b, queuedAt, later) => {
      const [from, to] = [pausesOf(a), pausesOf(b)]
      const at = 500 + later
      const there = moved(from, to, queuedAt, at)
      return at - waitsSince(to, there, at)[0] === at - waitsSince(from, queuedAt, at)[0]
    }),
  )
  t.equal(moved([], [[0, 10]], 20, 20), 20, 'what has no age yet keeps its time')
})
