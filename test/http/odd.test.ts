/** Requests and fields that are nearly right: what is refused, and in which words. */
import t from 'tap'
import { fieldsOf, MAIL, openKit } from './kit.js'
import { raw } from './raw.js'

const kit = await openKit({ perMinute: 200 })
t.teardown(() => kit.stop())
const send = (more: object) => kit.ask('/v1/emails', { body: { ...MAIL, ...more } })

t.test('header fields that are not the caller\u2019s', async (t) => {
  for (const name of [
    'Authentication-Results',
    'ARC-Seal',
    'Resent-To',
    'Delivered-To',
    'X-Postern-Tag',
    'idempotency-key',
  ]) {
    t.strictSame(fieldsOf(await send({ headers: { [name]: 'x' } })), [`body.headers.${name} forbidden`])
  }
  t.strictSame(fieldsOf(await send({ headers: { 'X-a': '1', 'x-A': '2' } })), ['body.headers.x-A not_unique'])
  const twice = await send({ reply_to: 'a@b.test', headers: { 'Reply-To': 'c@d.test' } })
  t.strictSame(fieldsOf(twice), ['body.headers.Reply-To not_unique'])
  t.strictSame(fieldsOf(await send({ headers: { 'X-A': 'x'.repeat(901) } })), ['body.headers.X-A length'])
  const long = await send({ headers: { [`X-${'a'.repeat(120)}`]: 'x'.repeat(900) } })
  t.equal(long.status, 202)
  const bytes = Buffer.from((await kit.store.body(long.json.id)) ?? []).toString('latin1')
  t.match(bytes, `\r\n ${'x'.repeat(900)}\r\n`, 'as it is, and not encoded')
  t.ok(bytes.split('\r\n').every((line) => line.length <= 998))
})

t.test('fields by which other providers are steered', async (t) => {
  const headers = {
    'X-PM-Tag': 'welcome',
    'x-mailgun-variables': '{"user":7}',
    'X-SMTPAPI': '{"category":["a"],"to":[]}',
    'X-MC-Track': 'opens',
    'X-Mailgun-Drop-Message': 'no',
    'X-Order': '42',
  }
  const { status, json } = await send({ headers, tags: [{ name: 'kind', value: 'x' }] })
  t.equal(status, 202)
  const tags = ['kind=x', 'tag=welcome', 'user=7', 'tag=a']
  t.strictSame(
    json.tags.map((one: { name: string; value: string }) => `${one.name}=${one.value}`),
    tags,
  )
  t.strictSame((await kit.ask(`/v1/emails/${json.id}`)).json.headers, { 'X-Order': '42' })
  const bytes = Buffer.from((await kit.store.body(json.id)) ?? []).toString('latin1')
  t.notMatch(bytes, /X-(?:PM|Mailgun|SMTPAPI|MC)/i, 'strangers see none of it')
  t.match(bytes, 'X-Order: 42')

  const refused: readonly (readonly [string, string, RegExp])[] = [
    ['X-SMTPAPI', '{"to":["b@c.test"]}', /other recipients/],
    ['X-SMTPAPI', '{"sub":{"%n":["Ann"]}}', /\(sub\) asks for another text/],
    ['X-SMTPAPI', '{"filters":{"bcc":{"settings":{"enable":"1"}}}}', /other recipients/],
    ['X-Mailgun-Recipient-Variables', '{"b@c.test":{}}', /another text/],
    ['X-MSYS-API', '{"options":{"start_time":"2030-01-01T00:00:00Z"}}', /another time/],
    ['X-MSYS-API', '{"options":{"sandbox":true}}', /unsent/],
    ['X-MSYS-API', '{"bcc":[{"email":"b@c.test"}]}', /other recipients/],
    ['X-MC-BccAddress', 'b@c.test', /other recipients/],
    ['X-Mailgun-Drop-Message', 'yes', /unsent/],
    ['X-Sib-Sandbox', 'drop', /unsent/],
  ]
  for (const [name, value, told] of refused) {
    const reply = await send({ headers: { [name]: value } })
    t.strictSame(fieldsOf(reply), [`body.headers.${name} unsupported`], value)
    t.match(reply.json.errors[0].message, told)
  }
  const at = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + 3_600_000)
  for (const [name, value] of [
    ['X-SMTPAPI', `{"send_at":${at.getTime() / 1000}}`],
    ['X-MC-SendAt', at.toISOString().slice(0, 19).replace('T', ' ')],
    ['X-Mailgun-Deliver-By', at.toUTCString()],
  ] as const) {
    t.match((await send({ headers: { [name]: value } })).json, {
      status: 'scheduled',
      scheduled_at: at.toISOString(),
    })
    const wrong = await send({ headers: { [name]: value.replace(/\d+/, 'soon') } })
    t.strictSame(fieldsOf(wrong), name === 'X-SMTPAPI' ? [] : [`body.headers.${name} format`], value)
  }
  t.strictSame(fieldsOf(await send({ headers: { 'X-SMTPAPI': '{"send_at":1400000000}' } })), [
    'body.headers.X-SMTPAPI past',
  ])
  t.strictSame(fieldsOf(await send({ headers: { 'Resend-Idempotency-Key': 'x' } })), [
    'body.headers.Resend-Idempotency-Key forbidden',
  ])
})

t.test('what the record shows is what the wire carries', async (t) => {
  const attachments = [{ content: '', content_type: 'multipart/mixed; boundary=x' }]
  t.strictSame(fieldsOf(await send({ attachments })), ['body.attachments[0].content_type unsupported'])
  for (const domain of ['exa\u200bmple.com', 'exa\u00admple.com', 'example\u3002com', 'example\uff0ecom']) {
    t.strictSame(fieldsOf(await send({ to: `a@${domain}` })), ['body.to format'], domain)
  }
  t.equal((await send({ to: 'a@b\u00fccher.example' })).status, 202)
})

t.test('commas', async (t) => {
  t.match((await send({ to: 'a@b.co, c@d.co' })).json.errors[0].message, /send several addresses as an array/)
  t.match((await send({ to: 'Acme, Inc. <a@b.co>' })).json.errors[0].message, /quote a name that has a comma/)
  t.equal((await send({ to: '"Acme, Inc." <a@b.co>' })).status, 202)
})

t.test('odd requests', async (t) => {
  const head = `Authorization: Bearer ${kit.key}\r\nConnection: close\r\n`
  const hosts = await raw(kit.port, `GET /v1/emails HTTP/1.1\r\nHost: a\r\nHost: b\r\n${head}\r\n`)
  t.match([hosts.status, hosts.body], [400, /request\.malformed/])
  const dots = await raw(kit.port, `GET /v1/../v1/emails HTTP/1.1\r\nHost: a\r\n${head}\r\n`)
  t.match([dots.status, dots.body], [404, /route\.not_found/])
  for (const method of ['GET', 'DELETE']) {
    const nul = await raw(kit.port, `${method} /v1/suppressions/a%00b HTTP/1.1\r\nHost: a\r\n${head}\r\n`)
    t.match([nul.status, nul.body], [404, /route\.not_found/])
  }
  const body = JSON.stringify(MAIL)
  const coded = await raw(
    kit.port,
    `POST /v1/emails HTTP/1.1\r\nHost: a\r\n${head}Content-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  )
  t.match([coded.status, coded.body], [501, /request\.coding_unsupported/])
})

t.test('a key for tests changes nothing but its own mail', async (t) => {
  const { secret: key } = await kit.tenants.createKey(kit.accountId, { name: 'ci', mode: 'test' })
  const made = await kit.ask('/v1/workspaces', { key, body: { name: 'x' } })
  t.strictSame([made.status, made.json.code], [403, 'auth.scope_forbidden'])
  t.equal((await kit.ask('/v1/workspaces', { key })).status, 200)
  const headers = { 'x-workspace-id': 'default' }
  t.equal((await kit.ask('/v1/emails', { key, headers, body: MAIL })).status, 202)

  const scheduled_at = new Date(kit.clock.now() + 3_600_000).toISOString()
  const waits = (await send({ scheduled_at })).json.id
  t.equal((await kit.ask(`/v1/emails/${waits}/cancel`, { key, method: 'POST' })).status, 404)
  t.equal(
    (await kit.ask(`/v1/emails/${waits}`, { key, method: 'PATCH', body: { scheduled_at } })).status,
    404,
  )
  const own = (await kit.ask('/v1/emails', { key, headers, body: { ...MAIL, scheduled_at } })).json.id
  t.equal((await kit.ask(`/v1/emails/${own}/cancel`, { key, method: 'POST' })).json.status, 'canceled')

  const listed = async () =>
    (await kit.ask('/v1/suppressions')).json.data.map(({ email }: { email: string }) => email)
  const live = (await kit.ask('/v1/suppressions', { body: { email: 'live@b.test' } })).json.id
  await kit.ask('/v1/suppressions', { key, headers, body: { email: 'test@b.test' } })
  const remove = (ref: string) => kit.ask(`/v1/suppressions/${ref}`, { key, headers, method: 'DELETE' })
  t.equal((await remove('live@b.test')).status, 404)
  t.equal((await remove(live)).status, 404)
  await kit.ask('/v1/suppressions/batch/remove', { key, headers, body: { emails: ['live@b.test'] } })
  await kit.ask('/v1/suppressions/batch/add', { key, headers, body: { emails: ['more@b.test'] } })
  t.strictSame(await listed(), ['live@b.test'])
  const wide = await kit.ask('/v1/suppressions', {
    key,
    headers,
    body: { email: 'a@b.test', scope: 'account' },
  })
  t.strictSame(fieldsOf(wide), ['body.scope forbidden'])
})

t.test('a body that cannot be read is refused in words', async (t) => {
  const told = async (body: string | Uint8Array, ...more: readonly string[]) => {
    const head = `Host: a\r\nAuthorization: Bearer ${kit.key}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n`
    const fields = more.map((one) => `${one}\r\n`).join('')
    const reply = await raw(kit.port, `POST /v1/emails HTTP/1.1\r\n${head}${fields}\r\n`, body)
    return JSON.parse(reply.body).detail
  }
  t.match(await told('['.repeat(21)), /nested deeper than 20 levels/)
  t.match(await told('{'), /not well-formed JSON/)
  t.match(await told(Buffer.from('{"to":"\xff"}', 'latin1')), /not well-formed UTF-8/)
  t.match(await told('{"to":"\\ud800"}'), /surrogate/)
  t.match(await told('{"__proto__":{}}'), /__proto__/)
  t.match(await told('x', 'Content-Encoding: gzip'), /unpacked/)
  t.match(await told('x', 'Content-Type: text/plain'), /application\/json in UTF-8/)
  const large = await kit.ask('/v1/workspaces', { key: kit.platform, body: { name: 'x'.repeat(1_100_000) } })
  t.match(large.json.detail, /at most 1048576 bytes/)
})

t.test('a limit says how many and how long, as over SMTP', async (t) => {
  const { secret: key } = await kit.tenants.createKey(kit.accountId, {
    name: 'one',
    workspace: 'default',
    rateLimitPerMinute: 1,
  })
  await kit.ask('/v1/emails', { key, body: MAIL })
  const over = await kit.ask('/v1/emails', { key, body: MAIL })
  if (over.status === 202) return t.comment('a minute ended in between')
  t.match(over.json.detail, /retry in \d+s/)
})
