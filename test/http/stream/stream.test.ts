/** GET /v1/events/stream: what it says, where it goes on, who gets it, and how it ends. */
import t from 'tap'
import { type EventSource, type Headers, listen } from '../../parts/event-source.js'
import { eventually } from '../../parts/eventually.js'
import { fieldsOf, type Kit, MAIL, openKit } from '../kit.js'

const PATH = '/v1/events/stream'
const streamOf = (kit: Kit, query = '', headers: Headers = {}, key = kit.key): Promise<EventSource> =>
  listen(`${kit.url}${PATH}${query}`, key, headers)
const send = async (kit: Kit, to: string | readonly string[] = MAIL.to): Promise<string> =>
  (await kit.ask('/v1/emails', { body: { ...MAIL, to } })).json.id
const fifty = Array.from({ length: 50 }, (_, i) => `r${i}@example.com`)

t.test('an event comes with its mark, its type and its record', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  await send(kit, 'before@example.com')
  const stream = await streamOf(kit)
  t.teardown(() => stream.close())
  t.match(stream.answer.headers, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    'x-request-id': /^req_/,
    'x-ratelimit-limit': '100000',
    'x-ratelimit-remaining': /^\d+$/,
    'x-ratelimit-reset': /^\d+$/,
  })
  t.notOk('content-encoding' in stream.answer.headers)
  await eventually('the first bytes', () => stream.lastId)
  t.strictSame(stream.retries, [2000])
  const id = await send(kit, ['ana@example.com', 'bob@example.com'])
  const [first, second] = await stream.heard(2)
  t.strictSame(stream.types, ['email.queued', 'email.queued'], 'what was before is not told')
  t.match(first?.id, /^m1_/)
  t.not(first?.id, second?.id)
  t.match(
    [first?.data, second?.data],
    [
      {
        email_id: id,
        recipient: 'ana@example.com',
        change: true,
        subject: 'Hi',
        workspace_id: kit.workspaceId,
      },
      { email_id: id, recipient: 'bob@example.com' },
    ],
  )
  const { data } = (await kit.ask('/v1/events')).json
  t.strictSame(data.slice(0, 2), [second?.data, first?.data], 'as the list has it')
  t.strictSame((await kit.ask(`/v1/events/${first?.data.id}`)).json, first?.data)
})

t.test('nothing is compressed, and HEAD says what GET would', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const stream = await streamOf(kit, '', { 'accept-encoding': 'gzip, br' })
  t.teardown(() => stream.close())
  t.notOk('content-encoding' in stream.answer.headers)
  await send(kit)
  await stream.heard(1)
  const head = await kit.ask(PATH, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(head.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(head.headers.get('cache-control'), 'no-store, no-transform')
})

t.test(
  'who comes back goes on where he was: by Last-Event-ID, by after, also with another filter',
  async (t) => {
    const kit = await openKit()
    t.teardown(() => kit.stop())
    const first = await streamOf(kit)
    const sent = [await send(kit), await send(kit), await send(kit)]
    const heard = await first.heard(3)
    first.close()
    sent.push(await send(kit), await send(kit))
    const after = (n: number): string => heard[n]?.id ?? ''
    const emails = (stream: EventSource) => stream.events.map(({ data }) => data.email_id)
    for (const [query, headers, rest] of [
      ['', { 'last-event-id': after(0) }, sent.slice(1)],
      [`?after=${after(1)}`, {}, sent.slice(2)],
      [`?after=${after(2)}`, { 'last-event-id': after(1) }, sent.slice(2)],
      [`?after=${after(0)}&type=email.queued&change=true`, {}, sent.slice(1)],
      [`?after=${after(0)}&email_id=${sent[3]}`, {}, [sent[3]]],
      [`?after=${after(0)}`, { 'last-event-id': '' }, sent.slice(1)],
    ] as const) {
      const stream = await streamOf(kit, query, headers)
      t.teardown(() => stream.close())
      await stream.heard(rest.length)
      t.strictSame(emails(stream), rest, `${query} ${JSON.stringify(headers)}`)
    }
    const begun = await streamOf(kit)
    await eventually('its beginning', () => begun.lastId)
    begun.close()
    const missed = await send(kit)
    const again = await streamOf(kit, '', { 'last-event-id': begun.lastId })
    t.teardown(() => again.close())
    await again.heard(1)
    t.strictSame(emails(again), [missed], 'a stream on which nothing came has a mark as well')
  },
)

t.test('a thousand events, one reader from the start and one that follows: the same, once', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const live = await streamOf(kit)
  await eventually('its beginning', () => live.lastId)
  const start = live.lastId
  for (let i = 0; i < 10; i++) await send(kit, fifty)
  const early = await streamOf(kit, '', { 'last-event-id': start })
  for (let i = 0; i < 10; i++) await send(kit, fifty)
  const ids = (stream: EventSource) => stream.events.map(({ data }) => data.id)
  await live.heard(1_000)
  await early.heard(1_000)
  await send(kit, 'last@example.com')
  await live.heard(1_001)
  await early.heard(1_001)
  for (const stream of [live, early]) stream.close()
  t.equal(new Set(ids(live)).size, 1_001)
  t.strictSame(ids(early), ids(live))
})

t.test('merged: counters and last states', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const merged = await streamOf(kit, '?merge=100ms')
  t.teardown(() => merged.close())
  for (let i = 0; i < 30; i++) await send(kit, fifty)
  const last = await send(kit, 'last@example.com')
  const told = () => merged.events.reduce((sum, { data }) => sum + data.count, 0)
  await eventually('all of them', () => told() >= 1_501, { seen: told })
  t.equal(told(), 1_501)
  t.ok(merged.events.length < 1_501)
  t.strictSame([...new Set(merged.types)], ['log.merged'])
  const [newest] = merged.events.at(-1)?.data.last ?? []
  t.match(newest, { object: 'event', type: 'email.queued', email_id: last })
  for (const { data } of merged.events) t.ok(data.last.length <= 20)
  const again = await streamOf(kit, '', { 'last-event-id': merged.lastId })
  t.teardown(() => again.close())
  const next = await send(kit)
  await again.heard(1)
  t.equal(again.events[0]?.data.email_id, next, 'its marks are marks like others')
})

t.test('what is wrong is a problem, before the stream begins', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const fields = async (query: string, headers: Headers = {}) =>
    fieldsOf(await kit.ask(`${PATH}${query}`, { headers }))
  t.strictSame(await fields('?type=email.send'), ['query.type unsupported'])
  t.strictSame(await fields('?merge=1s'), ['query.merge format'])
  t.strictSame(await fields('?after=m1_AAAA'), ['query.after format'])
  t.strictSame(await fields('', { 'last-event-id': 'm1_AAAA' }), ['header.last-event-id format'])
  t.strictSame(await fields('?limit=5'), ['query.limit unknown'])
  t.equal((await kit.ask(PATH, { key: null })).status, 401)
  t.equal((await kit.ask(PATH, { key: `${kit.key.slice(0, -1)}_` })).status, 401)
  const posted = await kit.ask(PATH, { method: 'POST', body: {} })
  t.strictSame([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
  const foreign = await kit.ask(PATH, { headers: { 'x-workspace-id': 'ws_none' } })
  t.equal(foreign.json.code, 'workspace.not_found')
})

t.test('limits per key and per address; who closes one may open another', async (t) => {
  const kit = await openKit({ events: { streams_per_key: 2, streams_per_address: 3 } })
  t.teardown(() => kit.stop())
  const mine = [await streamOf(kit), await streamOf(kit)]
  const refused = await kit.ask(PATH)
  t.match(refused, { status: 429, json: { code: 'rate_limit.streams', detail: /^2 streams/ } })
  t.match(refused.headers.get('retry-after'), /^[1-9]/)
  const theirs = await streamOf(kit, '', {}, kit.platform)
  t.match((await kit.ask(PATH, { key: kit.session })).json.detail, /^3 streams are open at this address/)
  mine[0]?.close()
  const again = await eventually('a free slot', async () => {
    const stream = await streamOf(kit)
    return stream.answer.statusCode === 200 ? stream : null
  })
  t.equal((await kit.ask(PATH)).status, 429)
  for (const stream of [...mine, theirs, again]) stream.close()
})

t.test('a revoked key, a deleted workspace and a session that is over end their streams', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const { row, secret } = await kit.tenants.createKey(kit.accountId, { name: 'x', workspace: 'default' })
  const shop = await kit.tenants.createWorkspace(kit.accountId, { name: 'Shop' })
  const { token } = await kit.tenants.createSession(kit.accountId, { lastsMs: 60_000 })
  const kept = await streamOf(kit)
  const ofKey = await streamOf(kit, '', {}, secret)
  const ofWorkspace = await streamOf(kit, '', { 'x-workspace-id': shop.id }, kit.platform)
  const ofSession = await streamOf(kit, '', {}, token)
  await kit.tenants.revokeKey(kit.accountId, row.id)
  t.ok(await ofKey.ended(), 'ended, and not cut')
  await kit.tenants.deleteWorkspace(shop, 'test')
  t.ok(await ofWorkspace.ended())
  kit.clock.advance(61_000)
  t.ok(await ofSession.ended())
  await send(kit)
  await kept.heard(1)
  kept.close()
})

t.test('draining says when to come back, and ends them', async (t) => {
  const kit = await openKit()
  const stream = await streamOf(kit)
  await eventually('its beginning', () => stream.lastId)
  const stopping = kit.http.stop()
  t.ok(await stream.ended())
  t.equal(stream.retries.length, 2)
  t.ok((stream.retries[1] ?? 0) >= 2_000)
  await stopping
  await kit.http.start()
  const url = `http://127.0.0.1:${kit.http.address.port}${PATH}`
  const again = await listen(url, kit.key, { 'last-event-id': stream.lastId })
  t.equal(again.answer.statusCode, 200)
  again.close()
  await kit.stop()
})
