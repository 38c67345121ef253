/** Sending and reading mail over HTTP. */
import t from 'tap'
import { fieldsOf, MAIL, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

t.test('send answers 202 with the accepted record', async (t) => {
  const sent = await kit.ask('/v1/emails', { body: { ...MAIL, bcc: 'audit@acme.test', html: '<p>Hi</p>' } })
  t.equal(sent.status, 202)
  const { id } = sent.json
  t.equal(Object.keys(sent.json)[0], 'id')
  t.match(id, /^em_[0-9a-z]{26}$/)
  t.equal(sent.headers.get('location'), `/v1/emails/${id}`)
  t.equal(sent.headers.get('cache-control'), 'no-store')
  t.match(sent.headers.get('content-type'), /^application\/json/)
  t.strictSame(sent.json.to, ['ana@example.com'])
  t.strictSame(sent.json.cc, [])
  t.equal(sent.json.message_id, `<${id}@mail.test>`)
  t.equal(sent.json.counts.queued, 2)
  t.notOk('html' in sent.json)
  const read = await kit.ask(`/v1/emails/${id}`)
  t.equal(read.status, 200)
  t.equal(read.json.html, '<p>Hi</p>')
  t.equal(read.json.text, 'Hello')
  t.strictSame(read.json.headers, {})
})

t.test('null, [] and {} mean absent', async (t) => {
  const sent = await kit.ask('/v1/emails', {
    body: { ...MAIL, html: null, cc: [], bcc: [], reply_to: [], tags: [], attachments: [], headers: [] },
  })
  t.equal(sent.status, 202)
  const again = await kit.ask('/v1/emails', {
    body: {
      ...MAIL,
      cc: null,
      bcc: null,
      reply_to: null,
      tags: null,
      attachments: null,
      headers: {},
      scheduled_at: null,
    },
  })
  t.equal(again.status, 202)
})

t.test('attachments in every form', async (t) => {
  const attachments = [
    { filename: 'a.txt', content: 'aGVsbG8=' },
    { filename: 'b.txt', content: [104, 105] },
    { filename: 'c.txt', content: { type: 'Buffer', data: [104, 105] }, contentType: 'text/plain' },
  ]
  const sent = await kit.ask('/v1/emails', { body: { ...MAIL, attachments } })
  t.equal(sent.status, 202, sent.text)
  t.strictSame(
    sent.json.attachments.map((one: { size: number }) => one.size),
    [5, 2, 2],
  )
  const remote = await kit.ask('/v1/emails', { body: { ...MAIL, attachments: [{ path: 'http://x/y' }] } })
  t.strictSame(fieldsOf(remote), ['body.attachments[0].path unsupported'])
})

t.test('fields are refused one by one, all in one answer', async (t) => {
  const cases: [unknown, string[]][] = [
    [{}, ['body.from missing', 'body.to missing']],
    [{ from: 'a@b.test', to: null }, ['body.to missing']],
    [{ to: 'a@b.test', html: 5, nope: 1 }, ['body.from missing', 'body.html type', 'body.nope unknown']],
    [
      { from: 'x', to: 5, cc: 'y', bcc: ['z'] },
      ['body.bcc format', 'body.cc format', 'body.from format', 'body.to type'],
    ],
    [{ from: 'a@b.test', to: ['nonsense', 5] }, ['body.to[0] format', 'body.to[1] type']],
    [{ from: 'a@b.test', to: 'nonsense' }, ['body.to format']],
    [{ from: 'a@b.test', to: 'a@b.test', headers: { From: 'x@y.test' } }, ['body.headers.From forbidden']],
    [{ from: 'a@b.test', to: 'a@b.test', headers: { 'X-A': 'a\r\nb' } }, ['body.headers.X-A format']],
    [{ from: 'a@b.test', to: 'a@b.test', headers: { 'X-A': 5 } }, ['body.headers.X-A type']],
    [{ from: 'a@b.test', to: 'a@b.test', tags: [{ name: 'a' }] }, ['body.tags[0].value missing']],
    [{ from: 'a@b.test', to: 'a@b.test', scheduled_at: '2001-01-01T00:00:00Z' }, ['body.scheduled_at past']],
    [[], ['body type']],
    ['"text"', ['body type']],
    ['null', ['body missing']],
    ['', ['body missing']],
  ]
  for (const [body, expected] of cases) {
    const reply = await kit.ask('/v1/emails', { body })
    t.equal(reply.status, 422, JSON.stringify(body))
    t.strictSame(fieldsOf(reply).sort(), expected.sort(), JSON.stringify(body))
  }
})

t.test('lists by filter', async (t) => {
  const tagged = await kit.ask('/v1/emails', {
    body: { ...MAIL, to: 'Bob <BOB@example.com>', tags: [{ name: 'kind', value: 'a:b' }] },
  })
  const { id } = tagged.json
  const only = async (query: string) =>
    (await kit.ask(`/v1/emails?${query}`)).json.data.map((one: { id: string }) => one.id)
  t.strictSame(await only('to=bob@EXAMPLE.com'), [id])
  t.strictSame(await only('tag=kind:a:b'), [id])
  const { json: abroad } = await kit.ask('/v1/emails', { body: { ...MAIL, to: 'x@b\u00fccher.example' } })
  for (const to of ['x@b\u00fccher.example', 'X@B\u00dcCHER.example', 'x@xn--bcher-kva.example'])
    t.strictSame(await only(`to=${encodeURIComponent(to)}`), [abroad.id], to)
  t.ok((await only('status=queued')).includes(id))
  t.strictSame(await only('status=bounced'), [])
  t.strictSame(
    await only(`created_after=${encodeURIComponent(new Date(Date.now() + 60_000).toISOString())}`),
    [],
  )
  for (const [query, field] of [
    ['status=nope', 'query.status unsupported'],
    ['limit=0', 'query.limit range'],
    ['limit=101', 'query.limit range'],
    ['limit=1e1', 'query.limit range'],
    ['limit=10.0', 'query.limit range'],
    ['limit=', 'query.limit range'],
    ['limit=5&limit=5', 'query.limit range'],
    ['nope=1', 'query.nope unknown'],
    ['created_after=yesterday', 'query.created_after format'],
    ['mode=test', 'query.mode forbidden'],
  ] as const) {
    const reply = await kit.ask(`/v1/emails?${query}`)
    t.equal(reply.status, 422, query)
    t.strictSame(fieldsOf(reply), [field], query)
  }
  const rows = (await kit.ask('/v1/emails?limit=1')).json
  t.equal(rows.object, 'list')
  t.equal(rows.has_more, true)
  t.notOk('recipients' in rows.data[0])
  t.notOk('html' in rows.data[0])
})

t.test('scheduled mail: reschedule, cancel, then too late', async (t) => {
  const at = new Date(Date.now() + 3_600_000).toISOString()
  const later = new Date(Date.now() + 7_200_000).toISOString()
  const { id, status } = (await kit.ask('/v1/emails', { body: { ...MAIL, scheduled_at: at } })).json
  t.equal(status, 'scheduled')
  const moved = await kit.ask(`/v1/emails/${id}`, {
    method: 'PATCH',
    body: { id, email_id: id, scheduled_at: later },
  })
  t.equal(moved.status, 200, moved.text)
  t.equal(moved.json.scheduled_at, later)
  for (const body of [undefined, {}, '']) {
    const canceled = await kit.ask(`/v1/emails/${id}/cancel`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    t.equal(canceled.status, 200, canceled.text)
    t.equal(canceled.json.status, 'canceled')
  }
  const late = await kit.ask(`/v1/emails/${id}`, { method: 'PATCH', body: { scheduled_at: later } })
  t.equal(late.status, 409)
  t.equal(late.json.code, 'resource.conflict')
  t.equal(late.json.reason, 'not_scheduled')
  const events = (await kit.ask(`/v1/emails/${id}/events`)).json
  t.strictSame(
    events.data.map((one: { type: string }) => one.type),
    ['email.canceled', 'email.scheduled', 'email.scheduled'],
  )
  t.strictSame(events.data[1].detail, { scheduled_at: later })
})

t.test('mail that came over SMTP reads the same', async (t) => {
  const principal = await kit.tenants.authenticateBearer(kit.key)
  const workspace = await kit.tenants.findWorkspace(kit.accountId, 'default')
  const lines = [
    'From: Ana <ana@acme.test>',
    'To: bob@example.com',
    'Subject: =?utf-8?q?Caf=C3=A9?=',
    'X-Order: 42',
    'Content-Type: text/html; charset=utf-8',
    '',
    '<p>Hi</p>',
    '',
  ]
  const { id } = await kit.submission.submitMessage(
    { ...principal, workspace },
    {
      ...{ mailFrom: 'ana@acme.test', ret: null, envid: null, raw: Buffer.from(lines.join('\r\n')) },
      recipients: ['bob@example.com', 'hidden@example.com'].map((address) => ({ address, dsn: null })),
      received: { ip: '127.0.0.1', hello: 'x', protocol: 'ESMTPA', tls: null },
    },
  )
  const { json } = await kit.ask(`/v1/emails/${id}`)
  t.match(json, { source: 'smtp', subject: 'Caf\u00e9', to: ['bob@example.com'], html: /<p>Hi<\/p>/ })
  t.match(json.recipients, [{ kind: 'to' }, { address: 'hidden@example.com', kind: 'bcc' }])
  t.equal(json.headers['X-Order'] ?? json.headers['x-order'], '42')
})

t.test('batch: strict and permissive', async (t) => {
  const good = await kit.ask('/v1/emails/batch', { body: [MAIL, MAIL] })
  t.equal(good.status, 202)
  t.equal(good.json.data.length, 2)
  t.notOk('errors' in good.json)
  const mixed = [MAIL, { to: 5 }, { from: 'a@b.test' }, { ...MAIL, to: 'nonsense' }, MAIL]
  const strict = await kit.ask('/v1/emails/batch', { body: mixed })
  t.equal(strict.status, 422)
  t.strictSame(fieldsOf(strict), [
    'body[1].to type',
    'body[1].from missing',
    'body[2].to missing',
    'body[3].to format',
  ])
  const permissive = await kit.ask('/v1/emails/batch', {
    body: mixed,
    headers: { 'x-batch-validation': 'permissive' },
  })
  t.equal(permissive.status, 202)
  t.equal(permissive.json.data.length, 2)
  t.strictSame(
    permissive.json.errors.map((one: { index: number }) => one.index),
    [1, 2, 3],
  )
  t.equal(permissive.json.errors[1].message, '"to" is required')
  for (const [body, ...fields] of [
    [[], 'body empty'],
    [Array(101).fill(MAIL), 'body too_many'],
    [{}, 'body.template missing', 'body.recipients missing'],
    [5, 'body type'],
    ['', 'body missing'],
  ] as const) {
    const reply = await kit.ask('/v1/emails/batch', { body })
    t.strictSame(fieldsOf(reply), fields)
  }
})

t.test('a session names the mode of what it sends; a key has its own', async (t) => {
  const send = (key: string, mode: string) =>
    kit.ask(`/v1/emails${mode}`, { key, headers: { 'X-Workspace-Id': 'default' }, body: MAIL })
  const modeOf = async (id: string) => (await kit.ask(`/v1/emails/${id}`, { key: kit.session })).json.mode
  t.equal(await modeOf((await send(kit.session, '?mode=test')).json.id), 'test')
  t.equal(await modeOf((await send(kit.session, '')).json.id), 'live')
  const batch = await kit.ask('/v1/emails/batch?mode=test', {
    key: kit.session,
    headers: { 'X-Workspace-Id': 'default' },
    body: [MAIL],
  })
  t.equal(await modeOf(batch.json.data[0].id), 'test')
  for (const path of ['/v1/emails', '/v1/emails/batch']) {
    const body = path === '/v1/emails' ? MAIL : [MAIL]
    const refused = await kit.ask(`${path}?mode=test`, { body })
    t.equal(refused.status, 422)
    t.match(JSON.stringify(refused.json), /this key sees live mail only/)
  }
})
