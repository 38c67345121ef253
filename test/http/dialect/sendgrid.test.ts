/** SendGrid's own client, unchanged but for the URL; and what it never sends. */
import sendgridClient from '@sendgrid/client'
import sendgrid from '@sendgrid/mail'
import t from 'tap'
import { ask, openKit } from '../kit.js'

const kit = await openKit({ perMinute: 2_000 })
t.teardown(() => kit.stop())

// both modules are an instance of what they export
const another = <T extends object>(one: T): T => new (one.constructor as new () => T)()

const clientOf = (key: string) => {
  const client = another(sendgridClient)
  const { warn } = console
  // of keys that do not begin as those of its provider do
  console.warn = () => {}
  client.setApiKey(key)
  console.warn = warn
  // in this order: setApiKey sets the URL back
  client.setDefaultRequest('baseUrl', `${kit.url}/v1/as/sendgrid`)
  const service = another(sendgrid)
  service.setClient(client)
  return service
}
const client = clientOf(kit.key)
const MAIL = { from: 'no-reply@acme.test', to: 'ana@example.com', subject: 'Hi', text: 'Hello' }

/** The mails of a request, newest first. */
const mailsOf = async (requestId: string) =>
  (await kit.ask(`/v1/emails?limit=100&tag=x-message-id:${requestId}`)).json.data

/** What a send is refused with. */
const refusal = async (mail: object, by = client) => {
  try {
    await by.send(mail as never)
  } catch (error) {
    const { code, response } = error as { code: number; response: { body: { errors: readonly object[] } } }
    return { code, errors: response.body.errors }
  }
  return { code: 0, errors: [] }
}

t.test('one mail', async (t) => {
  const [answer, body] = await client.send({
    from: { email: 'no-reply@acme.test', name: 'Acme, "Inc" Ä' },
    to: [{ email: 'ana@example.com', name: 'Ana' }, 'bo@example.com'],
    cc: 'cy@example.com',
    bcc: 'di@example.com',
    replyToList: [{ email: 'help@acme.test' }],
    subject: 'Hi',
    text: 'Hello',
    html: '<p>Hello <img src="cid:logo"></p>',
    categories: ['receipt', 'paid'],
    customArgs: { order: '42' },
    headers: { 'X-Order': '42' },
    sendAt: Math.floor(Date.now() / 1_000) + 3_600,
    attachments: [
      {
        content: 'aGVsbG8=',
        filename: 'a.txt',
        type: 'text/plain',
        disposition: 'attachment',
        contentId: 'no',
      },
      {
        content: 'aGVsbG8=',
        filename: 'logo.png',
        type: 'image/png',
        disposition: 'inline',
        contentId: 'logo',
      },
    ],
    trackingSettings: { clickTracking: { enable: false }, openTracking: { enable: false } },
    mailSettings: { footer: { enable: false } },
  })
  t.equal(answer.statusCode, 202)
  t.equal(body as unknown, '')
  const [mail] = await mailsOf(answer.headers['x-message-id'])
  const { json } = await kit.ask(`/v1/emails/${mail.id}`)
  t.match(json, {
    from: /Acme.*no-reply@acme\.test/,
    to: ['"Ana" <ana@example.com>', 'bo@example.com'],
    cc: ['cy@example.com'],
    bcc: ['di@example.com'],
    reply_to: ['help@acme.test'],
    text: 'Hello',
    headers: { 'X-Order': '42' },
    scheduled_at: /^\d{4}-/,
    attachments: [
      { filename: 'a.txt', content_id: null },
      { filename: 'logo.png', content_id: 'logo' },
    ],
  })
  const tags = json.tags.map(({ name, value }: { name: string; value: string }) => `${name}=${value}`)
  for (const one of ['tag=receipt', 'tag=paid', 'order=42']) t.ok(tags.includes(one), one)
})

t.test('each personalization is a mail', async (t) => {
  const [answer] = await client.send({
    ...MAIL,
    to: undefined,
    headers: { 'X-A': 'all', 'X-B': 'all' },
    personalizations: [
      { to: 'ana@example.com' },
      {
        to: [{ email: 'bo@example.com' }],
        subject: 'For Bo',
        headers: { 'x-b': 'bo' },
        customArgs: { who: 'bo' },
      },
    ],
  } as never)
  const mails = await mailsOf(answer.headers['x-message-id'])
  t.match(mails, [
    { subject: 'For Bo', to: ['bo@example.com'] },
    { subject: 'Hi', to: ['ana@example.com'] },
  ])
  const { json } = await kit.ask(`/v1/emails/${mails[0].id}`)
  t.match(json, { headers: { 'X-A': 'all', 'x-b': 'bo' } })
  t.notOk('X-B' in json.headers, 'its own one stands instead')
  const [several] = await client.sendMultiple({ ...MAIL, to: ['a@example.com', 'b@example.com'] })
  t.equal((await mailsOf(several.headers['x-message-id'])).length, 2)
})

t.test('all or none, and each mistake is named', async (t) => {
  const before = (await kit.ask('/v1/emails?limit=1')).json.data[0].id
  t.match(
    await refusal({
      ...MAIL,
      to: undefined,
      subject: 'a\nb',
      personalizations: [{ to: 'ana@example.com' }, { to: 'bo@' }],
    }),
    {
      code: 400,
      errors: [
        { field: 'subject', message: /line breaks/, help: null },
        { field: 'personalizations.1.to', message: /must be an address/, help: null },
      ],
    },
  )
  t.equal((await kit.ask('/v1/emails?limit=1')).json.data[0].id, before)
  const wrong: readonly (readonly [object, string])[] = [
    [{ templateId: 'd-1' }, 'template_id'],
    [{ asm: { groupId: 1 } }, 'asm'],
    [{ batchId: 'x' }, 'batch_id'],
    [{ ipPoolName: 'x' }, 'ip_pool_name'],
    [{ substitutions: { a: 'b' } }, 'personalizations.0.substitutions'],
    [{ trackingSettings: { openTracking: { enable: true } } }, 'tracking_settings.open_tracking.enable'],
    [
      { mailSettings: { bypassListManagement: { enable: true } } },
      'mail_settings.bypass_list_management.enable',
    ],
    [{ sendAt: 4_000_000_000 }, 'send_at'],
    [{ content: [{ type: 'text/calendar', value: 'x' }] }, 'content.0.type'],
    [{ attachments: [{ content: '?', filename: 'a' }] }, 'attachments.0.content'],
    [{ attachments: [{ content: 'YQ==', filename: 'a', url: 'x' }] }, 'attachments.0.url'],
    [{ headers: { Date: 'now' } }, 'headers.Date'],
  ]
  for (const [more, field] of wrong)
    t.match(await refusal({ ...MAIL, ...more }), { code: 400, errors: [{ field }] }, field)
})

t.test('who may not', async (t) => {
  t.match(await refusal(MAIL, clientOf('SG.wrong')), { code: 401, errors: [{ field: null, help: null }] })
  t.match(await refusal(MAIL, clientOf(kit.platform)), { code: 403 })
  t.match(await refusal(MAIL, clientOf(kit.session)), { code: 403 })
  const few = await kit.tenants.createKey(kit.accountId, {
    name: 'few',
    workspace: 'default',
    rateLimitPerMinute: 3,
  })
  const four = {
    ...MAIL,
    to: ['a@example.com', 'b@example.com', 'c@example.com', 'd@example.com'],
    isMultiple: true,
  }
  t.match(await refusal(four, clientOf(few.secret)), { code: 413, errors: [{ message: /3 mails a minute/ }] })
  const three = { ...four, to: four.to.slice(1) }
  t.match(await refusal(three, clientOf(few.secret)), { code: 429 }, 'all of them, or none')
})

const post = (body: unknown, headers: Record<string, string> = {}) =>
  ask(`${kit.url}/v1/as/sendgrid/v3/mail/send`, { method: 'POST', key: kit.key, body, headers })
const PLAIN = {
  personalizations: [{ to: [{ email: 'ana@example.com' }] }],
  from: { email: 'no-reply@acme.test' },
  subject: 'Hi',
  content: [{ type: 'text/plain', value: 'Hello' }],
}

t.test('the same request twice is one mail', async (t) => {
  const first = await post(PLAIN, { 'idempotency-key': 'k1' })
  const second = await post(PLAIN, { 'idempotency-key': 'k1' })
  t.match(second, { status: 202, text: '' })
  t.equal(first.headers.get('x-message-id'), second.headers.get('x-message-id'))
  t.equal((await mailsOf(first.headers.get('x-message-id') ?? '')).length, 1)
})

t.test('the sandbox checks and sends nothing', async (t) => {
  const before = (await kit.ask('/v1/emails?limit=1')).json.data[0].id
  const mail_settings = { sandbox_mode: { enable: true } }
  t.match(await post({ ...PLAIN, mail_settings }), { status: 200, text: '' })
  t.match(await post({ ...PLAIN, from: { email: 'x' }, mail_settings }), { status: 400 })
  t.equal((await kit.ask('/v1/emails?limit=1')).json.data[0].id, before)
})

t.test('a large one is read elsewhere, and is the same', async (t) => {
  const attachments = [{ content: Buffer.alloc(400_000, 'x').toString('base64'), filename: 'a' }]
  const sent = await post({ ...PLAIN, categories: 'big', attachments })
  t.equal(sent.status, 202)
  const [mail] = await mailsOf(sent.headers.get('x-message-id') ?? '')
  t.match((await kit.ask(`/v1/emails/${mail.id}`)).json, { attachments: [{ size: 400_000 }] })
  t.match(await post({ ...PLAIN, attachments, asm: { group_id: 1 } }), {
    status: 400,
    json: { errors: [{ field: 'asm' }] },
  })
})

t.test('requests that no client makes', async (t) => {
  t.match(await post(PLAIN, { origin: 'https://evil.test' }), {
    status: 403,
    json: { errors: [{ field: null }] },
  })
  t.match(await post([]), { status: 400, json: { errors: [{ field: 'body' }] } })
  t.match(await post('{"a":'), { status: 400, json: { errors: [{ field: null }] } })
  t.match(await post({ ...PLAIN, personalizations: [] }), {
    json: { errors: [{ field: 'personalizations' }] },
  })
  t.match(await post({ ...PLAIN, personalizations: [1] }), {
    json: { errors: [{ field: 'personalizations' }] },
  })
  t.match(await post({ ...PLAIN, constructor: 1 }), { json: { errors: [{ field: 'constructor' }] } })
  t.match(await post({ ...PLAIN, from: 'no-reply@acme.test' }), { status: 202 })
  t.match(
    await post({
      ...PLAIN,
      personalizations: Array.from({ length: 1_001 }, () => PLAIN.personalizations[0]),
    }),
    {
      status: 400,
      json: { errors: [{ message: /at most 1000/ }] },
    },
  )
  t.match(
    await post({
      ...PLAIN,
      personalizations: Array.from({ length: 1_000 }, () => PLAIN.personalizations[0]),
    }),
    {
      status: 202,
    },
  )
})
