import t from 'tap'
import type { EnvelopedMessage } from '../../../src/submission/prepare.js'
import type { Login } from '../../../src/tenant/principal.js'
import { codeOf } from '../../tenant/house.js'
import { type Office, openOffice, scopeOf } from '../house.js'

const message = (
  lines: readonly string[],
  to: readonly string[] = ['ana@example.com'],
): EnvelopedMessage => ({
  mailFrom: 'bounce@acme.test',
  recipients: to.map((address) => ({ address, dsn: null })),
  ret: 'HDRS',
  envid: 'QQ314159',
  raw: Buffer.from(lines.map((line) => `${line}\r\n`).join(''), 'latin1'),
  received: { ip: '192.0.2.7', hello: 'crm.acme.test', protocol: 'ESMTPSA', tls: 'TLSv1.3' },
})

const HEAD = [
  'From: Acme <no-reply@acme.test>',
  'To: "Doe, Ana" <ana@example.com>',
  'Cc: Bo@example.com',
  'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
]
const loginOf = (office: Office): Login => ({ ...office.live, workspace: office.workspace })

t.test('a message keeps its bytes, and the record says what it is', async (t) => {
  const office = await openOffice(t)
  const lines = [
    ...HEAD,
    'Bcc: hidden@example.com',
    'X-Postern-Tag: kind=receipt',
    'X-PM-Tag: welcome',
    '',
    'Hello',
    '.dot',
  ]
  const sent = message(lines, ['ANA@example.com', 'bo@example.com', 'hidden@example.com', 'ana@example.com'])
  const { id, replayed } = await office.submission.submitMessage(loginOf(office), sent)
  t.equal(replayed, false)
  const record = await office.store.email(scopeOf(office), id)
  t.match(record, {
    source: 'smtp',
    from: 'Acme <no-reply@acme.test>',
    to: ['"Doe, Ana" <ana@example.com>'],
    cc: ['Bo@example.com'],
    bcc: ['hidden@example.com'],
    subject: 'Grüße',
    tags: [
      { name: 'kind', value: 'receipt' },
      { name: 'tag', value: 'welcome' },
    ],
    messageId: `<${id}@gw.test>`,
    counts: { queued: 3 },
    poolId: office.workspace.poolId,
  })
  const raw = Buffer.from((await office.store.body(id)) ?? []).toString('latin1')
  const [added = '', ...rest] = raw.split(/(?=From: Acme)/)
  t.match(added, /^Received: from crm\.acme\.test \(\[192\.0\.2\.7\]\)\r\n by gw\.test with ESMTPSA id em_/)
  t.match(added, new RegExp(`Date: Fri, 20 Nov 2026 10:00:00 \\+0000\r\nMessage-ID: <${id}@gw\\.test>\r\n$`))
  t.equal(rest.join(''), [...HEAD, '', 'Hello', '.dot', ''].join('\r\n'))
  t.match(office.accepted[0], { envid: 'QQ314159', ret: 'HDRS', content: null })
})

t.test('a field that asks for what is not done here is refused, in words', async (t) => {
  const office = await openOffice(t)
  const send = (...fields: readonly string[]) =>
    office.submission.submitMessage(loginOf(office), message([...HEAD, ...fields, '', 'Hello']))
  const refused = { code: 'validation.request_invalid', message: /asks for another time of sending/ }
  await t.rejects(send('X-Mailgun-Time-Zone-Localize: 14:00'), refused)
  await t.rejects(send('X-SMTPAPI: {"to":["b@c.test"]}'), {
    message: /x-smtpapi \(to\) asks for other recipients/,
  })
  await t.rejects(send('X-Mailgun-Drop-Message: yes'), { message: /may stay unsent/ })
  t.equal(office.accepted.length, 0)
  await send('X-SMTPAPI: {"to":[],"category":"a"}', 'X-Mailgun-Drop-Message: no', 'X-MC-SendAt:')
  t.equal(office.accepted.length, 1)
  t.equal(office.accepted[0]?.scheduledAt, null)
  await send('X-Mailgun-Deliver-By: Fri, 20 Nov 2026 14:00:00 +0200')
  t.equal(office.accepted[1]?.scheduledAt, Date.UTC(2026, 10, 20, 12))
  await t.rejects(send('X-MC-SendAt: tomorrow-ish'), { message: /ISO 8601/ })
})

t.test('later, by a time or in words', async (t) => {
  const office = await openOffice(t)
  const send = (text: string) =>
    office.submission.submitMessage(
      loginOf(office),
      message([`X-Postern-Scheduled-At: ${text}`, ...HEAD, '', 'x']),
    )
  const now = office.clock.now()
  await send('in 10 min')
  await send('tomorrow at 9am')
  const times = office.accepted.map(({ scheduledAt }) => scheduledAt)
  t.strictSame(times, [now + 600_000, now - (now % 86_400_000) + 33 * 3_600_000])
  await t.rejects(send('soon'), { message: /"in 10 min".*"tomorrow at 9am"/ })
  await t.rejects(send('in 31 days'), { message: /within the next 30 days/ })
})

t.test('one email per idempotency key, whatever clients make anew', async (t) => {
  const office = await openOffice(t)
  const send = (id: string, body: string) =>
    office.submission.submitMessage(
      loginOf(office),
      message([
        ...HEAD,
        `Message-ID: <${id}@crm>`,
        `Date: Fri, 20 Nov 2026 10:00:0${id} +0000`,
        'Idempotency-Key: order-42',
        '',
        body,
      ]),
    )
  const first = await send('1', 'Hello')
  t.strictSame(await send('2', 'Hello'), { id: first.id, replayed: true })
  t.equal(await codeOf(send('3', 'Other')), 'idempotency.body_mismatch')
  t.equal(office.accepted.length, 1)
})

t.test('two keys are none', async (t) => {
  const office = await openOffice(t)
  const send = (...keys: string[]) =>
    codeOf(office.submission.submitMessage(loginOf(office), message([...HEAD, ...keys, '', 'Hi'])))
  t.equal(await send('Idempotency-Key: one', 'Idempotency-Key: two'), 'idempotency.key_invalid')
  t.equal(await send('Idempotency-Key: one', 'Resend-Idempotency-Key: two'), 'idempotency.key_invalid')
  t.equal(await send('Idempotency-Key: one', 'Resend-Idempotency-Key: one'), null)
})

t.test('what is refused, and what is mended', async (t) => {
  const office = await openOffice(t)
  const send = (one: EnvelopedMessage) => codeOf(office.submission.submitMessage(loginOf(office), one))
  const change = (wish: Parameters<typeof office.tenants.updateWorkspace>[2]) =>
    office.tenants.updateWorkspace(office.account.id, 'default', wish)
  const bare = { ...message([]), raw: Buffer.from('From: a@acme.test\nTo: b@acme.test\n\nHi\rthere\0\n') }
  await change({ lineEndings: 'strict' })
  t.equal(await send(bare), 'validation.request_invalid')
  await change({ lineEndings: 'normalize' })
  t.equal(await send(bare), null)
  const mended = Buffer.from(office.accepted.at(-1)?.raw ?? []).toString('latin1')
  t.match(mended, /\r\n\r\nHi\r\nthere\r\n$/)
  t.notMatch(mended, /[^\r]\n|\0/)

  t.equal(await send(message(['To: ana@example.com', '', 'Hi'])), 'validation.request_invalid', 'no From')
  t.equal(
    await send(message(['From: a@b.test', 'From: c@d.test', '', 'Hi'])),
    'validation.request_invalid',
    'two of them',
  )
  t.equal(
    await send(message([...HEAD, 'X-Postern-Scheduled-At: tomorrow', '', ''])),
    'validation.request_invalid',
  )
  t.equal(
    await send(message([...HEAD, `Idempotency-Key: ${'x'.repeat(257)}`, '', ''])),
    'idempotency.key_invalid',
  )
  t.equal(await send(message([...HEAD, '', 'x'.repeat(100_000)])), 'request.body_too_large')
  const hops = (n: number, by: string) =>
    Array.from({ length: n }, (_, i) => `Received: from h${i} by ${by} with SMTP id ${i}`)
  t.equal(await send(message([...hops(51, 'else.test'), ...HEAD, '', 'Hi'])), 'email.loop_detected')
  t.equal(await send(message([...hops(50, 'else.test'), ...HEAD, '', 'Hi'])), null)
  t.equal(await send(message([...hops(2, 'gw.test'), ...HEAD, '', 'Hi'])), 'email.loop_detected')
  await change({ restrictSenders: true, defaultFrom: 'x@else.test' })
  t.equal(await send(message([...HEAD, '', 'Hi'])), 'email.sender_not_allowed')
  await change({ defaultFrom: 'x@acme.test' })
  t.equal(await send(message([...HEAD, '', 'Hi'])), null)
  const two = ['From: no-reply@acme.test, boss@bank.test', '', 'Hi']
  t.equal(await send(message(two)), 'email.sender_not_allowed', 'each author must be allowed')
})

t.test('scheduled and suppressed, as over HTTP', async (t) => {
  const office = await openOffice(t)
  await office.tenants.addSuppression(office.workspace, { email: 'bo@example.com' })
  const at = new Date(office.clock.now() + 60_000).toISOString()
  const { id } = await office.submission.submitMessage(
    loginOf(office),
    message([...HEAD, `X-Postern-Scheduled-At: ${at}`, '', 'Hi'], ['ana@example.com', 'bo@example.com']),
  )
  t.match(await office.store.email(scopeOf(office), id), {
    counts: { scheduled: 1, bounced: 1 },
    scheduledAt: Date.parse(at),
  })
})

t.test('a header field insists on a suppressed address, and goes no further', async (t) => {
  const office = await openOffice(t)
  await office.tenants.addSuppression(office.workspace, { email: 'bo@example.com' })
  for (const [value, bounced] of [
    ['true', 0],
    ['no', 1],
  ] as const) {
    const { id } = await office.submission.submitMessage(
      loginOf(office),
      message([...HEAD, `X-Postern-Ignore-Suppressions: ${value}`, '', 'Hi'], ['bo@example.com']),
    )
    t.match(await office.store.email(scopeOf(office), id), { counts: { bounced } }, value)
  }
  for (const { raw } of office.accepted)
    t.notMatch(Buffer.from(raw).toString('latin1'), /Ignore-Suppressions/i)
})

t.test('a header with more than anybody reads is refused, in words', async (t) => {
  const office = await openOffice(t)
  const send = (fields: number) =>
    office.submission.submitMessage(
      loginOf(office),
      message([...HEAD, ...Array.from({ length: fields }, () => 'A:1'), '', 'Hello']),
    )
  t.match(await send(9_000), { replayed: false })
  await t.rejects(send(10_001), {
    code: 'validation.request_invalid',
    options: { detail: 'the header may have at most 1024 KiB and 10000 fields' },
  })
})
