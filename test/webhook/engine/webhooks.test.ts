/** The engine over a real store, posting to a real receiver that does what receivers do. */
import { once } from 'node:events'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import type { EndpointRow } from '../../../src/store/port/hooks.js'
import { NOT_POSTED } from '../../../src/webhook/post.js'
import { eventually } from '../../parts/eventually.js'
import { addWorkspace, mailFor } from '../../store/fixture.js'
import {
  type Bench,
  bench,
  gotAll,
  isHealth,
  listedAll,
  MINUTE,
  passUntil,
  SECOND,
  SECRET,
} from './fixture.js'

const DOWN = { kind: 'status', status: 500 } as const
const UP = { kind: 'status', status: 200 } as const
const TAKEN = { ...NOT_POSTED, ok: true, status: 200, cause: null }

t.test('every event is posted once, signed, and listed in brief', async (t) => {
  const b = await bench(t)
  const id = await b.add('/a')
  const before = await b.events(5)
  const stop = await b.start()
  const ids = [...before, ...(await b.events(300))]
  await gotAll(b, '/a', ids)
  await listedAll(b, id, ids)
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
  await eventually('as many hang as may', () => b.receiver.idsOf('/hangs').length === 8)
  await gotAll(b, '/fine', ids)
  t.equal(b.receiver.idsOf('/hangs').length, 8, 'it hangs still, on what was in flight at most')
  t.equal(b.receiver.idsOf('/fine').length, 500)
})

t.test('failures are told in full, and tried again by the list', async (t) => {
  const b = await bench(t)
  const causes: Record<string, readonly [Parameters<Bench['receiver']['set']>[1], RegExp]> = {
    '/500': [{ ...DOWN, body: 'oops' }, /500/],
    '/redirect': [
      { kind: 'status', status: 302, headers: { location: 'http://169.254.169.254/latest' } },
      /redirected to http:\/\/169.254.169.254\/latest, we do not follow/,
    ],
    '/reset': [{ kind: 'reset' }, /./],
    '/half': [{ kind: 'reset_in_answer' }, /./],
    '/hang': [{ kind: 'hang' }, /no answer|within/],
  }
  b.hasty.add('/hang')
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
  b.hasty.clear()
  b.clock.pass(5 * SECOND)
  for (const path of Object.keys(causes)) {
    const id = ids.get(path) ?? ''
    await eventually(`${path} is taken`, async () => (await b.posts(id))[0]?.state === 'succeeded')
    // one that was given up unanswered may have been read late, or not at all
    t.same([...new Set(b.receiver.takenAt(path))], [event], 'the same id again')
    t.match(await b.posts(id), [{ attempts: 2, cause: null, tries: [{ cause: String }, { cause: null }] }])
    t.same(await b.posts(id, true), [])
  }
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

t.test('switched off and on again, nothing that was taken is posted again', async (t) => {
  const b = await bench(t)
  const id = await b.add('/a')
  await b.add('/fine')
  const stop = await b.start()
  const turn = async (isOn: boolean): Promise<unknown> =>
    isOn
      ? b.store.enableEndpoint(b.at.accountId, id, null, b.clock.now())
      : b.store.disableEndpoint(b.at.accountId, id, 'requested', b.clock.now())
  const all: string[] = []
  for (const isKnown of [false, true, false, true]) {
    const ids = await b.events(5)
    await gotAll(b, '/a', ids)
    await turn(false)
    const missed = await b.events(3)
    await gotAll(b, '/fine', missed)
    if (isKnown) await listedAll(b, id, ids)
    await turn(true)
    all.push(...ids, ...missed)
    await gotAll(b, '/a', all)
  }
  all.push(...(await b.events(1)))
  await gotAll(b, '/a', all)
  await stop()
  t.same(b.receiver.idsOf('/a').sort(), [...all].sort(), 'each once')
})

t.test('what is under way when it is switched off ends, and is not posted again', async (t) => {
  const b = await bench(t)
  const id = await b.add('/a', { maxInFlight: 3 })
  await b.add('/fine')
  const posted: string[] = []
  let answer = (): void => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  let looks = 0
  const looked = async (): Promise<void> => {
    const before = looks
    await eventually('it has looked', () => looks > before + 1)
  }
  const store = {
    ...b.store,
    allEndpoints: () => {
      looks++
      return b.store.allEndpoints()
    },
  }
  await b.start({
    store,
    async post({ url }, { id: event, signal }) {
      if (!url.endsWith('/a')) return TAKEN
      posted.push(event)
      await Promise.race([answered, once(signal as AbortSignal, 'abort')])
      if (signal?.aborted) throw new Error('broken off')
      return TAKEN
    },
  })
  const ids = await b.events(5)
  await eventually('three are under way', () => posted.length === 3)
  await b.store.disableEndpoint(b.at.accountId, id, 'requested', b.clock.now())
  await looked()
  await b.store.enableEndpoint(b.at.accountId, id, null, b.clock.now())
  await looked()
  answer()
  await eventually('the others follow', () => posted.length >= 5)
  const last = await b.events(1)
  await eventually('and what is new', () => posted.includes(last[0] ?? ''))
  t.same([...posted].sort(), [...ids, ...last].sort(), 'each once')
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

t.test('what endpoints of test mail wait for keeps none of live mail waiting', async (t) => {
  const b = await bench(t)
  await b.add('/live')
  await b.add('/test', { mode: 'test' })
  let letGo = (): void => {}
  const gate = new Promise<void>((resolve) => {
    letGo = resolve
  })
  let isHeld = false
  const follow: Bench['store']['follow'] = async (filter, ...rest) => {
    if (filter?.mode === 'test') {
      isHeld = true
      await gate
    }
    return b.store.follow(filter, ...rest)
  }
  const tests = await b.events(5, 'test')
  await b.start({ store: { ...b.store, follow } })
  await eventually('the log is read for test mail', () => isHeld)
  const ids = await b.events(5)
  await gotAll(b, '/live', ids)
  t.same(b.receiver.idsOf('/test'), [])
  letGo()
  await gotAll(b, '/test', tests)
  t.same(b.receiver.idsOf('/live').sort(), [...ids].sort(), 'each told what is of its mode')
})

t.test('beside live mail, what is done for test mail is followed by a rest', async (t) => {
  const b = await bench(t)
  await b.add('/test', { mode: 'test', maxInFlight: 2 })
  let rests = 0
  const way = {
    live() {},
    behind() {},
    isLive: true,
    restAfter(ms: number) {
      t.ok(ms >= 0)
      rests++
      return 0
    },
  }
  await b.start({ way })
  const ids = await b.events(6, 'test')
  await gotAll(b, '/test', ids)
  t.ok(rests >= 3, `${rests} turns for six events, two at a time`)
})
