/** contract-warmup - what upstreams that warm up are given is counted for all daemons, day by day */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import { beginOf, dayOf } from '../../src/lifecycle/warmup.js'
import { freshPool } from '../../src/store/pools.js'
import type { UpstreamRow, WarmupRow } from '../../src/store/port/tenants.js'
import { newAccount, type OpenStore, T0 } from './fixture.js'

const DAY = dayOf(T0)
const PLAN = { first: 50, days: 3 }

const upstreamWith = (warmup: WarmupRow | null): UpstreamRow => ({
  ...{ id: newId('up'), host: 'mta1.example', port: 25, tls: 'none', fingerprint: null, user: null },
  ...{
    sealedPassword: null,
    clientCertFile: null,
    clientKeyFile: null,
    weight: 1,
    priority: 0,
    maxConnections: 10,
  },
  ...{ messagesPerConnection: 100, rate: null, state: 'active', warmup },
})

export const warmupContract = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('a day gives what it allows, and the next one twice as much', async (t) => {
    const store = await open(t)
    const id = newId('wup')
    const take = (day: number, count: number, plan = PLAN) =>
      store.takeWarmup({ id, day, count, now: beginOf(day) + 5, ...plan })
    t.same(await take(DAY, 20), { granted: 20, left: 30 })
    t.same(await take(DAY, 40), { granted: 30, left: 0 }, 'what is left of it')
    t.same(await take(DAY, 1), { granted: 0, left: 0 })
    await store.returnWarmup(id, DAY, 7)
    t.same(await take(DAY, 10), { granted: 7, left: 0 }, 'what was given back')
    t.same(await take(DAY + 1, 1_000), { granted: 100, left: 0 })
    t.same(await take(DAY + 4, 200), { granted: 200, left: 0 }, 'days without mail are none of it')
    t.same(await take(DAY + 5, 1_000), { granted: 1_000, left: null }, 'it is over, and nothing is counted')
    t.same(await take(DAY, 1), { granted: 0, left: 0 }, 'a clock that was set back finds the day as it was')
    t.same(await take(DAY + 2, 1), { granted: 1, left: 199 }, 'or a day that it had passed over')
    t.same(await take(DAY, 20, { first: 60, days: 3 }), { granted: 10, left: 0 }, 'another plan goes on')
    t.same(await take(DAY + 1, 1, { first: 10, days: 9 }), { granted: 0, left: 0 })
    t.same(
      (await store.warmupDays()).map(({ day, used, beganAt }) => [day - DAY, used, beganAt - beginOf(day)]),
      [
        [0, 60, 5],
        [1, 100, 5],
        [2, 1, 5],
        [4, 200, 5],
      ],
    )
  })

  await t.test('a day of which all was given back is none', async (t) => {
    const store = await open(t)
    const id = newId('wup')
    const ask = { id, count: 5, ...PLAN }
    await store.takeWarmup({ ...ask, day: DAY, now: T0 })
    await store.returnWarmup(id, DAY, 9)
    await store.returnWarmup(id, DAY + 9, 9)
    t.same(await store.takeWarmup({ ...ask, day: DAY + 1, now: T0 }), { granted: 5, left: 45 })
    await store.takeWarmup({ ...ask, day: DAY, now: T0 + 3 })
    t.match(await store.warmupDays(), [{ day: DAY, used: 5, beganAt: T0 + 3 }, { day: DAY + 1 }])
  })

  await t.test('many who ask at the same moment get together what the day allows', async (t) => {
    const store = await open(t)
    const id = newId('wup')
    const asks = Array.from({ length: 40 }, (_, i) =>
      store.takeWarmup({ id, day: DAY, count: 1 + (i % 5), now: T0, ...PLAN }),
    )
    const granted = (await Promise.all(asks)).reduce((sum, one) => sum + one.granted, 0)
    t.equal(granted, 50)
    t.match(await store.warmupDays(), [{ used: 50 }])
  })

  await t.test('what no upstream warms up by any more is forgotten', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const [a, b] = [newId('wup'), newId('wup')]
    const upstreams = [a, b].map((id) => upstreamWith({ id, ...PLAN }))
    const pool = { ...freshPool(at.accountId, 'warm', T0), upstreams }
    await store.createPool(pool)
    for (const id of [a, b]) await store.takeWarmup({ id, day: DAY, count: 1, now: T0, ...PLAN })
    await store.updatePool({ ...pool, upstreams: upstreams.map((one) => ({ ...one, weight: 2 })) })
    t.match(await store.warmupDays(), [{ id: a }, { id: b }], 'other changes leave it')
    await store.updatePool({
      ...pool,
      upstreams: [{ ...(upstreams[0] as UpstreamRow), warmup: null }, ...upstreams.slice(1)],
    })
    t.match(await store.warmupDays(), [{ id: b }])
    t.equal(await store.deletePool(at.accountId, pool.id), 'done')
    t.same(await store.warmupDays(), [])
  })
}
