/** A well-formed call of each endpoint that changes something, each time about something new. */
import { Secret, TOTP } from 'otpauth'
import { newId } from '../../src/base/id.js'
import { openIncident } from '../parts/incident.js'
import { type Kit, MAIL, type Reply } from './kit.js'

export type Wish = readonly [path: string, body?: object]

type Calls = Readonly<Record<string, () => Wish | Promise<Wish>>>

const password = 'violet river under glass'
const parts = { linkId: null, newUser: null, identity: null, change: null, instead: null }

/** A person with a session, who may be anything. */
export const signIn = async (
  { tenants, store, accountId }: Kit,
  email: string,
  role: 'owner' | 'member' | 'viewer',
) => {
  const user = await tenants.createPerson(accountId, { email, role, password })
  const { row, token } = tenants.newSession(accountId, { userId: user.id, provider: 'local' })
  await store.signIn({ ...parts, session: row, now: row.createdAt })
  return { user, token }
}

/** By whom they are made; `hookPort` is where endpoints of webhooks are. */
interface By {
  readonly key: string
  readonly hookPort: number
}

/** `ask` asks as that person, of the default workspace; `make` answers the id of what it made. */
export const callsOf = (kit: Kit, { key, hookPort }: By) => {
  const headers = { 'x-workspace-id': kit.workspaceId }
  const ask = (method: string, path: string, body?: object): Promise<Reply> =>
    kit.ask(path, { method, key, body, headers })

  let n = 0
  /** The id of something new. */
  const make = async (path: string, body: object): Promise<string> => {
    const { status, json, text } = await ask('POST', path, body)
    if (status >= 300) throw new Error(`${path}: ${text}`)
    return String(json.id)
  }

  const pool = () => ({ name: `pool-${++n}`, members: [{ host: 'mta.acme.test', port: 25, tls: 'none' }] })
  const workspace = () => ({ name: 'Shop', slug: `shop-${++n}` })
  const apiKey = { name: 'ci', mode: 'live', scope: 'workspace', workspace_id: kit.workspaceId }
  const credential = () => ({
    workspace_id: kit.workspaceId,
    username: `user-${++n}`,
    password: 'long and random',
  })
  const person = () => ({ email: `p${++n}@acme.test`, role: 'viewer' })
  const webhook = () => ({ endpoint: `http://127.0.0.1:${hookPort}/${++n}`, events: ['*'] })
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

  /** How each is called, by the id of its operation. */
  const calls: Calls = {
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
    applySetup: async () => {
      const setup = { setup: 'calls', workspaces: { [`calls-${++n}`]: {} } }
      const { json } = await ask('POST', '/v1/setup/plan', { setup })
      return ['/v1/setup/apply', { setup, digest: json.digest }]
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
    removeFactor: async () => [
      `/v1/session/factors/${await make('/v1/session/factors', await proved())}`,
      own,
    ],
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
  return { ask, make, calls }
}
