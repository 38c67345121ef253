/** All daemons together stay within what an upstream allows, whoever comes and goes. */
import fc from 'fast-check'
import t from 'tap'
import { type DaemonShare, partOf, shareOf, WHOLE } from '../../../src/relay/warmup.js'
import { ALONE } from '../../../src/store/port/cluster.js'
import { createView, NEWCOMER_MS } from '../../../src/store/postgres/cluster.js'

const POOL = { id: 'pool_1', name: 'bulk', kind: 'relay' } as const

t.test('the parts of all are the whole', async (t) => {
  const most = fc.nat(5000)
  const count = fc.integer({ min: 1, max: 64 })
  fc.assert(
    fc.property(most, count, (most, count) => {
      const parts = Array.from({ length: count }, (_, rank) => partOf(most, { rank, count }))
      const sum = parts.reduce((all, one) => all + one, 0)
      return sum === most && Math.max(...parts) - Math.min(...parts) <= 1
    }),
  )
  t.equal(partOf(20, WHOLE), 20)
  t.equal(partOf(20, null), 0)
})

t.test('whoever joins makes no part greater', async (t) => {
  const share = fc.integer({ min: 1, max: 64 }).chain((count) =>
    fc.record({
      rank: fc.nat(count - 1),
      count: fc.constant(count),
    }),
  )
  fc.assert(
    fc.property(fc.nat(500), share, fc.boolean(), (most, { rank, count }, isBefore) => {
      const after: DaemonShare = { rank: isBefore ? rank + 1 : rank, count: count + 1 }
      return partOf(most, after) <= partOf(most, { rank, count })
    }),
  )
  t.pass()
})

t.test('which part', async (t) => {
  const relays = [
    { n: 2, pools: null },
    { n: 5, pools: ['bulk'] },
    { n: 9, pools: ['other', 'pool_2'] },
  ]
  const view = {
    isShared: true,
    daemons: 3,
    relays,
    self: 5,
    from: 100,
    until: 200,
    promisedUntil: 200,
    putBacks: 0,
  }
  t.same(shareOf(ALONE, POOL, 0), WHOLE)
  t.same(shareOf(view, POOL, 150), { rank: 1, count: 2 })
  t.same(shareOf(view, { ...POOL, id: 'pool_2', name: 'x' }, 150), null, 'others serve it')
  t.same(shareOf({ ...view, self: 9 }, { ...POOL, id: 'pool_2', name: 'x' }, 150), { rank: 1, count: 2 })
  t.same(shareOf(view, { ...POOL, kind: 'sandbox' }, 150), WHOLE)
  t.same(shareOf(view, POOL, 99), null, 'a newcomer waits')
  t.same(shareOf(view, POOL, 200), null, 'there may be others that it has not heard of')
})

/** A number below `most`, the next of a sequence. */
const dice = (seed: number) => {
  let state = seed >>> 0
  return (most: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * most)
  }
}

interface Relay {
  readonly view: ReturnType<typeof createView>
  readonly n: number
  isDead: boolean
  beatAt: number
  /** An answer on its way. */
  coming: { readonly rows: readonly object[]; readonly sent: number; readonly at: number } | null
}

/** Relays that join, beat, stall, leave and die on one database; answers the most that was ever in use. */
const simulate = (seed: number, most: number): number => {
  const throwDice = dice(seed)
  const living = new Map<number, Relay>()
  const dead: { readonly relay: Relay; readonly until: number }[] = []
  let highest = 0
  const rows = () => [...living.keys(), ...dead.map(({ relay }) => relay.n)].map(rowOf)
  const rowOf = (n: number) => ({ n, boot: 64 + n, owner: `d${n}`, role: 'relay', about: '{"pools":null}' })
  const join = (now: number): void => {
    const taken = new Set(rows().map(({ n }) => n))
    const n = [0, 1, 2, 3, 4, 5].find((one) => !taken.has(one))
    if (n === undefined) return
    const view = createView({ n, boot: 64 + n }, now + throwDice(300))
    living.set(n, { view, n, isDead: false, beatAt: now, coming: null })
  }
  for (let now = 0; now < 120_000; now += 100) {
    if (throwDice(60) === 0) join(now)
    for (const relay of [...living.values()]) {
      if (relay.coming !== null && relay.coming.at <= now) {
        relay.view.told(relay.coming.rows as never, relay.coming.sent)
        relay.coming = null
        relay.beatAt = now + 2000
      } else if (relay.coming === null && relay.beatAt <= now) {
        // what was sent arrives late now and then, and its answer later
        const sent = now - throwDice(2) * throwDice(3000)
        relay.coming = {
          rows: rows(),
          sent,
          at: now + (throwDice(10) === 0 ? throwDice(9000) : throwDice(300)),
        }
      }
      if (throwDice(300) === 0) living.delete(relay.n)
      else if (throwDice(600) === 0) {
        living.delete(relay.n)
        // it goes on for as long as its last answer holds, and is taken over later
        dead.push({ relay, until: now + 30_000 })
      }
    }
    for (const one of dead.splice(0)) if (one.until > now) dead.push(one)
    const all = [...living.values(), ...dead.map(({ relay }) => relay)]
    const used = all.map(({ view }) => partOf(most, shareOf(view.view(), POOL, now)))
    highest = Math.max(
      highest,
      used.reduce((sum, one) => sum + one, 0),
    )
  }
  return highest
}

t.test('daemons come and go: never above the limit', async (t) => {
  const seed = fc.integer({ min: 0, max: 2 ** 31 })
  let reached = 0
  fc.assert(
    fc.property(seed, fc.constantFrom(1, 2, 3, 5, 20), (seed, most) => {
      const highest = simulate(seed, most)
      if (highest === most) reached += 1
      return highest <= most
    }),
    { numRuns: 150 },
  )
  t.ok(reached > 100, 'and what is allowed is used')
  t.equal(NEWCOMER_MS, 5000)
})
