/** Bodies that a thread reads: the same answers as small ones get, and the loop of the doors stays free. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { createBodyReader } from '../../src/http/thread/reader.js'
import type { Prepared } from '../../src/submission/prepare.js'
import { fieldsOf, MAIL, openKit } from './kit.js'

const MIB = 1024 * 1024

const kit = await openKit()
t.teardown(() => kit.stop())

const words = 'a line of a long mail, with an é\n'
const html = words.repeat((2 * MIB) / words.length)

t.test('a large email is sent as a small one is', async (t) => {
  const reply = await kit.ask('/v1/emails', { body: { ...MAIL, html, headers: { 'X-Order': '42' } } })
  t.equal(reply.status, 202)
  t.match(reply.json, { object: 'email', status: 'queued', to: ['ana@example.com'], subject: 'Hi' })
  t.notOk('html' in reply.json)
  const read = await kit.ask(`/v1/emails/${reply.json.id}`)
  t.ok(read.json.html === html, 'its text is kept whole')
  t.same(read.json.headers, { 'X-Order': '42' })
  const raw = Buffer.from((await kit.store.body(reply.json.id)) ?? []).toString('latin1')
  t.match(raw, `Message-ID: ${reply.json.message_id}\r\n`)
  t.match(raw, 'X-Order: 42\r\n')
})

t.test('many files, or a file of numbers, go there too', async (t) => {
  const file = Buffer.from('hello')
  const attachments = Array.from({ length: 60 }, (_, i) => ({ filename: `${i}.txt`, content: [...file] }))
  const reply = await kit.ask('/v1/emails', { body: { ...MAIL, attachments } })
  t.equal(reply.status, 202)
  t.equal(reply.json.attachments.length, 60)
  t.same(reply.json.attachments[59].size, 5)
  const numbers = Array.from({ length: MIB }, (_, i) => i % 256)
  const large = await kit.ask('/v1/emails', { body: { ...MAIL, attachments: [{ content: numbers }] } })
  t.equal(large.json.attachments[0].size, MIB)
})

t.test('what is wrong with a large one is told', async (t) => {
  const reply = await kit.ask('/v1/emails', {
    body: { to: ['bad', 5], html, nope: 1, headers: { From: 'x' }, tags: [{ name: 'not good', value: 1 }] },
  })
  t.equal(reply.status, 422)
  t.strictSame(fieldsOf(reply).sort(), [
    'body.from missing',
    'body.headers.From forbidden',
    'body.nope unknown',
    'body.tags[0].name format',
    'body.tags[0].value type',
    'body.to[0] format',
    'body.to[1] type',
  ])
  const cut = await kit.ask('/v1/emails', { body: JSON.stringify({ ...MAIL, html }).slice(0, -1) })
  t.strictSame([cut.status, cut.json.code], [400, 'request.body_malformed'])
  const nowhere = { key: kit.platform, body: JSON.stringify({ ...MAIL, html }) }
  t.equal((await kit.ask('/v1/emails', nowhere)).json.code, 'validation.workspace_header_required')
  const both = { key: kit.platform, body: nowhere.body.slice(0, -1) }
  t.equal((await kit.ask('/v1/emails', both)).json.code, 'request.body_malformed')
  const utf16 = await kit.ask('/v1/emails', { body: JSON.stringify({ ...MAIL, html: `${html}\ud800` }) })
  t.equal(utf16.status, 400)
  const whole = await kit.ask('/v1/emails', { body: { ...MAIL, html: 'x'.repeat(26 * MIB) } })
  t.strictSame([whole.status, whole.json.code], [413, 'request.body_too_large'])
})

t.test('a key means the same email, however it is packed', async (t) => {
  const headers = { 'idempotency-key': 'large' }
  const body = JSON.stringify({ ...MAIL, html })
  const first = await kit.ask('/v1/emails', { body, headers })
  t.equal(first.status, 202)
  const packed = await fetch(`${kit.url}/v1/emails`, {
    method: 'POST',
    headers: {
      ...headers,
      authorization: `Bearer ${kit.key}`,
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    },
    body: gzipSync(JSON.stringify({ html, ...MAIL })),
  })
  t.equal(packed.status, 202)
  t.equal(packed.headers.get('idempotent-replayed'), 'true')
  t.equal(await packed.text(), first.text)
  const other = await kit.ask('/v1/emails', { body: { ...MAIL, html: `${html}!` }, headers })
  t.equal(other.json.code, 'idempotency.body_mismatch')
})

t.test('a large batch', async (t) => {
  const body = [
    { ...MAIL, html },
    { ...MAIL, to: 'bad' },
    { ...MAIL, html, subject: 5 },
  ]
  const strict = await kit.ask('/v1/emails/batch', { body })
  t.strictSame(fieldsOf(strict), ['body[1].to format', 'body[2].subject type'])
  const headers = { 'x-batch-validation': 'permissive' }
  const some = await kit.ask('/v1/emails/batch', { body, headers })
  t.equal(some.status, 202)
  t.equal(some.json.data.length, 1)
  t.strictSame(
    some.json.errors.map(({ index }: { index: number }) => index),
    [1, 2],
  )
})

const job = (body: string) => ({
  bytes: new TextEncoder().encode(body),
  what: 'one' as const,
  fingerprint: null,
  rules: {
    defaultFrom: null,
    recipients: 100,
    now: Date.now(),
    hostname: 'mail.test',
    messageSize: 25 * MIB,
    lineEndings: 'normalize',
  } as const,
  perMinute: 100,
})

t.test('the loop turns while a body is read', async (t) => {
  const reader = createBodyReader(50 * MIB)
  t.teardown(() => reader.end())
  let turns = 0
  let reading = true
  const turn = (): void => {
    turns++
    if (reading) setImmediate(turn)
  }
  const numbers = Array(MIB).fill(7)
  const under = reader.read(job(JSON.stringify({ ...MAIL, attachments: [{ content: numbers }] })))
  turn()
  const { items } = await under
  reading = false
  t.equal((items[0] as Prepared).attachments[0]?.size, MIB)
  t.ok(turns > 100, `${turns} turns`)
})

t.test('elsewhere a body has a mebibyte', async (t) => {
  const body = JSON.stringify({ name: 'x'.repeat(2 * MIB) })
  const large = await kit.ask('/v1/workspaces', { key: kit.platform, body })
  t.strictSame([large.status, large.json.code], [413, 'request.body_too_large'])
  const many = await kit.ask('/v1/workspaces', {
    key: kit.platform,
    body: { name: 'x', nope: Array(30_000).fill(1) },
  })
  t.strictSame(fieldsOf(many), ['body too_many'])
})

t.test('texts, lists and objects without end are counted before they are read', async (t) => {
  for (const one of ['{}', '[1]', '"a"']) {
    const body = `{"to":"ana@example.com","tags":[${`${one},`.repeat(2_000_000)}${one}]}`
    t.strictSame(fieldsOf(await kit.ask('/v1/emails', { body })), ['body too_many'], one)
  }
  const batch = `[${'{},'.repeat(2_000_000)}{}]`
  t.strictSame(fieldsOf(await kit.ask('/v1/emails/batch', { body: batch })), ['body too_many'])
})
