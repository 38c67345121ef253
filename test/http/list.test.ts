/** Walking lists, forward and back, over the wire. */
import t from 'tap'
import { newId, newRecipientId } from '../../src/base/id.js'
import type { HttpDeps } from '../../src/http/deps.js'
import { endpoints } from '../../src/http/http.js'
import { CursorCodec, listPage } from '../../src/http/list.js'
import type { NewEmail } from '../../src/lifecycle/facts.js'
import { fieldsOf, type Kit, MAIL, openKit, type Reply } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const at = Date.now()
const pool = (await kit.store.allPools())[0]?.id ?? ''

const mail = (workspaceId: string, createdAt = at): NewEmail => ({
  ...{ id: newId('em', createdAt), accountId: kit.accountId, workspaceId, mode: 'live', source: 'api' },
  ...{
    from: 'a@b.test',
    to: ['c@d.test'],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: '',
    tags: [],
    attachments: [],
  },
  ...{
    messageId: '<x@y>',
    scheduledAt: createdAt + 3_600_000,
    createdAt,
    poolId: pool,
    raw: Buffer.from('\r\n'),
  },
  ...{ needsSmtpUtf8: false, content: null, envid: null, ret: null },
  recipients: [
    { id: newRecipientId(createdAt), address: 'c@d.test', kind: 'to', suppressed: false, dsn: null },
  ],
})

/** Stores n mails born in one and the same millisecond; newest first. */
const store = async (workspaceId: string, n: number): Promise<string[]> => {
  const mails = Array.from({ length: n }, () => mail(workspaceId))
  await kit.store.accept({ mails, idempotency: null, now: at })
  return mails.map(({ id }) => id).reverse()
}

const workspace = async (name: string): Promise<{ id: string; key: string }> => {
  const { id } = await kit.tenants.createWorkspace(kit.accountId, { name })
  const { secret: key } = await kit.tenants.createKey(kit.accountId, { name, workspace: id })
  return { id, key }
}

const page = async (key: string, query: Record<string, string | number>) => {
  const text = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  const reply = await kit.ask(`/v1/emails?${text}`, { key })
  if (reply.status !== 200) throw new Error(reply.text)
  return { ids: reply.json.data.map((one: { id: string }) => one.id) as string[], ...reply.json.pagination }
}

/** The same list without HTTP between: thousands of pages in a second. */
const direct = async (workspaceId: string, query: { limit?: string; cursor?: string }) => {
  const none = { mode: null, status: null, to: null, tag: null, createdAfter: null, createdBefore: null }
  const { data, pagination } = await listPage(new CursorCodec(Buffer.alloc(32)), {
    query,
    filters: {},
    bound: [],
    fetch: (page) => kit.store.emails({ accountId: kit.accountId, workspaceId, ...none }, page),
    render: ({ id }) => id,
  })
  return { ids: data as string[], ...pagination }
}

const COUNT = 1_000

for (const limit of [1, 7, 100]) {
  t.test(`a walk over ${COUNT} rows of one millisecond at limit ${limit}`, async (t) => {
    const { id } = await workspace(`walk ${limit}`)
    const ids = await store(id, COUNT)
    const first = (size: number) => direct(id, { limit: String(size) })
    const follow = (cursor: string | null) => direct(id, cursor === null ? {} : { cursor })
    const seen: string[] = []
    let at = await first(limit)
    const top = at
    t.equal(at.total, COUNT)
    t.equal(at.total_capped, false)
    t.equal(at.has_prev, false)
    let back = at.prev_cursor
    for (let pages = 0; pages < COUNT; pages++) {
      seen.push(...at.ids)
      if (at.next_cursor === null) break
      // New rows arrive at the top all the while; the walk must not notice.
      if (seen.length % 50 < limit) await store(id, 1)
      back = at.prev_cursor
      at = await follow(at.next_cursor)
      t.ok(at.total === null && at.total_capped === false && at.has_prev && at.ids.length <= limit) ||
        t.bailout()
    }
    t.strictSame(seen, ids, 'each once, in order')
    t.equal(at.has_next, false)

    const backward: string[] = [...at.ids]
    back = at.prev_cursor
    for (let pages = 0; backward.length < COUNT && pages < COUNT; pages++) {
      const newer = await follow(back)
      backward.unshift(...newer.ids)
      if (!newer.has_next) t.fail('older rows exist')
      back = newer.prev_cursor
    }
    t.strictSame(backward.slice(-COUNT), ids, 'the same way back')

    const fresh: string[] = []
    for (let cursor = top.prev_cursor; ; ) {
      const newer = await follow(cursor)
      cursor = newer.prev_cursor
      if (newer.ids.length === 0) break
      fresh.unshift(...newer.ids)
    }
    const all: string[] = []
    for (let one = await first(100); ; one = await follow(one.next_cursor)) {
      all.push(...one.ids)
      if (one.next_cursor === null) break
    }
    t.strictSame(fresh, all.slice(0, all.length - COUNT), 'from the top, exactly what came since')
  })
}

t.test('polling from the top for ever, beginning with an empty list', async (t) => {
  const { id, key } = await workspace('poll')
  let poll = await page(key, { limit: 20 })
  t.strictSame(
    [poll.ids, poll.total, poll.has_prev, poll.has_next, poll.next_cursor],
    [[], 0, false, false, null],
  )
  t.match(poll.prev_cursor, /^v1_/)
  poll = await page(key, { cursor: poll.prev_cursor })
  t.strictSame([poll.ids, poll.next_cursor, poll.has_prev], [[], null, false])
  const ids = await store(id, 50)
  const sizes: number[] = []
  const got: string[] = []
  for (let i = 0; i < 4; i++) {
    poll = await page(key, { cursor: poll.prev_cursor })
    sizes.push(poll.ids.length)
    got.unshift(...poll.ids)
  }
  t.strictSame(sizes, [20, 20, 10, 0], 'the nearest first')
  t.strictSame(got, ids)
  t.equal(poll.has_prev, false)
  const old = await page(key, { cursor: poll.next_cursor })
  t.strictSame(old.ids, ids.slice(0, 20), 'an empty page leads back to the old top')
  poll = await page(key, { cursor: poll.prev_cursor })
  t.match(poll.prev_cursor, /^v1_/)
})

t.test('an exact multiple of the limit ends without an empty page', async (t) => {
  const { id, key } = await workspace('multiple')
  await store(id, 10)
  const first = await page(key, { limit: 5 })
  const second = await page(key, { cursor: first.next_cursor })
  t.strictSame(
    [second.ids.length, second.next_cursor, second.has_next, second.has_prev],
    [5, null, false, true],
  )
})

t.test('a cursor is bound to filters, limit, credential and endpoint', async (t) => {
  const { id, key } = await workspace('bound')
  await store(id, 30)
  const { next_cursor: cursor } = await page(key, { limit: 5, status: 'scheduled' })
  const code = async (query: string, by = key, path = '/v1/emails') =>
    (await kit.ask(`${path}?cursor=${cursor}${query}`, { key: by })).json.code
  t.equal(await code('&status=scheduled'), undefined)
  t.equal(await code('&limit=5&status=scheduled'), undefined, 'in any order')
  t.equal(await code(''), 'validation.cursor_filters_mismatch', 'a filter left out')
  t.equal(await code('&status=sent'), 'validation.cursor_filters_mismatch')
  t.equal(await code('&status=scheduled&limit=6'), 'validation.cursor_filters_mismatch')
  t.equal(await code('&status=scheduled&to=a@b.test'), 'validation.cursor_filters_mismatch')
  t.equal(await code('x&status=sent'), 'validation.cursor_invalid', 'an invalid cursor comes first')
  t.equal(await code('&status=scheduled', kit.key), 'validation.cursor_invalid', 'another workspace')
  t.equal(await code('&status=scheduled', kit.platform), 'validation.cursor_invalid', 'the whole account')
  t.equal(await code('&status=scheduled', kit.session), 'validation.cursor_invalid')
  const { secret: test } = await kit.tenants.createKey(kit.accountId, {
    name: 't',
    workspace: id,
    mode: 'test',
  })
  t.equal(await code('&status=scheduled', test), 'validation.cursor_invalid', 'the other mode')
  t.equal(await code('', key, '/v1/workspaces'), 'validation.cursor_invalid', 'another endpoint')
  const all = await page(kit.platform, { limit: 5 })
  const narrowed = await kit.ask(`/v1/emails?cursor=${all.next_cursor}`, {
    key: kit.platform,
    headers: { 'x-workspace-id': id },
  })
  t.equal(narrowed.json.code, 'validation.cursor_filters_mismatch', 'the workspace header is a filter')
})

t.test('limit 20 by default, written or not', async (t) => {
  const { id, key } = await workspace('default')
  await store(id, 25)
  const first = await page(key, {})
  t.equal(first.limit, 20)
  t.equal((await page(key, { cursor: first.next_cursor, limit: 20 })).ids.length, 5)
})

t.test('a session sees both modes and may choose', async (t) => {
  const { id } = await workspace('modes')
  const { secret } = await kit.tenants.createKey(kit.accountId, { name: 't', workspace: id, mode: 'test' })
  const sent = await kit.ask('/v1/emails', { key: secret, body: MAIL })
  const see = async (query: string) =>
    (await kit.ask(`/v1/emails${query}`, { key: kit.session, headers: { 'x-workspace-id': id } })).json.data
      .length
  t.equal(sent.json.mode, 'test')
  t.strictSame([await see(''), await see('?mode=test'), await see('?mode=live')], [1, 1, 0])
})

t.test('other lists walk the same way', async (t) => {
  const walk = async (path: string, ask: Parameters<Kit['ask']>[1]) => {
    const ids: string[] = []
    for (let next = `${path}?limit=2`; ; ) {
      const { json } = await kit.ask(next, ask)
      ids.push(...json.data.map((one: { id: string }) => one.id))
      if (json.pagination.next_cursor === null) return ids
      next = `${path}?cursor=${json.pagination.next_cursor}`
    }
  }
  const all = await walk('/v1/workspaces', { key: kit.session })
  t.equal(new Set(all).size, all.length)
  t.ok(all.length > 5)
  t.strictSame(all, [...all].sort().reverse())
  t.strictSame(await walk('/v1/workspaces', { key: kit.key }), [kit.workspaceId])
  const own = await kit.ask('/v1/workspaces', { key: kit.key })
  t.strictSame((await kit.ask(`/v1/workspaces?cursor=${own.json.pagination.prev_cursor}`)).json.data, [])
  t.ok((await walk('/v1/api-keys', { key: kit.session })).length > 5)
  t.strictSame(fieldsOf(await kit.ask('/v1/workspaces?status=x')), ['query.status unknown'])
})

t.test('beside a row that is named by its id', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const sent: string[] = []
  for (let i = 0; i < 5; i++) sent.unshift((await kit.ask('/v1/emails', { body: MAIL })).json.id)
  const list = (query: string) => kit.ask(`/v1/emails?${query}`)
  const idsOf = ({ json }: Reply) => json.data.map(({ id }: { id: string }) => id)
  const after = await list(`after=${sent[1]}&limit=2`)
  t.same(idsOf(after), sent.slice(2, 4))
  t.match(after.json, { has_more: true, pagination: { has_prev: true, total: null } })
  const rest = await list(`after=${sent[1]}&limit=2&cursor=${after.json.pagination.next_cursor}`)
  t.same(fieldsOf(rest), ['query.after forbidden'])
  t.same(idsOf(await list(`limit=2&cursor=${after.json.pagination.next_cursor}`)), sent.slice(4))
  const before = await list(`before=${sent[3]}&limit=2`)
  t.same(idsOf(before), sent.slice(1, 3), 'the nearest')
  t.equal(before.json.has_more, true, 'newer ones')
  const top = await list(`before=${sent[2]}&limit=2`)
  t.same([idsOf(top), top.json.has_more], [sent.slice(0, 2), false])
  t.same(fieldsOf(await list(`after=${sent[0]}&before=${sent[1]}`)), ['query.after forbidden'])
  t.same(fieldsOf(await list(`after=${sent[0]}&format=csv`)), ['query.after forbidden'])
  const events = (await kit.ask('/v1/events?limit=3')).json.data
  t.same(idsOf(await kit.ask(`/v1/events?after=${events[0].id}&limit=1`)), [events[1].id])
  t.same(idsOf(await kit.ask(`/v1/events?before=${events[1].id}&limit=1`)), [events[0].id])
  const other = await kit.tenants.createWorkspace(kit.accountId, { name: 'Other' })
  const { secret } = await kit.tenants.createKey(kit.accountId, {
    ...({ name: 'other', scope: 'workspace', workspace: other.id } as const),
  })
  for (const [path, id] of [
    ['emails', sent[0]],
    ['events', events[0].id],
  ] as const)
    for (const key of [secret, kit.key])
      t.same(
        fieldsOf(
          await kit.ask(
            `/v1/${path}?after=${key === secret ? id : `${path === 'events' ? 'evt' : 'em'}_${'0'.repeat(26)}`}`,
            { key },
          ),
        ),
        ['query.after format'],
        `${path}: foreign and unknown alike`,
      )
  for (const row of endpoints({} as HttpDeps, () => 'https://mail.test')) {
    const takes = Object.keys(row.query?.().describe().keys ?? {})
    if (row.path.includes('{') || !takes.includes('cursor')) continue
    t.equal(takes.includes('before') && takes.includes('after'), row.id !== 'listQueueEntries', row.id)
    if (row.id === 'listQueueEntries') continue
    const key = row.access === 'any' ? kit.key : kit.session
    const answer = await kit.ask(`${row.path}?before=em_${'1'.repeat(26)}`, { key })
    t.same(fieldsOf(answer), ['query.before format'], row.path)
  }
})
