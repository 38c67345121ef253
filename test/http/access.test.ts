/** Who may do what, and that nobody learns of anybody else's things. */
import t from 'tap'
import { newId } from '../../src/base/id.js'
import type { HttpDeps } from '../../src/http/deps.js'
import { endpoints } from '../../src/http/http.js'
import { openIncident } from '../parts/incident.js'
import { fieldsOf, MAIL, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const problem = (json: Record<string, unknown>) => JSON.stringify({ ...json, request_id: '', instance: '' })

t.test('every id of every route: what is foreign looks like what never was', async (t) => {
  const other = await kit.tenants.createAccount('Other')
  const { token: session } = await kit.tenants.createSession(other.id)
  const { id: workspace } = await kit.tenants.findWorkspace(other.id, 'default')
  const { secret: platform } = await kit.tenants.createKey(other.id, { name: 'p' })
  const { secret: key } = await kit.tenants.createKey(other.id, { name: 'w', workspace })
  const own = { 'x-workspace-id': kit.workspaceId }
  const { id: email } = (await kit.ask('/v1/emails', { body: MAIL })).json
  const { id: suppression } = (await kit.ask('/v1/suppressions', { body: { email: 'a@b.test' } })).json
  const { id: apiKey } = (await kit.ask('/v1/api-keys', { key: kit.session, body: { name: 'x' } })).json
  const { id: pool } = (await kit.ask('/v1/egress-pools', { key: kit.session, body: { name: 'x' } })).json
  const { id: credential } = (
    await kit.ask('/v1/credentials', {
      key: kit.session,
      body: { workspace_id: kit.workspaceId, username: 'printer', password: 'long enough' },
    })
  ).json
  const { id: domain } = (await kit.ask('/v1/domains', { key: kit.session, body: { name: 'shop.example' } }))
    .json
  const { id: webhook } = (
    await kit.ask('/v1/webhooks', { body: { endpoint: 'https://app.test/hook', events: ['*'] } })
  ).json
  const { id: hold } = (
    await kit.ask('/v1/holds', {
      key: kit.session,
      body: { scope: { domain: 'held.example' }, reason: 'x' },
    })
  ).json
  const { id: user } = (
    await kit.ask('/v1/users', { key: kit.session, body: { email: 'ana@acme.test', role: 'viewer' } })
  ).json
  const { id: invitation } = (
    await kit.ask('/v1/invitations', { key: kit.session, body: { role: 'viewer' } })
  ).json
  const { id: job } = (
    await kit.ask('/v1/emails/bulk', {
      key: kit.session,
      body: { action: 'cancel', q: 'subject:nothing', reason: 'x' },
    })
  ).json
  const ids: Record<string, string> = {
    users: user,
    invitations: invitation,
    sessions: (await kit.ask('/v1/session', { key: kit.session })).json.id,
    jobs: job,
    webhooks: webhook,
    emails: email,
    suppressions: suppression,
    'api-keys': apiKey,
    'egress-pools': pool,
    incidents: await openIncident(kit.store, kit, kit.clock.now()),
    credentials: credential,
    domains: domain,
    holds: hold,
    events: (await kit.ask(`/v1/emails/${email}/events`)).json.data[0].id,
    workspaces: kit.workspaceId,
    session: newId('fac'),
  }
  t.strictSame(
    Object.entries(ids).filter(([, id]) => typeof id !== 'string'),
    [],
    'all of them were made',
  )
  const bodies: Record<string, unknown> = {
    rescheduleEmail: { scheduled_at: new Date(Date.now() + 60_000).toISOString() },
    updateWorkspace: {},
    updateEgressPool: {},
    updateWebhook: {},
    updateUser: { name: 'x' },
  }
  const absent = (id: string) => `${id.slice(0, -3)}zzz`
  const withIds = endpoints({} as HttpDeps, () => '').filter(({ path }) => /\{(id|ref)\}/.test(path))
  t.ok(withIds.length > 12)
  for (const { method, path, id: operation } of withIds) {
    const id = ids[path.split('/')[2] ?? ''] ?? ''
    for (const [who, by] of Object.entries({ session, platform, key })) {
      const named = path.startsWith('/v1/suppressions') && by !== key ? { 'x-workspace-id': workspace } : {}
      const one = (ref: string) =>
        kit.ask(path.replace(/\{\w+\}/, ref), { method, key: by, headers: named, body: bodies[operation] })
      const [foreign, never] = [await one(id), await one(absent(id))]
      // 409: who is no person has no factor, whatever is named
      const wanted = operation === 'removeFactor' ? [403, 404, 409] : [403, 404]
      t.ok(wanted.includes(foreign.status), `${operation} by ${who}: ${foreign.status}`)
      t.equal(problem(foreign.json), problem(never.json), `${operation} by ${who}`)
    }
  }
  for (const by of [session, platform, key]) {
    const theirs = await kit.ask('/v1/emails', { key: by, headers: own })
    const never = await kit.ask('/v1/emails', {
      key: by,
      headers: { 'x-workspace-id': absent(kit.workspaceId) },
    })
    const nonsense = await kit.ask('/v1/emails', { key: by, headers: { 'x-workspace-id': 'nonsense' } })
    t.equal(theirs.status, 404)
    t.equal(problem(theirs.json), problem(never.json))
    t.equal(problem(theirs.json), problem(nonsense.json))
    t.strictSame((await kit.ask('/v1/emails', { key: by })).json.data, [])
  }
})

t.test('live and test do not see each other', async (t) => {
  const { secret } = await kit.tenants.createKey(kit.accountId, {
    name: 't',
    workspace: 'default',
    mode: 'test',
  })
  const live = (await kit.ask('/v1/emails', { body: MAIL })).json.id
  const test = (await kit.ask('/v1/emails', { key: secret, body: MAIL })).json.id
  t.equal((await kit.ask(`/v1/emails/${live}`, { key: secret })).json.code, 'email.not_found')
  t.equal((await kit.ask(`/v1/emails/${test}`)).json.code, 'email.not_found')
  for (const id of [live, test])
    t.equal((await kit.ask(`/v1/emails/${id}`, { key: kit.session })).status, 200)
})

t.test('a platform caller names a workspace to send, a workspace key need not', async (t) => {
  const send = (key: string, ref?: string) =>
    kit.ask('/v1/emails', { key, body: MAIL, headers: ref === undefined ? {} : { 'x-workspace-id': ref } })
  for (const by of [kit.platform, kit.session]) {
    t.strictSame(
      [(await send(by)).status, (await send(by)).json.code],
      [400, 'validation.workspace_header_required'],
    )
    t.equal((await send(by, kit.workspaceId)).json.workspace_id, kit.workspaceId)
  }
  t.equal((await send(kit.key, kit.workspaceId)).status, 202)
  const { id } = await kit.tenants.createWorkspace(kit.accountId, { name: 'Second' })
  t.equal((await send(kit.key, id)).json.code, 'workspace.not_found')
})

t.test('revoking is immediate', async (t) => {
  const made = await kit.ask('/v1/api-keys', { key: kit.session, body: { name: 'ci', mode: 'test' } })
  t.equal(made.status, 201)
  const { id, secret, prefix } = made.json
  t.ok(secret.startsWith(prefix) && /^svc_test_\w{12}$/.test(prefix))
  t.equal((await kit.ask('/v1/emails', { key: secret })).status, 200)
  const listed = await kit.ask('/v1/api-keys', { key: kit.session })
  t.notMatch(listed.text, /"secret"|"hash"/)
  const revoked = await kit.ask(`/v1/api-keys/${id}`, { method: 'DELETE', key: kit.session })
  t.strictSame(revoked.json, { id, object: 'api_key', deleted: true })
  t.equal((await kit.ask('/v1/emails', { key: secret })).json.code, 'auth.credentials_invalid')
  t.equal(
    (await kit.ask(`/v1/api-keys/${id}`, { method: 'DELETE', key: kit.session })).json.code,
    'api_key.not_found',
  )
})

t.test('sessions only', async (t) => {
  for (const key of [kit.key, kit.platform]) {
    for (const path of ['/v1/api-keys', '/v1/egress-pools', '/v1/credentials']) {
      t.equal((await kit.ask(path, { key })).json.code, 'auth.session_required')
    }
  }
  t.equal((await kit.ask('/v1/api-keys', { key: null })).status, 401)
})

t.test('an expired key is like no key', async (t) => {
  const expires_at = new Date(kit.clock.now() + 60_000).toISOString()
  const { json } = await kit.ask('/v1/api-keys', { key: kit.session, body: { name: 'short', expires_at } })
  t.equal(json.expires_at, expires_at)
  t.equal((await kit.ask('/v1/emails', { key: json.secret })).status, 200)
  kit.clock.advance(60_000)
  t.equal((await kit.ask('/v1/emails', { key: json.secret })).json.code, 'auth.credentials_invalid')
})

t.test('fields of keys', async (t) => {
  const make = async (body: unknown) => fieldsOf(await kit.ask('/v1/api-keys', { key: kit.session, body }))
  t.strictSame(await make({}), ['body.name missing'])
  t.strictSame(await make({ name: 'x', mode: 'both' }), ['body.mode unsupported'])
  t.strictSame(await make({ name: 'x', scope: 'workspace' }), ['body.workspace_id missing'])
  t.strictSame(await make({ name: 'x', rate_limit_per_minute: 0 }), ['body.rate_limit_per_minute range'])
  t.strictSame(await make({ name: 'x', expires_at: 'soon' }), ['body.expires_at format'])
})
