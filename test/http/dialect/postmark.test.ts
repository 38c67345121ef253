/** Postmark's own client, unchanged but for the host; and what it never sends. */
import { ServerClient } from 'postmark'
import t from 'tap'
import { ask, openKit } from '../kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())
const clientOf = (key: string) =>
  new ServerClient(key, { requestHost: `127.0.0.1:${kit.port}/v1/as/postmark`, useHttps: false })
const client = clientOf(kit.key)
const MAIL = { From: 'Acme <no-reply@acme.test>', To: 'ana@example.com', Subject: 'Hi', TextBody: 'Hello' }

t.test('one mail', async (t) => {
  const sent = await client.sendEmail({
    ...MAIL,
    To: '"Ana, of Acme" <ana@example.com>, bo@example.com',
    Cc: 'cy@example.com',
    Bcc: 'di@example.com',
    ReplyTo: 'help@acme.test',
    HtmlBody: '<p>Hello <img src="cid:logo"></p>',
    Tag: 'receipt',
    Metadata: { order: '42' },
    MessageStream: 'outbound',
    Headers: [{ Name: 'X-Order', Value: '42' }],
    Attachments: [
      { Name: 'a.txt', Content: 'aGVsbG8=', ContentType: 'text/plain', ContentID: '' },
      { Name: 'logo.png', Content: 'aGVsbG8=', ContentType: 'image/png', ContentID: 'cid:logo' },
    ],
    TrackOpens: false,
  })
  t.match(sent, {
    To: '"Ana, of Acme" <ana@example.com>, bo@example.com',
    SubmittedAt: /^\d{4}-.*Z$/,
    MessageID: /^em_/,
    ErrorCode: 0,
    Message: 'OK',
  })
  const { json } = await kit.ask(`/v1/emails/${sent.MessageID}`)
  t.match(json, {
    from: 'Acme <no-reply@acme.test>',
    to: ['"Ana, of Acme" <ana@example.com>', 'bo@example.com'],
    cc: ['cy@example.com'],
    bcc: ['di@example.com'],
    reply_to: ['help@acme.test'],
    html: /cid:logo/,
    text: 'Hello',
    headers: { 'X-Order': '42' },
    tags: [
      { name: 'tag', value: 'receipt' },
      { name: 'order', value: '42' },
      { name: 'message_stream', value: 'outbound' },
    ],
    attachments: [
      { filename: 'a.txt', content_type: 'text/plain', size: 5 },
      { filename: 'logo.png', content_id: 'logo' },
    ],
  })
})

t.test('what is wrong is said as its users know it', async (t) => {
  await t.rejects(client.sendEmail({ ...MAIL, To: 'ana@' }), {
    name: 'InvalidEmailRequestError',
    statusCode: 422,
    code: 300,
    message: "Invalid 'To' address: 'ana@'.",
  })
  await t.rejects(client.sendEmail({ ...MAIL, TrackOpens: true }), { code: 300, message: /^TrackOpens asks/ })
  await t.rejects(client.sendEmail({ ...MAIL, InlineCss: true } as never), {
    message: /^InlineCss is not known/,
  })
  await t.rejects(client.sendEmail({ ...MAIL, Headers: [{ Name: 'Date', Value: 'now' }] }), {
    code: 300,
    message: /^Headers.Date Date is set by the service/,
  })
  await t.rejects(clientOf('svc_live_wrong').sendEmail(MAIL), {
    name: 'InvalidAPIKeyError',
    statusCode: 401,
    code: 10,
  })
  await t.rejects(clientOf(kit.platform).sendEmail(MAIL), {
    statusCode: 403,
    message: /a key of the workspace/,
  })
  await t.rejects(clientOf(kit.session).sendEmail(MAIL), {
    statusCode: 403,
    message: /a key of the workspace/,
  })
})

t.test('suppressed recipients', async (t) => {
  await kit.ask('/v1/suppressions', { method: 'POST', body: { email: 'Gone@example.com' } })
  await t.rejects(client.sendEmail({ ...MAIL, To: 'gone@example.com' }), {
    name: 'InactiveRecipientsError',
    code: 406,
    recipients: ['gone@example.com'],
  })
  const some = await client.sendEmail({ ...MAIL, To: 'gone@example.com, ana@example.com' })
  t.match(some, {
    ErrorCode: 0,
    Message: /inactive addresses: gone@example\.com\. Inactive recipients/,
  })
  const { json } = await kit.ask('/v1/emails?limit=2')
  t.match(
    json.data,
    [{ counts: { queued: 1, bounced: 1 } }, { counts: { queued: 0, bounced: 1 } }],
    'both are recorded',
  )
})

t.test('a batch answers each for itself', async (t) => {
  const answers = await client.sendEmailBatch([
    MAIL,
    { ...MAIL, To: 'ana@' },
    { ...MAIL, To: 'gone@example.com' },
    MAIL,
  ])
  t.match(answers, [
    { ErrorCode: 0, To: 'ana@example.com' },
    { ErrorCode: 300, Message: "Invalid 'To' address: 'ana@'." },
    { ErrorCode: 406, Message: /gone@example.com/ },
    { ErrorCode: 0, To: 'ana@example.com' },
  ])
  t.not(answers[0]?.MessageID, answers[3]?.MessageID)
  const none = await client.sendEmailBatch([{ ...MAIL, To: 'ana@' }])
  t.match(none, [{ ErrorCode: 300 }], 'also where nothing is good')
  await t.rejects(client.sendEmailBatch(Array.from({ length: 501 }, () => MAIL)), {
    statusCode: 422,
    code: 410,
  })
  const many = await client.sendEmailBatch(Array.from({ length: 500 }, () => MAIL))
  t.equal(new Set(many.map(({ MessageID }) => MessageID)).size, 500)
})

const post = (body: unknown, headers: Record<string, string> = {}, path = 'email') =>
  ask(`${kit.url}/v1/as/postmark/${path}`, {
    method: 'POST',
    body,
    headers: { 'x-postmark-server-token': kit.key, ...headers },
  })

t.test('the same request twice is one mail', async (t) => {
  const first = await post(MAIL, { 'idempotency-key': 'k1' })
  const second = await post(MAIL, { 'idempotency-key': 'k1' })
  t.equal(first.text, second.text)
  t.equal(second.headers.get('idempotent-replayed'), 'true')
  t.match((await post({ ...MAIL, Subject: 'other' }, { 'idempotency-key': 'k1' })).json, { ErrorCode: 300 })
})

t.test('a large one is read elsewhere, and is the same', async (t) => {
  const Content = Buffer.alloc(400_000, 'x').toString('base64')
  const sent = await post({
    ...MAIL,
    Tag: 'big',
    Attachments: [{ Name: 'a', Content, ContentType: 'text/plain' }],
  })
  t.match(sent, { status: 200, json: { ErrorCode: 0 } })
  const { json } = await kit.ask(`/v1/emails/${sent.json.MessageID}`)
  t.match(json, { attachments: [{ size: 400_000 }], tags: [{ name: 'tag', value: 'big' }] })
  const wrong = await post({
    ...MAIL,
    To: 'a',
    Attachments: [{ Name: 'a', Content, ContentType: 'text/plain' }],
  })
  t.match(wrong, { status: 422, json: { ErrorCode: 300, Message: "Invalid 'To' address: 'a'." } })
})

t.test('requests that no client makes', async (t) => {
  t.match(await post(MAIL, { origin: 'https://evil.test' }), { status: 403, json: { ErrorCode: 300 } })
  t.match(await post(MAIL, { 'sec-fetch-site': 'cross-site' }), { status: 403 })
  t.match(await post(MAIL, { 'x-postmark-server-token': '' }), { status: 401, json: { ErrorCode: 10 } })
  t.match(await post(MAIL, { 'x-postmark-server-token': 'POSTMARK_API_TEST' }), { status: 401 })
  t.match(await post({}), { status: 422, json: { Message: 'To is required.' } })
  t.match(await post([MAIL]), { status: 422, json: { ErrorCode: 300, Message: 'body must be an object.' } })
  t.match(await post(undefined), { status: 422 })
  t.match(await post(MAIL, {}, 'email/batch'), { status: 422, json: { ErrorCode: 300 } })
  t.match(await post([], {}, 'email/batch'), { status: 422 })
  t.match(await post({ ...MAIL, To: 5, Cc: {}, Headers: 'x', Attachments: [1], Metadata: [1], Tag: 5 }), {
    status: 422,
    json: { ErrorCode: 300 },
  })
  t.match(await post(MAIL, {}, 'email/withTemplate'), { status: 404, json: { code: 'route.not_found' } })
})
