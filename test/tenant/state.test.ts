/** What is known of the queue over a real store: live and test mail apart, what is held by what, and pools after a restart. */
import t from 'tap'
import { holdQueue } from '../../src/tenant/orders.js'
import type { RelayView } from '../../src/tenant/pool.js'
import { queueStates } from '../../src/tenant/waiting.js'
import { accepted, claimOne, HOUR, ofLease, type TestAccount, toOne } from '../store/fixture.js'
import { openHouse } from './house.js'

const setUp = async (test: Parameters<typeof openHouse>[0]) => {
  const house = await openHouse(test)
  const { store, tenants, account, clock } = house
  const shop = await tenants.createWorkspace(account.id, { name: 'Shop' })
  const pool = await tenants.updatePool(account.id, 'shop', { members: [{ host: 'mta1.test' }] })
  const at: TestAccount = { accountId: account.id, workspace: shop, poolId: shop.poolId }
  const sandbox = (await store.pool(account.id, 'sandbox'))?.id ?? ''
  const send = (over = {}, where = at) => accepted(store, where, { createdAt: clock.now(), ...over })
  const all = { accountId: account.id, workspaceId: null, isOperator: true }
  const ask = (view: RelayView | null = null, of: Parameters<typeof queueStates>[1] = all) =>
    queueStates({ store, clock, view, hasRelay: false }, of)
  const scope = { accountId: account.id, workspaceId: null, poolId: null, domain: null, emailId: null }
  const hold = (over: object, reason = 'a look first') =>
    holdQueue({ store, clock }, { ...scope, ...over }, reason)
  const [upstream] = pool.upstreams
  if (upstream === undefined) throw new Error('no upstream')
  return { ...house, at, sandbox, send, ask, hold, all, upstream }
}

t.test('test mail, appointments and what is held are no live mail that waits', async (t) => {
  const { send, ask, at, sandbox, clock, hold } = await setUp(t)
  await send({}, { ...at, poolId: sandbox })
  await send({ scheduledAt: clock.now() + HOUR }, { ...at, poolId: sandbox })
  const only = await ask()
  t.match(only.live, { title: 'Nothing waits.', waiting: 0, scheduled: 0, short: null, tone: 'ok' })
  t.match(only.test, { waiting: 1, scheduled: 1, title: 'Mail flows: 1 recipient on its way.' })
  await send({ scheduledAt: clock.now() + HOUR })
  t.match((await ask()).live, { waiting: 0, scheduled: 1, title: 'Nothing waits.' })
  const two = { recipients: [toOne('ana@slow.test'), toOne('bo@other.test')] }
  await send(two)
  t.match((await ask()).live, { waiting: 2, held: 0, scheduled: 1, short: '2 wait' })
  await hold({ domain: 'slow.test' })
  t.match((await ask()).live, { waiting: 1, held: 1, short: '1 waits, 1 held' })
  t.match((await ask()).live.title, 'Mail to slow.test is held: 1 recipient.')
})

t.test('held by its workspace is not held by its pool; of many single mails, how many', async (t) => {
  const { send, ask, at, hold, account, store, clock } = await setUp(t)
  await send()
  const { hold: put } = await hold({ workspaceId: at.workspace.id }, 'a leaked key')
  const { live } = await ask()
  t.equal(live.title, 'Workspace shop is held: 1 recipient.')
  t.match(live.facts.holds, [{ id: put.id, by: 'workspace', reason: 'a leaked key', recipients: 1 }])
  const own = { accountId: account.id, workspaceId: at.workspace.id, isOperator: false }
  const told = await ask(null, own)
  t.match(told.live.facts, { holds: [{ reason: null }], pools: [{ called: 'pool shop', failing: [] }] })
  await hold({}, 'all of it')
  t.match((await ask()).live, { title: 'Everything is held: 1 recipient.', tone: 'wait' })
  await store.operate({
    action: 'release',
    scope: { ...put, workspaceId: null },
    to: null,
    reason: 'x',
    now: clock.now(),
  })
  await store.operate({ action: 'release', scope: put, to: null, reason: 'x', now: clock.now() })
  for (const { id } of [await send(), await send()]) await hold({ emailId: id })
  t.match((await ask()).live, { held: 2, title: '2 recipients are held, by orders for single mails.' })
  await store.suspendWorkspace(at.workspace, 'invoice 17', clock.now())
  await send()
  t.match((await ask()).live, {
    held: 4,
    title: /are held, for 2 reasons/,
    says: /Workspace shop is suspended: 2 recipients/,
  })
})

t.test(
  'a pool is down by what the relay tells, by what was told before a restart, and by its own mail',
  async (t) => {
    const { send, ask, at, store, clock, upstream } = await setUp(t)
    const viewOf = (breaker: string, lastSuccessAt: number | null = null): RelayView => ({
      upstreams: new Map([[upstream.id, { breaker, full: null, lastSuccessAt, lastError: null }]]),
      throttled: [],
      captures: false,
    })
    await send()
    t.match((await ask(viewOf('open'))).live, { tone: 'bad', title: /^No upstream of pool shop answers: 1 / })
    t.match(
      (await ask(viewOf('closed'))).live.facts.pools.find(({ id }) => id === at.poolId),
      { state: 'ok' },
    )
    const since = clock.now()
    await store.noteOutage(upstream.id, since, null)
    clock.pass(60_000)
    for (const view of [null, viewOf('closed'), viewOf('half-open', since - 1)])
      t.match(
        (await ask(view)).live.facts.pools.find(({ id }) => id === at.poolId),
        { state: 'down', since },
      )
    await store.noteOutage(upstream.id, null, null)
    t.match(
      (await ask(viewOf('closed'))).live.facts.pools.find(({ id }) => id === at.poolId),
      { state: 'ok' },
    )
    const claimed = await claimOne(store, at, clock.now())
    await store.settle([
      ofLease(claimed, {
        seen: 'postponed',
        retryAt: clock.now() + HOUR,
        at: clock.now(),
        reason: 'connection',
      }),
    ])
    const stateIn = async (view: RelayView | null) =>
      (await ask(view)).live.facts.pools.find(({ id }) => id === at.poolId)?.state
    t.equal(
      await stateIn(viewOf('closed')),
      'down',
      'its mail was last refused to connect, and nobody took any since',
    )
    t.equal(await stateIn(null), 'down')
    t.equal(await stateIn(viewOf('closed', clock.now() + 1)), 'ok', 'it took mail since')
    t.match((await ask(null)).live.title, 'No upstream of pool shop answers: 1 recipient waits.')
  },
)
