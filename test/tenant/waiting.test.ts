/** Why mail waits: each reason by itself, and which of several is told. */
import t from 'tap'
import { beginOf, dayOf } from '../../src/lifecycle/warmup.js'
import { WAITING_REASONS } from '../../src/record/queue.js'
import type { Store } from '../../src/store/port/store.js'
import type { UpstreamRow } from '../../src/store/port/tenants.js'
import { holdQueue, orderQueue } from '../../src/tenant/orders.js'
import type { RelayView } from '../../src/tenant/pool.js'
import { waitingOf } from '../../src/tenant/waiting.js'
import { accepted, claimOne, HOUR, ofLease, type TestAccount, toOne } from '../store/fixture.js'
import { openHouse } from './house.js'

type Living = Parameters<RelayView['upstreams']['get']>[0] extends string
  ? NonNullable<ReturnType<RelayView['upstreams']['get']>>
  : never

const HEALTHY: Living = { breaker: 'closed', full: null, lastSuccessAt: null, lastError: null }

const viewOf = (
  upstreams: readonly UpstreamRow[],
  living: Partial<Living>,
  more: Partial<RelayView> = {},
) => ({
  upstreams: new Map(upstreams.map(({ id }) => [id, { ...HEALTHY, ...living }])),
  throttled: [],
  captures: false,
  ...more,
})

const setUp = async (test: Parameters<typeof openHouse>[0]) => {
  const house = await openHouse(test)
  const { store, tenants, account, clock } = house
  const shop = await tenants.createWorkspace(account.id, { name: 'Shop' })
  const at: TestAccount = { accountId: account.id, workspace: shop, poolId: shop.poolId }
  const send = (over = {}) => accepted(store, at, { createdAt: clock.now(), ...over })
  const all = { accountId: account.id, workspaceId: null, mode: null }
  const ask = async (id: string, view: RelayView | null = null) => {
    const record = await store.email(all, id)
    if (record === null) throw new Error('no mail')
    const found = (await waitingOf({ store, clock, view }, account.id, [record]))(id)
    const recipients = record.recipients.map((one) => found.recipients.get(one.id)?.reason ?? null)
    return { ...found, first: found.first, recipients }
  }
  const members = async (...hosts: readonly string[]) =>
    (await tenants.updatePool(account.id, 'default', { members: hosts.map((host) => ({ host })) })).upstreams
  const scope = { accountId: account.id, workspaceId: null, poolId: null, domain: null, emailId: null }
  return { ...house, at, send, ask, members, scope }
}

t.test('no upstream, then none that is active, then none that answers', async (t) => {
  const { send, ask, members, tenants, account, at } = await setUp(t)
  const { id } = await send()
  t.match((await ask(id)).first, {
    reason: 'no_upstream',
    plain: 'pool shop has no upstream',
    more: /^nor has default/,
    remedy: 'postern pool update default --upstream URL',
    until: null,
  })
  t.equal((await ask(id, viewOf([], {}, { captures: true }))).first, null, 'everything goes to the sandbox')
  const upstreams = await members('mta1.test', 'mta2.test')
  t.equal((await ask(id)).first, null, 'nothing is known to be in its way')
  t.equal((await ask(id, viewOf(upstreams, {}))).first, null)
  const lastError = { stage: 'connect', message: 'ECONNREFUSED' }
  t.match((await ask(id, viewOf(upstreams, { breaker: 'open', lastError }))).first, {
    reason: 'upstreams_down',
    plain: 'no upstream of pool shop answers',
    more: 'mta1.test:25: connect: ECONNREFUSED; mta2.test:25: connect: ECONNREFUSED',
    remedy: 'postern upstream test default',
  })
  const atLogin = { stage: 'auth', message: 'no token: login.test answered 401' }
  t.match((await ask(id, viewOf(upstreams, { breaker: 'open', lastError: atLogin }))).first, {
    reason: 'login',
    plain: 'no upstream of pool shop lets us sign in',
    more: /^mta1.test:25: auth: no token: login.test answered 401; /,
    remedy: 'postern upstream test default',
  })
  const [one, two] = upstreams
  const half = viewOf(
    upstreams,
    {},
    {
      upstreams: new Map([
        [one?.id ?? '', { ...HEALTHY, breaker: 'open' }],
        [two?.id ?? '', HEALTHY],
      ]),
    },
  )
  t.equal((await ask(id, half)).first, null, 'one is enough')
  for (const full of ['rate', 'connections'] as const)
    t.match((await ask(id, viewOf(upstreams, { full }))).first, {
      reason: 'rate',
      plain: 'pool shop sends as fast as it may',
    })
  await tenants.updatePool(account.id, 'default', {
    members: [
      { host: 'mta1.test', state: 'paused' },
      { host: 'mta2.test', state: 'draining' },
    ],
  })
  t.match((await ask(id, viewOf(upstreams, { breaker: 'open' }))).first, {
    reason: 'paused',
    remedy: 'postern upstream resume default',
  })
  await tenants.updatePool(account.id, 'shop', { members: [{ host: 'own.test' }] })
  t.equal((await ask(id)).first, null, `${at.workspace.slug} has one of its own now`)
})

t.test('nobody is left but members that were given what their warm-up allows today', async (t) => {
  const { store, clock, send, ask, tenants, account } = await setUp(t)
  const { id } = await send()
  const warmup = { first: 2, days: 3 }
  const members = [{ host: 'new.test', warmup }, { host: 'old.test' }]
  const { upstreams } = await tenants.updatePool(account.id, 'default', { members })
  const [one, two] = upstreams.map((row) => row.id) as [string, string]
  const row = upstreams[0]?.warmup
  const day = dayOf(clock.now())
  const view = (breaker: string) =>
    viewOf(
      [],
      {},
      {
        upstreams: new Map(
          [one, two].map((of) => [of, { ...HEALTHY, breaker: of === two ? breaker : 'closed' }]),
        ),
      },
    )
  const take = (count: number) =>
    store.takeWarmup({ ...warmup, id: row?.id ?? '', day, count, now: clock.now() })
  await take(1)
  t.equal((await ask(id, view('open'))).first, null, 'one is left of the day')
  await take(1)
  t.equal((await ask(id, view('closed'))).first, null, 'the other member takes it')
  t.match((await ask(id, view('open'))).first, {
    ...{ reason: 'warmup', plain: 'pool shop has sent what its warm-up allows today', remedy: null },
    ...{ more: 'new.test:25 was given 2 of 2', until: beginOf(day + 1) },
  })
  await tenants.updatePool(account.id, 'default', { members: [{ host: 'new.test' }] })
  t.equal((await ask(id)).first?.reason, 'warmup', 'whoever asks, the store knows')
  await tenants.updatePool(account.id, 'default', { members: [{ host: 'new.test', warmup: null }] })
  t.equal((await ask(id)).first, null)
})

t.test('held: by an order, before it was looked at, and because it may have left', async (t) => {
  const { store, send, ask, scope, clock, at, members } = await setUp(t)
  const deps = { store: store as Store, clock }
  const first = await send()
  const { hold } = await holdQueue(deps, { ...scope, workspaceId: at.workspace.id }, 'wrong price')
  const parked = await ask(first.id)
  t.match(parked.first, {
    reason: 'held',
    plain: 'workspace shop is held',
    short: 'it is held',
    more: 'wrong price',
    remedy: `postern queue release --workspace ${at.workspace.id} --reason WHY`,
  })
  const later = await send({ scheduledAt: clock.now() + HOUR })
  t.equal((await ask(later.id)).first?.reason, 'held', 'a hold that stands, before its time')
  await orderQueue(deps, 'release', { ...scope, workspaceId: at.workspace.id }, 'right')
  t.equal((await ask(first.id)).first?.reason, 'no_upstream')
  await holdQueue(deps, { ...scope, domain: 'else.test' }, 'x')
  t.equal((await ask(first.id)).first?.reason, 'no_upstream', 'about others')
  await holdQueue(deps, { ...scope, domain: 'example.com' }, 'domain')
  t.match((await ask(first.id)).first, { remedy: /release --domain example.com / })
  await orderQueue(deps, 'release', { ...scope, domain: 'example.com' }, 'right')
  await holdQueue(deps, { ...scope, emailId: first.id }, 'this')
  t.match((await ask(first.id)).first, { remedy: new RegExp(`release --email ${first.id} `) })
  t.ok(hold.id)
  await members('mta1.test')
})

t.test('suspended before all else', async (t) => {
  const { store, send, ask, scope, clock, at } = await setUp(t)
  const { id } = await send()
  await holdQueue({ store, clock }, { ...scope, workspaceId: at.workspace.id }, 'a look first')
  await store.suspendWorkspace(at.workspace, 'invoice 17', clock.now())
  t.match((await ask(id)).first, {
    reason: 'suspended',
    plain: 'the workspace is suspended',
    more: 'invoice 17',
    remedy: 'postern workspace resume shop',
  })
  await store.resumeWorkspace(at.workspace.id, clock.now())
  t.equal((await ask(id)).first?.reason, 'held')
})

t.test('backoff and schedule, until when; a slow domain', async (t) => {
  const { store, send, ask, members, clock, at } = await setUp(t)
  const upstreams = await members('mta1.test')
  const retryAt = clock.now() + 5 * 60_000
  const { id } = await send()
  const claimed = await claimOne(store, at, clock.now())
  t.same((await ask(id, viewOf(upstreams, {}))).recipients, [null], 'at hand')
  t.same((await ask(id, viewOf(upstreams, { full: 'rate' }))).recipients, ['rate'], 'at hand, not begun')
  await store.attempting([
    {
      recipientId: claimed.recipientId,
      leaseGen: claimed.leaseGen,
      attempt: 1,
      upstreamId: 'up',
      at: clock.now(),
    },
  ])
  t.same((await ask(id, viewOf(upstreams, { full: 'rate' }))).recipients, [null], 'under way')
  await store.settle([ofLease(claimed, { seen: 'postponed', retryAt, at: clock.now() })])
  t.match((await ask(id)).first, {
    reason: 'backoff',
    until: retryAt,
    remedy: `postern queue retry --email ${id}`,
  })
  t.equal((await ask(id, viewOf(upstreams, { full: 'rate' }))).first?.reason, 'backoff', 'it is not its turn')
  const slow = (until: number, domain = 'example.com') =>
    viewOf(upstreams, {}, { throttled: [{ poolId: at.poolId, domain, until }] })
  t.match((await ask(id, slow(clock.now() + HOUR))).first, { reason: 'throttled', until: retryAt })
  t.equal((await ask(id, slow(clock.now() + HOUR, 'else.test'))).first?.reason, 'backoff')
  clock.pass(6 * 60_000)
  t.match((await ask(id, slow(clock.now() + 9))).first, { reason: 'throttled', until: clock.now() + 9 })
  t.match((await ask(id, slow(clock.now() - 9))).first, { reason: 'throttled', until: null })
  const at9 = clock.now() + 9 * HOUR
  const later = await send({ scheduledAt: at9 })
  t.match((await ask(later.id)).first, { reason: 'scheduled', until: at9 })
})

t.test('what waits for others, or not at all, waits for nothing here', async (t) => {
  const { store, send, ask, clock, at, members } = await setUp(t)
  const recipients = [toOne('ana@example.com'), toOne('bob@example.com'), toOne('cy@slow.test')]
  const { id } = await send({ recipients })
  t.same((await ask(id)).recipients, ['no_upstream', 'no_upstream', 'no_upstream'])
  const upstreams = await members('mta1.test')
  const claimed = await store.claim(at.poolId, 9, clock.now() + HOUR, clock.now())
  const of = (i: number) => {
    const one = claimed.find(({ recipientId }) => recipientId === recipients[i]?.id)
    if (one === undefined) throw new Error('not claimed')
    return one
  }
  await store.settle([
    ofLease(of(0), { at: clock.now() }),
    ofLease(of(1), { seen: 'postponed', retryAt: clock.now() + HOUR, at: clock.now() }),
    ofLease(of(2), { seen: 'postponed', retryAt: clock.now() + HOUR, at: clock.now() }),
  ])
  const pace = { throttled: [{ poolId: at.poolId, domain: 'slow.test', until: clock.now() + HOUR }] }
  const mixed = await ask(id, viewOf(upstreams, {}, pace))
  t.same(mixed.recipients, [null, 'backoff', 'throttled'])
  t.equal(mixed.first?.reason, 'throttled', 'the first of them all')
  // a report said `delayed`: the upstream has it, and no try is due here
  await store.settle([
    {
      ...ofLease(of(0)),
      leaseGen: null,
      attempt: null,
      seen: 'dsn-delayed',
      source: 'dsn',
      deadline: clock.now() + HOUR,
    },
  ])
  t.same((await ask(id)).recipients[0], null)
  t.same(WAITING_REASONS.slice(0, 2), ['suspended', 'held'])
})
