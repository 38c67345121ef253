/** Formats of webhooks over HTTP: what may be asked for, what is said of the rest, and that logins are shown nowhere. */
import t from 'tap'
import { answer, receiver } from '../parts/receiver.js'
import { fieldsOf, openKit } from './kit.js'

const kit = await openKit({ allowNetworks: ['127.0.0.0/8'] })
t.teardown(() => kit.stop())
const BODY = { endpoint: 'https://app.test/hook', events: ['email.delivered', 'email.bounced'] }
const ask = (more: object) => kit.ask('/v1/webhooks', { body: { ...BODY, ...more } })
const change = (id: string, body: object) => kit.ask(`/v1/webhooks/${id}`, { method: 'PATCH', body })

t.test('made, read, and taken back as it was read', async (t) => {
  for (const format of ['standard', 'sendgrid', 'postmark', 'mailgun', 'resend']) {
    const made = await ask({ format })
    t.equal(made.status, 201)
    t.match(made.json, { format, has_auth: false, signing_secret: /^whsec_/ })
    t.equal(made.json.public_key === null, format !== 'sendgrid', format)
    t.notOk('ignored' in made.json, format)
    const read = await kit.ask(`/v1/webhooks/${made.json.id}`)
    t.equal((await change(made.json.id, read.json)).status, 200)
    t.match((await change(made.json.id, { format })).json, { format })
    const other = format === 'resend' ? 'mailgun' : 'resend'
    t.strictSame(fieldsOf(await change(made.json.id, { format: other })), ['body.format forbidden'])
  }
  t.match((await ask({})).json, { format: 'standard' })
})

t.test('types without a counterpart are named; where there is no other, nothing is made', async (t) => {
  const some = await ask({ format: 'postmark', events: ['email.bounced', 'email.sent', 'email.opened'] })
  t.strictSame(some.json.ignored, ['email.opened', 'email.sent'])
  const all = await ask({ format: 'sendgrid', events: ['*'] })
  t.match(all.json, { events: ['*'] })
  t.ok(all.json.ignored.includes('email.sent'))
  t.notOk(all.json.ignored.includes('email.bounced'))
  for (const events of [
    ['email.sent'],
    ['email.sent', 'email.canceled'],
    ['email.deferred', 'email.opened'],
  ]) {
    const none = await ask({ format: 'postmark', events })
    t.strictSame(fieldsOf(none), ['body.events unsupported'], events.join(' '))
    t.match(none.json.errors[0].message, /Postmark has no word/)
  }
  t.strictSame(fieldsOf(await change(all.json.id, { events: ['email.sent'] })), ['body.events unsupported'])
  t.strictSame((await change(all.json.id, { events: ['email.sent', 'email.bounced'] })).json.ignored, [
    'email.sent',
  ])
})

t.test('what is wrong is told by its name', async (t) => {
  for (const [more, fields] of [
    [{ format: 'ses' }, ['body.format unsupported']],
    [{ format: 'SendGrid' }, ['body.format unsupported']],
    [{ format: 1 }, ['body.format type']],
    [{ auth: 'a:b' }, ['body.auth forbidden']],
    [{ auth: 'a:b', format: 'sendgrid' }, ['body.auth forbidden']],
    [{ auth: 'nocolon', format: 'postmark' }, ['body.auth format']],
    [{ auth: ':b', format: 'postmark' }, ['body.auth format']],
    [{ auth: 'a:b\r\nX-A: b', format: 'postmark' }, ['body.auth format']],
    [{ auth: `a:${'b'.repeat(500)}`, format: 'postmark' }, ['body.auth length']],
    [{ auth: { user: 'a' }, format: 'postmark' }, ['body.auth type']],
    [{ auth: 'a:b', format: 'postmark', headers: { authorization: 'Bearer x' } }, ['body.auth not_unique']],
    [{ fields: 'thin', format: 'mailgun' }, ['body.fields forbidden']],
  ] as const)
    t.strictSame(fieldsOf(await ask(more)), fields, JSON.stringify(more).slice(0, 80))
  t.equal((await ask({ fields: 'thin', format: 'resend' })).status, 201)
  for (const format of ['standard', 'postmark']) {
    const given = await ask({ format, endpoint: 'https://user:hush-hush@app.test/hook' })
    t.strictSame(fieldsOf(given), ['body.endpoint format'])
    t.match(given.json.errors[0].message, /go into auth/)
    t.notMatch(given.text, 'hush-hush', 'and not said again')
  }
})

t.test('a login is sent, sealed, shown nowhere, changed and taken away', async (t) => {
  const end = await receiver(t)
  const endpoint = `http://127.0.0.1:${end.port}/`
  const made = await ask({ endpoint, format: 'postmark', auth: 'list:hush-hush' })
  t.match(made.json, { has_auth: true })
  const { id } = made.json
  const test = () => kit.ask(`/v1/webhooks/${id}/test`, { method: 'POST' })
  const posted = await test()
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  t.equal(end.received[0]?.headers.authorization, basic('list:hush-hush'))
  t.match(posted.json, { status: 'success', request_headers: { authorization: '(hidden)' } })
  t.strictSame(fieldsOf(await change(id, { headers: { Authorization: 'x' } })), ['body.auth not_unique'])
  t.match((await change(id, { max_in_flight: 2 })).json, { has_auth: true, max_in_flight: 2 })
  t.match((await change(id, { auth: 'list:other' })).json, { has_auth: true })
  await test()
  t.equal(end.received[1]?.headers.authorization, basic('list:other'))
  t.match((await change(id, { auth: '' })).json, { has_auth: false })
  await test()
  t.notOk('authorization' in (end.received[2]?.headers ?? {}))
  const all = { action: null, actorId: null, objectId: id, workspaceId: null, since: null, until: null }
  const page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 } as const
  const { rows } = await kit.store.audit(kit.accountId, all, page)
  t.match(
    rows.find(({ action }) => action === 'webhook.updated'),
    { detail: { auth_changed: true } },
  )
  const row = await kit.store.endpoint(kit.accountId, id)
  for (const text of [made.text, posted.text, JSON.stringify(rows), JSON.stringify(row)])
    t.notMatch(text, /hush-hush|list:other/)
})

t.test('who sends it on gets neither login nor signature', async (t) => {
  const elsewhere = await receiver(t)
  const end = await receiver(t, {
    behave: answer(307, '', { location: `http://127.0.0.1:${elsewhere.port}/` }),
  })
  const made = await ask({ endpoint: `http://127.0.0.1:${end.port}/`, format: 'postmark', auth: 'list:hush' })
  const posted = await kit.ask(`/v1/webhooks/${made.json.id}/test`, { method: 'POST' })
  t.match(posted.json, { status: 'failed', cause: /redirected to .*, we do not follow/ })
  t.equal(elsewhere.connections, 0)
})

t.test('a rotation makes another key of SendGrid, and none of the others', async (t) => {
  for (const format of ['sendgrid', 'mailgun']) {
    const made = await ask({ format })
    const path = `/v1/webhooks/${made.json.id}/signing-secret/rotate`
    const rotated = await kit.ask(path, { method: 'POST', body: {} })
    t.match(rotated.json, { format, signing_secret: /^whsec_/ })
    if (format === 'sendgrid') t.not(rotated.json.public_key, made.json.public_key)
    else t.equal(rotated.json.public_key, null)
    t.match((await kit.ask(`/v1/webhooks/${made.json.id}`)).json, { public_key: rotated.json.public_key })
  }
})
