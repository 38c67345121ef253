/** Every endpoint that changes something is called as a person, and leaves one entry in the audit: of that person, with the reason given. */
import { Secret, TOTP } from 'otpauth'
import t, { type Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { Deps } from '../../src/http/deps.js'
import type { Endpoint } from '../../src/http/endpoint.js'
import { endpoints } from '../../src/http/http.js'
import type { AuditRow } from '../../src/store/port/identity.js'
import { txtLookup } from '../../src/tenant/domain/check.js'
import { DnsServer } from '../parts/dns-server.js'
import { openIncident } from '../parts/incident.js'
import { answer, receiver } from '../parts/receiver.js'
import { MAIL, openKit } from './kit.js'

const dns = await new DnsServer().start()
t.teardown(() => dns.stop())
const lookup = txtLookup(`127.0.0.1:${dns.port}`, 300)
const kit = await openKit({ lookup, allowNetworks: ['127.0.0.0/8'] })
t.teardown(() => kit.stop())

const changing = endpoints({} as Deps, () => 'https://mail.test').filter(({ method }) => method !== 'GET')

/** What leaves no entry. */
const OWNS_NOTHING: Readonly<Record<string, string>> = {
  sendEmail: 'a mail is its own record',
  sendBatch: 'mails are their own records',
  resendEmail: 'the new mail is its own record, and names the first',
  testEgressPool: 'a trial changes nothing',
  updateDomain: 'it changes nothing',
  beginFactor: 'nothing is kept before it is proved',
  updateSession: 'what people keep for themselves is nobody’s business',
}

const password = 'violet river under glass'
const owner = await kit.tenants.createPerson(kit.accountId, {
  ...({ email: 'owner@acme.test', role: 'owner', password } as const),
})
const { row, token: key } = kit.tenants.newSession(kit.accountId, { userId: owner.id, provider: 'local' })
const parts = { linkId: null, newUser: null, identity: null, change: null, instead: null }
await kit.store.signIn({ ...parts, session: row, now: row.createdAt })

const headers = { 'x-workspace-id': kit.workspaceId }
const ask = (method: string, path: string, body?: object) => kit.ask(path, { method, key, body, headers })

let n = 0
/** The id of something new. */
const make = async (path: string, body: object): Promise<string> => {
  const { status, json, text } = await ask('POST', path, body)
  if (status >= 300) throw new Error(`${path}: ${text}`)
  return String(json.id)
}

const hook = await receiver(t, { behave: answer(200) })
const pool = () => ({ name: `pool-${++n}`, members: [{ host: 'mta.acme.test', port: 25, tls: 'none' }] })
const workspace = () => ({ name: 'Shop', slug: `shop-${++n}` })
const apiKey = { name: 'ci', mode: 'live', scope: 'workspace', workspace_id: kit.workspaceId }
const credential = () => ({
  workspace_id: kit.workspaceId,
  username: `user-${++n}`,
  password: 'long and random',
})
const person = () => ({ email: `p${++n}@acme.test`, role: 'viewer' })
const webhook = () => ({ endpoint: `http://127.0.0.1:${hook.port}/${++n}`, events: ['*'] })
const domain = () => ({ name: `d${++n}.example`, workspace_id: kit.workspaceId })
const address = () => `a${++n}@example.com`
const later = new Date(Date.now() + 86_400_000).toISOString()
const scheduled = () => make('/v1/emails', { ...MAIL, scheduled_at: later })
const scope = { workspace_id: kit.workspaceId }
// those of another are suppressed when it is accepted, and die no second time
const incident = () => openIncident(kit.store, kit, kit.clock.now(), `d${++n}.test`)
const why = { reason: 'because' }
const order = { scope, ...why }
const bulk = { action: 'cancel', q: 'to:nobody@example.com', reason: 'because' }
const since = new Date(Date.now() - 3_600_000).toISOString()

const own = { current_password: password }
/** What proves a new second factor. */
const proved = async () => {
  const { json } = await ask('POST', '/v1/session/factors/begin', { kind: 'totp', ...own })
  const totp = new TOTP({ secret: Secret.fromBase32(json.secret) })
  return { enrolment: json.enrolment, name: 'Phone', code: totp.generate({ timestamp: kit.clock.now() }) }
}

type Wish = readonly [path: string, body?: object]

/** How each is called, by the id of its operation. */
const CALLS: Readonly<Record<string, () => Wish | Promise<Wish>>> = {
  rescheduleEmail: async () => [
    `/v1/emails/${await scheduled()}`,
    { scheduled_at: new Date(Date.now() + 90_000_000).toISOString() },
  ],
  cancelEmail: async () => [`/v1/emails/${await scheduled()}/cancel`, {}],
  bulkEmails: () => ['/v1/emails/bulk', bulk],
  cancelJob: async () => [`/v1/jobs/${await make('/v1/emails/bulk', bulk)}/cancel`, {}],
  createWorkspace: () => ['/v1/workspaces', workspace()],
  updateWorkspace: async () => [
    `/v1/workspaces/${await make('/v1/workspaces', workspace())}`,
    { suspended: true },
  ],
  deleteWorkspace: async () => {
    const wish = workspace()
    return [`/v1/workspaces/${await make('/v1/workspaces', wish)}?confirm=${wish.slug}`]
  },
  createApiKey: () => ['/v1/api-keys', apiKey],
  rotateApiKey: async () => [`/v1/api-keys/${await make('/v1/api-keys', apiKey)}/rotate`, why],
  revokeApiKey: async () => [`/v1/api-keys/${await make('/v1/api-keys', apiKey)}`, why],
  createCredential: () => ['/v1/credentials', credential()],
  revokeCredential: async () => [`/v1/credentials/${await make('/v1/credentials', credential())}`, why],
  addSuppression: () => ['/v1/suppressions', { email: address() }],
  removeSuppression: async () => [
    `/v1/suppressions/${await make('/v1/suppressions', { email: address() })}`,
    why,
  ],
  addSuppressions: () => ['/v1/suppressions/batch/add', { emails: [address()] }],
  removeSuppressions: async () => [
    '/v1/suppressions/batch/remove',
    { ids: [await make('/v1/suppressions', { email: address() })], ...why },
  ],
  dismissIncident: async () => [`/v1/incidents/${await incident()}/dismiss`],
  acceptIncident: async () => [`/v1/incidents/${await incident()}/accept`],
  createEgressPool: () => ['/v1/egress-pools', pool()],
  updateEgressPool: async () => [
    `/v1/egress-pools/${await make('/v1/egress-pools', pool())}`,
    { notify_success: false, ...why },
  ],
  deleteEgressPool: async () => [`/v1/egress-pools/${await make('/v1/egress-pools', pool())}`, why],
  createDomain: () => ['/v1/domains', domain()],
  checkDomain: async () => [`/v1/domains/${await make('/v1/domains', domain())}/check`, {}],
  verifyDomain: async () => [`/v1/domains/${await make('/v1/domains', domain())}/verify`, {}],
  rotateDomain: async () => [`/v1/domains/${await make('/v1/domains', domain())}/rotate`, {}],
  deleteDomain: async () => [`/v1/domains/${await make('/v1/domains', domain())}`],
  retryQueue: () => ['/v1/queue/retry', order],
  releaseQueue: () => ['/v1/queue/release', order],
  rerouteQueue: async () => ['/v1/queue/reroute', { ...order, to: await make('/v1/egress-pools', pool()) }],
  purgeQueue: () => ['/v1/queue/purge', order],
  placeHold: () => ['/v1/holds', order],
  liftHold: async () => [`/v1/holds/${await make('/v1/holds', order)}`],
  createUser: () => ['/v1/users', person()],
  updateUser: async () => [`/v1/users/${await make('/v1/users', person())}`, { role: 'member' }],
  createUserSetupLink: async () => [`/v1/users/${await make('/v1/users', person())}/setup-link`],
  addFactor: async () => ['/v1/session/factors', await proved()],
  removeFactor: async () => [`/v1/session/factors/${await make('/v1/session/factors', await proved())}`, own],
  replaceRecoveryCodes: async () => {
    await make('/v1/session/factors', await proved())
    return ['/v1/session/recovery-codes', own]
  },
  resetUserFactors: async () => {
    const userId = await make('/v1/users', person())
    const row = { id: newId('fac'), accountId: kit.accountId, userId, kind: 'totp', name: 'Phone' } as const
    const rest = { lookup: 'x', secret: '', counter: 0, createdAt: 0, lastUsedAt: null }
    await kit.store.addFactor({ ...row, ...rest }, [], null)
    return [`/v1/users/${userId}/factors`]
  },
  createInvitation: () => ['/v1/invitations', { role: 'member' }],
  revokeInvitation: async () => [`/v1/invitations/${await make('/v1/invitations', { role: 'member' })}`],
  revokeSession: async () => [`/v1/sessions/${(await kit.tenants.createSession(kit.accountId)).row.id}`],
  revokeSessions: async () => {
    const userId = await make('/v1/users', person())
    const { row } = kit.tenants.newSession(kit.accountId, { userId, provider: 'local' })
    await kit.store.signIn({ ...parts, session: row, now: row.createdAt })
    return [`/v1/sessions?user=${userId}`]
  },
  createWebhook: () => ['/v1/webhooks', webhook()],
  updateWebhook: async () => [
    `/v1/webhooks/${await make('/v1/webhooks', webhook())}`,
    { status: 'disabled' },
  ],
  rotateWebhookSecret: async () => [
    `/v1/webhooks/${await make('/v1/webhooks', webhook())}/signing-secret/rotate`,
    {},
  ],
  deleteWebhook: async () => [`/v1/webhooks/${await make('/v1/webhooks', webhook())}`],
  testWebhook: async () => [`/v1/webhooks/${await make('/v1/webhooks', webhook())}/test`, {}],
  replayWebhookEvent: async () => {
    const id = await make('/v1/webhooks', webhook())
    await make('/v1/emails', MAIL)
    const { json } = await ask('GET', '/v1/events')
    return [`/v1/webhooks/${id}/events/${json.data[0].id}/replay`, {}]
  },
  replayWebhook: async () => [`/v1/webhooks/${await make('/v1/webhooks', webhook())}/replay`, { since }],
}

const filter = { action: null, actorId: null, objectId: null, workspaceId: null, since: null, until: null }
const page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 } as const
/** What was written down since; newest first. */
const entriesAfter = async (last: string | undefined): Promise<readonly AuditRow[]> => {
  const { rows } = await kit.store.audit(kit.accountId, filter, page)
  const at = rows.findIndex(({ id }) => id === last)
  return at < 0 ? rows : rows.slice(0, at)
}

t.test('each endpoint is known to the audit, or has a reason', (t) => {
  const ids = changing.map(({ id }) => id).sort()
  t.same(ids, [...Object.keys(CALLS), ...Object.keys(OWNS_NOTHING)].sort())
  t.end()
})

const leaves = async (t: Test, { id, method }: Endpoint, call: () => Wish | Promise<Wish>): Promise<void> => {
  const [path, body] = await call()
  const [last] = await entriesAfter(undefined)
  const { status } = await ask(method, path, body)
  t.ok(status < 300, `${id}: ${status}`)
  const entries = await entriesAfter(last?.id)
  t.match(
    entries,
    [{ actor: { kind: 'person', id: owner.id, name: owner.email, address: '127.0.0.1' } }],
    `${id} by whom`,
  )
  t.equal(entries.length, 1, `${id}: ${entries.map(({ action }) => action).join(', ')}`)
  if (body !== undefined && 'reason' in body) t.equal(entries[0]?.detail.reason, body.reason, `${id}: why`)
}

t.test('each change has one entry, of whoever asked', async (t) => {
  for (const one of changing) {
    const call = CALLS[one.id]
    if (call !== undefined) await leaves(t, one, call)
  }
})
