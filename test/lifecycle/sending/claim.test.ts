/** Whose turn it is: nobody is left out, and nobody gets more than a share while others wait. */
import fc from 'fast-check'
import t from 'tap'
import { circle, deal, MOST_STOPPED } from '../../../src/lifecycle/lease.js'

const after =
  (all: readonly number[]) =>
  (last: number): readonly number[] =>
    all.filter((one) => one > last)

t.test('the circle', async (t) => {
  t.same([...circle(0, after([1, 2, 3]))], [1, 2, 3])
  t.same([...circle(2, after([1, 2, 3]))], [3, 1, 2])
  t.same([...circle(3, after([1, 2, 3]))], [1, 2, 3])
  t.same([...circle(9, after([]))], [])
})

/** Plays the store: `queues` by workspace, oldest first; what begins with `x` is held. */
const play = (queues: Readonly<Record<number, readonly string[]>>, limit: number) => {
  const left = new Map(Object.entries(queues).map(([n, all]) => [Number(n), [...all]]))
  const taken: string[] = []
  const drawn: number[] = []
  const stopped = deal<string>([...left.keys()], limit, {
    draw: (workspace, wanted) => {
      const found = left.get(workspace)?.splice(0, wanted) ?? []
      drawn.push(wanted)
      return { found: found.length, free: found.filter((one) => !one.startsWith('x')) }
    },
    take: (one) => taken.push(one),
  })
  return { taken, drawn, stopped }
}

t.test('shares, rounds and order', async (t) => {
  t.same(play({ 1: ['a1', 'a2', 'a3'], 2: ['b1', 'b2', 'b3'] }, 4).taken, ['a1', 'b1', 'a2', 'b2'])
  t.same(
    play({ 1: ['a1', 'a2', 'a3', 'a4'], 2: ['b1'] }, 4).taken,
    ['a1', 'b1', 'a2', 'a3'],
    'what one leaves',
  )
  t.same(play({ 1: ['a1', 'a2', 'a3'], 2: ['b1'], 3: ['c1'] }, 2).taken, ['a1', 'b1'])
  t.same(play({ 1: ['a1', 'a2'], 2: ['b1', 'b2'] }, 3), {
    taken: ['a1', 'b1', 'a2'],
    drawn: [2, 1],
    stopped: false,
  })
  t.same(play({ 1: ['x1', 'x2', 'a1'] }, 2).taken, ['a1'], 'what is held uses nothing up')
  t.same(play({ 1: ['a1'] }, 0), { taken: [], drawn: [], stopped: false })
  t.same(play({}, 5).taken, [])
})

t.test('too many that are held let others write', async (t) => {
  const many = (n: number) => Array.from({ length: n }, (_, i) => `x${i}`)
  const full = play({ 1: [...many(MOST_STOPPED), 'a'] }, 100)
  t.same(full, { taken: [], drawn: new Array(10).fill(100), stopped: true })
  t.same(play({ 1: [...many(MOST_STOPPED - 1), 'a'] }, 100), {
    ...{ taken: ['a'], drawn: new Array(10).fill(100).concat(99), stopped: false },
  })
})

t.test('of any queues', async (t) => {
  const queue = fc.array(fc.constantFrom('x', 'm'), { maxLength: 12 })
  fc.assert(
    fc.property(fc.array(queue, { maxLength: 6 }), fc.integer({ min: 0, max: 30 }), (all, limit) => {
      const queues = Object.fromEntries(
        all.map((q, w) => [w + 1, q.map((kind, i) => `${kind}${w + 1}.${i}`)]),
      )
      const { taken } = play(queues, limit)
      const free = Object.values(queues).map((q) => q.filter((one) => one.startsWith('m')))
      if (taken.length !== Math.min(limit, free.flat().length)) return false
      if (new Set(taken).size !== taken.length || taken.some((one) => one.startsWith('x'))) return false
      const mine = free.map((q) => q.filter((one) => taken.includes(one)))
      // the oldest of each, and nobody has two more than one who still waits and is never held
      if (mine.some((q, w) => q.some((one, i) => one !== free[w]?.[i]))) return false
      const clean = all.every((q) => !q.includes('x'))
      const starved = mine.filter((q, w) => q.length < (free[w]?.length ?? 0)).map((q) => q.length)
      return !clean || starved.length === 0 || limit < all.length || Math.min(...starved) >= 1
    }),
    { numRuns: 500 },
  )
  t.pass('500 runs')
})
