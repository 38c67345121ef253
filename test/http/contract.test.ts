/** What the contract of the API prints, member for member and word for word. */
import t from 'tap'
import { fieldsOf, MAIL, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const soon = (minutes: number) => new Date(kit.clock.now() + minutes * 60_000).toISOString()
const send = (body: unknown, headers: Record<string, string> = {}) => kit.ask('/v1/emails', { body, headers })
const batch = (body: unknown, headers: Record<string, string> = {}) =>
  kit.ask('/v1/emails/batch', { body, headers })

const SUMMARY = [
  ...['id', 'object', 'status', 'last_event', 'workspace_id', 'mode', 'source', 'from', 'to', 'cc', 'bcc'],
  ...['reply_to', 'subject', 'tags', 'message_id', 'scheduled_at', 'created_at', 'updated_at', 'counts'],
]
const ACCEPTED = [
  ...SUMMARY.slice(0, SUMMARY.indexOf('message_id')),
  ...['attachments', 'message_id', 'scheduled_at', 'created_at', 'updated_at', 'recipients', 'counts'],
]
const RECIPIENT = ['address', 'kind', 'status', 'attempts', 'last_response', 'updated_at']
const COUNTS = ['queued', 'sent', 'deferred', 'delivered', 'bounced', 'canceled']

t.test('an email has its members, in their order', async (t) => {
  const sent = await send(MAIL)
  t.strictSame(Object.keys(sent.json), ACCEPTED)
  t.strictSame(Object.keys(sent.json.counts), COUNTS)
  t.strictSame(Object.keys(sent.json.recipients[0]), RECIPIENT)
  const read = await kit.ask(`/v1/emails/${sent.json.id}`)
  t.strictSame(Object.keys(read.json), [...ACCEPTED, 'waiting', 'html', 'text', 'headers'])
  t.strictSame(Object.keys(read.json.recipients[0]), [...RECIPIENT, 'waiting'])
  const [row] = (await kit.ask('/v1/emails?limit=1')).json.data
  t.strictSame(Object.keys(row), [...SUMMARY, 'waiting'])
})

t.test('what is rare shows only when it is so', async (t) => {
  const scheduled = await send({ ...MAIL, scheduled_at: soon(5) })
  t.equal(scheduled.json.counts.scheduled, 1)
  await kit.ask('/v1/suppressions', { body: { email: 'gone@example.com' } })
  const suppressed = await send({ ...MAIL, to: 'gone@example.com' })
  t.equal(suppressed.json.recipients[0].reason, 'suppressed')
  const { data } = (await kit.ask(`/v1/emails/${suppressed.json.id}/events`)).json
  t.equal(data[0].reason, 'suppressed')
})

t.test('an event has its members', async (t) => {
  const { id } = (await send(MAIL)).json
  const [event] = (await kit.ask(`/v1/emails/${id}/events`)).json.data
  t.strictSame(Object.keys(event), [
    ...['id', 'object', 'type', 'email_id', 'recipient', 'source', 'occurred_at', 'created_at'],
    ...['smtp', 'mta', 'attempt', 'change', 'applied'],
  ])
})

t.test('a key is shown with its secret where the contract has it', async (t) => {
  const { json } = await kit.ask('/v1/api-keys', { key: kit.session, body: { name: 'ci' } })
  t.strictSame(Object.keys(json), [
    ...['id', 'object', 'name', 'mode', 'scope', 'workspace_id', 'prefix', 'secret', 'token'],
    ...['created_at', 'last_used_at', 'last_used_from', 'expires_at', 'rate_limit_per_minute', 'permission'],
    ...['ses_access_key_id', 'ses_secret_access_key', 'managed'],
  ])
})

t.test('a fixed path is no id of its neighbour', async (t) => {
  for (const method of ['GET', 'HEAD', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']) {
    const reply = await kit.ask('/v1/emails/batch', { method, ...(method === 'PATCH' && { body: {} }) })
    t.strictSame([reply.status, reply.headers.get('allow')], [405, 'POST'], method)
  }
})

t.test('errors are printed as field, message, kind, and name their field', async (t) => {
  const reply = await send({ from: 'nobody', to: '', text: 5, tags: [{ name: 'a' }] })
  for (const error of reply.json.errors) t.strictSame(Object.keys(error), ['field', 'message', 'kind'])
  const said = (name: string) =>
    reply.json.errors.find((one: { field: string }) => one.field === `body.${name}`)?.message
  t.equal(said('to'), '"to" must not be empty')
  t.equal(said('tags[0].value'), '"value" is required')
  t.equal((await send(null)).json.errors[0].message, '"body" is required')
  t.equal((await send({ ...MAIL, to: [null] })).json.errors[0].message, '"to[0]" must be a string')
})

t.test('one bad item hides no mistake of another', async (t) => {
  const reply = await send({
    ...MAIL,
    to: ['good@b.test', 7, 'bad'],
    tags: [{ name: 'not good', value: 'x' }, { name: 'b' }],
    attachments: [{ content: '?' }, { content: 5 }],
    headers: { From: 'x', 'X-Number': 5 },
  })
  t.strictSame(fieldsOf(reply).sort(), [
    'body.attachments[0].content format',
    'body.attachments[1].content type',
    'body.headers.From forbidden',
    'body.headers.X-Number type',
    'body.tags[0].name format',
    'body.tags[1].value missing',
    'body.to[1] type',
    'body.to[2] format',
  ])
})

t.test('a query of the wrong form is said to have one', async (t) => {
  const reply = await kit.ask('/v1/emails?tag=nonsense')
  t.strictSame(fieldsOf(reply), ['query.tag format'])
  t.equal(reply.json.errors[0].message, '"tag" must be name:value')
})

t.test('a failure of a permissive batch names the field', async (t) => {
  const reply = await batch([MAIL, { ...MAIL, to: 'bad' }, {}], { 'x-batch-validation': 'permissive' })
  t.equal(reply.status, 202)
  t.match(reply.json.errors, [
    { index: 1, message: /^"to" must be an address/, code: 'validation.request_invalid' },
    { index: 2, message: '"to" is required; "from" is required' },
  ])
})

t.test('nesting without end is malformed, not our failure', async (t) => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const reply = await batch(`[${JSON.stringify(MAIL)},{"x":${deep}}]`, {
    'x-batch-validation': 'permissive',
    'idempotency-key': 'deep',
  })
  t.strictSame([reply.status, reply.json.code], [400, 'request.body_malformed'])
})

t.test('a suppression that is there answers 200, however it is written', async (t) => {
  const add = async (email: string) => (await kit.ask('/v1/suppressions', { body: { email } })).status
  t.equal(await add('Bob <bob@b.test>'), 201)
  t.equal(await add('Bob <BOB@b.test>'), 200)
  const racing = await Promise.all(Array.from({ length: 8 }, () => add('race@b.test')))
  t.strictSame(racing.sort(), [200, 200, 200, 200, 200, 200, 200, 201])
})

t.test('all that is wrong with a workspace or a key is told at once', async (t) => {
  const made = await kit.ask('/v1/workspaces', {
    key: kit.platform,
    body: { name: 'x', slug: 'No', egress_pool_id: 'pool_none' },
  })
  t.strictSame(fieldsOf(made), ['body.slug format', 'body.egress_pool_id unknown'])
  const key = await kit.ask('/v1/api-keys', {
    key: kit.session,
    body: { name: 'x', scope: 'workspace', expires_at: 'soon' },
  })
  t.strictSame(fieldsOf(key).sort(), ['body.expires_at format', 'body.workspace_id missing'])
})
