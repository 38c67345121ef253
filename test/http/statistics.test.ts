/**
 * GET /v1/statistics over mails that really went through the store: the numbers
 * are those of the events, whoever asks sees its own, and what cannot be had is
 * refused in words.
 */
import t from 'tap'
import type { Outcome } from '../../src/lifecycle/facts.js'
import { countAll } from '../parts/counted.js'
import { ofLease } from '../store/fixture.js'
import { fieldsOf, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())
const { store } = kit

const count = (): Promise<void> => countAll(store)

const made = await kit.ask('/v1/api-keys', {
  key: kit.session,
  body: { name: 'ci', mode: 'test', scope: 'workspace', workspace_id: kit.workspaceId },
})
const testKey = made.json.secret as string
const shop = (await kit.ask('/v1/workspaces', { key: kit.platform, body: { name: 'Shop' } })).json
const shopKey = (
  await kit.ask('/v1/api-keys', {
    key: kit.session,
    body: { name: 'shop', scope: 'workspace', workspace_id: shop.id },
  })
).json.secret as string

const send = async (to: readonly string[], key = kit.key, more = {}): Promise<void> => {
  const body = { from: 'a@b.test', to, subject: 'Hi', text: 'Hi', ...more }
  const reply = await kit.ask('/v1/emails', { key, body })
  if (reply.status !== 202) throw new Error(reply.text)
}

const dialogue = (code: number, enhanced: string, text: string) => ({ code, enhanced, text })

/** What becomes of an address, by its name. */
const OUTCOMES: Readonly<Record<string, Partial<Outcome>>> = {
  good: { seen: 'accepted', reply: dialogue(250, '2.0.0', 'Ok') },
  gone: {
    seen: 'rejected',
    reply: dialogue(550, '5.1.1', 'no such user'),
    reason: 'unknown_user',
    detail: { stage: 'rcpt', class: 'hard', category: 'unknown_user' },
  },
  spam: {
    seen: 'rejected',
    reply: dialogue(554, '5.7.1', 'spam'),
    reason: 'spam',
    detail: { stage: 'dot', class: 'soft', category: 'spam' },
  },
  grey: { seen: 'postponed', reply: dialogue(450, '4.7.1', 'Greylisted'), reason: 'rate_limited' },
}

const relayAll = async (): Promise<void> => {
  for (const pool of await store.allPools()) {
    const now = kit.clock.now()
    for (const claimed of await store.claim(pool.id, 100, now + 60_000, now)) {
      const name = claimed.address.split('@')[0] ?? ''
      const mta = { poolId: pool.id, upstreamId: 'up_x', host: 'mta1.test' }
      const told = OUTCOMES[name] ?? OUTCOMES.good
      await store.settle([ofLease(claimed, { at: now + 300, retryAt: now + 3_600_000, mta, ...told })])
      if (name !== 'good') continue
      const recipientId = claimed.recipientId
      const report = { ...ofLease(claimed), recipientId, leaseGen: null, attempt: null, mta: null }
      await store.settle([{ ...report, seen: 'dsn-delivered', source: 'dsn', at: now + 2_300, reply: null }])
    }
  }
}

await kit.ask('/v1/suppressions', { body: { email: 'listed@four.test' } })
await send(['good@one.test', 'good@gmail.com', 'gone@one.test'])
await send(['spam@two.test', 'grey@two.test', 'listed@four.test'])
await send(['good@one.test', 'good@three.test'], shopKey)
await send(['good@one.test'], testKey)
await relayAll()
await count()

const ask = (query: string, key = kit.key, headers = {}) =>
  kit.ask(`/v1/statistics${query}`, { key, headers })

t.test('the numbers of a workspace', async (t) => {
  const reply = await ask('')
  t.equal(reply.status, 200, reply.text)
  t.match(reply.json, {
    object: 'statistics',
    workspace_id: kit.workspaceId,
    mode: 'live',
    interval: 'hour',
    tz: 'UTC',
    group_by: 'none',
    totals: {
      accepted: 6,
      sent: 2,
      delivered: 2,
      deferred: 1,
      greylisted: 1,
      suppressed: 1,
      bounced: { total: 2, hard: 1, soft: 1, by_category: { unknown_user: 1, spam: 1 } },
      of_accepted: { tried: 5, sent: 2, delivered: 2, bounced_hard: 1, bounced_soft: 1 },
      rates: { delivered: 0.4, bounced: 0.4, bounced_hard: 0.2, deferred: 0.2, complained: 0 },
    },
    groups: [],
  })
  t.equal(reply.json.data.length, 25, 'every hour, also empty ones')
  t.equal(reply.json.totals.time_to_sent.count, 2)
  t.ok(reply.json.totals.time_to_delivered.p50 > reply.json.totals.time_to_sent.p50)
  const filled = reply.json.data.filter((span: { accepted: number }) => span.accepted > 0)
  t.equal(
    filled.reduce((sum: number, span: { accepted: number }) => sum + span.accepted, 0),
    6,
  )
  for (const interval of ['minute', 'day']) {
    const other = await ask(`?interval=${interval}`)
    t.same(other.json.totals, reply.json.totals, interval)
  }
  t.same((await ask('?interval=day&tz=Asia/Kolkata')).json.totals, reply.json.totals, 'from quarters')
})

t.test('the numbers are those of the log', async (t) => {
  const filter = {
    accountId: kit.accountId,
    workspaceId: kit.workspaceId,
    accountWide: false,
    mode: 'live' as const,
    types: null,
    emailId: null,
    recipient: null,
    change: true,
    createdAfter: null,
    createdBefore: null,
  }
  const told = await store.follow(filter, null, 500)
  if (told === 'gone') throw new Error('the log is gone')
  const of = (type: string) =>
    told.rows.filter((row) => row.type === type && row.reason !== 'suppressed').length
  const { totals } = (await ask('')).json
  t.equal(totals.sent, of('email.sent'))
  t.equal(totals.delivered, of('email.delivered'))
  t.equal(totals.bounced.total, of('email.bounced'))
  t.equal(totals.deferred, of('email.deferred'))
})

t.test('who sees what', async (t) => {
  t.equal((await ask('', shopKey)).json.totals.accepted, 2)
  t.match((await ask('', testKey)).json, { mode: 'test', totals: { accepted: 1 } })
  t.match((await ask('', kit.platform)).json, { workspace_id: null, mode: 'live', totals: { accepted: 8 } })
  const of = (id: string) => ({ 'x-workspace-id': id })
  t.equal((await ask('', kit.platform, of(shop.id))).json.totals.accepted, 2)
  t.equal((await ask('', shopKey, of(kit.workspaceId))).json.code, 'workspace.not_found')
  t.equal((await ask('?mode=test', kit.session)).json.totals.accepted, 1)
  t.equal((await ask('', kit.session)).json.mode, 'live')
  t.same(fieldsOf(await ask('?mode=test')), ['query.mode forbidden'])
  t.equal((await kit.ask('/v1/statistics', { key: null })).status, 401)
})

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
const groupsOf = async (query: string, key = kit.platform): Promise<any[]> => {
  const reply = await ask(query, key)
  t.equal(reply.status, 200, reply.text)
  return reply.json.groups
}

t.test('in groups', async (t) => {
  const keys = async (query: string, key = kit.platform) =>
    (await groupsOf(query, key)).map((group) => `${group.key} ${group.totals.accepted}`)
  t.same(await keys('?group_by=recipient_domain'), [
    'one.test 3',
    'two.test 2',
    'gmail.com 1',
    'three.test 1',
    'four.test 1',
  ])
  t.same(await keys('?group_by=recipient_domain&limit=1'), ['one.test 3', 'null 5'], 'the rest is one group')
  t.same(await keys('?group_by=recipient_domain', shopKey), ['one.test 1', 'three.test 1'])
  t.same(await keys('?group_by=provider'), ['other 7', 'google 1'])
  t.match(await groupsOf('?group_by=workspace'), [
    { key: kit.workspaceId, name: 'Default', totals: { accepted: 6 } },
    { key: shop.id, name: 'Shop', totals: { accepted: 2 } },
  ])
  t.match(await groupsOf('?group_by=pool'), [
    { name: 'default', totals: { accepted: 6 } },
    { name: 'shop', totals: { accepted: 2 } },
  ])
  t.match(await groupsOf('?group_by=upstream'), [
    {
      key: 'up_x',
      name: null,
      totals: { accepted: 0, sent: 4, of_accepted: { tried: 6 }, rates: { bounced: 0.33333 } },
    },
  ])
  const categories = await groupsOf('?group_by=category')
  t.same(categories.map((one) => [one.key, one.totals.bounced.hard, one.totals.bounced.soft]).sort(), [
    ['spam', 0, 1],
    ['unknown_user', 1, 0],
  ])
  const all = (await ask('', kit.platform)).json.totals
  for (const by of ['recipient_domain', 'upstream', 'category', 'tag', 'pool'])
    t.same(
      (await ask(`?group_by=${by}`, kit.platform)).json.totals,
      all,
      `the totals by ${by} are those of all`,
    )
  const [one] = await groupsOf('?group_by=recipient_domain')
  t.equal(one.data.length, 1, 'spans without anything are left out')
})

t.test('tags that a workspace names, and no others', async (t) => {
  const change = (body: unknown) =>
    kit.ask(`/v1/workspaces/${shop.id}`, { method: 'PATCH', key: kit.platform, body })
  const set = await change({ statistics: { tags: ['kind', 'plan'] } })
  t.same(set.json.statistics, { tags: ['kind', 'plan'] }, set.text)
  const tag = (name: string, value: string) => ({ name, value })
  await send(['a@x.test'], shopKey, { tags: [tag('kind', 'receipt'), tag('plan', ''), tag('user', '42')] })
  await send(['b@x.test', 'c@x.test'], shopKey, { tags: [tag('kind', 'reset')] })
  await count()
  const keys = async (query: string) =>
    (await groupsOf(query, shopKey)).map((group) => `${group.key} ${group.totals.accepted}`)
  t.same(await keys('?group_by=tag'), ['kind:reset 2', 'kind:receipt 1', 'plan: 1'])
  t.same(await keys('?group_by=tag&tag=kind'), ['kind:reset 2', 'kind:receipt 1'])
  t.same(await keys('?group_by=tag&tag=user'), [])
  const wrong = async (tags: readonly string[], ...fields: string[]) => {
    const reply = await change({ statistics: { tags } })
    t.equal(reply.status, 422)
    t.same(fieldsOf(reply), fields)
  }
  await wrong(['a b', 'x', 'x'], 'body.statistics.tags[0] format', 'body.statistics.tags[2] not_unique')
  await wrong(
    Array.from({ length: 21 }, (_, i) => `t${i}`),
    'body.statistics.tags too_many',
  )
  t.same((await change({ name: 'Shop' })).json.statistics, { tags: ['kind', 'plan'] }, 'left alone')
  t.same((await change({ statistics: { tags: [] } })).json.statistics, { tags: [] })
})

t.test('what cannot be had', async (t) => {
  const wrong = async (query: string, ...fields: string[]) => {
    const reply = await ask(query)
    t.equal(reply.status, 422, query)
    t.same(fieldsOf(reply), fields, query)
  }
  await wrong('?interval=week', 'query.interval unsupported')
  await wrong('?group_by=colour', 'query.group_by unsupported')
  await wrong('?tz=Mars/Base&from=soon', 'query.tz unknown', 'query.from format')
  await wrong('?limit=0', 'query.limit range')
  await wrong('?limit=101', 'query.limit range')
  await wrong('?interval=minute&group_by=recipient_domain', 'query.group_by unsupported')
  await wrong('?interval=day&from=2020-01-01&to=2020-01-02', 'query.from past')
  await wrong('?from=2999-01-01', 'query.from range')
  await wrong('?colour=red', 'query.colour unknown')
  await wrong('?from=%00&interval=week', 'query.from format', 'query.interval unsupported')
})

t.test('as_of: what is not counted yet is not promised', async (t) => {
  const before = (await ask('')).json
  t.ok(Date.parse(before.as_of) >= Date.now() - 5_000)
  kit.clock.advance(5_000)
  await send(['good@one.test'])
  kit.clock.advance(60_000)
  const late = (await ask('')).json
  t.equal(late.totals.accepted, 6)
  t.ok(kit.clock.now() - Date.parse(late.as_of) >= 60_000, 'as of the mail that waits to be counted')
  await count()
  const now = (await ask('')).json
  t.equal(now.totals.accepted, 7)
  t.ok(kit.clock.now() - Date.parse(now.as_of) < 5_000)
})
