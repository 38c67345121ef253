/** The engine over a real store, posting to a real receiver that does what receivers do. */
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import type { EndpointRow } from '../../../src/store/port-hooks.js'
import { eventually } from '../../parts/eventually.js'
import { addWorkspace, mailFor } from '../../store/fixture.js'
import { type Bench, bench, DAY, gotAll, HOUR, MINUTE, SECOND, SECRET } from './fixture.js'

const DOWN = { kind: 'status', status: 500 } as const
const UP = { kind: 'status', status: 200 } as const

const isHealth = (b: Bench, id: string, health: string): Promise<unknown> =>
  eventually(health, async () => (await b.state(id)).health === health, { seen: () => b.state(id) })

/** Time goes by in steps, as long as it takes. */
const passUntil = (b: Bench, what: string, step: number, isThere: () => boolean | Promise<boolean>) =>
  eventually(what, async () => {
    if (await isThere()) return true
    b.clock.pass(step)
    return false
  })

t.test('every event is posted once, signed, and listed in brief', async (t) => {
  const b = await bench(t)
  const id = await b.add('/a')
  const before = await b.events(5)
  const stop = await b.start()
  const ids = [...before, ...(await b.events(300))]
  await gotAll(b, '/a', ids)
  await stop()
  t.same(b.receiver.idsOf('/a').sort(), [...ids].sort(), 'each once')
  const [first] = b.receiver.got('/a')
  t.match(new Webhook(SECRET).verify(first?.body ?? '', first?.headers ?? {}), { type: 'email.queued' })
  t.match(await b.state(id), { health: 'healthy', failures: 0, lastSucceededAt: Number })
  const posts = await b.posts(id)
  t.same(posts.map(({ eventId }) => eventId).sort(), [...ids].sort())
  t.ok(posts.every(({ state, status }) => state === 'succeeded' && status === 200))

  await b.start()
  const more = await b.events(3)
  await gotAll(b, '/a', more)
  t.equal(b.receiver.idsOf('/a').length, ids.length + 3, 'nothing again after a stop in good order')
})

t.test('an endpoint is told what it asks for', async (t) => {
  const b = await bench(t)
  const shop = await addWorkspace(b.store, b.at, 'shop')
  const asks: Record<string, Partial<EndpointRow>> = {
    account: { workspaceId: null },
    shop: { workspaceId: shop.workspace.id },
    test: { workspaceId: null, mode: 'test' },
    sent: { workspaceId: null, events: ['email.sent'] },
    domain: { workspaceId: null, domains: ['shop.test'] },
    tag: { workspaceId: null, tags: [{ name: 'kind', value: 'a' }] },
    anytag: { workspaceId: null, tags: [{ name: 'kind', value: null }] },
  }
  for (const [name, over] of Object.entries(asks)) await b.add(`/${name}`, over)
  const mails = {
    plain: mailFor(b.at),
    shop: mailFor(shop, { from: 'Shop <a@Shop.test>' }),
    test: mailFor(b.at, { mode: 'test' }),
    taggedA: mailFor(b.at, { tags: [{ name: 'kind', value: 'a' }] }),
    taggedB: mailFor(b.at, { tags: [{ name: 'kind', value: 'b' }] }),
    last: mailFor(b.at, { from: 'z@shop.test', tags: [{ name: 'kind', value: 'a' }] }),
    lastOfShop: mailFor(shop, { from: 'z@shop.test' }),
    lastTest: mailFor(b.at, { mode: 'test' }),
  }
  for (const mail of Object.values(mails))
    await b.store.accept({ mails: [mail], idempotency: null, now: mail.createdAt })
  await b.start()
  const named = (path: string): string[] => {
    const told = b.receiver.got(path).map(({ body }) => JSON.parse(body).data.email_id as string)
    return Object.entries(mails).flatMap(([name, { id }]) => (told.includes(id) ? [name] : []))
  }
  const all = ['plain', 'shop', 'taggedA', 'taggedB', 'last', 'lastOfShop']
  const expected: Record<string, string[]> = {
    account: all,
    shop: ['shop', 'lastOfShop'],
    test: ['test', 'lastTest'],
    domain: ['shop', 'last', 'lastOfShop'],
    tag: ['taggedA', 'last'],
    anytag: ['taggedA', 'taggedB', 'last'],
  }
  for (const [name, told] of Object.entries(expected)) {
    await eventually(name, () => named(`/${name}`).length >= told.length, { seen: () => named(`/${name}`) })
    t.same(named(`/${name}`), told, name)
  }
  t.same(named('/sent'), [])
})

t.test('one that hangs holds up nobody', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/hangs', { kind: 'hang' })
  await b.add('/hangs')
  await b.add('/fine')
  await b.start()
  const ids = await b.events(500)
  await gotAll(b, '/fine', ids)
  t.equal(b.receiver.idsOf('/hangs').length, 8, 'it hangs still, on what was in flight at most')
  t.equal(b.receiver.idsOf('/fine').length, 500)
})

t.test('failures are told in full, and tried again by the list', async (t) => {
  const b = await bench(t, 300)
  const causes: Record<string, readonly [Parameters<Bench['receiver']['set']>[1], RegExp]> = {
    '/500': [{ ...DOWN, body: 'oops' }, /500/],
    '/redirect': [
      { kind: 'status', status: 302, headers: { location: 'http://169.254.169.254/latest' } },
      /redirected to http:\/\/169.254.169.254\/latest, we do not follow/,
    ],
    '/reset': [{ kind: 'reset' }, /./],
    '/half': [{ kind: 'reset_in_answer' }, /./],
    '/hang': [{ kind: 'hang' }, /./],
  }
  const ids = new Map<string, string>()
  for (const [path, [how]] of Object.entries(causes)) {
    await b.receiver.set(path, how)
    ids.set(path, await b.add(path))
  }
  await b.start()
  const [event = ''] = await b.events(1)
  for (const [path, [, cause]] of Object.entries(causes)) {
    const id = ids.get(path) ?? ''
    const [post] = await eventually(path, async () => {
      const posts = await b.posts(id, true)
      return posts.length > 0 && posts
    })
    t.match(post, { eventId: event, kind: 'event', state: 'waiting', attempts: 1, cause, dueAt: Number })
    t.match(post?.headers, { 'webhook-id': event, 'webhook-signature': /^v1,/ })
    if (path === '/500') t.match(post, { status: 500, answer: 'oops', url: b.receiver.url(path) })
    await b.receiver.set(path, UP)
  }
  b.clock.pass(5 * SECOND)
  for (const path of Object.keys(causes)) {
    const id = ids.get(path) ?? ''
    await eventually(`${path} is taken`, async () => (await b.posts(id))[0]?.state === 'succeeded')
    t.same(b.receiver.idsOf(path), [event, event], 'the same id again')
    t.match(await b.posts(id), [{ attempts: 2, cause: null, tries: [{ cause: String }, { cause: null }] }])
    t.same(await b.posts(id, true), [])
  }
})

t.test('down for an hour: few tries, nothing lost, nothing twice', async (t) => {
  const b = await bench(t)
  const id = await b.add('/a')
  await b.start()
  const early = await b.events(50)
  await gotAll(b, '/a', early)
  await b.receiver.kill()
  const ids = await b.events(400)
  // the posts that were under way have ended by then, and the place behind them is kept
  await eventually('it was tried twice more', async () => {
    b.clock.pass(SECOND)
    return (await b.state(id)).probes >= 2
  })
  const { mark } = await b.state(id)
  for (let minute = 0; minute < 60; minute++) {
    b.clock.pass(MINUTE)
    if (minute % 10 === 0) ids.push(...(await b.events(10)))
  }
  await passUntil(b, 'it was tried', MINUTE, async () => (await b.state(id)).probes >= 3)
  t.equal((await b.state(id)).mark, mark, 'its place stands')
  t.ok((await b.posts(id, true)).length <= 28, 'and few posts are stored')
  await b.receiver.revive()
  await passUntil(b, 'it is back', MINUTE, async () => (await b.state(id)).health === 'healthy')
  await passUntil(b, 'all is there', SECOND, () => {
    const got = new Set(b.receiver.idsOf('/a'))
    return ids.every((one) => got.has(one))
  })
  const got = b.receiver.idsOf('/a')
  t.equal(new Set(got).size, got.length, 'each was taken once')
  t.equal(got.length, early.length + ids.length)
})

t.test('while it is failing one post at a time is tried, by the list of waits', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', DOWN)
  const id = await b.add('/a')
  await b.add('/fine')
  await b.start()
  await b.events(300)
  await isHealth(b, id, 'failing')
  await eventually('what was under way has ended', async () => {
    const { length } = b.receiver.idsOf('/a')
    return (await b.posts(id, true)).length === length
  })
  const before = b.receiver.idsOf('/a').length
  t.ok(before >= 20 && before < 28, `${before}`)
  for (const [n, wait] of [5 * SECOND, 5 * MINUTE, 30 * MINUTE].entries()) {
    b.clock.pass(wait - 2 * SECOND)
    await gotAll(b, '/fine', await b.events(1)) // looks went by
    t.equal(b.receiver.idsOf('/a').length, before + n, 'not before its time')
    b.clock.pass(2 * SECOND)
    await eventually('a probe', async () => (await b.state(id)).probes === n + 1)
    t.equal(b.receiver.idsOf('/a').length, before + n + 1)
  }
  const told = await eventually('its owners are told', async () => {
    const rows = await b.logged('webhook.failing')
    return rows.length > 0 && rows
  })
  t.match(told, [{ change: true, data: { webhook_id: id, failures: before + 3, waiting: Number } }])
  await eventually('the others hear of it', () =>
    b.receiver.got('/fine').some(({ body }) => JSON.parse(body).type === 'webhook.failing'),
  )
  await b.receiver.set('/a', UP)
  b.clock.pass(2 * HOUR)
  await isHealth(b, id, 'healthy')
  await eventually('recovered', async () => (await b.logged('webhook.recovered')).length === 1)
  await passUntil(b, 'all is taken', SECOND, async () => new Set(b.receiver.idsOf('/a')).size >= 303)
  const own = b.receiver.got('/a').filter(({ body }) => JSON.parse(body).type.startsWith('webhook.'))
  t.same(own, [], 'it is not told of itself')
})

t.test('with one in flight the order is kept, whatever fails', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', DOWN)
  const id = await b.add('/a', { maxInFlight: 1 })
  await b.start()
  const ids = await b.events(20)
  await isHealth(b, id, 'failing')
  t.same(b.receiver.idsOf('/a'), ids.slice(0, 1))
  await b.receiver.set('/a', UP)
  b.clock.pass(5 * SECOND)
  await gotAll(b, '/a', ids)
  t.same(b.receiver.idsOf('/a').slice(1), ids)
})

t.test('Retry-After is honoured', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', { kind: 'status', status: 429, headers: { 'retry-after': '600' } })
  const id = await b.add('/a')
  await b.add('/fine')
  await b.start()
  const [event = ''] = await b.events(1)
  await eventually('it was refused', async () => (await b.posts(id, true)).length === 1)
  await b.receiver.set('/a', UP)
  const more = await b.events(1)
  b.clock.pass(9 * MINUTE)
  await gotAll(b, '/fine', await b.events(1))
  t.same(b.receiver.idsOf('/a'), [event], 'not asked before')
  b.clock.pass(MINUTE)
  await gotAll(b, '/a', more)
  await passUntil(
    b,
    'again',
    SECOND,
    () => b.receiver.idsOf('/a').filter((one) => one === event).length === 2,
  )
})

t.test('410 ends it at once; enabled again it goes on', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', { kind: 'status', status: 410 })
  const id = await b.add('/a', { maxInFlight: 1 })
  await b.start()
  const ids = await b.events(5)
  const row = await eventually('disabled', async () => {
    const known = await b.store.endpoint(b.at.accountId, id)
    return known?.status === 'disabled' && known
  })
  t.equal(row.disabledReason, 'gone')
  t.equal(b.receiver.idsOf('/a').length, 1)
  t.match(await b.logged('webhook.disabled'), [{ data: { webhook_id: id, reason: 'gone' } }])
  await b.receiver.set('/a', UP)
  await b.store.enableEndpoint(b.at.accountId, id, null, b.clock.now())
  b.clock.pass(5 * SECOND)
  await gotAll(b, '/a', ids)
  await eventually('the first again', () => b.receiver.idsOf('/a').length === 6)
  t.equal((await b.logged('webhook.enabled')).length, 1)
})

t.test('enabled from now, it is told nothing of what was', async (t) => {
  const b = await bench(t)
  const id = await b.add('/a')
  await b.add('/fine')
  await b.start()
  await b.store.disableEndpoint(b.at.accountId, id, 'requested', b.clock.now())
  await eventually('it is known', async () => (await b.state(id)).generation === 2)
  const missed = await eventually('it is told nothing', async () => {
    const ids = await b.events(5)
    await gotAll(b, '/fine', ids)
    return !b.receiver.idsOf('/a').some((one) => ids.includes(one)) && ids
  })
  await b.store.enableEndpoint(b.at.accountId, id, (await b.store.logEnds()).newest, b.clock.now())
  const later = await b.events(5)
  await gotAll(b, '/a', later)
  const got = new Set(b.receiver.idsOf('/a'))
  t.ok(
    missed.every((one) => !got.has(one)),
    'what was between is left out',
  )
})

t.test('after five days without one success it is disabled, and what was too old is told', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', DOWN)
  const id = await b.add('/a')
  await b.start()
  await b.events(40)
  await isHealth(b, id, 'failing')
  await passUntil(b, 'it is disabled', HOUR, async () => (await b.logged('webhook.disabled')).length > 0)
  t.match(await b.store.endpoint(b.at.accountId, id), { status: 'disabled', disabledReason: 'failures' })
  t.match((await b.logged('webhook.failing')).length, 2, 'at the fourth try, and at half of the time')
  // gathered, once an hour and at the end: the test's hours are short, so it may be told in two
  const told = await b.logged('webhook.exhausted')
  const lost = (await b.posts(id)).filter(({ state }) => state === 'failed')
  const count = told.reduce((sum, { data }) => sum + Number(data?.count), (await b.state(id)).givenUp)
  t.equal(count, lost.length)
  t.ok(told.every(({ data }) => String(data?.since).startsWith('signed ')))
  t.ok(lost.length >= 20)
  const from = String(told.at(-1)?.data?.since).replace('signed ', '')
  const since = await b.store.follow(null, from, 1000)
  const first = lost.map(({ eventId }) => eventId)
  t.ok(
    since !== 'gone' && first.every((one) => since.rows.some((row) => row.id === one)),
    'the mark is before them',
  )
})

t.test('an event is given up 76 hours after it happened, also while the endpoint is failing', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', DOWN)
  const id = await b.add('/a')
  await b.start()
  const start = b.clock.now()
  await b.events(30)
  await isHealth(b, id, 'failing')
  await passUntil(b, 'the last of its tries in that time', 4 * HOUR, () => b.clock.now() - start > 77 * HOUR)
  await eventually('all that was posted is given up', async () => {
    const posts = await b.posts(id)
    return posts.length >= 20 && posts.every(({ state }) => state === 'failed')
  })
  const posts = await b.posts(id)
  const logged = () => b.logged('webhook.exhausted')
  await passUntil(b, 'it is told', 10 * SECOND, async () => (await logged()).length > 0)
  const [told] = await logged()
  t.match(told?.data, { webhook_id: id, count: posts.length })
  t.equal((await b.store.endpoint(b.at.accountId, id))?.status, 'enabled')
})

t.test('a replay to one that is failing, and has nothing that waits, tries it at once', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', DOWN)
  const id = await b.add('/a')
  const place = (await b.store.logEnds()).newest
  await b.start()
  const ids = await b.events(20)
  await isHealth(b, id, 'failing')
  await passUntil(b, 'all is given up', 4 * HOUR, async () =>
    (await b.posts(id)).every(({ state }) => state === 'failed'),
  )
  await b.receiver.set('/a', UP)
  const before = b.receiver.idsOf('/a').length
  const now = b.clock.now()
  await b.store.addReplay({
    id: 'rep_1',
    endpointId: id,
    failed: false,
    place,
    since: null,
    until: now,
    made: 0,
    createdAt: now,
  })
  await eventually('all again', () => new Set(b.receiver.idsOf('/a').slice(before)).size === ids.length)
})

t.test('a wall clock that is set costs no event its life', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', DOWN)
  const id = await b.add('/a')
  await b.start()
  const ids = await b.events(2)
  await eventually('two failed', async () => (await b.posts(id, true)).length === 2)
  b.clock.set(10 * DAY)
  await eventually('the waits moved', async () => {
    const posts = await b.posts(id, true)
    return posts.every(({ dueAt }) => (dueAt ?? 0) > b.clock.now() - MINUTE)
  })
  b.clock.pass(5 * SECOND)
  await eventually('tried again', async () => (await b.posts(id)).every(({ attempts }) => attempts >= 2))
  t.ok((await b.posts(id)).every(({ state }) => state === 'waiting'))
  t.equal((await b.store.endpoint(b.at.accountId, id))?.status, 'enabled')
  await b.receiver.set('/a', UP)
  b.clock.pass(6 * MINUTE)
  await eventually('taken', async () => (await b.posts(id)).every(({ state }) => state === 'succeeded'))
  t.equal(new Set(b.receiver.idsOf('/a')).size, ids.length)
})

t.test('a changed or deleted endpoint is so at once', async (t) => {
  const b = await bench(t)
  const id = await b.add('/old')
  await b.add('/fine')
  await b.start()
  await gotAll(b, '/old', await b.events(1))
  for (let i = 0; i < 5; i++) {
    const path = `/new${i}`
    await b.store.updateEndpoint(b.at.accountId, id, { url: b.receiver.url(path) }, b.clock.now() + 1 + i)
    const ids = await b.events(5)
    await gotAll(b, path, ids)
    t.equal(b.receiver.idsOf(path).length, 5, 'all that is posted from then on')
  }
  await b.store.deleteEndpoint(b.at.accountId, id, b.clock.now())
  await gotAll(b, '/fine', await b.events(5))
  t.equal(b.receiver.idsOf('/new4').length, 5, 'nothing that happened later')
  t.equal((await b.store.allEndpoints()).length, 1)
})
