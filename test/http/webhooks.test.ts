/** Endpoints of webhooks over HTTP: what may be asked for, whose they are, secrets, tests and replays. */
import { Resend } from 'resend'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { newId } from '../../src/base/id.js'
import type { PostRow } from '../../src/store/port/hooks.js'
import { answer, receiver } from '../parts/receiver.js'
import { fieldsOf, MAIL, openKit } from './kit.js'

const kit = await openKit({ allowNetworks: ['127.0.0.0/8'] })
t.teardown(() => kit.stop())
const URL_ = 'https://app.test/hook'
const BODY = { endpoint: URL_, events: ['email.delivered', 'email.bounced'] }

const create = async (more: object = {}, key = kit.key) =>
  (await kit.ask('/v1/webhooks', { key, body: { ...BODY, ...more } })).json

t.test('made, read, listed, changed, removed', async (t) => {
  const made = await kit.ask('/v1/webhooks', { body: BODY })
  t.equal(made.status, 201)
  t.match(made.json, {
    object: 'webhook',
    ...BODY,
    status: 'enabled',
    workspace_id: kit.workspaceId,
    mode: 'live',
    fields: 'full',
    max_in_flight: 8,
    rate: 50,
    health: { state: 'healthy', failures: 0 },
    waiting: 0,
  })
  t.match(made.json.signing_secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const path = made.headers.get('location') ?? ''
  t.equal(path, `/v1/webhooks/${made.json.id}`)
  const read = await kit.ask(path)
  t.match(read.json, { id: made.json.id, behind: { events: 0, capped: false } })
  t.notMatch(read.text, 'whsec_')
  const listed = await kit.ask('/v1/webhooks')
  t.match(listed.json.data[0], { id: made.json.id, behind: { events: 0, capped: false } })
  t.notMatch(listed.text, 'whsec_')
  const changed = await kit.ask(path, {
    method: 'PATCH',
    body: {
      events: ['*'],
      fields: 'thin',
      max_in_flight: 1,
      rate: 5,
      domains: ['Shop.Example.', 'müller.example'],
    },
  })
  t.match(changed.json, {
    ...{ endpoint: URL_, events: ['*'], fields: 'thin', max_in_flight: 1, rate: 5 },
    domains: ['shop.example', 'xn--mller-kva.example'],
  })
  t.equal(
    (await kit.ask(path, { method: 'PATCH', body: read.json })).status,
    200,
    'what was read is taken back',
  )
  const other = await kit.ask(path, { method: 'PATCH', body: { ...read.json, mode: 'test' } })
  t.strictSame(fieldsOf(other), ['body.mode forbidden'])
  t.match((await kit.ask(path, { method: 'DELETE' })).json, {
    id: made.json.id,
    object: 'webhook',
    deleted: true,
  })
  t.equal((await kit.ask(path)).json.code, 'webhook.not_found')
  t.equal((await kit.ask(path, { method: 'DELETE' })).json.code, 'webhook.not_found')
})

t.test('what is wrong is told at once, each by its name', async (t) => {
  const wrong = await kit.ask('/v1/webhooks', {
    body: {
      endpoint: 'http://169.254.169.254/latest',
      events: ['email.delivred', 'email.held', 'upstream.down', 'email.sent', 'email.reported'],
      domains: ['no domain'],
      headers: {
        'Webhook-Id': 'x',
        'Content-Type': 'y',
        'X-A': 'a',
        'x-a': 'b',
        'X B': 'c',
        'X-C': 'd\r\ne',
      },
    },
  })
  t.equal(wrong.status, 422)
  t.strictSame(fieldsOf(wrong), [
    'body.endpoint forbidden',
    'body.events[0] unsupported',
    'body.events[1] unsupported',
    'body.events[2] forbidden',
    'body.events[4] unsupported',
    'body.domains[0] format',
    'body.headers.Webhook-Id forbidden',
    'body.headers.Content-Type forbidden',
    'body.headers.X-A not_unique',
    'body.headers.x-a not_unique',
    'body.headers["X B"] format',
    'body.headers.X-C format',
  ])
  t.match(wrong.json.errors[0].message, /private or reserved address/)
  t.match(wrong.json.errors[1].message, /did you mean "email.delivered"\?/)
  const many = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`X-${i}`, 'v']))
  t.strictSame(fieldsOf(await kit.ask('/v1/webhooks', { body: { ...BODY, headers: many } })), [
    'body.headers too_many',
  ])
  for (const [body, field] of [
    [{}, 'body.endpoint missing'],
    [{ ...BODY, events: [] }, 'body.events empty'],
    [{ ...BODY, endpoint: 'app.test' }, 'body.endpoint format'],
    [{ ...BODY, endpoint: 'ftp://app.test/' }, 'body.endpoint format'],
    [{ ...BODY, endpoint: 'https://u:p@app.test/' }, 'body.endpoint format'],
    [{ ...BODY, endpoint: 'https://app.test/\r\nPlease sign in at' }, 'body.endpoint format'],
    [{ ...BODY, endpoint: 'https://app.test\\@other.test/' }, 'body.endpoint format'],
    [{ ...BODY, endpoint: 'https://app.test/\u202egpj' }, 'body.endpoint format'],
    [{ ...BODY, endpoint: 'http://app.test/' }, 'body.endpoint forbidden'],
    [{ ...BODY, endpoint: 'https://private.app.test/' }, 'body.endpoint forbidden'],
    [{ ...BODY, endpoint: 'https://[::ffff:10.0.0.1]/' }, 'body.endpoint forbidden'],
    [{ ...BODY, endpoint: `https://app.test/${'x'.repeat(2048)}` }, 'body.endpoint length'],
    [{ ...BODY, max_in_flight: 33 }, 'body.max_in_flight range'],
    [{ ...BODY, fields: 'some' }, 'body.fields unsupported'],
    [{ ...BODY, status: 'disabled' }, 'body.status unknown'],
  ] as const) {
    t.equal(fieldsOf(await kit.ask('/v1/webhooks', { body }))[0], field)
  }
  const { id } = await create()
  const path = `/v1/webhooks/${id}`
  const change = (body: object) => kit.ask(path, { method: 'PATCH', body }).then(fieldsOf)
  t.strictSame(await change({ endpoint: 'https://private.app.test/' }), ['body.endpoint forbidden'])
  t.strictSame(await change({ from: 'now' }), ['body.from forbidden'])
  for (const grace of ['8d', 'soon', 604_801, -1]) {
    const reply = await kit.ask(`${path}/signing-secret/rotate`, { body: { grace } })
    t.strictSame(fieldsOf(reply), ['body.grace range'], String(grace))
  }
})

t.test('another server is told no login and no headers that were meant for the one before', async (t) => {
  const headers = { 'X-Token': 'hush' }
  const { id } = await create({
    endpoint: 'https://app.test/a',
    format: 'postmark',
    auth: 'list:hush',
    headers,
  })
  const change = (body: object) => kit.ask(`/v1/webhooks/${id}`, { method: 'PATCH', body })
  const both = ['body.auth missing', 'body.headers missing']
  for (const endpoint of ['https://other.test/a', 'https://app.test:444/a'])
    t.strictSame(fieldsOf(await change({ endpoint })), both, endpoint)
  t.strictSame(fieldsOf(await change({ endpoint: 'https://other.test/a', auth: '' })), [
    'body.headers missing',
  ])
  t.strictSame(fieldsOf(await change({ endpoint: 'https://other.test/a', headers })), ['body.auth missing'])
  const path = await change({ endpoint: 'https://APP.test:443/b' })
  t.match(path.json, { has_auth: true, header_names: ['X-Token'] }, 'the same server')
  const moved = await change({ endpoint: 'https://other.test/a', auth: 'list:new', headers })
  t.match(moved.json, { endpoint: 'https://other.test/a', has_auth: true, header_names: ['X-Token'] })
  const bare = await change({ endpoint: 'https://app.test/a', auth: '', headers: {} })
  t.match(bare.json, { endpoint: 'https://app.test/a', has_auth: false, header_names: [] })
})

t.test('whose an endpoint is', async (t) => {
  const other = (await kit.tenants.createWorkspace(kit.accountId, { name: 'Other' })).id
  const keyOf = async (workspace: string, mode: 'live' | 'test') =>
    (await kit.tenants.createKey(kit.accountId, { name: 'k', workspace, mode })).secret
  const platformTest = (await kit.tenants.createKey(kit.accountId, { name: 'p', mode: 'test' })).secret
  const callers = {
    live: kit.key,
    test: await keyOf('default', 'test'),
    otherLive: await keyOf(other, 'live'),
    otherTest: await keyOf(other, 'test'),
    platform: kit.platform,
    platformTest,
    session: kit.session,
  }
  type Caller = keyof typeof callers
  const owned: Record<string, readonly [Caller, string | null, readonly Caller[]]> = {
    'default live': ['live', null, ['live', 'platform', 'session']],
    'default test': ['test', null, ['test', 'platformTest', 'session']],
    'other live': ['otherLive', null, ['otherLive', 'platform', 'session']],
    'other test': ['otherTest', null, ['otherTest', 'platformTest', 'session']],
    'account live': ['platform', null, ['platform', 'session']],
    'account test': ['platformTest', null, ['platformTest', 'session']],
    'named live': ['platform', other, ['otherLive', 'platform', 'session']],
    'by session': ['session', other, ['otherLive', 'platform', 'session']],
  }
  for (const [what, [owner, workspace, seers]] of Object.entries(owned)) {
    const headers: Record<string, string> = workspace === null ? {} : { 'x-workspace-id': workspace }
    const { id } = (await kit.ask('/v1/webhooks', { key: callers[owner], headers, body: BODY })).json
    for (const [who, key] of Object.entries(callers)) {
      const isSeer = seers.includes(who as Caller)
      const expected = isSeer ? 200 : 404
      const path = `/v1/webhooks/${id}`
      const codes = [
        (await kit.ask(path, { key })).status,
        (await kit.ask(`${path}/events`, { key })).status,
        (await kit.ask(path, { key, method: 'PATCH', body: { rate: 7 } })).status,
        (await kit.ask(`${path}/signing-secret/rotate`, { key, method: 'POST' })).status,
        (await kit.ask(`${path}/replay`, { key, body: { failed: true, dry_run: true } })).status,
      ]
      t.strictSame(codes, Array(5).fill(expected), `${what} by ${who}`)
      const listed = (await kit.ask('/v1/webhooks?limit=100', { key })).json.data as { id: string }[]
      t.equal(
        listed.some((one) => one.id === id),
        isSeer,
        `${what} in the list of ${who}`,
      )
      if (isSeer) continue
      t.equal((await kit.ask(path, { key, method: 'DELETE' })).status, 404)
      t.equal((await kit.ask(`${path}/test`, { key, method: 'POST' })).status, 404)
    }
    const named = await kit.ask(`/v1/webhooks/${id}`, {
      key: kit.session,
      headers: { 'x-workspace-id': other },
    })
    t.equal(
      named.status,
      seers.includes('otherLive') || seers.includes('otherTest') ? 200 : 404,
      `${what}, named`,
    )
  }
  t.strictSame(fieldsOf(await kit.ask('/v1/webhooks', { body: { ...BODY, events: ['upstream.down'] } })), [
    'body.events[0] forbidden',
  ])
  const wide = { ...BODY, events: ['upstream.down'] }
  t.equal((await kit.ask('/v1/webhooks', { key: kit.platform, body: wide })).status, 201)
})

t.test('the resend client, unchanged', async (t) => {
  const end = await receiver(t)
  const client = new Resend(kit.key, { baseUrl: `${kit.url}/v1` })
  const made = await client.webhooks.create({
    endpoint: `http://127.0.0.1:${end.port}/`,
    events: ['email.delivered', 'email.delivery_delayed'],
  })
  t.equal(made.error, null)
  const { id = '', signing_secret: secret = '' } = made.data ?? {}
  t.match((await client.webhooks.get(id)).data, {
    id,
    status: 'enabled',
    events: ['email.delivered', 'email.delivery_delayed'],
  })
  t.equal((await client.webhooks.list()).data?.data[0]?.id, id)
  t.equal((await client.webhooks.list({ limit: 1 })).data?.has_more, true)
  t.equal((await client.webhooks.update(id, { events: ['email.bounced'], status: 'disabled' })).data?.id, id)
  t.equal((await client.webhooks.get(id)).data?.status, 'disabled')
  t.equal((await client.webhooks.update(id, { status: 'enabled' })).error, null)
  const rotated = await client.webhooks.rotateSigningSecret(id)
  const fresh = rotated.data?.signing_secret ?? ''
  t.not(fresh, secret)

  t.equal((await kit.ask(`/v1/webhooks/${id}/test`, { method: 'POST' })).json.status, 'success')
  const [got] = end.received
  const headers = {
    id: got?.headers['webhook-id'] as string,
    timestamp: got?.headers['webhook-timestamp'] as string,
    signature: got?.headers['webhook-signature'] as string,
  }
  for (const webhookSecret of [secret, fresh])
    t.match(client.webhooks.verify({ payload: got?.body ?? '', headers, webhookSecret }), {
      type: 'webhook.test',
    })

  const listed = await client.webhooks.events.list({ webhookId: id, limit: 10 })
  t.match(listed.data, {
    object: 'list',
    has_more: false,
    data: [{ id: headers.id, type: 'webhook.test', status: 'success', email_id: null, recipient: null }],
  })
  const one = await client.webhooks.events.get({ webhookId: id, eventId: headers.id })
  t.match(one.data, { object: 'webhook_event', id: headers.id, next_attempt_at: null, payload: null })
  const tries = await client.webhooks.events.attempts.list({ webhookId: id, eventId: headers.id })
  t.match(tries.data?.data, [{ http_status_code: 200, response: 'ok' }])

  const sent = await client.emails.send({ ...MAIL })
  const { data: events } = (await kit.ask(`/v1/emails/${sent.data?.id}/events`)).json
  const again = await client.webhooks.events.replay({ webhookId: id, eventId: events[0].id })
  const of = { email_id: sent.data?.id, recipient: MAIL.to }
  t.match(again.data, { object: 'webhook_event', id: events[0].id, ...of })
  const waiting = await client.webhooks.events.get({ webhookId: id, eventId: events[0].id })
  t.match((await client.webhooks.events.list({ webhookId: id, limit: 1 })).data?.data[0], of)
  t.match(waiting.data, {
    ...of,
    status: 'pending',
    payload: { type: 'email.queued', data: { email_id: sent.data?.id } },
  })
  t.match((await client.webhooks.events.get({ webhookId: id, eventId: 'evt_x' })).error, {
    code: 'event.not_found',
  })
  t.equal((await client.webhooks.remove(id)).data?.deleted, true)
  t.match((await client.webhooks.get(id)).error, { code: 'webhook.not_found' })
})

t.test('who may not read mail is not shown what an endpoint answered, which may repeat it', async (t) => {
  const end = await receiver(t)
  const { id } = await create({ endpoint: `http://127.0.0.1:${end.port}/` })
  await kit.ask(`/v1/webhooks/${id}/test`, { method: 'POST' })
  const { token } = await kit.tenants.createSession(kit.accountId, { role: 'viewer' })
  const seen = async (key: string) => (await kit.ask(`/v1/webhooks/${id}/events`, { key })).json.data[0]
  t.match(await seen(kit.key), { status: 'success', http_status_code: 200, response: 'ok' })
  t.match(await seen(token), { status: 'success', http_status_code: 200, response: null })
})

t.test('a rotation: both sign until the grace is over, then the new one alone', async (t) => {
  const end = await receiver(t)
  const { id, signing_secret: old } = await create({ endpoint: `http://127.0.0.1:${end.port}/` })
  const verifies = async (secret: string): Promise<boolean> => {
    await kit.ask(`/v1/webhooks/${id}/test`, { method: 'POST' })
    const { body = '', headers } = end.received.at(-1) ?? {}
    const [one = '', two] = String(headers?.['webhook-signature']).split(' ')
    t.ok(one.startsWith('v1,') && (two === undefined || two.startsWith('v1,')))
    const at = new Date(Number(headers?.['webhook-timestamp']) * 1000)
    const expected = new Webhook(secret).sign(String(headers?.['webhook-id']), at, body)
    return String(headers?.['webhook-signature']).split(' ').includes(expected)
  }
  const rotate = async (body?: object) => {
    const reply = await kit.ask(`/v1/webhooks/${id}/signing-secret/rotate`, { method: 'POST', body })
    t.equal(reply.status, 200)
    return reply.json
  }
  const first = await rotate({ grace: '1h' })
  t.ok(await verifies(old))
  t.ok(await verifies(first.signing_secret))
  kit.clock.advance(3_600_001)
  t.notOk(await verifies(old))
  t.ok(await verifies(first.signing_secret))
  const second = await rotate({ grace: 0 })
  t.equal(second.previous_secret_until, null)
  t.notOk(await verifies(first.signing_secret), 'a secret that leaked is out at once')
  t.ok(await verifies(second.signing_secret))
  const third = await rotate()
  t.ok(Date.parse(third.previous_secret_until) - kit.clock.now() > 23 * 3_600_000)
})

t.test('what is secret is sealed in the database, and shown nowhere', async (t) => {
  const headers = { Authorization: 'Bearer hush-hush' }
  const made = await create({ headers })
  const row = await kit.store.endpoint(kit.accountId, made.id)
  t.notMatch(JSON.stringify(row), 'hush')
  t.notMatch(JSON.stringify(row), made.signing_secret.slice(6))
  t.strictSame(made.header_names, ['Authorization'])
  const end = await receiver(t, { behave: answer(500, 'oops') })
  const endpoint = `http://127.0.0.1:${end.port}/`
  t.equal(
    (await kit.ask(`/v1/webhooks/${made.id}`, { method: 'PATCH', body: { endpoint, headers } })).status,
    200,
  )
  const tested = await kit.ask(`/v1/webhooks/${made.id}/test`, { method: 'POST' })
  t.equal(end.received[0]?.headers.authorization, 'Bearer hush-hush')
  t.match(tested.json, {
    ...{ kind: 'test', status: 'failed', http_status_code: 500, response: 'oops' },
    cause: 'answered 500 Internal Server Error',
    request_headers: { Authorization: '(hidden)' },
  })
  const events = await kit.ask(`/v1/webhooks/${made.id}/events?failed=true`)
  t.equal(events.json.data.length, 1)
  t.notMatch(events.text + tested.text, 'hush')
  t.equal(
    (await kit.ask(`/v1/webhooks/${made.id}`, { method: 'PATCH', body: { headers: {} } })).json.header_names
      .length,
    0,
  )
})

t.test('a test says in words what went wrong', async (t) => {
  const end = await receiver(t, { behave: answer(302, '', { location: 'http://169.254.169.254/x' }) })
  const { id } = await create({ endpoint: `http://127.0.0.1:${end.port}/` })
  const test = async () => (await kit.ask(`/v1/webhooks/${id}/test`, { method: 'POST' })).json
  t.match(await test(), {
    status: 'failed',
    cause: 'redirected to http://169.254.169.254/x, we do not follow',
  })
  end.behave = (response) => response.socket?.resetAndDestroy()
  t.match(await test(), { status: 'failed', http_status_code: null, cause: /without an answer/ })
})

const failedPost = (endpointId: string, eventId: string, at: number): PostRow => ({
  id: newId('post', at),
  endpointId,
  eventId,
  eventType: 'email.queued',
  eventAt: at,
  kind: 'event',
  state: 'failed',
  attempts: 1,
  dueAt: null,
  tries: [{ at, status: 500, ms: 3, cause: 'answered 500' }],
  ...{ url: URL_, headers: {}, status: 500, ms: 3, answer: '', cause: 'answered 500' },
  createdAt: at,
  updatedAt: at,
})

t.test('replays', async (t) => {
  const { id } = await create({ events: ['email.queued'] })
  const path = `/v1/webhooks/${id}`
  const start = new Date(kit.clock.now() - 1).toISOString()
  const mails: string[] = []
  for (let i = 0; i < 5; i++) mails.push((await kit.ask('/v1/emails', { body: MAIL })).json.id)
  t.match((await kit.ask(path)).json.behind, { events: 5, capped: false }, 'what it has not come to')
  const replay = (body: object) => kit.ask(`${path}/replay`, { body })
  const dry = await replay({ since: start, dry_run: true })
  t.equal(dry.status, 200)
  t.match(dry.json, {
    id: null,
    object: 'webhook_replay',
    matched: 5,
    capped: false,
    dry_run: true,
    since: start,
  })
  const all = async (until?: string) =>
    (await replay({ since: '2020-01-01', until, dry_run: true })).json.matched
  t.equal(await all(start), (await all()) - 5)
  t.equal(await all('2020-01-02'), 0)
  t.equal((await replay({ failed: true, dry_run: true })).json.matched, 0)
  const { data } = (await kit.ask(`/v1/emails/${mails[0]}/events`)).json
  await kit.store.savePosts([failedPost(id, data[0].id, kit.clock.now())])
  t.equal((await replay({ failed: true, dry_run: true })).json.matched, 1)
  t.match((await kit.ask(`${path}/events?failed=true`)).json.data, [
    { id: data[0].id, status: 'failed', attempts: 1 },
  ])
  t.strictSame((await kit.ask(`${path}/events/${data[0].id}/attempts`)).json.data.length, 1)

  const done = await replay({ since: start })
  t.equal(done.status, 202)
  t.match(done.json, { matched: 5, dry_run: false })
  t.match(await kit.store.replays(), [{ id: done.json.id, endpointId: id, failed: false }])
  t.match((await replay({ since: start })).json, { code: 'resource.conflict', reason: 'replaying' })
  await kit.store.advanceReplay(done.json.id, null, [])

  t.strictSame(fieldsOf(await replay({})), ['body.since missing'])
  t.strictSame(fieldsOf(await replay({ since: 'yesterday' })), ['body.since format'])
  t.strictSame(fieldsOf(await replay({ since: 'm1_forged' })), ['body.since format'])

  const foreign = (
    await kit.ask('/v1/emails', {
      key: kit.platform,
      headers: { 'x-workspace-id': kit.workspaceId },
      body: MAIL,
    })
  ).json
  t.equal((await kit.ask(`${path}/events/${data[0].id}/replay`, { method: 'POST' })).status, 202)
  const other = (await kit.tenants.createWorkspace(kit.accountId, { name: 'Third' })).id
  const theirs = (await kit.tenants.createKey(kit.accountId, { name: 'k', workspace: other })).secret
  const mail = (await kit.ask('/v1/emails', { key: theirs, body: MAIL })).json.id
  const event = (await kit.ask(`/v1/emails/${mail}/events`, { key: theirs })).json.data[0].id
  t.equal((await kit.ask(`${path}/events/${event}/replay`, { method: 'POST' })).json.code, 'event.not_found')
  t.ok(foreign.id)

  t.equal(
    (await kit.ask(path, { method: 'PATCH', body: { status: 'disabled' } })).json.disabled_reason,
    'requested',
  )
  t.match((await kit.ask(`${path}/events/${data[0].id}/replay`, { method: 'POST' })).json, {
    reason: 'disabled',
  })
  t.match((await replay({ since: start })).json, { reason: 'disabled' })
  const before = (await kit.ask(path)).json.behind.events
  t.ok(before > 0, 'what waits is shown')
  const enabled = await kit.ask(path, { method: 'PATCH', body: { status: 'enabled', from: 'now' } })
  t.match(enabled.json, { status: 'enabled', behind: { events: 0 } }, 'from now: what waited is passed over')
})

t.test('no more than fifty endpoints for a workspace and mode', async (t) => {
  const workspace = (await kit.tenants.createWorkspace(kit.accountId, { name: 'Many' })).id
  const key = (await kit.tenants.createKey(kit.accountId, { name: 'k', workspace })).secret
  for (let i = 0; i < 50; i++) t.ok((await create({}, key)).id)
  t.strictSame(fieldsOf(await kit.ask('/v1/webhooks', { key, body: BODY })), ['body too_many'])
})
