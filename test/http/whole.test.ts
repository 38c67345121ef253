/** `raw`: a message that comes whole, held against the same message at the real SMTP door. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { silentLog } from '../../src/base/log.js'
import { readSubmitted } from '../../src/mail/submitted.js'
import { createSubmissionDoor } from '../../src/smtp/submission-door.js'
import { FINISHED } from '../fixtures/finished.js'
import { ROOT } from '../parts/postern.js'
import { dial } from '../smtp/client.js'
import { certificate, LISTENERS } from '../smtp/doors.js'
import { fieldsOf, MAIL, openKit, type Reply } from './kit.js'

const kit = await openKit()
const door = createSubmissionDoor({
  config: { ...kit.config, submission: [LISTENERS.clear] },
  certificate: await certificate(),
  tenants: kit.tenants,
  submission: kit.submission,
  clock: kit.clock,
  log: silentLog(),
})
await door.start()
await kit.tenants.updateWorkspace(kit.accountId, 'default', { lineEndings: 'normalize' })
t.teardown(async () => {
  await door.stop()
  await kit.stop()
})

const octets = (text: string) => Buffer.from(text, 'latin1')
const lines = (...all: readonly string[]) => octets(all.map((line) => `${line}\r\n`).join(''))
const raw = (message: Buffer) => message.toString('base64')
const send = (message: Buffer, more: object = {}, headers: Record<string, string> = {}) =>
  kit.ask('/v1/emails', { body: { to: 'ana@example.com', raw: raw(message), ...more }, headers })

/** What the door says at the end, for an envelope of these recipients. */
const sendBySmtp = async (message: Buffer, to: readonly string[]): Promise<string> => {
  const client = dial(door.addresses[0]?.port ?? 0)
  const login = Buffer.from(`\0me\0${kit.key}`).toString('base64')
  const rcpt = to.map((address) => `RCPT TO:<${address}>\r\n`).join('')
  client.socket.write(`EHLO x\r\nAUTH PLAIN ${login}\r\nMAIL FROM:<a@b.test>\r\n${rcpt}DATA\r\n`)
  await client.until(/^354 /m)
  const stuffed = message.toString('latin1').replace(/(^|\r\n)\./g, '$1..')
  client.socket.write(octets(`${stuffed}.\r\nQUIT\r\n`))
  const heard = await client.closed()
  return /^354 [^\n]*\n(.*)/m.exec(heard)?.[1]?.trim() ?? heard
}

/** Stored octets without the trace on top, and without what our own id is in. */
const stored = async (id: string): Promise<string> => {
  const body = Buffer.from((await kit.store.body(id)) ?? []).toString('latin1')
  return body
    .replace(/^Received: [^\n]*\n(?:[ \t][^\n]*\n)*/, '')
    .replaceAll(id, 'ID')
    .replace(/^Date: .*\r\nMessage-ID: <ID@/m, 'Date: now\r\nMessage-ID: <ID@')
}

// biome-ignore lint/suspicious/noExplicitAny: a record as it came
const shown = ({ json }: Reply): any => ({
  ...json,
  ...{ id: '', source: '', created_at: '', updated_at: '' },
  message_id: json.message_id.replace(json.id, 'ID'),
  recipients: json.recipients.map((one: object) => ({ ...one, updated_at: '' })),
})

/** Sends by both doors; true when both took it. */
const sameByBoth = async (t: Test, name: string, given: Buffer): Promise<boolean> => {
  const message = given.subarray(-2).equals(octets('\r\n')) ? given : Buffer.concat([given, octets('\r\n')])
  const { to, cc, idempotencyKey } = readSubmitted(message)
  const named = [...to, ...cc].filter(({ address }) => /^[a-z0-9.]+@[a-z0-9.-]+\.[a-z]+$/.test(address))
  const known = named[0]?.address ?? 'somebody@example.com'
  const answer = await send(message, { to: known })
  const steers = fieldsOf({ ...answer, json: answer.json }).includes('body.raw forbidden')
  if (steers || idempotencyKey !== null) {
    t.pass(`${name} steers`)
    return false
  }
  const said = await sendBySmtp(message, [known])
  t.equal(answer.status === 202, said.startsWith('250 '), `${name}: ${answer.status} ${said}`)
  if (answer.status !== 202) {
    t.match(said, /^5/)
    return false
  }
  const id = /em_[0-9a-z]{26}/.exec(said)?.[0] ?? ''
  t.equal(await stored(answer.json.id), await stored(id), `${name}: the octets`)
  const [one, other] = [await kit.ask(`/v1/emails/${answer.json.id}`), await kit.ask(`/v1/emails/${id}`)]
  const lists = ({ to: _, cc: __, bcc: ___, recipients, ...rest }: ReturnType<typeof shown>) => ({
    ...rest,
    recipients: recipients.map(({ address, status }: Record<string, string>) => ({ address, status })),
  })
  t.same(lists(shown(one)), lists(shown(other)), `${name}: the record`)
  return true
}

t.test('a message by either door is the same mail', async (t) => {
  for (const [name, message] of Object.entries(FINISHED)) {
    t.ok(await sameByBoth(t, name, octets(message.join('\r\n'))), name)
  }
})

t.test('so is every mail of the fixtures', async (t) => {
  let both = 0
  const folder = join(ROOT, 'test', 'fixtures')
  for (const kind of readdirSync(folder, { withFileTypes: true }).filter((one) => one.isDirectory())) {
    const files = readdirSync(join(folder, kind.name)).filter((name) => name.endsWith('.eml'))
    for (const file of files) {
      const taken = await sameByBoth(t, `${kind.name}/${file}`, readFileSync(join(folder, kind.name, file)))
      if (taken) both++
    }
  }
  t.ok(both > 200, `${both} mails were taken by both`)
})

const SIMPLE = lines(
  'From: Acme <no-reply@acme.test>',
  'To: Ana <ana@example.com>',
  'Subject: Hi',
  '',
  'Hello',
)

t.test('the envelope is that of the request, and nothing of the header adds to it', async (t) => {
  const message = lines(
    ...['From: no-reply@acme.test', 'To: Ana <ana@example.com>, eve@example.com', 'Cc: cc@example.com'],
    ...[
      'Bcc: hidden@example.com,',
      ' more@example.com',
      'Resent-Bcc: old@example.com',
      'Subject: Hi',
      '',
      'Hello',
    ],
  )
  const more = { cc: ['Bo <bo@example.com>'], bcc: 'audit@example.com', tags: [{ name: 'kind', value: 'x' }] }
  const { status, json } = await send(message, { to: ['Ana <ana@example.com>'], ...more })
  t.equal(status, 202)
  t.match(json, { source: 'api', from: 'no-reply@acme.test', subject: 'Hi', bcc: ['audit@example.com'] })
  t.strictSame([json.to, json.cc, json.tags], [['Ana <ana@example.com>'], ['Bo <bo@example.com>'], more.tags])
  t.strictSame(
    json.recipients.map(({ address, kind }: { address: string; kind: string }) => `${kind} ${address}`),
    ['to ana@example.com', 'cc bo@example.com', 'bcc audit@example.com'],
  )
  const wire = Buffer.from((await kit.store.body(json.id)) ?? []).toString()
  t.notMatch(wire, /hidden|more@|old@|audit@|bo@/)
  t.match(wire, /^Received: by mail\.test with HTTP id em_[0-9a-z]{26};\r\n /)
  t.match(wire, 'Cc: cc@example.com\r\n')
})

t.test('what cannot stand beside raw, and what is no message', async (t) => {
  const all = {
    ...MAIL,
    reply_to: 'a@b.test',
    html: '',
    headers: { 'X-A': '1' },
    attachments: [{ content: '' }],
  }
  t.strictSame(fieldsOf(await send(SIMPLE, all)).sort(), [
    'body.attachments forbidden',
    'body.from forbidden',
    'body.headers forbidden',
    'body.html forbidden',
    'body.reply_to forbidden',
    'body.subject forbidden',
    'body.text forbidden',
  ])
  const absent = {
    from: null,
    subject: null,
    html: null,
    headers: [],
    attachments: [],
    reply_to: [],
    tags: [],
  }
  t.equal((await send(SIMPLE, absent)).status, 202)
  for (const wrong of ['aGVsbG8', 'aGVs bG8=', 'a-_=', '%', '====']) {
    const reply = await kit.ask('/v1/emails', { body: { to: 'ana@example.com', raw: wrong } })
    t.strictSame([reply.status, fieldsOf(reply)], [422, ['body.raw format']], wrong)
  }
  const typed = await kit.ask('/v1/emails', { body: { to: 'nobody', raw: 5 } })
  t.strictSame(fieldsOf(typed).sort(), ['body.raw type', 'body.to format'])
  const empty = await kit.ask('/v1/emails', { body: { to: 'ana@example.com', raw: '' } })
  t.strictSame(fieldsOf(empty), ['body.raw empty'])
  t.strictSame(fieldsOf(await kit.ask('/v1/emails', { body: { raw: raw(SIMPLE) } })), ['body.to missing'])
})

t.test('fields that steer a gateway', async (t) => {
  for (const field of ['X-Postern-Tag: a=b', 'Idempotency-Key: k', 'X-PM-Tag: x', 'X-SMTPAPI: {}']) {
    const reply = await send(Buffer.concat([lines(field), SIMPLE]))
    t.strictSame([reply.status, fieldsOf(reply)], [422, ['body.raw forbidden']], field)
    t.match(reply.json.errors[0].message, field.split(':')[0]?.toLowerCase())
  }
  t.strictSame(fieldsOf(await send(lines('From: a@b.test', 'From: c@d.test', '', 'x'))), [
    'body.raw not_unique',
  ])
  const own = 'Received: from x\r\n by mail.test with ESMTP id 1; Fri, 20 Nov 2026 10:00:00 +0000'
  const loop = await send(Buffer.concat([lines(own, own), SIMPLE]))
  t.strictSame([loop.status, loop.json.code], [422, 'email.loop_detected'])
})

t.test('a message without From gets the default sender, at both doors', async (t) => {
  const bare = lines('Subject: Hi', '', 'Hello')
  t.strictSame(fieldsOf(await send(bare)), ['body.raw missing'])
  t.match(await sendBySmtp(bare, ['ana@example.com']), /^554 5\.6\.0 .*From/)
  await kit.tenants.updateWorkspace(kit.accountId, 'default', { defaultFrom: 'Grüße <post@acme.test>' })
  t.equal((await send(bare)).json.from, 'Grüße <post@acme.test>')
  t.ok(await sameByBoth(t, 'no From', bare))
  t.ok(await sameByBoth(t, 'an empty From', Buffer.concat([lines('From:  '), bare])))
  t.ok(await sameByBoth(t, 'no header', lines('Hello', 'there')))
  const odd = await send(Buffer.concat([lines('From: nobody in particular'), bare]))
  t.strictSame(fieldsOf(odd), ['body.raw missing'])
  await kit.tenants.updateWorkspace(kit.accountId, 'default', { defaultFrom: null })
})

t.test('line ends, as the workspace has it', async (t) => {
  const loose = octets(SIMPLE.toString().replaceAll('\r\n', '\n'))
  t.equal((await send(loose)).status, 202)
  await kit.tenants.updateWorkspace(kit.accountId, 'default', { lineEndings: 'strict' })
  t.strictSame(fieldsOf(await send(loose)), ['body.raw format'])
  await kit.tenants.updateWorkspace(kit.accountId, 'default', { lineEndings: 'normalize' })
})

t.test('who may send: every author of it', async (t) => {
  const own = { defaultFrom: 'post@acme.test', restrictSenders: true }
  await kit.tenants.updateWorkspace(kit.accountId, 'default', own)
  t.equal((await send(SIMPLE)).status, 202)
  const two = lines('From: a@acme.test, b@elsewhere.test', 'Sender: a@acme.test', '', 'Hello')
  const refused = await send(two)
  t.strictSame([refused.status, refused.json.code], [403, 'email.sender_not_allowed'])
  await kit.tenants.updateWorkspace(kit.accountId, 'default', { defaultFrom: null, restrictSenders: false })
})

t.test('idempotency goes by what a reader sees', async (t) => {
  const at = (date: string, body: string) =>
    Buffer.concat([
      lines(`Date: ${date}`, `Message-ID: <${date.length}.${Math.random()}@x.test>`),
      lines('From: a@b.test', 'Subject: Hi', '', body),
    ])
  const key = { 'Idempotency-Key': 'whole' }
  const first = await send(at('Fri, 20 Nov 2026 10:00:00 +0000', 'Hello'), {}, key)
  const again = await send(at('Fri, 20 Nov 2026 10:00:05 +0000', 'Hello'), {}, key)
  t.strictSame([again.status, again.text], [202, first.text])
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal((await send(at('x', 'Other'), {}, key)).json.code, 'idempotency.body_mismatch')
  t.equal((await send(at('x', 'Hello'), { bcc: 'b@c.test' }, key)).json.code, 'idempotency.body_mismatch')
})

t.test('a large one, which a thread reads, is the same mail', async (t) => {
  const text = 'a line of a long mail, with an \xe9\r\n'.repeat(60_000)
  const head = ['From: a@acme.test', 'To: Ana <ana@example.com>', 'Bcc: hidden@example.com', 'Subject: Long']
  const type = 'Content-Type: text/plain; charset=iso-8859-1'
  const large = Buffer.concat([lines(...head, type, 'Content-Transfer-Encoding: 8bit', ''), octets(text)])
  t.ok(await sameByBoth(t, 'large', large))
  const key = { 'Idempotency-Key': 'large' }
  const first = await send(large, {}, key)
  t.equal((await send(Buffer.concat([lines('Date: x'), large]), {}, key)).text, first.text)
  t.ok(
    (await kit.ask(`/v1/emails/${first.json.id}`)).json.text.startsWith('a line of a long mail, with an é\n'),
  )
  const steers = await send(Buffer.concat([lines('X-Postern-Tag: a=b'), large]))
  t.strictSame([steers.status, fieldsOf(steers)], [422, ['body.raw forbidden']])
  const batch = await kit.ask('/v1/emails/batch', { body: [MAIL, { to: 'b@c.test', raw: raw(large) }] })
  t.equal(batch.json.data.length, 2)
})

t.test('the cap is that of the message, not of its base64', async (t) => {
  const most = kit.config.limits.message_size
  const exactly = Buffer.concat([SIMPLE, Buffer.alloc(most - SIMPLE.length, 'x\r\n')])
  t.equal((await send(exactly)).status, 202)
  const broken = raw(exactly).replace(/.{76}/g, '$&\r\n')
  t.equal((await kit.ask('/v1/emails', { body: { to: 'ana@example.com', raw: broken } })).status, 202)
  const over = await send(Buffer.concat([exactly, octets('x')]))
  t.strictSame([over.status, over.json.code], [413, 'request.body_too_large'])
})

t.test('more parts than anybody reads', async (t) => {
  const parts = Array.from({ length: 5_000 }, () => ['--x', '', 'y']).flat()
  const many = lines('From: a@acme.test', 'Content-Type: multipart/mixed; boundary=x', '', ...parts, '--x--')
  const key = { 'Idempotency-Key': 'many' }
  const first = await send(many, {}, key)
  t.equal(first.status, 202)
  t.equal((await send(many, {}, key)).text, first.text)
  t.match((await kit.ask(`/v1/emails/${first.json.id}`)).json, { text: null, html: null, attachments: [] })
})

t.test('in a batch, beside composed ones', async (t) => {
  const body = [MAIL, { to: 'bo@example.com', raw: raw(SIMPLE) }, { to: 'bo@example.com', raw: '?' }]
  t.strictSame(fieldsOf(await kit.ask('/v1/emails/batch', { body })), ['body[2].raw format'])
  const headers = { 'x-batch-validation': 'permissive' }
  const { json } = await kit.ask('/v1/emails/batch', { body, headers })
  t.match(json, { data: [{}, {}], errors: [{ index: 2, message: /^"raw" must be a message in base64/ }] })
  t.match((await kit.ask(`/v1/emails/${json.data[1].id}`)).json, { subject: 'Hi', text: 'Hello' })
})

t.test('later, by words beside it', async (t) => {
  const { json } = await send(SIMPLE, { scheduled_at: 'in 2 days' })
  t.equal(json.status, 'scheduled')
})

t.test('a mail with a Message-ID of its own is found by it', async (t) => {
  const { json } = await send(Buffer.concat([lines('Message-ID: <own@acme.test>'), SIMPLE]))
  t.equal(json.message_id, '<own@acme.test>')
  t.strictSame(
    (await kit.store.findEmails('<own@acme.test>', 5)).map(({ id }) => id),
    [json.id],
  )
})
