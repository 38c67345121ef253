/** Posts in the words of other services: the members that their papers name, and signatures as their own code checks them. */
import { createHmac } from 'node:crypto'
import { createRequire } from 'node:module'
import { Resend } from 'resend'
import t from 'tap'
import { CATEGORIES } from '../../src/mail/report/category.js'
import type { WebhookFormat } from '../../src/store/port/hooks.js'
import type { LogRow } from '../../src/store/port/log.js'
import { bodyOf, createWants, filterOf } from '../../src/webhook/body.js'
import { FORMATS, newSigningSecret, withoutCounterpart } from '../../src/webhook/formats.js'
import { AT, logRow, noticeRow } from './rows.js'

const { EventWebhook } = createRequire(import.meta.url)('@sendgrid/eventwebhook') as {
  EventWebhook: new () => {
    convertPublicKeyToECDSA(key: string): unknown
    verifySignature(key: unknown, body: string | Buffer, signature: string, timestamp: string): boolean
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON of another service
type Json = any

const told = (format: WebhookFormat, row: LogRow): Json =>
  JSON.parse(bodyOf(row, { format, fields: 'full', events: ['*'] }))

const mail = (tags: readonly { readonly name: string; readonly value: string }[]) => ({
  mail: { ...(logRow().mail as NonNullable<LogRow['mail']>), tags },
})
const TAGS = mail([
  { name: 'tag', value: 'welcome' },
  { name: 'tag', value: 'eu' },
  { name: 'order', value: '42' },
  { name: 'email', value: 'forged@example.com' },
  { name: 'reason', value: 'forged' },
  { name: 'x-message-id', value: 'req_1' },
  { name: 'message_stream', value: 'broadcast' },
])

const deferred = logRow({
  type: 'email.deferred',
  attempt: 3,
  reason: 'system',
  reply: { code: 451, enhanced: '4.3.0', text: 'try again later' },
})
const delivered = logRow({
  type: 'email.delivered',
  reason: null,
  reply: { code: 250, enhanced: '2.0.0', text: 'Ok' },
})
const complained = logRow({ type: 'email.complained', source: 'arf', reason: null, reply: null })
const bounced = (reason: string | null, reply: LogRow['reply'] = null, source: LogRow['source'] = 'system') =>
  logRow({ reason, reply, source })

t.test('SendGrid: one event a post, with its members', async (t) => {
  const queued = logRow({ type: 'email.queued', reason: null, reply: null, ...TAGS })
  t.strictSame(told('sendgrid', queued), [
    {
      order: '42',
      email: 'ana@example.com',
      message_stream: 'broadcast',
      timestamp: Math.floor(AT / 1000),
      'smtp-id': '<em_1@mail.acme.test>',
      category: ['welcome', 'eu'],
      sg_event_id: 'evt_1',
      sg_message_id: 'req_1.em_1',
      event: 'processed',
    },
  ])
  t.match(told('sendgrid', logRow()), [
    {
      event: 'bounce',
      type: 'bounce',
      reason: '550 5.1.1 no such user',
      status: '5.1.1',
      bounce_classification: 'Invalid Address',
      sg_message_id: 'em_1',
      kind: 'receipt',
    },
  ])
  t.notOk('category' in told('sendgrid', logRow())[0])
  t.match(told('sendgrid', deferred), [
    { event: 'deferred', attempt: '3', response: '451 4.3.0 try again later', reason: /451/ },
  ])
  t.match(told('sendgrid', delivered), [{ event: 'delivered', response: '250 2.0.0 Ok' }])
  t.match(told('sendgrid', complained), [{ event: 'spamreport' }])
  t.match(told('sendgrid', bounced('mailbox_full', { code: 452, enhanced: null, text: 'full' })), [
    { event: 'bounce', type: 'blocked', status: '4.0.0', bounce_classification: 'Mailbox Unavailable' },
  ])
  t.match(told('sendgrid', bounced('lifetime')), [
    { event: 'bounce', type: 'blocked', status: '5.0.0', reason: 'lifetime' },
  ])
  t.match(told('sendgrid', bounced('suppressed')), [{ event: 'dropped', reason: 'Suppressed Address' }])
  t.match(told('sendgrid', bounced('spam', null, 'operator')), [
    { event: 'dropped', reason: 'Removed From Queue' },
  ])
  t.match(told('sendgrid', bounced('toString')), [{ bounce_classification: 'Unclassified' }])
})

t.test('SendGrid: signed as its own library checks it, by the key that is shown', async (t) => {
  const format = FORMATS.sendgrid
  const secret = newSigningSecret()
  const key = format?.publicKey?.(secret) ?? ''
  t.equal(format?.publicKey?.(secret), key, 'a secret has one key')
  t.equal(Buffer.from(key, 'base64').length, 91, 'DER of SubjectPublicKeyInfo on P-256')
  const checker = new EventWebhook()
  const ecKey = checker.convertPublicKeyToECDSA(key)
  const body = bodyOf(logRow({ reply: { code: 550, enhanced: null, text: 'Grüße ✓' } }), {
    ...{ format: 'sendgrid', fields: 'full', events: ['*'] },
  })
  const post = format?.sign?.([secret, newSigningSecret()], { id: 'evt_1', at: AT, body })
  const { 'x-twilio-email-event-webhook-signature': signature = '', ...rest } = post?.headers ?? {}
  const at = rest['x-twilio-email-event-webhook-timestamp'] ?? ''
  t.equal(at, String(Math.floor(AT / 1000)))
  t.equal(post?.body, body, 'the text is what it was')
  const verify = (text: string, time: string, by: unknown = ecKey) =>
    checker.verifySignature(by, text, signature, time)
  t.ok(verify(body, at))
  t.notOk(verify(`${body} `, at))
  t.notOk(verify(body, '1'))
  t.notOk(verify(body, at, checker.convertPublicKeyToECDSA(format?.publicKey?.(newSigningSecret()) ?? '')))
})

t.test('Postmark: a record a post, with its members', async (t) => {
  t.strictSame(told('postmark', { ...delivered, ...TAGS }), {
    RecordType: 'Delivery',
    MessageStream: 'broadcast',
    MessageID: 'em_1',
    Tag: 'welcome',
    Metadata: { order: '42', email: 'forged@example.com', reason: 'forged' },
    ServerID: 0,
    Recipient: 'ana@example.com',
    DeliveredAt: '2026-11-20T10:00:00.005Z',
    Details: '250 2.0.0 Ok',
  })
  t.strictSame(told('postmark', logRow()), {
    RecordType: 'Bounce',
    MessageStream: 'outbound',
    MessageID: 'em_1',
    Tag: '',
    Metadata: { kind: 'receipt' },
    ServerID: 0,
    ID: 900719925474099,
    Type: 'HardBounce',
    TypeCode: 1,
    Name: 'Hard bounce',
    Description: 'The server was unable to deliver your message.',
    Details: '550 5.1.1 no such user',
    Email: 'ana@example.com',
    From: 'no-reply@acme.test',
    BouncedAt: '2026-11-20T10:00:00.005Z',
    DumpAvailable: false,
    Inactive: true,
    CanActivate: true,
    Subject: 'Your code is 123456',
    Content: '',
  })
  t.match(told('postmark', complained), {
    ...{ RecordType: 'SpamComplaint', Type: 'SpamComplaint', TypeCode: 100001 },
    ...{ Inactive: true, CanActivate: false },
  })
  t.match(told('postmark', bounced('suppressed')), { Type: 'ManuallyDeactivated', Inactive: true })
  t.match(told('postmark', bounced('mailbox_full')), { Type: 'SoftBounce', TypeCode: 4096, Inactive: false })
  t.match(told('postmark', bounced('lifetime')), { Type: 'Transient', TypeCode: 2 })
})

t.test('Mailgun: event-data with its members, and a token that is used once', async (t) => {
  const { 'event-data': one, ...rest } = told('mailgun', { ...logRow(), ...TAGS })
  t.strictSame(rest, {}, 'the signature is made at each try')
  t.strictSame(one, {
    event: 'failed',
    id: 'evt_1',
    timestamp: AT / 1000,
    account: { id: 'ws_1' },
    domain: { name: 'acme.test' },
    recipient: 'ana@example.com',
    'recipient-domain': 'example.com',
    envelope: { sender: 'no-reply@acme.test', targets: 'ana@example.com', transport: 'smtp' },
    message: {
      headers: {
        'message-id': 'em_1@mail.acme.test',
        from: 'Acme <no-reply@acme.test>',
        to: 'ana@example.com',
        subject: 'Your code is 123456',
      },
      attachments: [],
    },
    flags: {
      'is-routed': false,
      'is-authenticated': true,
      'is-system-test': false,
      'is-test-mode': false,
    },
    campaigns: [],
    tags: ['welcome', 'eu'],
    'user-variables': {
      order: '42',
      email: 'forged@example.com',
      reason: 'forged',
      message_stream: 'broadcast',
    },
    'log-level': 'error',
    severity: 'permanent',
    reason: 'bounce',
    'delivery-status': {
      'attempt-no': 1,
      code: 550,
      'enhanced-code': '5.1.1',
      message: '550 5.1.1 no such user',
      description: 'no such user',
      'mx-host': 'mta2.int',
      'bounce-type': 'hard',
    },
  })
  const data = (row: LogRow): Json => told('mailgun', row)['event-data']
  t.match(data(deferred), { event: 'failed', severity: 'temporary', 'delivery-status': { 'attempt-no': 3 } })
  t.match(data(delivered), { event: 'delivered', 'log-level': 'info', 'delivery-status': { code: 250 } })
  t.match(data(complained), { event: 'complained', 'log-level': 'warn' })
  t.match(data(logRow({ type: 'email.queued', source: 'smtp' })), { event: 'accepted', method: 'SMTP' })
  t.match(data(bounced('suppressed')), { severity: 'permanent', reason: 'suppress-bounce' })
  t.match(data(bounced('lifetime')), { reason: 'old', 'delivery-status': { 'bounce-type': 'soft', code: 0 } })
  t.match(data(bounced('spam')), { reason: 'generic', 'delivery-status': { 'bounce-type': 'soft' } })

  const secret = newSigningSecret()
  const body = bodyOf(logRow(), { format: 'mailgun', fields: 'full', events: ['*'] })
  const signed = [1, 2].map(
    () => JSON.parse(FORMATS.mailgun?.sign?.([secret], { id: 'evt_1', at: AT, body }).body ?? '') as Json,
  )
  for (const { signature, ...data } of signed) {
    const { timestamp, token } = signature
    t.strictSame(data, JSON.parse(body))
    t.match(token, /^[0-9a-f]{50}$/)
    t.equal(signature.signature, createHmac('sha256', secret).update(`${timestamp}${token}`).digest('hex'))
  }
  t.not(signed[0].signature.token, signed[1].signature.token)
})

t.test('Resend: our own text under its names, verified by its client with either secret', async (t) => {
  t.match(told('resend', deferred), { type: 'email.delivery_delayed', data: { email_id: 'em_1' } })
  t.match(told('resend', logRow()), { type: 'email.bounced', data: { to: ['ana@example.com'] } })
  const [young, old] = [newSigningSecret(), newSigningSecret()]
  const payload = bodyOf(logRow(), { format: 'resend', fields: 'full', events: ['*'] })
  const post = FORMATS.resend?.sign?.([young, old], { id: 'evt_1', at: Date.now(), body: payload })
  const {
    'svix-id': id = '',
    'svix-timestamp': timestamp = '',
    'svix-signature': signature = '',
  } = {
    ...post?.headers,
  }
  const client = new Resend('re_123')
  for (const webhookSecret of [young, old])
    t.strictSame(
      client.webhooks.verify({ payload, headers: { id, timestamp, signature }, webhookSecret }),
      JSON.parse(payload),
    )
  t.throws(() =>
    client.webhooks.verify({
      ...{ payload: `${payload} `, headers: { id, timestamp, signature }, webhookSecret: young },
    }),
  )
})

t.test('types without a counterpart are neither wanted nor read', async (t) => {
  const endpoint = { id: 'wh_1', accountId: 'acct_1', workspaceId: null, mode: 'live', domains: [], tags: [] }
  const wanting = (format: WebhookFormat, events: readonly string[]) =>
    ({ ...endpoint, format, events }) as never
  t.strictSame(filterOf(wanting('postmark', ['*'])).types, [
    'email.delivered',
    'email.bounced',
    'email.complained',
  ])
  t.strictSame(filterOf(wanting('postmark', ['email.sent', 'email.bounced'])).types, ['email.bounced'])
  t.equal(filterOf(wanting('standard', ['*'])).types, null)
  const wants = createWants(wanting('sendgrid', ['*']))
  t.ok(wants(logRow()))
  for (const row of [logRow({ type: 'email.sent' }), noticeRow()]) t.notOk(wants(row), row.type)
  t.strictSame(withoutCounterpart(['email.sent', 'email.delivery_delayed'], 'resend'), [])
  t.strictSame(withoutCounterpart(['email.sent', 'email.delivery_delayed'], 'postmark'), [
    'email.sent',
    'email.delivery_delayed',
  ])
  t.ok(withoutCounterpart(['*'], 'sendgrid').includes('email.sent'))
  t.strictSame(withoutCounterpart(['*'], 'standard'), [])
})

t.test('any reason, and a mail that is gone, has its words', async (t) => {
  for (const format of ['sendgrid', 'postmark', 'mailgun', 'resend'] as const)
    for (const reason of [...Object.keys(CATEGORIES), 'lifetime', 'suppressed', null, 'workspace_deleted'])
      for (const gone of [{}, { mail: null, recipient: null, mta: null }])
        t.notMatch(
          bodyOf({ ...bounced(reason), ...gone }, { format, fields: 'full', events: ['*'] }),
          'undefined',
        )
  t.strictSame(
    [
      ...new Set(Object.keys(CATEGORIES).map((reason) => told('postmark', bounced(reason)).TypeCode)),
    ].includes(undefined),
    false,
  )
})
