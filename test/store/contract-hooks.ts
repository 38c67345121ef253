/** Endpoints, their places and their posts. */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type {
  BriefPost,
  EndpointRow,
  EndpointState,
  ListedPost,
  PostRow,
} from '../../src/store/port/hooks.js'
import type { Store } from '../../src/store/port/store.js'
import { addWorkspace, HOUR, newAccount, type OpenStore, page, T0, type TestAccount } from './fixture.js'

const DAY = 24 * HOUR
const KEEP = { bodiesMs: 1e12, emailsMs: 1e12 }

export const endpointFor = (at: TestAccount, over: Partial<EndpointRow> = {}): EndpointRow => ({
  id: newId('wh'),
  accountId: at.accountId,
  workspaceId: at.workspace.id,
  mode: 'live',
  url: 'https://app.test/hook',
  format: 'standard',
  events: ['*'],
  status: 'enabled',
  disabledReason: null,
  disabledAt: null,
  secret: 'sealed-1',
  previousSecret: null,
  previousUntil: null,
  publicKey: null,
  auth: null,
  headers: null,
  headerNames: [],
  domains: [],
  tags: [],
  fields: 'full',
  maxInFlight: 8,
  replayRate: 50,
  createdAt: T0,
  updatedAt: T0,
  ...over,
})

const START: EndpointState = {
  generation: 1,
  mark: 'm1',
  health: 'healthy',
  failingSince: null,
  failures: 0,
  firstFailedAt: null,
  lastFailedAt: null,
  lastSucceededAt: null,
  probes: 0,
  probeAt: null,
  told: 0,
  givenUp: 0,
  givenUpFrom: null,
  givenUpToldAt: null,
}

export const postFor = (endpointId: string, over: Partial<PostRow> = {}): PostRow => ({
  id: newId('post'),
  endpointId,
  eventId: newId('evt'),
  eventType: 'email.sent',
  eventAt: T0,
  kind: 'event',
  state: 'waiting',
  attempts: 1,
  dueAt: T0 + 5000,
  tries: [{ at: T0, status: 500, ms: 3, cause: 'it answered 500' }],
  url: 'https://app.test/hook',
  headers: { 'webhook-id': 'evt' },
  status: 500,
  ms: 3,
  answer: 'no',
  cause: 'it answered 500',
  createdAt: T0,
  updatedAt: T0,
  ...over,
})

const ENDED = { state: 'failed', dueAt: null } as const

const brief = (n: number, over: Partial<BriefPost> = {}): BriefPost[] =>
  Array.from({ length: n }, () => ({
    eventId: newId('evt'),
    eventType: 'email.sent',
    eventAt: T0,
    status: 200,
    ms: 2,
    state: 'succeeded',
    at: T0,
    ...over,
  }))

const added = async (
  store: Store,
  at: TestAccount,
  over: Partial<EndpointRow> = {},
): Promise<EndpointRow> => {
  const row = endpointFor(at, over)
  await store.createEndpoint(row, 'm1')
  return row
}

const keep = (
  store: Store,
  endpointId: string,
  posts: readonly BriefPost[],
  over = {},
  was: string | null = null,
): Promise<void> => store.keepPlaces([{ endpointId, state: { ...START, ...over }, was, brief: posts }])

const idsOf = (posts: readonly ListedPost[]): string[] => posts.map(({ eventId }) => eventId)

const endpointTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('an endpoint is read as it was stored, at its place', async (t) => {
    const at = await newAccount(store)
    const tags = [{ name: 'kind', value: null }]
    const row = await added(store, at, {
      ...{ format: 'sendgrid', publicKey: 'key', auth: 'sealed' },
      ...{ headers: 'sealed', headerNames: ['x-a'], domains: ['a.test'], tags },
    })
    const known = { ...row, state: START, waiting: 0 }
    t.same(await store.endpoint(at.accountId, row.id), known)
    t.same(
      (await store.allEndpoints()).filter(({ id }) => id === row.id),
      [known],
    )
    t.equal(await store.endpoint(newId('acct'), row.id), null, 'it is not of another account')
  })

  await t.test('the list of an account, of a workspace, of a mode', async (t) => {
    const at = await newAccount(store)
    const shop = await addWorkspace(store, at, 'shop')
    const whole = await added(store, at, { workspaceId: null })
    const test = await added(store, shop, { mode: 'test' })
    const live = await added(store, shop)
    const list = async (workspaceId: string | null, mode: 'live' | 'test' | null) =>
      (await store.endpoints({ accountId: at.accountId, workspaceId, mode }, page())).rows.map(({ id }) => id)
    t.same(await list(null, null), [live.id, test.id, whole.id])
    t.same(await list(shop.workspace.id, null), [live.id, test.id])
    t.same(await list(shop.workspace.id, 'test'), [test.id])
    t.same(await list(null, 'live'), [live.id, whole.id])
    const { accountId } = at
    const failing = async () =>
      (await store.endpoints({ accountId, workspaceId: null, mode: null, failing: true }, page())).rows
    t.same(await failing(), [])
    for (const { id } of [test, live]) await keep(store, id, [], { health: 'failing' })
    await store.disableEndpoint(accountId, live.id, 'gone', T0)
    t.match(await failing(), [{ id: test.id, state: { health: 'failing' } }], 'not what is switched off')
    t.equal((await failing()).length, 1)
  })

  await t.test('a change leaves the place and what waits', async (t) => {
    const at = await newAccount(store)
    const { id } = await added(store, at)
    await keep(store, id, [], { mark: 'm2', failures: 3 })
    await store.savePosts([postFor(id)])
    t.ok(await store.updateEndpoint(at.accountId, id, { url: 'https://b.test/', maxInFlight: 1 }, T0 + 1))
    const known = await store.endpoint(at.accountId, id)
    t.match(known, { url: 'https://b.test/', maxInFlight: 1, updatedAt: T0 + 1, waiting: 1 })
    t.match(known?.state, { mark: 'm2', failures: 3, generation: 1 })
    t.notOk(await store.updateEndpoint(newId('acct'), id, { url: 'https://c.test/' }, T0))
  })

  await t.test('a rotation keeps the secret before for a while, or not', async (t) => {
    const at = await newAccount(store)
    const { id } = await added(store, at)
    const secrets = async () => {
      const row = await store.endpoint(at.accountId, id)
      return [row?.secret, row?.publicKey, row?.previousSecret, row?.previousUntil]
    }
    t.ok(
      await store.rotateEndpoint(at.accountId, id, { secret: 'sealed-2', publicKey: 'key-2' }, T0 + DAY, T0),
    )
    t.same(await secrets(), ['sealed-2', 'key-2', 'sealed-1', T0 + DAY])
    t.ok(await store.rotateEndpoint(at.accountId, id, { secret: 'sealed-3', publicKey: null }, null, T0))
    t.same(await secrets(), ['sealed-3', null, null, null])
    t.notOk(await store.rotateEndpoint(newId('acct'), id, { secret: 'x', publicKey: null }, null, T0))
  })

  await t.test('disabling ends a generation, and enabling begins one', async (t) => {
    const at = await newAccount(store)
    const { id } = await added(store, at)
    const state = async () => (await store.endpoint(at.accountId, id))?.state
    t.notOk(await store.disableEndpoint(newId('acct'), id, 'requested', T0))
    t.ok(await store.disableEndpoint(at.accountId, id, 'gone', T0 + 1))
    t.ok(await store.disableEndpoint(at.accountId, id, 'requested', T0 + 2), 'again changes nothing')
    t.match(await store.endpoint(at.accountId, id), {
      status: 'disabled',
      disabledReason: 'gone',
      disabledAt: T0 + 1,
    })
    await keep(store, id, [], { mark: 'late', failures: 9 })
    t.match(await state(), { generation: 2, mark: 'm1', failures: 0 }, 'what comes late changes nothing')

    await keep(store, id, [], { generation: 2, mark: 'm5', failures: 9, health: 'failing', told: 2 })
    t.ok(await store.enableEndpoint(at.accountId, id, null, T0 + 3))
    t.match(await store.endpoint(at.accountId, id), { status: 'enabled', disabledReason: null })
    t.match(await state(), { generation: 3, mark: 'm5', failures: 0, health: 'healthy', told: 0 })
    t.ok(await store.enableEndpoint(at.accountId, id, 'm7', T0 + 4), 'an enabled one stays where it is')
    t.match(await state(), { generation: 3, mark: 'm5' })
  })

  await t.test('how far an older generation came is kept, unless somebody moved the place', async (t) => {
    const at = await newAccount(store)
    const { id } = await added(store, at)
    const state = async () => (await store.endpoint(at.accountId, id))?.state
    await store.disableEndpoint(at.accountId, id, 'requested', T0 + 1)
    await keep(store, id, [], { mark: 'm2', failures: 9 }, 'm1')
    t.match(await state(), { generation: 2, mark: 'm2', failures: 0 }, 'the place alone')
    await keep(store, id, [], { mark: 'm3' }, 'm1')
    t.match(await state(), { mark: 'm2' }, 'from a place that it is not at')
    await store.enableEndpoint(at.accountId, id, null, T0 + 2)
    await keep(store, id, [], { mark: 'm4' }, 'm2')
    t.match(await state(), { generation: 3, mark: 'm4' })
    await store.disableEndpoint(at.accountId, id, 'requested', T0 + 3)
    await store.enableEndpoint(at.accountId, id, 'm9', T0 + 4)
    await keep(store, id, [], { generation: 3, mark: 'm5' }, 'm4')
    t.match(await state(), { generation: 5, mark: 'm9' }, 'not behind an order to begin later')
  })

  await t.test('enabled from a later event, what waits is skipped', async (t) => {
    const at = await newAccount(store)
    const { id } = await added(store, at)
    const [event, replay] = [postFor(id), postFor(id, { kind: 'replay' })]
    await store.savePosts([event, replay])
    await store.disableEndpoint(at.accountId, id, 'requested', T0)
    await store.enableEndpoint(at.accountId, id, 'm9', T0)
    t.match(await store.endpoint(at.accountId, id), { waiting: 1, state: { mark: 'm9' } })
    t.match(await store.post(id, event.id), { state: 'canceled', dueAt: null })
    t.match(await store.post(id, replay.id), { state: 'waiting' })
  })
}

const postTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('a post is stored, and stored over', async (t) => {
    const { id } = await added(store, await newAccount(store))
    const post = postFor(id)
    await store.savePosts([post])
    t.same(await store.post(id, post.id), post)
    t.equal(await store.post(newId('wh'), post.id), null)
    const ended = { ...post, state: 'succeeded', dueAt: null, attempts: 2, cause: null } as const
    await store.savePosts([ended])
    t.same(await store.post(id, post.id), ended)
  })

  await t.test('an event that is posted again after a crash keeps its one row', async (t) => {
    const { id } = await added(store, await newAccount(store))
    const post = postFor(id)
    await store.savePosts([post])
    await store.savePosts([postFor(id, { eventId: post.eventId, attempts: 2 })])
    await store.savePosts([postFor(id, { eventId: post.eventId, kind: 'replay' })])
    const { rows } = await store.posts(id, false, page())
    t.same(
      rows.map(({ id, kind }) => [id === post.id, kind]),
      [
        [false, 'replay'],
        [true, 'event'],
      ],
    )
    t.equal((await store.post(id, post.id))?.attempts, 2)
  })

  await t.test('what waits is found in the order of its time', async (t) => {
    const { id } = await added(store, await newAccount(store))
    const posts = [30, 10, 20].map((due) => postFor(id, { dueAt: T0 + due }))
    await store.savePosts([...posts, postFor(id, ENDED)])
    const due = async (now: number | null, limit = 10) =>
      (await store.waitingPosts(id, now, limit)).map(({ dueAt }) => (dueAt ?? 0) - T0)
    t.same(await due(T0 + 9), [])
    t.same(await due(T0 + 20), [10, 20])
    t.same(await due(null), [10, 20, 30])
    t.same(await due(null, 1), [10])
    await store.adjustPosts(T0, 5, 25)
    t.same(await due(null), [15, 25, 25])
  })

  await t.test('a clock that was set moves the times of a place', async (t) => {
    const at = await newAccount(store)
    const { id } = await added(store, at)
    const times = { failingSince: T0, firstFailedAt: T0, lastFailedAt: T0, lastSucceededAt: T0 }
    await keep(store, id, [], { ...times, probeAt: T0 + 10 })
    await store.adjustPosts(T0 + 100, 100, 1000)
    t.match((await store.endpoint(at.accountId, id))?.state, {
      failingSince: T0 + 100,
      firstFailedAt: T0 + 100,
      lastFailedAt: T0 + 100,
      lastSucceededAt: T0 + 100,
      probeAt: T0 + 110,
      givenUpToldAt: null,
    })
  })
}

/** Every event of the list, walked from the top down. */
const walk = async (store: Store, id: string, failed: boolean, limit: number): Promise<string[]> => {
  const found: string[] = []
  let anchor: string | null = null
  for (let hops = 0; hops < 200; hops++) {
    const { rows, older, hasOlder } = await store.posts(id, failed, page({ limit, anchor }))
    found.push(...idsOf(rows))
    if (!hasOlder) return found
    anchor = older
  }
  throw new Error('the list has no end')
}

const listTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('one list over posts in full and in brief', async (t) => {
    const { id } = await added(store, await newAccount(store))
    const other = await added(store, await newAccount(store))
    const expected: string[] = []
    for (let round = 0; round < 4; round++) {
      const full = postFor(id, round % 2 === 0 ? {} : { cause: null, ...ENDED, state: 'succeeded' })
      const taken = brief(7)
      const lost = brief(3, { state: 'failed', status: null })
      await store.savePosts([full])
      await keep(store, id, [...lost, ...taken])
      await keep(store, other.id, brief(5))
      expected.unshift(...idsOf([full, ...taken, ...lost] as never).reverse())
    }
    for (const limit of [1, 3, 4, 100]) t.same(await walk(store, id, false, limit), expected, `by ${limit}`)
    const failed = await walk(store, id, true, 2)
    t.equal(failed.length, 2 + 4 * 3)
    t.same(
      failed,
      expected.filter((one) => failed.includes(one)),
    )
    const { total } = await store.posts(id, false, page({ countUpTo: 100 }))
    t.equal(total, 44)
    t.equal((await store.posts(id, true, page({ countUpTo: 5 }))).total, 5)
  })

  await t.test('following the newest end gives what is stored later, once', async (t) => {
    const { id } = await added(store, await newAccount(store))
    await keep(store, id, brief(3))
    let { newer } = await store.posts(id, false, page())
    const later = [...brief(5), ...brief(2, { state: 'failed' })]
    await keep(store, id, later)
    const post = postFor(id)
    await store.savePosts([post])
    const got: string[] = []
    for (let hop = 0; hop < 5; hop++) {
      const next = await store.posts(id, false, page({ direction: 'newer', anchor: newer, limit: 2 }))
      got.push(...idsOf(next.rows).reverse())
      newer = next.newer
    }
    t.same(got, [...idsOf(later as never), post.eventId])
  })

  await t.test('an empty list has a newest end too', async (t) => {
    const { id } = await added(store, await newAccount(store))
    const empty = await store.posts(id, false, page({ countUpTo: 10 }))
    t.match(empty, { rows: [], hasOlder: false, hasNewer: false, total: 0 })
    await keep(store, id, brief(1))
    const next = await store.posts(id, false, page({ direction: 'newer', anchor: empty.newer }))
    t.equal(next.rows.length, 1)
  })

  await t.test('a brief post says how it went', async (t) => {
    const { id } = await added(store, await newAccount(store))
    await keep(store, id, [...brief(1, { ms: 12 }), ...brief(1, { state: 'failed', status: null, ms: null })])
    const { rows } = await store.posts(id, false, page())
    t.match(rows, [
      { id: null, state: 'failed', kind: 'event', attempts: 0, cause: String, status: null },
      { id: null, state: 'succeeded', attempts: 1, cause: null, status: 200, ms: 12, answer: null },
    ])
  })
}

const eventTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('all that is kept of one event', async (t) => {
    const { id } = await added(store, await newAccount(store))
    // events are older than the posts of them, also by the clock of a database that answers late
    const now = Date.now() - 10_000
    const taken = brief(3, { eventAt: now })
    const lost = brief(2, { state: 'failed', eventAt: now })
    await keep(store, id, [...taken, ...lost])
    const [, one] = taken
    const [, two] = lost
    const again = postFor(id, { eventId: one?.eventId ?? '', kind: 'replay' })
    await store.savePosts([postFor(id), again])
    const kept = async (eventId: string | undefined, at: number | null) =>
      (await store.postsOfEvent(id, eventId ?? '', at)).map(({ kind, state, eventId }) => [
        kind,
        state,
        eventId,
      ])
    t.same(await kept(one?.eventId, now), [
      ['event', 'succeeded', one?.eventId],
      ['replay', again.state, one?.eventId],
    ])
    t.same(await kept(two?.eventId, now), [['event', 'failed', two?.eventId]])
    t.same(await kept(one?.eventId, null), [['replay', again.state, one?.eventId]])
    t.same(await kept('evt_other', now), [])
    const other = await added(store, await newAccount(store))
    t.same(await store.postsOfEvent(other.id, one?.eventId ?? '', now), [])
  })
}

const replayTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('failed posts, oldest first, but for those replayed since', async (t) => {
    const { id } = await added(store, await newAccount(store))
    const lost = brief(3, { state: 'failed', eventAt: T0 + 10 })
    await keep(store, id, [...lost, ...brief(4)])
    const ended = postFor(id, { ...ENDED, eventAt: T0 + 20 })
    const again = postFor(id, { ...ENDED, eventAt: T0 + 20 })
    await store.savePosts([ended, postFor(id), again])
    await store.savePosts([postFor(id, { eventId: again.eventId, kind: 'replay' })])
    const got: string[] = []
    let after: string | null = null
    do {
      const found: Awaited<ReturnType<Store['failedPosts']>> = await store.failedPosts(
        id,
        null,
        T0 + DAY,
        after,
        2,
      )
      got.push(...idsOf(found.posts))
      after = found.next
    } while (after !== null)
    t.same(got, [...idsOf(lost as never), ended.eventId])
    const timed = async (since: number | null, until: number) =>
      (await store.failedPosts(id, since, until, null, 100)).posts.length
    t.equal(await timed(T0 + 20, T0 + 20), 1)
    t.equal(await timed(null, T0 + 19), 3)
  })

  await t.test('a replay moves on with its posts, and ends', async (t) => {
    const { id } = await added(store, await newAccount(store))
    const row = {
      id: newId('rep'),
      endpointId: id,
      failed: false,
      place: 'm3',
      since: null,
      until: T0 + DAY,
      made: 0,
      createdAt: T0,
    }
    const mine = async () => (await store.replays()).filter(({ endpointId }) => endpointId === id)
    await store.addReplay(row)
    t.same(await mine(), [row])
    const posts = [postFor(id, { kind: 'replay' }), postFor(id, { kind: 'replay' })]
    await store.advanceReplay(row.id, 'm4', posts)
    t.match(await mine(), [{ place: 'm4', made: 2 }])
    t.equal((await store.waitingPosts(id, null, 10)).length, 2)
    await store.advanceReplay(row.id, null, [])
    t.same(await mine(), [])
  })
}

const endTests = async (t: Test, open: OpenStore): Promise<void> => {
  const goneFor = async (store: Store, id: string): Promise<void> => {
    await store.sweep(T0, KEEP)
    await store.savePosts([postFor(id)])
    await keep(store, id, brief(2))
    t.same((await store.posts(id, false, page())).rows, [], 'of one that is gone nothing is stored')
    t.same(await store.replays(), [])
  }

  await t.test('a deleted endpoint goes with all that was posted to it', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const { id } = await added(store, at)
    const stays = await added(store, at)
    for (const one of [id, stays.id]) {
      await store.savePosts(Array.from({ length: 450 }, () => postFor(one)))
      await keep(store, one, brief(2))
    }
    t.notOk(await store.deleteEndpoint(newId('acct'), id, T0))
    t.ok(await store.deleteEndpoint(at.accountId, id, T0))
    t.notOk(await store.deleteEndpoint(at.accountId, id, T0))
    t.equal(await store.endpoint(at.accountId, id), null)
    t.equal((await store.allEndpoints()).length, 1)
    await goneFor(store, id)
    t.equal((await store.posts(stays.id, false, page({ countUpTo: 1000 }))).total, 452)
  })

  await t.test('the endpoints of a deleted workspace go with it', async (t) => {
    const store = await open(t)
    const other = await newAccount(store)
    const at = await addWorkspace(store, other, 'shop')
    const { id } = await added(store, at)
    const whole = await added(store, other, { workspaceId: null })
    await store.savePosts([postFor(id)])
    await store.deleteWorkspace(at.accountId, at.workspace.id, 'gone', T0)
    t.same(
      (await store.allEndpoints()).map(({ id }) => id),
      [whole.id],
    )
    await goneFor(store, id)
  })

  await t.test('what has ended is kept for four days, what waits stays', async (t) => {
    const store = await open(t)
    const { id } = await added(store, await newAccount(store))
    await store.savePosts([postFor(id), postFor(id, ENDED)])
    await keep(store, id, brief(3))
    await store.sweep(T0 + 4 * DAY, KEEP)
    t.equal((await store.posts(id, false, page())).rows.length, 5)
    await store.sweep(T0 + 4 * DAY + 1, KEEP)
    const { rows } = await store.posts(id, false, page())
    t.match(rows, [{ state: 'waiting' }])
    t.equal(rows.length, 1)
  })

  await t.test('an endpoint that refuses everything keeps the latest 5,000', async (t) => {
    const store = await open(t)
    const { id } = await added(store, await newAccount(store))
    const posts = Array.from({ length: 5_800 }, () => postFor(id, ENDED))
    await store.savePosts([postFor(id), ...posts])
    const total = (await store.posts(id, false, page({ countUpTo: 10_000 }))).total ?? 0
    t.ok(total > 5_000 && total <= 5_201, `${total}`)
    t.equal((await store.waitingPosts(id, null, 10)).length, 1)
  })
}

export const hooksContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await endpointTests(t, store)
  await postTests(t, store)
  await listTests(t, store)
  await eventTests(t, store)
  await replayTests(t, store)
  await endTests(t, open)
}
