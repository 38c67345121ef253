/** GET /v1/events: the log page by page, what it takes and refuses, and who sees what of it. */
import t from 'tap'
import { matcherOf } from '../../src/http/feed.js'
import type { LogFilter } from '../../src/store/port/log.js'
import { listen } from '../parts/event-source.js'
import { eventually } from '../parts/eventually.js'
import { follow } from '../store/fixture.js'
import { fieldsOf, type Kit, MAIL, openKit, type Reply } from './kit.js'

const emailsIn = (reply: Reply): string[] => reply.json.data.map((one: { email_id: string }) => one.email_id)
const typesIn = (reply: Reply): string[] => reply.json.data.map((one: { type: string }) => one.type)
const send = async (kit: Kit, to = MAIL.to, key = kit.key): Promise<string> =>
  (await kit.ask('/v1/emails', { key, body: { ...MAIL, to } })).json.id

const HOUR = 3_600_000
const KEEP = { bodiesMs: HOUR, emailsMs: 90 * 24 * HOUR, deadlines: false }

/** The mark at which a stream that opens now begins. */
const markNow = async (kit: Kit): Promise<string> => {
  const stream = await listen(`${kit.url}/v1/events/stream`, kit.key)
  const mark = await eventually('its beginning', () => stream.lastId)
  stream.close()
  return mark
}

t.test('filters', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const ana = await send(kit)
  await kit.ask('/v1/suppressions', { body: { email: 'gone@example.com' } })
  const gone = await send(kit, 'gone@example.com')
  const all = await kit.ask('/v1/events')
  t.strictSame(typesIn(all), ['email.bounced', 'suppression.added', 'email.queued'])
  t.equal(all.json.pagination.total, 3)
  t.match(all.json.data[1], { email_id: null, data: { email: 'gone@example.com' } })
  const [bounced] = all.json.data
  for (const [query, types] of [
    ['type=email.bounced', ['email.bounced']],
    ['type=email.queued&type=email.bounced', ['email.bounced', 'email.queued']],
    ['type=email.delivery_delayed', []],
    ['type=email.deferred', []],
    [`email_id=${ana}`, ['email.queued']],
    [`email_id=${gone}`, ['email.bounced']],
    ['email_id=em_nothing', []],
    ['recipient=ANA@example.com', ['email.queued']],
    ['change=false', []],
    ['change=true', ['email.bounced', 'suppression.added', 'email.queued']],
    [`created_after=${bounced.created_at}`, []],
    [`created_before=${bounced.created_at}&type=email.queued`, ['email.queued']],
    ['mode=live&type=email.queued', ['email.queued']],
  ] as const) {
    t.strictSame(typesIn(await kit.ask(`/v1/events?${query}`)), types, query)
  }
  t.strictSame(typesIn(await kit.ask('/v1/events?mode=test', { key: kit.session })), [])
  t.equal((await kit.ask('/v1/events?mode=live', { key: kit.session })).json.data.length, 3)
})

t.test('what is wrong', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const wrong = async (query: string) => fieldsOf(await kit.ask(`/v1/events?${query}`))
  const typed = await kit.ask('/v1/events?type=email.delivred&type=email.sent')
  t.strictSame(fieldsOf(typed), ['query.type unsupported'])
  t.match(
    typed.json.errors[0].message,
    /"email.delivred" is no type of event; the nearest is email.delivered/,
  )
  t.strictSame(await wrong('mode=test'), ['query.mode forbidden'])
  t.strictSame(await wrong('change=yes'), ['query.change unsupported'])
  t.strictSame(await wrong('created_after=now'), ['query.created_after format'])
  t.strictSame(await wrong('after=12'), ['query.after format'])
  t.strictSame(await wrong('status=sent'), ['query.status unknown'])
  t.strictSame(await wrong('type=x&mode=test&limit=0'), [
    'query.limit range',
    'query.mode forbidden',
    'query.type unsupported',
  ])
  const { pagination } = (await kit.ask('/v1/events')).json
  const mark = await markNow(kit)
  t.strictSame(await wrong(`cursor=${pagination.prev_cursor}&after=${mark}`), ['query.after forbidden'])
  t.equal((await kit.ask(`/v1/events?cursor=${mark}`)).json.code, 'validation.cursor_invalid')
  t.strictSame(await wrong(`after=${pagination.prev_cursor}`), ['query.after format'])
  const changed = await kit.ask(`/v1/events?cursor=${pagination.prev_cursor}&type=email.sent`)
  t.equal(changed.json.code, 'validation.cursor_filters_mismatch')
  const foreign = await kit.ask('/v1/events/evt_nothing')
  t.equal(foreign.json.code, 'event.not_found')
})

t.test(
  'prev_cursor from the top, and after from a mark: what came since, once, the nearest first',
  async (t) => {
    const kit = await openKit()
    t.teardown(() => kit.stop())
    await send(kit)
    const mark = await markNow(kit)
    const top = await kit.ask('/v1/events?limit=2')
    const sent: string[] = []
    for (let i = 0; i < 5; i++) sent.push(await send(kit))
    for (const begin of [
      `/v1/events?limit=2&after=${mark}`,
      `/v1/events?cursor=${top.json.pagination.prev_cursor}`,
    ]) {
      const hops: string[][] = []
      let reply = await kit.ask(begin)
      t.equal(reply.json.pagination.total, null)
      while (reply.json.data.length > 0) {
        hops.push(emailsIn(reply).reverse())
        reply = await kit.ask(`/v1/events?cursor=${reply.json.pagination.prev_cursor}`)
      }
      t.equal(hops.map(({ length }) => length).join(), sent.length === 5 ? '2,2,1' : '2,2,2')
      t.strictSame(hops.flat(), sent)
      sent.push(await send(kit))
      const next = await kit.ask(`/v1/events?cursor=${reply.json.pagination.prev_cursor}`)
      t.strictSame(emailsIn(next), sent.slice(-1), 'and so on for ever')
    }
  },
)

t.test(
  'a place that is too old is told: 410 on the list, log.gap on the stream; walking back simply ends',
  async (t) => {
    const kit = await openKit()
    t.teardown(() => kit.stop())
    const mark = await markNow(kit)
    const top = await kit.ask('/v1/events')
    await send(kit)
    const old = await kit.ask('/v1/events')
    const swept = Date.now()
    await kit.store.sweep(swept, { ...KEEP, logMs: -1 })
    await eventually('a moment that is kept', () => Date.now() > swept + 2)
    const young = await send(kit)
    for (const query of [`after=${mark}`, `cursor=${top.json.pagination.prev_cursor}`]) {
      const reply = await kit.ask(`/v1/events?${query}`)
      t.match(reply, { status: 410, json: { code: 'event.expired', oldest: /^m1_/ } }, query)
      const { oldest } = reply.json
      t.strictSame(emailsIn(await kit.ask(`/v1/events?after=${oldest}`)), [young])
    }
    t.equal((await kit.ask(`/v1/events?cursor=${old.json.pagination.prev_cursor}`)).status, 410)
    t.equal((await kit.ask('/v1/events')).json.data.length, 2, 'and back as far as there are mails')
    const stream = await listen(`${kit.url}/v1/events/stream?after=${mark}`, kit.key)
    const [gap, event] = await stream.heard(2)
    stream.close()
    t.match(gap, { type: 'log.gap', data: { object: 'log_gap', after: mark, oldest: /^m1_/ } })
    t.equal(gap?.id, gap?.data.oldest)
    t.match(event, { type: 'email.queued', data: { email_id: young } })
  },
)

/** What each caller sees of what happened in two workspaces, two modes, the account, and another account. */
t.test('whose: list, stream and one by one, by every kind of caller', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const { tenants, accountId } = kit
  const shop = await tenants.createWorkspace(accountId, { name: 'Shop' })
  const keyFor = async (workspace: string | undefined, mode: 'live' | 'test'): Promise<string> =>
    (await tenants.createKey(accountId, { name: 'k', mode, ...(workspace && { workspace }) })).secret
  const keys = {
    own: kit.key,
    ownTest: await keyFor('default', 'test'),
    shop: await keyFor(shop.id, 'live'),
    platform: kit.platform,
    platformTest: await keyFor(undefined, 'test'),
    session: kit.session,
    foreign: (await tenants.createSession((await tenants.createAccount('Other')).id)).token,
  }
  const mark = await markNow(kit)
  const happened: Record<string, string> = {
    own: await send(kit),
    ownTest: await send(kit, MAIL.to, keys.ownTest),
    shop: await send(kit, MAIL.to, keys.shop),
  }
  const notice = { type: 'upstream.down', accountId, workspaceId: null, now: kit.clock.now() } as const
  happened.wide =
    (await kit.store.addNotice({ ...notice, mode: 'live', data: { upstream_id: 'up_1' } })) ?? ''
  const header = { 'x-workspace-id': shop.id }
  const cases: readonly [keyof typeof keys, Record<string, string>, readonly string[]][] = [
    ['own', {}, ['own']],
    ['ownTest', {}, ['ownTest']],
    ['shop', {}, ['shop']],
    ['shop', header, ['shop']],
    ['platform', {}, ['own', 'shop', 'wide']],
    ['platform', header, ['shop']],
    ['platformTest', {}, ['ownTest']],
    ['platformTest', header, []],
    ['session', {}, ['own', 'ownTest', 'shop', 'wide']],
    ['session', header, ['shop']],
    ['foreign', {}, []],
  ]
  const everything = (await kit.ask('/v1/events', { key: kit.session })).json.data
  const nameOf = (event: { id: string; email_id: string | null }): string =>
    Object.entries(happened).find(([, id]) => id === event.id || id === event.email_id)?.[0] ?? '?'
  t.strictSame(everything.map(nameOf), ['wide', 'shop', 'ownTest', 'own'])
  for (const [who, headers, seen] of cases) {
    const key = keys[who]
    const told = `${who} ${JSON.stringify(headers)}`
    const listed = await kit.ask('/v1/events', { key, headers })
    t.strictSame(listed.json.data.map(nameOf).reverse(), seen, told)
    if (who !== 'foreign') {
      const stream = await listen(`${kit.url}/v1/events/stream?after=${mark}`, key, headers)
      await stream.heard(seen.length)
      await eventually('its beginning', () => stream.lastId)
      stream.close()
      t.strictSame(
        stream.events.map(({ data }) => nameOf(data)),
        seen,
        `${told}, live`,
      )
    } else {
      const reply = await kit.ask(`/v1/events/stream?after=${mark}`, { key })
      t.strictSame(fieldsOf(reply), ['query.after format'], 'a mark of another account is none')
    }
    for (const event of everything) {
      const one = await kit.ask(`/v1/events/${event.id}`, { key, headers })
      t.equal(one.status, seen.includes(nameOf(event)) ? 200 : 404, `${told} ${nameOf(event)}`)
    }
  }
  for (const path of ['/v1/events', '/v1/events/stream', `/v1/events/${everything[0].id}`]) {
    const strange = await kit.ask(path, { key: keys.shop, headers: { 'x-workspace-id': kit.workspaceId } })
    t.equal(strange.json.code, 'workspace.not_found', path)
  }
})

t.test('the filter of streams lets through what that of the store does', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const { accountId, workspaceId, store } = kit
  const shop = await kit.tenants.createWorkspace(accountId, { name: 'Shop' })
  await kit.ask('/v1/suppressions', { body: { email: 'gone@example.com' } })
  const { secret: test } = await kit.tenants.createKey(accountId, {
    name: 't',
    workspace: shop.id,
    mode: 'test',
  })
  for (const key of [kit.key, test]) {
    for (const to of ['ana@example.com', 'Ana@Example.com', 'gone@example.com', 'zoë@exämple.com'])
      await send(kit, to, key)
  }
  const notice = { accountId, now: kit.clock.now(), data: { id: 'x' } } as const
  await store.addNotice({ ...notice, type: 'upstream.down', workspaceId: null, mode: 'live' })
  await store.addNotice({ ...notice, type: 'domain.failed', workspaceId, mode: 'test' })
  const read = await follow(store, null, null, 1_000)
  if (read === 'gone') throw new Error('gone')
  t.ok(read.rows.length >= 11)
  const some = read.rows[3]
  const none: LogFilter = {
    ...{ accountId, workspaceId: null, accountWide: true, mode: null, types: null, emailId: null },
    ...{ recipient: null, change: null, createdAfter: null, createdBefore: null },
  }
  const variants: readonly Partial<LogFilter>[] = [
    {},
    { accountWide: false },
    { workspaceId, accountWide: false },
    { workspaceId: shop.id, accountWide: false },
    { mode: 'live' },
    { mode: 'test' },
    { types: ['email.queued'] },
    { types: ['email.bounced', 'upstream.down'] },
    { change: true },
    { change: false },
    { emailId: some?.emailId ?? '' },
    { recipient: 'ana@example.com' },
    { recipient: 'ZOË@exämple.com' },
    { createdAfter: some?.createdAt ?? 0 },
    { createdBefore: some?.createdAt ?? 0 },
    { accountId: 'acct_other' },
  ]
  for (const one of variants) {
    for (const two of variants) {
      const filter = { ...none, ...one, ...two }
      const wants = matcherOf(filter)
      const theirs = await store.follow(filter, null, 1_000)
      if (theirs === 'gone') throw new Error('gone')
      t.strictSame(
        read.rows.filter(wants).map(({ id }) => id),
        theirs.rows.map(({ id }) => id),
        JSON.stringify([one, two]),
      )
    }
  }
})
