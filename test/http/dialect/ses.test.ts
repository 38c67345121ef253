/** AWS's own client for SES v2, unchanged but for the endpoint and its access key; and what it never sends. */
import { connect } from 'node:net'
import { SESv2Client, SendEmailCommand, type SendEmailCommandInput } from '@aws-sdk/client-sesv2'
import t from 'tap'
import { ask, openKit } from '../kit.js'
import { type AccessKey, headersFor, newAccessKey, SEND, signerOf } from './signing.js'

const kit = await openKit()
t.teardown(() => kit.stop())
const key = await newAccessKey(kit.tenants, kit.accountId)
const host = `127.0.0.1:${kit.port}`

const clientOf = (credentials: AccessKey, more = {}) =>
  new SESv2Client({
    endpoint: `http://${host}/v1/as/ses`,
    region: 'eu-west-1',
    credentials,
    maxAttempts: 1,
    ...more,
  })
const client = clientOf(key)
const MAIL = {
  FromEmailAddress: 'Acme <no-reply@acme.test>',
  Destination: { ToAddresses: ['ana@example.com'] },
  Content: { Simple: { Subject: { Data: 'Hi' }, Body: { Text: { Data: 'Hello' } } } },
} satisfies SendEmailCommandInput
const send = (mail: SendEmailCommandInput, by = client) => by.send(new SendEmailCommand(mail))
const shown = async ({ MessageId }: { MessageId?: string | undefined }) =>
  (await kit.ask(`/v1/emails/${MessageId}`)).json
const source = async ({ MessageId }: { MessageId?: string | undefined }) =>
  (await kit.ask(`/v1/emails/${MessageId}/source`)).text

t.test('a mail that is composed here', async (t) => {
  const sent = await send({
    ...MAIL,
    Destination: {
      ToAddresses: ['"Ana, of Acme" <ana@example.com>', 'bo@example.com'],
      CcAddresses: ['cy@example.com'],
      BccAddresses: ['di@example.com'],
    },
    ReplyToAddresses: ['help@acme.test'],
    EmailTags: [{ Name: 'order', Value: '42' }],
    ConfigurationSetName: 'shop',
    Content: {
      Simple: {
        Subject: { Data: 'Grüße', Charset: 'UTF-8' },
        Body: { Text: { Data: 'Hello' }, Html: { Data: '<img src="cid:logo">', Charset: 'ISO-8859-1' } },
        Headers: [{ Name: 'X-Order', Value: '42' }],
        Attachments: [
          { FileName: 'a.txt', RawContent: Buffer.from('hello'), ContentType: 'text/plain' },
          {
            ...{ FileName: 'logo.png', RawContent: Buffer.from('png'), ContentType: 'image/png' },
            ...{ ContentDisposition: 'INLINE', ContentId: 'logo' },
          },
        ],
      },
    },
  })
  t.match(sent, { MessageId: /^em_/, $metadata: { requestId: /^req_/ } })
  t.match(await shown(sent), {
    from: 'Acme <no-reply@acme.test>',
    to: ['"Ana, of Acme" <ana@example.com>', 'bo@example.com'],
    cc: ['cy@example.com'],
    bcc: ['di@example.com'],
    reply_to: ['help@acme.test'],
    subject: 'Grüße',
    html: /cid:logo/,
    text: 'Hello',
    headers: { 'X-Order': '42' },
    tags: [
      { name: 'order', value: '42' },
      { name: 'configuration_set', value: 'shop' },
    ],
    attachments: [
      { filename: 'a.txt', content_type: 'text/plain', size: 5 },
      { filename: 'logo.png', content_id: 'logo' },
    ],
  })
  const hidden = await send({ ...MAIL, Destination: { BccAddresses: ['di@example.com'] } })
  t.match(await shown(hidden), { to: [], bcc: ['di@example.com'] }, 'nobody need stand in To')
  t.match(await source(hidden), /^To: undisclosed-recipients:;\r\n/m)
  t.notMatch(await source(hidden), /di@example/)
})

const MESSAGE = [
  'From: Shop <shop@acme.test>',
  'To: Ana <ana@example.com>',
  'Cc: cy@example.com',
  'Bcc: Di <di@example.com>, ed@example.com',
  'Subject: whole',
  'X-SES-MESSAGE-TAGS: order=42, kind=receipt',
  'X-SES-CONFIGURATION-SET: shop',
  '',
  'Hello',
  '',
].join('\r\n')

const rawOf = (text: string) => ({ Content: { Raw: { Data: Buffer.from(text) } } })

t.test('a whole message', async (t) => {
  const sent = await send({ ...rawOf(MESSAGE), EmailTags: [{ Name: 'own', Value: '1' }] })
  t.match(await shown(sent), {
    from: 'Shop <shop@acme.test>',
    to: ['Ana <ana@example.com>'],
    cc: ['cy@example.com'],
    bcc: ['Di <di@example.com>', 'ed@example.com'],
    subject: 'whole',
    tags: [
      { name: 'own', value: '1' },
      { name: 'order', value: '42' },
      { name: 'kind', value: 'receipt' },
    ],
  })
  t.notMatch(await source(sent), /^(?:bcc|x-ses-)/im)
  t.match(await source(sent), /^Cc: cy@example\.com\r\n/m)
  const elsewhere = await send({ ...rawOf(MESSAGE), Destination: { ToAddresses: ['zoe@example.com'] } })
  t.match(
    await shown(elsewhere),
    { to: ['zoe@example.com'], cc: [], bcc: [] },
    'Destination alone is the envelope',
  )
  t.notMatch(await source(elsewhere), /^bcc/im)
  const unsigned = MESSAGE.replace(/^From.*\r\n/, '')
  const from = await send({ ...rawOf(unsigned), FromEmailAddress: 'Ann <ann@acme.test>' })
  t.match(await shown(from), { from: 'Ann <ann@acme.test>' }, 'a message without From')
  t.match(await source(from), /^From: Ann <ann@acme\.test>\r\n/m)
})

const refusals: readonly (readonly [SendEmailCommandInput, string, RegExp])[] = [
  [
    { ...MAIL, Destination: { ToAddresses: ['ana@'] } },
    'BadRequestException',
    /^Destination\.ToAddresses must be an address/,
  ],
  [{ ...MAIL, Destination: {} }, 'BadRequestException', /^Destination\.ToAddresses is required/],
  [
    { ...MAIL, Destination: { ToAddresses: Array.from({ length: 51 }, (_, i) => `a${i}@example.com`) } },
    'BadRequestException',
    /^Destination must name at most 50 recipients, and names 51/,
  ],
  [{ ...MAIL, Content: {} }, 'BadRequestException', /^Content must have one of Simple and Raw/],
  [
    { ...MAIL, Content: { Template: { TemplateName: 'a' } } },
    'BadRequestException',
    /^Content\.Template asks for/,
  ],
  [
    { ...MAIL, Content: { ...MAIL.Content, ...rawOf(MESSAGE).Content } },
    'BadRequestException',
    /^Content must/,
  ],
  [
    { ...rawOf(MESSAGE), ReplyToAddresses: ['a@b.test'] },
    'BadRequestException',
    /^ReplyToAddresses must not/,
  ],
  [{ ...rawOf('no header\r\n') }, 'BadRequestException', /^Destination|^Content\.Raw\.Data/],
  [
    rawOf(`X-SES-LIST-MANAGEMENT-OPTIONS: a\r\n${MESSAGE}`),
    'BadRequestException',
    /^Content\.Raw\.Data .*unsent/,
  ],
  [
    { ...MAIL, ListManagementOptions: { ContactListName: 'a' } },
    'BadRequestException',
    /^ListManagementOptions asks/,
  ],
  [{ ...MAIL, EmailTags: [{ Name: 'a b', Value: '1' }] }, 'BadRequestException', /^EmailTags\[0\]\.Name /],
  [{ ...MAIL, ConfigurationSetName: 'a\r\nb' }, 'BadRequestException', /^ConfigurationSetName must be/],
  [rawOf(`Idempotency-Key: a\r\n${MESSAGE}`), 'BadRequestException', /^Content\.Raw\.Data Idempotency-Key/],
  [{ ...MAIL, FeedbackForwardingEmailAddress: 'a@b.test' }, 'BadRequestException', /webhooks tell/],
]

t.test('what is wrong is said in its own names', async (t) => {
  for (const [mail, name, message] of refusals)
    await t.rejects(send(mail), { name, message }, String(message))
  await t.rejects(send(MAIL, clientOf({ ...key, secretAccessKey: 'wrong' })), {
    name: 'InvalidSignatureException',
    $metadata: { httpStatusCode: 403 },
  })
  await t.rejects(send(MAIL, clientOf({ ...key, accessKeyId: 'PSTN000000000000' })), {
    name: 'UnrecognizedClientException',
    $metadata: { httpStatusCode: 403, requestId: /^req_/ },
  })
  const { secret, id } = key
  t.equal((await kit.ask('/v1/emails', { key: secret })).status, 200, 'the same key shows itself elsewhere')
  const ended = await newAccessKey(kit.tenants, kit.accountId)
  await send(MAIL, clientOf(ended))
  await kit.tenants.revokeKey(kit.accountId, ended.id)
  await t.rejects(send(MAIL, clientOf(ended)), { name: 'UnrecognizedClientException' }, 'at once')
  const plain = await kit.tenants.createKey(kit.accountId, { name: 'plain', workspace: 'default' })
  await t.rejects(
    send(MAIL, clientOf({ accessKeyId: `PSTN${plain.row.lookup}`, secretAccessKey: '' })),
    { name: 'UnrecognizedClientException' },
    `a key that signs nothing, unlike ${id}`,
  )
})

t.test('a suspended workspace, a sender that is not allowed, and the rate', async (t) => {
  await kit.tenants.createWorkspace(kit.accountId, { name: 'Shop', slug: 'shop' })
  const few = await newAccessKey(kit.tenants, kit.accountId, { workspace: 'shop', rateLimitPerMinute: 1 })
  await send(MAIL, clientOf(few))
  await t.rejects(send(MAIL, clientOf(few)), {
    name: 'TooManyRequestsException',
    $metadata: { httpStatusCode: 429 },
  })
  const shop = await newAccessKey(kit.tenants, kit.accountId, { workspace: 'shop' })
  const change = (body: object) =>
    kit.ask('/v1/workspaces/shop', { method: 'PATCH', key: kit.platform, body })
  await change({ restrict_senders: true })
  await t.rejects(send(MAIL, clientOf(shop)), { name: 'MessageRejected' })
  await change({ restrict_senders: false, suspended: true })
  await t.rejects(send(MAIL, clientOf(shop)), { name: 'SendingPausedException' })
})

t.test('a key of test mode sends test mail', async (t) => {
  const test = await newAccessKey(kit.tenants, kit.accountId, { mode: 'test' })
  const sent = await send(MAIL, clientOf(test))
  t.equal((await kit.ask(`/v1/emails/${sent.MessageId}`, { key: test.secret })).status, 200)
  t.equal((await kit.ask(`/v1/emails/${sent.MessageId}`)).status, 404)
})

const post = async (
  body: unknown,
  {
    headers = {},
    more = {},
    ...asked
  }: Parameters<typeof headersFor>[3] & { more?: Record<string, string> } = {},
) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const all = await headersFor(key, host, text, { headers, ...asked })
  return ask(`http://${host}${asked.path ?? SEND}`, {
    method: 'POST',
    body: text,
    headers: { ...all, ...more },
  })
}

t.test('a repeat of the client is the same mail', async (t) => {
  const id = { 'amz-sdk-invocation-id': '2f0c0a3e-0000-4000-8000-000000000001' }
  const first = await post(MAIL, { headers: id })
  const again = await post(MAIL, { headers: id })
  t.equal(first.status, 200)
  t.equal(again.text, first.text)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  const other = await post({ ...MAIL, EmailTags: [{ Name: 'a', Value: 'b' }] }, { headers: id })
  t.match(other, { status: 409, json: { message: /\w/ } })
  t.equal(other.headers.get('x-amzn-errortype'), 'ConflictException')
  const own = { ...id, 'idempotency-key': 'k1' }
  t.not((await post(MAIL, { headers: own })).text, first.text, 'an Idempotency-Key goes before it')
})

t.test('so is one of botocore, which adds the id after it has signed', async (t) => {
  const asked = {
    signer: signerOf(key, 'ses', false),
    more: { 'amz-sdk-invocation-id': '2f0c0a3e-0000-4000-8000-000000000002' },
  }
  const signed = await headersFor(key, host, JSON.stringify(MAIL), asked)
  t.match(signed.authorization, 'SignedHeaders=content-type;host;x-amz-date,')
  const first = await post(MAIL, asked)
  const again = await post(MAIL, asked)
  t.equal(first.status, 200)
  t.equal(again.text, first.text)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  const other = await post({ ...MAIL, EmailTags: [{ Name: 'a', Value: 'b' }] }, asked)
  t.equal(other.headers.get('x-amzn-errortype'), 'ConflictException')
  const own = { ...asked, headers: { 'idempotency-key': 'k2' } }
  t.not((await post(MAIL, own)).text, first.text, 'an Idempotency-Key goes before it')
})

t.test('a large one is read elsewhere, and is the same', async (t) => {
  const RawContent = Buffer.alloc(400_000, 'x')
  const file = { FileName: 'a', RawContent, ContentType: 'text/plain' }
  const Simple = { ...MAIL.Content.Simple, Attachments: [file] }
  const sent = await send({ ...MAIL, Content: { Simple } })
  t.match(await shown(sent), { attachments: [{ size: 400_000 }] })
  const whole = await send(rawOf(`${MESSAGE}${'line of text\r\n'.repeat(40_000)}`))
  t.match(await shown(whole), { subject: 'whole', bcc: ['Di <di@example.com>', 'ed@example.com'] })
  await t.rejects(send({ ...MAIL, Destination: { ToAddresses: ['a'] }, Content: { Simple } }), {
    name: 'BadRequestException',
    message: /^Destination\.ToAddresses /,
  })
  const tampered = await post(MAIL, { more: { 'x-amz-content-sha256': '0'.repeat(64) } })
  t.equal(tampered.status, 403)
})

t.test('signatures that are late, odd or of something else', async (t) => {
  const typeOf = async (asked: Parameters<typeof post>[1], body: unknown = MAIL) => {
    const { status, headers, json } = await post(body, asked)
    return `${status} ${headers.get('x-amzn-errortype') ?? json?.MessageId.slice(0, 3)}`
  }
  const late = (ms: number) => ({ date: new Date(Date.now() + ms) })
  t.equal(await typeOf({}), '200 em_')
  t.equal(
    await typeOf({ signer: signerOf(key, 'ses', false) }),
    '200 em_',
    'without a hash of the body in the header',
  )
  t.equal(await typeOf(late(-290_000)), '200 em_')
  t.equal(await typeOf(late(-310_000)), '403 InvalidSignatureException')
  t.equal(await typeOf(late(310_000)), '403 InvalidSignatureException')
  t.equal(await typeOf({ signer: signerOf(key, 's3') }), '403 InvalidSignatureException')
  t.equal(await typeOf({ signer: signerOf({ ...key, sessionToken: 'x' }) }), '403 InvalidSignatureException')
  t.equal(
    await typeOf({ headers: { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' } }),
    '403 InvalidSignatureException',
  )
  t.equal(await typeOf({ more: { authorization: '' } }), '403 InvalidSignatureException')
  t.equal(await typeOf({ more: { authorization: `Bearer ${key.secret}` } }), '403 InvalidSignatureException')
  t.equal(await typeOf({ more: { origin: 'https://evil.test' } }), '403 AccessDeniedException')
  t.equal(await typeOf({ more: { 'sec-fetch-site': 'cross-site' } }), '403 AccessDeniedException')
  t.equal(await typeOf({ more: { 'content-encoding': 'gzip' } }), '400 BadRequestException')
  t.equal(await typeOf({}, '{"Content"'), '400 BadRequestException')
  t.equal(await typeOf({}, '[]'), '400 BadRequestException')
  t.equal(await typeOf({}, ''), '400 BadRequestException')
  const anonymous = await ask(`http://${host}${SEND}`, { method: 'POST', body: MAIL })
  t.match(anonymous, { status: 403, json: { message: 'Missing Authentication Token' } })
  t.equal(anonymous.headers.get('x-amzn-errortype'), 'MissingAuthenticationTokenException')
  t.notMatch(anonymous.headers.get('www-authenticate'), /basic/i)
})

t.test('failures count for their address', async (t) => {
  const own = await openKit({ authFailures: 2 })
  t.teardown(() => own.stop())
  const good = await newAccessKey(own.tenants, own.accountId)
  const at = (credentials: AccessKey) =>
    new SESv2Client({
      ...{ endpoint: `http://127.0.0.1:${own.port}/v1/as/ses`, region: 'x', credentials, maxAttempts: 1 },
    })
  await t.rejects(send(MAIL, at({ ...good, secretAccessKey: 'x' })), { name: 'InvalidSignatureException' })
  await t.rejects(send(MAIL, at({ ...good, accessKeyId: 'AKIDEXAMPLE' })), {
    name: 'UnrecognizedClientException',
  })
  await t.rejects(send(MAIL, at({ ...good, secretAccessKey: 'y' })), {
    name: 'TooManyRequestsException',
    $metadata: { httpStatusCode: 429 },
  })
  t.match(await send(MAIL, at(good)), { MessageId: /^em_/ }, 'a good one passes')
})

/** What a request over a socket is answered, until the other end closes. */
const raw = (head: string, body: string, isCut = false): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(kit.port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.once('close', () => resolve(text))
    socket.once('error', reject)
    socket.write(`${head}\r\n\r\n${body}`)
    if (isCut) socket.end()
  })

t.test('over a plain socket: a body that is cut, a thousand fields, fields twice', async (t) => {
  const text = JSON.stringify(MAIL)
  const signed = await headersFor(key, host, text)
  const lines = Object.entries({ ...signed, 'content-length': text.length, connection: 'close' })
  const head = (more: readonly string[] = [], target = SEND) =>
    [`POST ${target} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`), ...more].join('\r\n')
  const { length: before } = (await kit.ask('/v1/emails?limit=100')).json.data
  t.match(await raw(head(), text), /^HTTP\/1\.1 200 /)
  t.match(
    await raw(head(), text.replace('Hello', 'Hullo')),
    /^HTTP\/1\.1 403 [\s\S]*InvalidSignature/,
    'another body',
  )
  t.notMatch(await raw(head(), text.slice(0, 50), true), / 200 /, 'a body that is cut')
  t.match(await raw(head(Array.from({ length: 1_000 }, (_, i) => `x-${i}: y`)), text), /^HTTP\/1\.1 200 /)
  t.match(await raw(head([`x-amz-date: ${signed['x-amz-date']}`]), text), / 403 [\s\S]*InvalidSignature/)
  t.match(await raw(head([`authorization: ${signed.authorization}`]), text), /^HTTP\/1\.1 40[03] /)
  t.match(await raw(head([`host: ${host}`]), text), /^HTTP\/1\.1 400 /)
  t.match(await raw(head(['content-type: text/plain']), text), /^HTTP\/1\.1 40[03] /, 'a signed field twice')
  t.match(
    await raw(head([], `${SEND}?a=b&a=c`), text),
    / 403 [\s\S]*InvalidSignature/,
    'a query that is not signed',
  )
  t.match(await raw(head([], SEND.replace('-', '%2D')), text), / 40[34] /, 'another writing of the path')
  t.match(await raw(head(['x-odd: a', '\tb']), text), /^HTTP\/1\.1 [24]00 /, 'a field that is folded')
  const { length: after } = (await kit.ask('/v1/emails?limit=100')).json.data
  t.ok(after - before <= 3, 'none that was refused is stored')
})
