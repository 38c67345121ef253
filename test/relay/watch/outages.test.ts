/** Down and up, each told once: over flaps, restarts and stores that fail. */
import t from 'tap'
import { newId } from '../../../src/base/id.js'
import { Outages, type UpstreamHealth } from '../../../src/relay/health.js'
import { freshPool } from '../../../src/store/pools.js'
import type { EventNotice } from '../../../src/store/port/log.js'
import { openStoreIn } from '../../parts/store.js'

const store = await openStoreIn(t.testdir())
await store.open()
await store.migrate()
t.teardown(() => store.close())
const [account] = await store.accounts()
const accountId = account?.id ?? ''

const T0 = Date.UTC(2026, 10, 20, 10)

/** A pool with one upstream, what is told of it, and a clock. */
const scene = async (name: string) => {
  const pool = freshPool(accountId, name, T0)
  await store.createPool(pool)
  const told: EventNotice[] = []
  const at = { time: 0 }
  let isFailing = false
  const failures: string[] = []
  const begin = () =>
    new Outages({
      store: {
        outages: () => store.outages(),
        allPools: () => store.allPools(),
        noteOutage: async (id, since, notice) => {
          if (isFailing) throw new Error('disk full')
          const isNews = await store.noteOutage(id, since, null)
          if (isNews && notice !== null) told.push(notice)
          return isNews
        },
      },
      now: () => T0 + at.time,
      tick: () => at.time,
      failed: (error) => failures.push(error.message),
    })
  let outages = begin()
  const upstreamId = newId('up', T0)
  const health: UpstreamHealth = {
    poolId: pool.id,
    upstreamId,
    host: 'mta1.test',
    port: 25,
    state: 'active',
    breaker: 'closed',
    connections: 0,
    idle: 0,
    underWay: 0,
    limit: 4,
    full: null,
    lastSuccessAt: null,
    lastError: null,
  }
  return {
    pool,
    upstreamId,
    told,
    failures,
    fail: (is: boolean) => {
      isFailing = is
    },
    restart: () => {
      outages = begin()
    },
    /** A look each second, `seconds` times. */
    look: async (breaker: UpstreamHealth['breaker'], seconds = 1, over: Partial<UpstreamHealth> = {}) => {
      for (let n = 0; n < seconds; n++) {
        at.time += 1_000
        const lastSuccessAt = breaker === 'closed' ? T0 + at.time : null
        await outages.look([{ ...health, breaker, lastSuccessAt, ...over }])
      }
    },
    lookAtNothing: () => outages.look([]),
    types: () => told.map(({ type }) => type),
  }
}

t.test('told with who, where and why', async (t) => {
  const { look, told, pool, upstreamId } = await scene('a')
  await look('closed', 3)
  t.same(told, [])
  const lastError = { at: T0, stage: 'connect', message: 'connect ECONNREFUSED 127.0.0.1:25' }
  await look('open', 5, { lastError })
  t.strictSame(told, [
    {
      type: 'upstream.down',
      accountId,
      workspaceId: null,
      mode: 'live',
      now: T0 + 4_000,
      data: {
        upstream_id: upstreamId,
        egress_pool_ids: [pool.id],
        host: 'mta1.test',
        port: 25,
        why: { stage: 'connect', message: 'connect ECONNREFUSED 127.0.0.1:25' },
      },
    },
  ])
  await look('half-open', 2)
  await look('closed', 9)
  t.equal(told.length, 1, 'not well for long enough')
  await look('closed', 3)
  t.match(told[1], {
    type: 'upstream.up',
    data: { upstream_id: upstreamId, down_since: '2026-11-20T10:00:04.000Z', seconds: 17 },
  })
  await look('closed', 60)
  t.equal(told.length, 2)
})

t.test('one that flaps is told to be down, and then less and less often', async (t) => {
  const { look, types } = await scene('b')
  for (let n = 0; n < 20; n++) {
    await look('open', 2)
    await look('closed', 5)
  }
  t.same(types(), ['upstream.down'])
  for (let n = 0; n < 60; n++) {
    await look('open', 2)
    await look('closed', 30)
  }
  t.ok(types().length < 8, `${types().length} events for 60 outages in half an hour`)
  await look('closed', 700)
  t.equal(types().at(-1), 'upstream.up')
})

t.test('no login for a minute is an outage, though its breaker is closed, until mail is taken', async (t) => {
  const { look, told, types } = await scene('login')
  const at = T0 + 3_000
  await look('closed', 3)
  const lastError = { at, stage: 'auth', message: 'no token: login.test answered 401' }
  const shutOut = { lastError, lastSuccessAt: T0 + 2_000 }
  await look('closed', 59, shutOut)
  await look('closed', 1, { lastError: null })
  t.same(types(), [], 'let in before the minute was over')
  await look('closed', 60, shutOut)
  t.same(types(), [])
  await look('closed', 1, shutOut)
  t.match(told, [{ type: 'upstream.down', data: { why: { stage: 'auth', message: /^no token: / } } }])
  await look('closed', 600, shutOut)
  t.equal(told.length, 1, 'told once, and not to be up')
  await look('closed', 11, { lastError })
  t.same(types(), ['upstream.down', 'upstream.up'])
  const other = await scene('connection')
  await other.look('closed', 120, { lastError: { ...lastError, stage: 'connect' }, lastSuccessAt: null })
  t.same(other.types(), [], 'of connections the breaker judges')
})

t.test('an outage outlives a restart, and ends when mail is taken', async (t) => {
  const { look, types, restart } = await scene('c')
  await look('open', 2)
  restart()
  await look('open', 2)
  t.same(types(), ['upstream.down'], 'not told again')
  restart()
  await look('closed', 60, { lastSuccessAt: null })
  t.same(types(), ['upstream.down'], 'a new breaker proves nothing')
  await look('closed', 20)
  t.same(types(), ['upstream.down', 'upstream.up'])
  restart()
  await look('closed', 20)
  t.equal(types().length, 2)
})

t.test(
  'what could not be stored is told later; what is gone is forgotten; the sandbox is no upstream',
  async (t) => {
    const { look, types, fail, failures, lookAtNothing } = await scene('d')
    fail(true)
    await look('open', 2)
    t.same([types(), failures], [[], ['disk full', 'disk full']])
    fail(false)
    await look('open')
    t.same(types(), ['upstream.down'])
    await lookAtNothing()
    t.same(await store.outages(), [])
    t.same(types(), ['upstream.down'])
    const sandbox = (await store.allPools()).find(({ kind }) => kind === 'sandbox')
    await look('open', 3, { poolId: sandbox?.id ?? '' })
    t.same(types(), ['upstream.down'])
  },
)

t.test('pools that follow are named, too', async (t) => {
  const { look, told, pool } = await scene('e')
  const other = freshPool(accountId, 'follower', T0)
  await store.createPool(other)
  const workspace = await store.workspace(accountId, 'default')
  await store.updateWorkspace(workspace?.id ?? '', { poolId: pool.id })
  await look('open')
  t.same(told[0]?.data.egress_pool_ids, [
    pool.id,
    ...(await store.allPools()).filter((one) => one.follows === pool.id).map(({ id }) => id),
  ])
  t.match(JSON.stringify(told[0]?.data), other.id)
})
