import t from 'tap'
import { openKit } from '../kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())
const GOOD = 'violet river under glass'

/** A person with a session of his own. */
const personWith = async (role: 'owner' | 'member' | 'viewer', email: string) => {
  const { tenants, accountId, store } = kit
  const user = await tenants.createPerson(accountId, { email, role, password: GOOD })
  const { row, token } = tenants.newSession(accountId, { userId: user.id, provider: 'local' })
  const parts = { linkId: null, newUser: null, identity: null, change: null, instead: null }
  await store.signIn({ ...parts, session: row, now: row.createdAt })
  return { ...user, key: token, session: row.id }
}

const owner = await personWith('owner', 'owner@acme.test')
const member = await personWith('member', 'member@acme.test')
const viewer = await personWith('viewer', 'viewer@acme.test')

t.test('who am I', async (t) => {
  const mine = await kit.ask('/v1/session', { key: viewer.key })
  t.match(mine.json, {
    ...{ via: 'session', id: viewer.session, role: 'viewer', permissions: ['read', 'subjects'] },
    person: { id: viewer.id, email: 'viewer@acme.test', time_zone: null, views: [] },
  })
  t.match((await kit.ask('/v1/session', { key: owner.key })).json, {
    permissions: ['read', 'subjects', 'bodies', 'write', 'people'],
  })
  t.match((await kit.ask('/v1/session', { key: kit.session })).json, { person: null, role: 'owner' })
  t.match((await kit.ask('/v1/session')).json, { via: 'key', role: null, expires_at: null })
  const views = [{ title: 'Bounced', path: '/emails?status=bounced' }]
  const patch = (key: string, body: object) => kit.ask('/v1/session', { method: 'PATCH', key, body })
  t.match((await patch(viewer.key, { time_zone: 'Asia/Tokyo', views })).json, {
    person: { time_zone: 'Asia/Tokyo', views },
  })
  t.match((await patch(viewer.key, { time_zone: 'Mars/Base' })).json, {
    status: 422,
    errors: [{ field: 'body.time_zone' }],
  })
  t.match((await patch(kit.session, { views })).json, { status: 409, reason: 'no_person' })
})

t.test('people: made, listed, changed', async (t) => {
  const key = owner.key
  const made = await kit.ask('/v1/users', {
    key,
    body: { email: 'New@acme.test', role: 'viewer', name: 'New' },
  })
  t.match(made, { status: 201, json: { email: 'new@acme.test', role: 'viewer', has_password: false } })
  const path = made.headers.get('location') ?? ''
  t.match((await kit.ask(path, { key })).json, { id: made.json.id, identities: [] })
  t.match((await kit.ask('/v1/users', { key })).json, { data: [{ id: made.json.id }, {}, {}, {}] })
  t.match((await kit.ask('/v1/users', { key, body: { email: 'new@acme.test', role: 'viewer' } })).json, {
    errors: [{ field: 'body.email', kind: 'not_unique' }],
  })
  const patch = (body: object, as = key, at = path) => kit.ask(at, { method: 'PATCH', key: as, body })
  t.match((await patch({ role: 'member', disabled: true })).json, { role: 'member', disabled: true })
  t.match((await patch({ role: 'member' }, key, '/v1/users/usr_gone')).json, { code: 'user.not_found' })
  const mine = `/v1/users/${member.id}`
  t.match((await patch({ name: 'M' }, member.key, mine)).json, { name: 'M' })
  t.match((await patch({ role: 'owner' }, member.key, mine)).json, { code: 'auth.role_forbidden' })
  t.match((await patch({ password: `${GOOD}!`, current_password: 'no' }, member.key, mine)).json, {
    errors: [{ field: 'body.current_password' }],
  })
  t.match((await patch({ password: `${GOOD}!`, current_password: GOOD }, member.key, mine)).status, 200)
  t.match((await patch({ password: `${GOOD}?` }, key, mine)).json, { code: 'auth.role_forbidden' })
  t.match((await patch({ disabled: true }, key, `/v1/users/${owner.id}`)).json, {
    ...{ status: 409, reason: 'last_owner' },
  })
  const link = await kit.ask(`${mine}/setup-link`, { method: 'POST', key })
  t.match(link.json, { object: 'setup_link', url: /^https:\/\/mail\.test\/setup\/[0-9A-Za-z]{44}$/ })
  const text = JSON.stringify(await kit.store.links(kit.accountId, 'setup', PAGE))
  t.notOk(text.includes(String(link.json.url).slice(-32)))
})

const PAGE = { limit: 20, direction: 'older', anchor: null, countUpTo: 0 } as const

t.test('invitations', async (t) => {
  const key = owner.key
  const made = await kit.ask('/v1/invitations', { key, body: { role: 'viewer' } })
  t.match(made, {
    status: 201,
    json: { state: 'open', created_by: 'owner@acme.test', url: /\/invitation\/[0-9A-Za-z]{44}$/ },
  })
  const listed = await kit.ask('/v1/invitations', { key })
  t.match(listed.json, { data: [{ id: made.json.id, state: 'open' }] })
  t.notMatch(JSON.stringify(listed.json), /url/)
  const path = `/v1/invitations/${made.json.id}`
  t.match((await kit.ask(path, { method: 'DELETE', key })).json, { deleted: true })
  t.match((await kit.ask(path, { method: 'DELETE', key })).json, { code: 'invitation.not_found' })
})

t.test('an invitation is mailed, and nobody reads its link here', async (t) => {
  const { key } = owner
  const invite = (body: object) =>
    kit.ask('/v1/invitations', { key, body: { role: 'member', workspace_id: 'default', ...body } })
  const pools = await kit.ask('/v1/egress-pools', { key })
  t.match(await invite({ email: null, role: 'owner' }), {
    status: 422,
    json: { errors: [{ field: 'body.email' }, { field: 'body.role' }, { field: 'body.workspace_id' }] },
  })
  const [{ id: pool }] = (await kit.ask('/v1/workspaces', { key })).json.data.map(
    ({ egress_pool_id: id }: { egress_pool_id: string }) => ({ id }),
  )
  t.ok(pools.json.data.length > 0)
  const noSender = await invite({ email: 'eve@acme.test' })
  t.match(noSender, { status: 422, json: { errors: [{ field: 'body.workspace_id' }] } })
  const change = (path: string, body: object) => kit.ask(path, { method: 'PATCH', key, body })
  await change('/v1/workspaces/default', { default_from: 'Acme <hello@acme.test>' })
  await change(`/v1/egress-pools/${pool}`, { members: [{ host: '127.0.0.1', port: 9, tls: 'none' }] })
  t.match(await invite({ email: 'eve@acme.test', workspace_id: 'nowhere' }), { status: 404 })
  const made = await invite({ email: 'eve@acme.test' })
  t.match(made, { status: 201, json: { url: null, email: 'eve@acme.test', state: 'open' } })
  const path = `/v1/emails/${made.json.email_id}`
  const mail = await kit.ask(path, { key })
  t.match(mail.json, {
    ...{ source: 'system', from: 'Acme <hello@acme.test>', to: ['eve@acme.test'], text: null, html: null },
    tags: [{ name: 'invitation', value: made.json.id }],
  })
  t.match(await kit.ask(`${path}/source`, { key }), { status: 409, json: { reason: 'invitation' } })
  t.match(await kit.ask(`${path}/resend`, { key, body: {} }), { json: { reason: 'system_mail' } })
  const raw = Buffer.from((await kit.store.body(made.json.email_id)) ?? []).toString()
  const [, token = ''] = /https:\/\/mail\.test\/invitation\/([0-9A-Za-z]{44})\r\n/.exec(raw) ?? []
  t.match(await kit.tenants.openLink('invitation', token), { id: made.json.id, role: 'member' })
  for (const one of ['/v1/events', '/v1/audit', '/v1/emails', '/v1/invitations', `${path}/events`])
    t.notMatch((await kit.ask(one, { key })).text, token.slice(12), one)
  const { events } = (await kit.ask(`${path}/events`, { key })).json
  t.notOk(events)
})

t.test('sessions: an owner sees all, others their own', async (t) => {
  const all = await kit.ask('/v1/sessions', { key: owner.key })
  t.ok((all.json.data as unknown[]).length >= 4)
  t.match(all.json.data, [
    { id: viewer.session, current: false },
    {},
    { id: owner.session, current: true },
    {},
  ])
  const own = await kit.ask('/v1/sessions', { key: viewer.key })
  t.match(own.json.data, [{ id: viewer.session, current: true, person: { email: 'viewer@acme.test' } }])
  t.equal((own.json.data as unknown[]).length, 1)
  const end = (id: string, key: string) => kit.ask(`/v1/sessions/${id}`, { method: 'DELETE', key })
  t.match((await end(owner.session, viewer.key)).json, { code: 'session.not_found' })
  t.match((await kit.ask(`/v1/sessions?user=${owner.id}`, { key: viewer.key })).json, {
    code: 'auth.role_forbidden',
  })
  const second = await personWith('member', 'second@acme.test')
  t.match((await kit.ask(`/v1/sessions?user=${second.id}`, { method: 'DELETE', key: owner.key })).json, {
    changed: 1,
  })
  t.equal((await kit.ask('/v1/session', { key: second.key })).status, 401)
  t.match((await kit.ask('/v1/sessions', { method: 'DELETE', key: kit.session })).json, {
    errors: [{ field: 'query.user', kind: 'missing' }],
  })
  const third = await personWith('viewer', 'third@acme.test')
  t.equal((await end(third.session, third.key)).status, 200, 'signing out')
  t.equal((await kit.ask('/v1/session', { key: third.key })).status, 401)
})

t.test('viewers do not see what is written, unless they may', async (t) => {
  const sent = await kit.ask('/v1/emails', {
    body: { from: 'a@acme.test', to: 'b@x.test', subject: 'Hi', text: 'T' },
  })
  const path = `/v1/emails/${sent.json.id}`
  const source = `${path}/source`
  t.match((await kit.ask(path, { key: viewer.key })).json, {
    ...{ subject: 'Hi', text: null, html: null, headers: null, attachments: null },
  })
  t.match((await kit.ask(source, { key: viewer.key })).json, { code: 'auth.role_forbidden' })
  t.match((await kit.ask(path, { key: member.key })).json, { subject: 'Hi', text: 'T', attachments: [] })
  t.equal((await kit.ask(source, { key: member.key })).status, 200)
  for (const see of ['nothing', 'bodies'] as const) {
    const other = await openKit({ viewersSee: see })
    const mail = await other.ask('/v1/emails', {
      body: { from: 'a@acme.test', to: 'b@x.test', subject: 'Hi', text: 'T' },
    })
    const { token: key } = await other.tenants.createSession(other.accountId, { role: 'viewer' })
    const sees = see === 'bodies'
    const shown = await other.ask(`/v1/emails/${mail.json.id}`, { key })
    t.match(shown.json, { subject: sees ? 'Hi' : null, text: sees ? 'T' : null })
    t.match((await other.ask('/v1/emails', { key })).json.data, [{ subject: sees ? 'Hi' : null }])
    const events = (await other.ask('/v1/events', { key })).json.data as { subject: unknown }[]
    t.ok(events.length > 0 && events.every(({ subject }) => subject === (sees ? 'Hi' : null)))
    t.equal((await other.ask(`/v1/emails/${mail.json.id}/source`, { key })).status, sees ? 200 : 403)
    await other.stop()
  }
})

t.test('the next key may no more than the one so far', async (t) => {
  const body = { name: 'sends', permission: 'sending_access', scope: 'workspace', workspace_id: 'default' }
  const made = await kit.ask('/v1/api-keys', { key: owner.key, body })
  const next = await kit.ask(`/v1/api-keys/${made.json.id}/rotate`, { method: 'POST', key: member.key })
  const { permission, scope, workspace_id } = made.json
  t.match(next, { status: 201, json: { permission, scope, workspace_id } })
  t.equal((await kit.ask('/v1/emails', { key: next.json.secret })).status, 403)
})

t.test('a key is followed by the next one, and works until the overlap is over', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const lasts = new Date(kit.clock.now() + 90 * 86_400_000).toISOString()
  const made = await kit.ask('/v1/api-keys', {
    ...{ key: kit.session },
    body: { name: 'ci', mode: 'test', rate_limit_per_minute: 7, expires_at: lasts },
  })
  kit.clock.advance(3_600_000)
  const rotate = (body?: unknown, id = made.json.id) =>
    kit.ask(`/v1/api-keys/${id}/rotate`, { key: kit.session, method: 'POST', body })
  for (const overlap of ['soon', '31d', 31 * 86_400])
    t.match(await rotate({ overlap }), { status: 422, json: { errors: [{ field: 'body.overlap' }] } })
  t.match(await rotate({}, 'key_none'), { status: 404, json: { code: 'api_key.not_found' } })
  const next = await rotate({ overlap: '1h' })
  t.equal(next.status, 201)
  t.equal(next.headers.get('location'), `/v1/api-keys/${next.json.id}`)
  t.match(next.json, {
    ...{ object: 'api_key', name: 'ci', mode: 'test', scope: 'platform', rate_limit_per_minute: 7 },
    replaces: { id: made.json.id },
  })
  const endsIn = (at: string, ms: number) => Math.abs(Date.parse(at) - kit.clock.now() - ms) < 60_000
  t.ok(endsIn(next.json.expires_at, 90 * 86_400_000), 'it lives as long as the one so far was to')
  t.ok(endsIn(next.json.replaces.expires_at, 3_600_000))
  t.notOk('secret' in next.json.replaces)
  const mayRead = async (key: string) => (await kit.ask('/v1/emails', { key })).status === 200
  t.ok(await mayRead(made.json.secret), 'during the overlap the key so far works')
  t.ok(await mayRead(next.json.secret), 'and the next one, too')
  kit.clock.advance(3_600_000)
  t.notOk(await mayRead(made.json.secret), 'then it does not')
  t.ok(await mayRead(next.json.secret))
  const last = await rotate({ overlap: 0 }, next.json.id)
  t.notOk(await mayRead(next.json.secret), 'without an overlap it ends at once')
  t.ok(await mayRead(last.json.secret))
  const { json } = await rotate(undefined, last.json.id)
  t.ok(endsIn(json.replaces.expires_at, 86_400_000), 'a day, where nothing is said')
})

t.test('the audit is for owners, and tells who it was', async (t) => {
  const key = await kit.ask('/v1/api-keys', { key: member.key, body: { name: 'ci' } })
  t.equal(key.status, 201)
  const audit = await kit.ask(`/v1/audit?target=${key.json.id}`, { key: owner.key })
  t.match(audit.json.data, [
    {
      action: 'api_key.created',
      actor: { kind: 'person', id: member.id, name: 'member@acme.test', address: '127.0.0.1' },
      target: { type: 'api_key', id: key.json.id },
      detail: { name: 'ci' },
    },
  ])
  t.notMatch(JSON.stringify(audit.json), new RegExp(String(key.json.secret).slice(-32)))
  const named = await kit.ask(`/v1/audit?target=${key.json.id}&actor=Member@acme.test`, { key: owner.key })
  t.match(named.json.data, [{ action: 'api_key.created' }], 'people are called by their addresses')
  t.equal(named.json.data.length, 1)
  t.same((await kit.ask('/v1/audit?actor=nobody@acme.test', { key: owner.key })).json.data, [])
  const about = await kit.ask('/v1/audit?target=MEMBER@acme.test', { key: owner.key })
  t.ok(
    about.json.data.length > 0 &&
      about.json.data.every((one: { target: { id: string } }) => one.target.id === member.id),
  )
  t.match((await kit.ask('/v1/audit?action=user.dis', { key: owner.key })).json.data, [
    { action: 'user.disabled' },
  ])
  t.match((await kit.ask('/v1/audit?since=yesterday', { key: owner.key })).json, {
    errors: [{ field: 'query.since' }],
  })
  t.match((await kit.ask('/v1/audit', { key: member.key })).json, { code: 'auth.role_forbidden' })
  t.match((await kit.ask('/v1/audit', { key: kit.platform })).json, { code: 'auth.session_required' })
})

t.test('the password of now is guessed no more often than at a sign-in', async (t) => {
  const { id, key } = await personWith('member', 'guessed@acme.test')
  const change = (current: string) =>
    kit.ask(`/v1/users/${id}`, {
      ...{ method: 'PATCH', key },
      body: { password: `${GOOD} again`, current_password: current },
    })
  for (let i = 0; i < 5; i++) t.equal((await change(`guess ${i}`)).status, 422)
  const next = await change(GOOD)
  t.match(next, { status: 429, json: { code: 'rate_limit.auth_failures' } })
  t.ok(Number(next.headers.get('retry-after')) > 0)
  kit.clock.advance(60_000)
  t.equal((await change(GOOD)).status, 200)
})
