/** Workspaces, suppressions, egress pools and the catalogue. */
import t from 'tap'
import { FAULTS } from '../../src/base/fault.js'
import { fieldsOf, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

t.test('workspaces', async (t) => {
  const ask = (path: string, body?: unknown, method?: string) =>
    kit.ask(path, { key: kit.platform, body, ...(method && { method }) })
  const made = await ask('/v1/workspaces', { name: 'Shop EU', default_from: 'no-reply@shop.test' })
  t.equal(made.status, 201)
  t.match(made.json, {
    object: 'workspace',
    name: 'Shop EU',
    slug: 'shop-eu',
    is_default: false,
    egress_pool_id: /^pool_/,
  })
  const path = `/v1/workspaces/${made.json.id}`
  t.strictSame((await ask(path)).json, made.json)
  const changed = await ask(path, { name: 'Shop', default_from: null }, 'PATCH')
  t.match(changed.json, { name: 'Shop', slug: 'shop-eu', default_from: null })
  t.strictSame(fieldsOf(await ask('/v1/workspaces', { name: 'x', slug: 'shop-eu' })), [
    'body.slug not_unique',
  ])
  t.strictSame(fieldsOf(await ask('/v1/workspaces', {})), ['body.name missing'])
  t.strictSame(fieldsOf(await ask('/v1/workspaces', { name: 'x', default_from: 'x' })), [
    'body.default_from format',
  ])
  t.equal((await kit.ask('/v1/workspaces', { body: { name: 'x' } })).json.code, 'auth.scope_forbidden')
  t.equal((await kit.ask(path)).json.code, 'workspace.not_found', 'a workspace key sees its own only')
  t.equal((await kit.ask(`/v1/workspaces/${kit.workspaceId}`)).status, 200)
})

t.test('suppressions', async (t) => {
  const add = (email: unknown) => kit.ask('/v1/suppressions', { body: { email } })
  const first = await add('X@Y.test')
  t.equal(first.status, 201)
  t.match(first.json, { object: 'suppression', email: 'x@y.test', origin: 'manual', source_id: null })
  const again = await add('x@y.TEST')
  t.strictSame([again.status, again.json.id], [200, first.json.id])
  for (const ref of [first.json.id, 'x@y.test', encodeURIComponent('X@y.test')]) {
    t.equal((await kit.ask(`/v1/suppressions/${ref}`)).json.id, first.json.id)
  }
  t.strictSame(fieldsOf(await add('nonsense')), ['body.email format'])
  t.strictSame(fieldsOf(await add(null)), ['body.email missing'])
  t.equal((await kit.ask('/v1/suppressions?origin=manual')).json.data.length, 1)
  t.equal((await kit.ask('/v1/suppressions?origin=bounce')).json.data.length, 0)
  const removed = await kit.ask('/v1/suppressions/x@y.test', { method: 'DELETE', body: {} })
  t.strictSame(removed.json, { id: first.json.id, object: 'suppression', deleted: true })
  t.equal((await kit.ask('/v1/suppressions/x@y.test')).json.code, 'suppression.not_found')

  const many = await kit.ask('/v1/suppressions/batch/add', { body: { emails: ['a@b.test', 'c@d.test'] } })
  t.equal(many.json.data.length, 2)
  const bad = await kit.ask('/v1/suppressions/batch/add', { body: { emails: ['e@f.test', 'x', 'y'] } })
  t.strictSame(fieldsOf(bad), ['body.emails[1] format', 'body.emails[2] format'])
  t.equal((await kit.ask('/v1/suppressions/e@f.test')).status, 404, 'all or none')
  const gone = await kit.ask('/v1/suppressions/batch/remove', {
    body: { emails: ['A@b.test', 'none@b.test'], ids: [many.json.data[1].id] },
  })
  t.strictSame(
    gone.json.data.map((one: { id: string }) => one.id),
    many.json.data.map((one: { id: string }) => one.id),
  )
  t.strictSame(fieldsOf(await kit.ask('/v1/suppressions/batch/remove', { body: {} })), ['body missing'])
})

t.test('a suppressed recipient starts bounced', async (t) => {
  await kit.ask('/v1/suppressions', { body: { email: 'gone@b.test' } })
  const { json } = await kit.ask('/v1/emails', {
    body: { from: 'a@b.test', to: ['gone@b.test', 'here@b.test'] },
  })
  t.equal(json.status, 'bounced')
  t.strictSame(
    json.recipients.map((one: { status: string; reason?: string }) => [one.status, one.reason]),
    [
      ['bounced', 'suppressed'],
      ['queued', undefined],
    ],
  )
})

t.test('SMTP credentials', async (t) => {
  const ask = (path: string, body?: unknown, method?: string) =>
    kit.ask(path, { key: kit.session, body, ...(method && { method }) })
  const wish = { workspace_id: kit.workspaceId, username: 'printer', password: 'long enough' }
  const made = await ask('/v1/credentials', wish)
  t.equal(made.status, 201)
  t.match(made.json, { object: 'credential', username: 'printer', cidr: null, mode: 'live', imported: false })
  t.notMatch(made.text, /enough|hash/)
  t.strictSame(fieldsOf(await ask('/v1/credentials', wish)), ['body.username not_unique'])
  t.strictSame(fieldsOf(await ask('/v1/credentials', { workspace_id: 'default', cidr: '8.8.8.0/24' })), [
    'body.cidr forbidden',
  ])
  t.equal((await ask('/v1/credentials')).json.data[0].id, made.json.id)
  const path = `/v1/credentials/${made.json.id}`
  t.equal((await ask(path, undefined, 'DELETE')).json.deleted, true)
  t.equal((await ask(path, undefined, 'DELETE')).json.code, 'credential.not_found')
  await t.rejects(kit.tenants.authenticatePassword('printer', 'long enough', '127.0.0.1'))
})

t.test('egress pools', async (t) => {
  const ask = (path: string, body?: unknown, method?: string) =>
    kit.ask(path, { key: kit.session, body, ...(method && { method }) })
  const member = {
    host: 'mta1.test',
    port: 587,
    tls: 'required',
    auth: { user: 'u', pass: 'p4ss' },
    weight: 10,
    max_connections: 5,
  }
  const made = await ask('/v1/egress-pools', { name: 'eu', members: [member] })
  t.equal(made.status, 201, made.text)
  t.notMatch(made.text, /p4ss|"pass|"auth"|sealed/i)
  t.match(made.json.members[0], {
    host: 'mta1.test',
    has_auth: true,
    weight: 10,
    max_connections: 5,
    state: 'active',
  })
  const path = `/v1/egress-pools/${made.json.id}`
  t.strictSame((await ask(path)).json, made.json)
  t.ok((await ask('/v1/egress-pools')).json.data.some((one: { id: string }) => one.id === made.json.id))
  const paused = await ask(path, { members: [{ host: 'mta1.test', port: 587, state: 'paused' }] }, 'PATCH')
  t.match(paused.json.members, [{ id: made.json.members[0].id, has_auth: true, state: 'paused' }])
  const health = await ask(`${path}/health`)
  t.match(health.json, { object: 'egress_pool_health', status: 'down', queue: { due: 0 } })
  await ask(path, { members: [{ host: '127.0.0.1', port: 1, tls: 'none' }] }, 'PATCH')
  const tried = await ask(`${path}/test`, {})
  t.match(tried.json, { data: [{ host: '127.0.0.1', ok: false, stage: 'connect', said: /REFUSED/ }] })
  t.same(fieldsOf(await ask(`${path}/test`, { upstream_id: 'up_0' })), ['body.upstream_id unknown'])
  await ask(`/v1/workspaces/${kit.workspaceId}`, { egress_pool_id: made.json.id }, 'PATCH')
  const inUse = await ask(path, undefined, 'DELETE')
  t.match([inUse.json.code, inUse.json.reason], ['resource.conflict', 'in_use'])
  await ask(`/v1/workspaces/${kit.workspaceId}`, { egress_pool_id: null }, 'PATCH')
  t.strictSame((await ask(path, undefined, 'DELETE')).json, {
    id: made.json.id,
    object: 'egress_pool',
    deleted: true,
  })
  t.equal((await ask(path)).json.code, 'egress_pool.not_found')
  const wrong = await ask('/v1/egress-pools', { name: 'x', members: [{ port: 0, tls: 'maybe' }] })
  t.strictSame(fieldsOf(wrong).sort(), [
    'body.members[0].host missing',
    'body.members[0].port range',
    'body.members[0].tls unsupported',
  ])
})

t.test('an upstream that signs in by tokens', async (t) => {
  const ask = (path: string, body?: unknown, method?: string) =>
    kit.ask(path, { key: kit.session, body, ...(method && { method }) })
  const oauth = {
    ...{ token_url: 'https://id.test/token', client_id: 'gw' },
    ...{ client_secret: 's3cret-one', refresh_token: 's3cret-two' },
  }
  const member = { host: 'smtp.test', port: 587, auth: { user: 'gw@acme.test', oauth } }
  const made = await ask('/v1/egress-pools', {
    name: 'tokens',
    members: [{ ...member, auth_mechanism: 'XOAUTH2' }],
  })
  t.equal(made.status, 201, made.text)
  t.notMatch(made.text, /s3cret|id\.test|sealed/)
  t.match(made.json.members, [
    { has_auth: true, has_oauth: true, auth_mechanism: 'XOAUTH2', tls: 'required' },
  ])
  const path = `/v1/egress-pools/${made.json.id}`
  const whole = await ask(path, made.json, 'PATCH')
  t.match(whole.json.members, made.json.members, 'sent back as it was read')
  const [first] = made.json.members
  const password = await ask(
    path,
    { members: [{ ...first, auth: { user: 'gw', pass: 'x' }, auth_mechanism: null }] },
    'PATCH',
  )
  t.match(password.json.members, [{ has_auth: true, has_oauth: false, auth_mechanism: null }])
  const files = { ...oauth, token_file: '/etc/passwd' }
  const wrong = await ask(path, { members: [{ ...member, auth: { user: 'gw', oauth: files } }] }, 'PATCH')
  t.same(fieldsOf(wrong), ['body.members[0].auth.oauth.token_file unknown'], 'no path from outside')
  const inside = { ...oauth, token_url: 'https://127.0.0.1/token' }
  await ask(
    path,
    { members: [{ host: '127.0.0.1', port: 1, tls: 'none', auth: { user: 'gw', oauth: inside } }] },
    'PATCH',
  )
  t.match(
    (await ask(`${path}/test`, {})).json.data,
    [{ ok: false, stage: 'connect' }],
    'no token before AUTH',
  )
})

t.test('what was read may be sent back, with a change in it', async (t) => {
  const ask = (path: string, body?: unknown, method?: string) =>
    kit.ask(path, { key: kit.session, body, ...(method && { method }) })
  const members = [
    { host: 'mta1.test', auth: { user: 'u', pass: 'p4ss' } },
    { host: 'mta2.test', tls: 'opportunistic', warmup: { first: 50, days: 14 } },
  ]
  const made = (await ask('/v1/egress-pools', { name: 'round', members })).json
  const path = `/v1/egress-pools/${made.id}`
  const whole = await ask(path, (await ask(path)).json, 'PATCH')
  t.equal(whole.status, 200, whole.text)
  t.strictSame({ ...whole.json, updated_at: made.updated_at }, made, 'nothing has changed')
  const [first, second] = made.members
  const changed = await ask(path, { ...made, members: [{ ...first, weight: 7 }, second] }, 'PATCH')
  t.match(changed.json.members, [{ id: first.id, weight: 7, has_auth: true }, { id: second.id }])
  const out = await ask(
    path,
    {
      members: [
        { ...first, auth: null },
        { ...second, auth: { user: 'v', pass: 'x' }, tls: 'required' },
      ],
    },
    'PATCH',
  )
  t.match(
    out.json.members,
    [{ has_auth: false }, { has_auth: true }],
    'what was read does not outweigh what is said',
  )
  const lies = {
    ...made,
    id: 'pool_other',
    kind: 'sandbox',
    members: [
      { ...second, has_auth: true, has_ca: true },
      { host: 'new.test', has_auth: true },
    ],
  }
  t.strictSame(fieldsOf(await ask(path, lies, 'PATCH')), [
    'body.id forbidden',
    'body.kind forbidden',
    'body.members[0].has_ca forbidden',
    'body.members[1].has_auth forbidden',
  ])
  t.strictSame(
    fieldsOf(await ask('/v1/egress-pools', { name: 'y', members: [{ host: 'a.test', has_auth: true }] })),
    ['body.members[0].has_auth unknown'],
  )
  t.equal((await ask(path, { name: 'sandbox2', colour: 'red' }, 'PATCH')).status, 422)

  const at = `/v1/workspaces/${kit.workspaceId}`
  const read = (await ask(at)).json
  t.strictSame((await ask(at, read, 'PATCH')).json, read)
  t.strictSame((await ask(at, { ...read, name: 'Renamed' }, 'PATCH')).json, { ...read, name: 'Renamed' })
  t.strictSame(fieldsOf(await ask(at, { ...read, is_default: !read.is_default }, 'PATCH')), [
    'body.is_default forbidden',
  ])
  await ask(at, read, 'PATCH')
})

t.test('an upstream warms up by whole numbers', async (t) => {
  const ask = (path: string, body?: unknown, method?: string) =>
    kit.ask(path, { key: kit.session, body, ...(method && { method }) })
  const host = 'mta.warm.test'
  const warmup = { first: 50, days: 14 }
  const { id } = (await ask('/v1/egress-pools', { name: 'warm', members: [{ host, warmup }] })).json
  const path = `/v1/egress-pools/${id}`
  t.match((await ask(`${path}/health`)).json.members, [
    { warmup: { ...warmup, day: 1, used: 0, limit: 50, started_at: null, past: [] } },
  ])
  for (const wrong of [
    { first: 0 },
    { first: 1.5 },
    { first: '50' },
    { first: 1_000_001 },
    { days: 0 },
    { days: 31 },
    { days: undefined },
    { first: null },
    { day: 3 },
  ]) {
    const answer = await ask(path, { members: [{ host, warmup: { ...warmup, ...wrong } }] }, 'PATCH')
    t.equal(answer.status, 422, JSON.stringify(wrong))
    t.match(fieldsOf(answer)[0], /^body\.members\[0\]\.warmup\.(first|days?) /)
  }
  for (const wrong of ['50:14', [], true])
    t.equal((await ask(path, { members: [{ host, warmup: wrong }] }, 'PATCH')).status, 422)
  const change = async (member: object) =>
    (await ask(path, { members: [{ host, ...member }] }, 'PATCH')).json.members[0].warmup
  t.strictSame(await change({ weight: 2 }), warmup, 'what is left out stays')
  t.strictSame(await change({ warmup: { first: 100, days: 3 } }), { first: 100, days: 3 })
  t.equal(await change({ warmup: null }), null)
  t.match((await ask(`${path}/health`)).json.members, [{ warmup: null }])
})

t.test('the catalogue, for programs', async (t) => {
  const all = await kit.ask('/errors', { key: null })
  t.equal(all.json.object, 'error_catalog')
  t.strictSame(
    all.json.errors.map((one: { code: string }) => one.code),
    Object.keys(FAULTS),
  )
  for (const { code, type, status } of all.json.errors) {
    const one = await kit.ask(new URL(type).pathname, { key: null })
    t.strictSame([one.status, one.json.code, one.json.status], [200, code, status])
  }
})
