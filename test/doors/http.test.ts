/**
 * Who is answered what over HTTP, as it is written down: a well-formed call of every endpoint by every kind of caller, wrong
 * requests to all that take a body or a query, and what each change leaves in the audit.
 */
import t from 'tap'
import type { HttpDeps } from '../../src/http/deps.js'
import type { Endpoint } from '../../src/http/endpoint.js'
import { endpoints } from '../../src/http/http.js'
import { txtLookup } from '../../src/tenant/domain/check.js'
import { callsOf, signIn, type Wish } from '../http/calls.js'
import { MAIL, openKit, type Reply } from '../http/kit.js'
import { DnsServer } from '../parts/dns-server.js'
import { openIncident } from '../parts/incident.js'
import { answer, receiver } from '../parts/receiver.js'
import { compact, demandPaper, named } from './paper.js'

t.setTimeout(300_000)

const dns = await new DnsServer().start()
t.teardown(() => dns.stop())
const kit = await openKit({
  ...{ lookup: txtLookup(`127.0.0.1:${dns.port}`), allowNetworks: ['127.0.0.0/8'] },
  ...{ authFailures: 1_000_000, perMinute: 1_000_000 },
})
t.teardown(() => kit.stop())
const { tenants, accountId, workspaceId } = kit
const all = endpoints({} as HttpDeps, () => 'https://mail.test')

const hook = await receiver(t, { behave: answer(200) })
const people = {
  owner: await signIn(kit, 'owner@acme.test', 'owner'),
  member: await signIn(kit, 'member@acme.test', 'member'),
  viewer: await signIn(kit, 'viewer@acme.test', 'viewer'),
}
const other = await tenants.createAccount('Other')
const second = await tenants.createWorkspace(accountId, { name: 'Second' })
const secretOf = async (wish: Parameters<typeof tenants.createKey>[1]) =>
  (await tenants.createKey(accountId, wish)).secret

interface Caller {
  readonly key: string | null
  /** The workspace that it names. */
  readonly names?: string
}

const names = workspaceId
const CALLERS: Readonly<Record<string, Caller>> = {
  nobody: { key: null, names },
  stranger: { key: (await tenants.createSession(other.id)).token },
  owner: { key: people.owner.token, names },
  member: { key: people.member.token, names },
  viewer: { key: people.viewer.token, names },
  session: { key: kit.session, names },
  unnamed: { key: kit.session },
  platform: { key: kit.platform, names },
  'platform-test': { key: await secretOf({ name: 'p', mode: 'test' }), names },
  key: { key: kit.key },
  'key-test': { key: await secretOf({ name: 't', workspace: 'default', mode: 'test' }) },
  'key-other': { key: await secretOf({ name: 'o', workspace: second.id }) },
  'key-sends': { key: await secretOf({ name: 's', workspace: 'default', permission: 'sending_access' }) },
  'key-reads': { key: await secretOf({ name: 'r', workspace: 'default', permission: 'reading_access' }) },
}

const { ask, make, calls } = callsOf(kit, { key: people.owner.token, hookPort: hook.port })

const email = await make('/v1/emails', MAIL)
const event = (await ask('GET', `/v1/emails/${email}/events`)).json.data[0].id as string
const pool = await make('/v1/egress-pools', {
  name: 'main',
  members: [{ host: 'mta.acme.test', tls: 'none' }],
})
const webhook = await make('/v1/webhooks', { endpoint: `http://127.0.0.1:${hook.port}/`, events: ['*'] })
const domain = await make('/v1/domains', { name: 'shop.example' })
const suppression = await make('/v1/suppressions', { email: 'gone@example.com' })
const job = await make('/v1/emails/bulk', { action: 'cancel', q: 'subject:nothing', reason: 'x' })
const incident = await openIncident(kit.store, kit, kit.clock.now())

/** What is asked for with GET, by the path of its endpoint. */
const THINGS: Readonly<Record<string, string>> = {
  ...{ emails: email, events: event, 'egress-pools': pool, webhooks: webhook, domains: domain, jobs: job },
  ...{
    suppressions: suppression,
    incidents: incident,
    users: people.viewer.user.id,
    errors: 'email.not_found',
  },
  workspaces: workspaceId,
}

/** Besides those that leave something in the audit. */
const MORE: Readonly<Record<string, () => Wish>> = {
  sendEmail: () => ['/v1/emails', MAIL],
  sendBatch: () => ['/v1/emails/batch', [MAIL, { ...MAIL, to: 'bo@example.com' }]],
  resendEmail: () => [`/v1/emails/${email}/resend`, {}],
  testEgressPool: () => [`/v1/egress-pools/${pool}/test`, {}],
  updateDomain: () => [`/v1/domains/${domain}`, { open_tracking: false }],
  planSetup: () => ['/v1/setup/plan', { setup: { setup: 'plan', workspaces: { plan: {} } } }],
  beginFactor: () => [
    '/v1/session/factors/begin',
    { kind: 'totp', current_password: 'violet river under glass' },
  ],
  updateSession: () => ['/v1/session', { time_zone: 'Europe/Berlin' }],
}

const wishOf = async ({ id, method, path }: Endpoint): Promise<Wish> => {
  const make = calls[id] ?? MORE[id]
  if (make !== undefined) return make()
  if (method !== 'GET') throw new Error(`${id} needs a call in test/http/calls.ts`)
  const kind = path.replace('/v1', '').split('/')[1] ?? ''
  const thing = THINGS[kind]
  if (path.includes('{') && thing === undefined) throw new Error(`${id} needs something to ask for`)
  return [path.replace('{event}', event).replace(/\{\w+\}/, thing ?? '')]
}

const by = ({ key, names }: Caller, method: string, [path, body]: Wish): Promise<Reply> =>
  kit.ask(path, { method, key, body, headers: names === undefined ? {} : { 'x-workspace-id': names } })

const said = ({ status, json }: Reply): string => [status, json?.code].filter(Boolean).join(' ')

/** Members that hold something else each time. */
const CHANGES = new Set([
  ...['secret', 'uri', 'recovery_codes', 'enrolment', 'token', 'url', 'password', 'duration_ms', 'code'],
  ...['webhook-timestamp', 'webhook-signature', 'lag_ms'],
])

/** Of a list the first two rows. */
const steady = (name: string, value: unknown): unknown => {
  if (CHANGES.has(name) && value !== null) return `<${typeof value}>`
  return name === 'data' && Array.isArray(value) ? value.slice(0, 2) : value
}

/** An answer as it is shown; what is no JSON by its first words. */
const shown = ({ json, text }: Reply): string =>
  json === null
    ? JSON.stringify(named(text.slice(0, 120)))
    : compact(JSON.parse(named(JSON.stringify(json, steady))))

/** What is documentation is held by its own paper; the others tell of what all of them did. */
const NOT_SHOWN = new Set([
  ...['getOpenApi', 'getOpenDocument', 'listErrors', 'getStatistics', 'listAudit', 'streamEvents'],
  ...['getSummary', 'getQueue', 'getQueueAges', 'getCluster', 'getInstallation', 'testEgressPool'],
])

/** What every caller is answered; what was refused is there to be asked for by the next. */
const repliesTo = async (one: Endpoint): Promise<readonly (readonly [string, Reply])[]> => {
  let wish: Wish | null = await wishOf(one)
  const callers = Object.entries(CALLERS)
  if (one.method === 'GET') {
    const asked = wish
    return Promise.all(
      callers.map(async ([name, caller]) => [name, await by(caller, one.method, asked)] as const),
    )
  }
  const replies: (readonly [string, Reply])[] = []
  for (const [name, caller] of callers) {
    wish ??= await wishOf(one)
    const reply = await by(caller, one.method, wish)
    if (reply.status < 300) wish = null
    replies.push([name, reply])
  }
  return replies
}

t.test('every endpoint for every caller', async (t) => {
  const [rights, answers]: [string[], string[]] = [[], []]
  for (const one of all) {
    const replies = await repliesTo(one)
    const found = new Map<string, string[]>()
    for (const [name, reply] of replies) found.set(said(reply), [...(found.get(said(reply)) ?? []), name])
    rights.push(`${one.id} ${one.method} ${one.path}`)
    for (const [what, names] of [...found].sort(([a], [b]) => (a < b ? -1 : 1)))
      rights.push(`  ${what}: ${names.join(' ')}`)
    const reply = replies.find(([name]) => name === 'owner')?.[1]
    if (reply && !NOT_SHOWN.has(one.id)) answers.push(`${one.id} ${reply.status} ${shown(reply)}`)
  }
  demandPaper(t, 'http-callers', rights)
  demandPaper(t, 'http-answers', answers)
})

/** Members by name, of which each request makes all wrong in one way. */
const WAYS: Readonly<Record<string, unknown>> = {
  object: {},
  word: 'x',
  long: 'x'.repeat(5_000),
  below: -1,
  list: [[]],
}

const membersOf = (shape: Endpoint['body']): readonly string[] => {
  const { keys = {} } = (shape?.().describe() ?? {}) as { keys?: Readonly<Record<string, unknown>> }
  return Object.keys(keys)
}

const wrongOf = ({ status, json }: Reply): readonly string[] => [
  `${status} ${json?.code ?? ''} ${named(String(json?.detail ?? ''))}`.trimEnd(),
  ...(json?.errors ?? []).map(
    (error: Readonly<Record<string, string>>) => `  ${named(Object.values(error).join(' | '))}`,
  ),
]

const wrongBodies = (body: Endpoint['body']): readonly (readonly [string, unknown])[] => {
  const members = membersOf(body)
  const filled = (value: unknown) => Object.fromEntries(members.map((name) => [name, value]))
  return [
    ['no JSON', '{'],
    ['a list', [1]],
    ['nothing in it', {}],
    ['an unknown member', { nonsense: 1 }],
    ...Object.entries(WAYS).map(([way, value]) => [`each member: ${way}`, filled(value)] as const),
  ]
}

const wrongQueries = (query: Endpoint['query']): readonly (readonly [string, string])[] => {
  const filled = (value: string) =>
    membersOf(query)
      .map((name) => `${name}=${value}`)
      .join('&')
  return [
    ['an unknown parameter', 'nonsense=1'],
    ['each parameter: word', filled('x')],
    ['each parameter: empty', filled('')],
    ['each parameter: long', filled('x'.repeat(400))],
  ]
}

t.test('wrong requests', async (t) => {
  const lines: string[] = []
  for (const { id, method, path, body, query, access, workspace } of all) {
    if (access === 'public' || id === 'streamEvents') continue
    const at = path.replace(/\{\w+\}/g, 'none')
    const caller = workspace === 'none' ? { key: people.owner.token } : (CALLERS.owner as Caller)
    const wrong = [
      ...(body === undefined ? [] : wrongBodies(body)).map(([what, one]) => [what, [at, one]] as const),
      ...(query === undefined ? [] : wrongQueries(query)).map(
        ([what, one]) => [what, [`${at}?${one}`]] as const,
      ),
    ]
    const replies = await Promise.all(wrong.map(([, wish]) => by(caller, method, wish as unknown as Wish)))
    replies.forEach((reply, i) => {
      const [first, ...rest] = wrongOf(reply)
      lines.push(`${id}, ${wrong[i]?.[0]}: ${first}`, ...rest)
    })
  }
  demandPaper(t, 'http-wrong', lines)
})

const filter = { action: null, actorId: null, objectId: null, workspaceId: null, since: null, until: null }

t.test('what each change leaves in the audit', async (t) => {
  const lines: string[] = []
  const page = { limit: 1, direction: 'older', anchor: null, countUpTo: 0 } as const
  for (const one of all) {
    if (one.method === 'GET' || calls[one.id] === undefined) continue
    const { status } = await by(CALLERS.owner as Caller, one.method, await wishOf(one))
    const [row] = (await kit.store.audit(accountId, filter, page)).rows
    const { id: _id, accountId: _of, actor, ...rest } = row ?? { actor: null }
    lines.push(
      `${one.id} ${status} ${named(JSON.stringify({ ...rest, by: actor?.kind }, (name, value) => (name === 'at' ? undefined : value)))}`,
    )
  }
  demandPaper(t, 'http-audit', lines)
})
