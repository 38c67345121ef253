/** The octets of a mail: shown, and sent once more. */
import t from 'tap'
import type { Observation } from '../../src/mail/status.js'
import { keptOf } from '../../src/outcome/report.js'
import { outcome } from '../store/fixture.js'
import { ask, fieldsOf, MAIL, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const everywhere = { accountId: kit.accountId, workspaceId: null, mode: null }
const recordOf = async (id: string) => {
  const record = await kit.store.email(everywhere, id)
  if (record === null) throw new Error(`${id} is gone`)
  return record
}

/** What became of each recipient, by its address. */
const settle = async (id: string, seen: Readonly<Record<string, Observation>>): Promise<void> => {
  const { recipients } = await recordOf(id)
  await kit.store.settle(
    recipients.flatMap((one) => {
      const what = seen[one.address]
      return what === undefined ? [] : [outcome(one.id, { seen: what, at: kit.clock.now() })]
    }),
  )
}

const THREE = { to: ['Ana <ana@example.com>', 'bo@example.com'], cc: 'cy@example.com' }
const SOME = {
  'ana@example.com': 'accepted',
  'bo@example.com': 'rejected',
  'cy@example.com': 'accepted',
} as const

const sent = async (body: object = {}, seen: Readonly<Record<string, Observation>> = SOME, key = kit.key) => {
  const { status, json } = await kit.ask('/v1/emails', { body: { ...MAIL, ...THREE, ...body }, key })
  t.equal(status, 202)
  await settle(json.id, seen)
  return json.id as string
}

const again = (
  id: string,
  body: unknown = { to: null },
  more: { key?: string; headers?: Record<string, string> } = {},
) => kit.ask(`/v1/emails/${id}/resend`, { method: 'POST', ...(body !== undefined && { body }), ...more })
const addressesOf = (json: { recipients: readonly { address: string; kind: string }[] }) =>
  json.recipients.map(({ address, kind }) => `${kind} ${address}`)
const octetsOf = async (id: string) => Buffer.from((await kit.store.body(id)) ?? []).toString('latin1')

/** Retention, an hour on. */
const forget = async (): Promise<void> => {
  kit.clock.advance(3_600_000)
  const keep = { bodiesMs: 60_000, emailsMs: 90 * 86_400_000 }
  while ((await kit.store.sweep(kit.clock.now(), keep)) > 0);
}

t.test('the source is what is stored', async (t) => {
  const id = await sent({
    html: 'Gr\u00fc\u00dfe',
    attachments: [{ filename: 'a.bin', content: [0, 255, 13, 10] }],
  })
  const path = `/v1/emails/${id}/source`
  const given = await fetch(`${kit.url}${path}`, { headers: { authorization: `Bearer ${kit.key}` } })
  const octets = Buffer.from(await given.arrayBuffer())
  t.equal(given.status, 200)
  t.equal(given.headers.get('content-type'), 'message/rfc822')
  t.match(given.headers.get('content-disposition'), `attachment; filename="${id}.eml"`)
  t.equal(given.headers.get('x-content-type-options'), 'nosniff')
  t.ok(octets.equals(Buffer.from((await kit.store.body(id)) ?? [])))
  const head = await kit.ask(path, { method: 'HEAD' })
  t.strictSame([head.status, head.text], [200, ''])
  t.equal(head.headers.get('content-length'), String(octets.length))
  t.match(head.headers.get('content-type'), 'message/rfc822')
  const large = await sent({ text: 'x'.repeat(3_000_000) })
  t.ok((await ask(`${kit.url}/v1/emails/${large}/source`, { key: kit.key })).text.length > 3_000_000)
})

t.test('the report behind an event is what came', async (t) => {
  const [id, other] = [await sent(), await sent()]
  const [one] = (await recordOf(id)).recipients
  const raw = Buffer.from('Subject: \xff\r\n\r\n<script>\r\n', 'latin1')
  const report = await keptOf(raw)
  await kit.store.settle([
    outcome(one?.id ?? '', {
      seen: 'dsn-failed',
      at: kit.clock.now(),
      source: 'dsn',
      detail: { report: report.name },
      report,
    }),
  ])
  const events = (await kit.ask(`/v1/emails/${id}/events`)).json.data
  const [told, ...others] = events as { id: string; detail?: { report?: string } }[]
  t.equal(told?.detail?.report, report.name)
  const path = `/v1/emails/${id}/events/${told?.id}/report`
  const given = await fetch(`${kit.url}${path}`, { headers: { authorization: `Bearer ${kit.key}` } })
  t.ok(Buffer.from(await given.arrayBuffer()).equals(raw))
  t.equal(given.headers.get('content-type'), 'message/rfc822')
  t.equal(given.headers.get('content-disposition'), `attachment; filename="${told?.id}.eml"`)
  t.match(await kit.ask(`/v1/emails/${id}/events/${others[0]?.id}/report`), {
    status: 409,
    json: { reason: 'report_gone' },
  })
  t.match(await kit.ask(`/v1/emails/${other}/events/${told?.id}/report`), {
    json: { code: 'event.not_found' },
  })
  t.match(await kit.ask(`/v1/emails/x/events/${told?.id}/report`), { json: { code: 'email.not_found' } })
})

t.test('to others it is not there', async (t) => {
  const id = await sent()
  const { secret: test } = await kit.tenants.createKey(kit.accountId, {
    name: 't',
    mode: 'test',
    workspace: 'default',
  })
  await kit.tenants.createWorkspace(kit.accountId, { name: 'Other', slug: 'other' })
  const { secret: other } = await kit.tenants.createKey(kit.accountId, { name: 'o', workspace: 'other' })
  const nobody = 'em_01k9f3m2zq8v6t4r2p0nxcwbha'
  for (const [key, one] of [
    [test, id],
    [other, id],
    [kit.key, nobody],
    [kit.key, 'x'],
  ] as const) {
    const refused = [await kit.ask(`/v1/emails/${one}/source`, { key }), await again(one, {}, { key })]
    t.strictSame(
      refused.map(({ json }) => json.code),
      ['email.not_found', 'email.not_found'],
    )
  }
  for (const key of [kit.platform, kit.session]) {
    t.equal((await ask(`${kit.url}/v1/emails/${id}/source`, { key })).status, 200)
    t.equal((await again(id, {}, { key })).status, 202)
  }
})

t.test('once more, to those that bounced', async (t) => {
  const id = await sent({
    tags: [{ name: 'kind', value: 'receipt' }],
    reply_to: 'help@acme.test',
    headers: { 'X-A': '1' },
  })
  const reply = await again(id)
  t.equal(reply.status, 202)
  t.equal(reply.headers.get('location'), `/v1/emails/${reply.json.id}`)
  t.match(reply.json, { resent_from: id, source: 'api', status: 'queued', subject: 'Hi', mode: 'live' })
  t.strictSame(reply.json.tags, [{ name: 'kind', value: 'receipt' }])
  t.strictSame(reply.json.reply_to, ['help@acme.test'])
  t.strictSame([reply.json.to, reply.json.cc], [['bo@example.com'], []])
  t.strictSame(addressesOf(reply.json), ['to bo@example.com'])
  t.equal(reply.json.message_id, `<${reply.json.id}@mail.test>`)
  const read = (await kit.ask(`/v1/emails/${reply.json.id}`)).json
  t.match(read, { resent_from: id, text: 'Hello', headers: { 'X-A': '1' } })
  t.notOk('resent_from' in (await kit.ask(`/v1/emails/${id}`)).json)
  const listed = (await kit.ask('/v1/emails?limit=1')).json.data[0]
  t.strictSame([listed.id, listed.resent_from], [reply.json.id, id])
  const [old, fresh] = [await octetsOf(id), await octetsOf(reply.json.id)]
  const rest = (text: string) => text.replace(/^(?:Date|Message-ID): .*\r\n/gm, '')
  t.equal(rest(fresh), rest(old), 'all else is as it was')
  t.strictSame(fresh.match(/^Message-ID: .*/gm), [`Message-ID: ${reply.json.message_id}`])
  t.equal(fresh.match(/^Date: /gm)?.length, 1)
})

t.test('to all when none bounced; to some by name', async (t) => {
  const fine = {
    'ana@example.com': 'accepted',
    'bo@example.com': 'dsn-delivered',
    'cy@example.com': 'accepted',
  } as const
  const id = await sent({}, fine)
  const all = ['to ana@example.com', 'to bo@example.com', 'cc cy@example.com']
  for (const body of [undefined, {}, { to: null }, { id }])
    t.strictSame(addressesOf((await again(id, body)).json), all)
  const one = await again(id, { to: 'CY@Example.com' })
  t.strictSame(addressesOf(one.json), ['cc cy@example.com'])
  const named = await again(id, { to: ['ana@example.com', 'Cy <cy@example.com>', 'ana@example.com'] })
  t.strictSame(addressesOf(named.json), ['to ana@example.com', 'cc cy@example.com'])
  t.strictSame(named.json.to, ['Ana <ana@example.com>'])
})

t.test('only a person may name others', async (t) => {
  const id = await sent()
  for (const key of [kit.key, kit.platform]) {
    const refused = await again(id, { to: ['bo@example.com', 'eve@example.com'] }, { key })
    t.strictSame([refused.status, fieldsOf(refused)], [422, ['body.to[1] forbidden']])
  }
  const reply = await again(id, { to: ['Eve <eve@example.com>', 'bo@example.com'] }, { key: kit.session })
  t.strictSame(addressesOf(reply.json).sort(), ['to bo@example.com', 'to eve@example.com'])
  t.match(reply.json, { to: ['Eve <eve@example.com>', 'bo@example.com'], workspace_id: kit.workspaceId })
  t.strictSame(fieldsOf(await again(id, { to: 'a@b.test, c@d.test' })), ['body.to format'])
  t.strictSame(fieldsOf(await again(id, { to: [] })), ['body.to empty'])
  t.strictSame(fieldsOf(await again(id, { to: [5], from: 'x@y.test', release: 'yes' })).sort(), [
    'body.from unknown',
    'body.release type',
    'body.to[0] type',
  ])
})

t.test('a session sends a test mail as a test mail', async (t) => {
  const { secret: key } = await kit.tenants.createKey(kit.accountId, {
    name: 'm',
    mode: 'test',
    workspace: 'default',
  })
  const id = await sent({}, SOME, key)
  const { json } = await again(id, {}, { key: kit.session })
  t.strictSame([json.mode, (await recordOf(json.id)).poolId], ['test', (await recordOf(id)).poolId])
})

t.test('what is still under way is not sent twice', async (t) => {
  const waits = await sent({}, {})
  t.match((await again(waits)).json, {
    code: 'resource.conflict',
    reason: 'under_way',
    detail: /ana@example\.com/,
  })
  const later = await sent({ scheduled_at: 'in 2 days' }, {})
  t.equal((await again(later)).json.reason, 'under_way')
  const partly = await sent({}, { 'bo@example.com': 'rejected' })
  t.equal((await again(partly, { to: 'ana@example.com' })).json.reason, 'under_way')
  t.strictSame(
    addressesOf((await again(partly)).json),
    ['to bo@example.com'],
    'who bounced waits for nothing',
  )
  t.equal((await kit.ask(`/v1/emails/${later}/cancel`, { method: 'POST' })).status, 200)
  t.equal((await again(later)).status, 202)
})

t.test('suppressions, senders and suspension are as of now', async (t) => {
  const id = await sent()
  await kit.ask('/v1/suppressions', { body: { email: 'bo@example.com' } })
  const listed = await again(id)
  t.match(listed.json, { status: 'bounced', recipients: [{ reason: 'suppressed', status: 'bounced' }] })
  await kit.ask('/v1/suppressions/bo@example.com', { method: 'DELETE' })
  const change = (wish: object) => kit.tenants.updateWorkspace(kit.accountId, 'default', wish)
  await change({ restrictSenders: true })
  t.equal((await again(id)).json.code, 'email.sender_not_allowed')
  await change({ restrictSenders: false, suspended: true })
  t.equal((await again(id)).json.code, 'workspace.suspended')
  await change({ suspended: false })
  t.equal((await again(id)).status, 202)
})

t.test('one mail for one key; one send for each request', async (t) => {
  const id = await sent()
  const headers = { 'Idempotency-Key': 'again' }
  const first = await again(id, {}, { headers })
  const second = await again(id, {}, { headers })
  t.strictSame([second.status, second.text], [202, first.text])
  t.equal(second.headers.get('idempotent-replayed'), 'true')
  t.equal((await again(id, { to: 'ana@example.com' }, { headers })).json.code, 'idempotency.body_mismatch')
  const other = await sent()
  t.equal(
    (await again(other, {}, { headers })).json.code,
    'idempotency.body_mismatch',
    'another mail is another request',
  )
  const many = await Promise.all(
    Array.from({ length: 10 }, () => again(id, {}, { headers: { 'Idempotency-Key': 'ten' } })),
  )
  t.equal(new Set(many.filter(({ status }) => status === 202).map(({ json }) => json.id)).size, 1)
  t.ok(many.every(({ status, json }) => status === 202 || json.code === 'idempotency.in_progress'))
  const left = (reply: { headers: Headers }) => Number(reply.headers.get('x-ratelimit-remaining'))
  const before = await again(id)
  t.equal(left(await again(id)), left(before) - 1)
  await forget()
  t.equal((await kit.ask(`/v1/emails/${id}/source`)).json.reason, 'body_gone')
})

t.test('what is no longer kept', async (t) => {
  const id = await sent()
  const headers = { 'Idempotency-Key': 'kept' }
  const first = await again(id, {}, { headers })
  await forget()
  t.equal((await again(id, {}, { headers })).text, first.text, 'an answer that was given is given again')
  const source = await kit.ask(`/v1/emails/${id}/source`)
  t.strictSame([source.status, source.json.reason], [409, 'body_gone'])
  const gone = await again(id)
  t.strictSame([gone.status, gone.json.reason], [409, 'body_gone'])
})

t.test('a mail that came whole, signed by its client', async (t) => {
  const lines = (...all: readonly string[]) => all.map((line) => `${line}\r\n`).join('')
  const message = lines(
    ...['DKIM-Signature: v=1; d=a.test; s=k; h=From:To:', ' Date ; bh=x; b=one'],
    ...['DKIM-Signature: v=1; d=b.test; s=k; h=from:subject; bh=x; b=two'],
    ...['DKIM-Signature: v=1; d=c.test; s=k; b=three; H = from : MESSAGE-ID'],
    ...['From: a@acme.test', 'To: ana@example.com', 'Date: Fri, 20 Nov 2026 09:00:00 +0100'],
    ...['message-id:', ' <own@acme.test>', 'Subject: J\u00fcrgen', '', 'Date: in the body', 'Hello'],
  )
  const body = { to: 'ana@example.com', raw: Buffer.from(message).toString('base64') }
  const id = (await kit.ask('/v1/emails', { body })).json.id
  await settle(id, { 'ana@example.com': 'accepted' })
  const { json } = await again(id)
  const fresh = await octetsOf(json.id)
  t.match(
    fresh,
    new RegExp(
      `^Received: by mail\\.test with HTTP id ${json.id};\\r\\n [^\\n]*\\nDate: .*\\r\\nMessage-ID: <${json.id}@`,
    ),
  )
  t.strictSame(fresh.match(/b=\w+/g), ['b=two'])
  t.notMatch(fresh, new RegExp(`${id}|own@acme`))
  t.match(fresh, /Hello\r\n$/)
  t.match(fresh, 'Date: in the body\r\n')
  t.equal(fresh.match(/^Received: /gm)?.length, 1)
  t.match((await kit.ask(`/v1/emails/${json.id}`)).json, { text: /Hello/, subject: 'J\u00fcrgen' })
})
