/**
 * NAME      pools - egress pools and the upstream servers in them
 *   For people only: a pool holds passwords of other servers and decides where mail goes. Its health joins what the queue holds
 *   for it with what relay/ last saw. Passwords go in and never come out: a member reads back `has_auth`. Files for authorities,
 *   client certificates and tokens are named on the host only (CLI), so that no one can make the daemon open a path from outside.
 */
import Joi from 'joi'
import { timeOrNull, toRfc3339 } from '../../base/clock.js'
import { type FieldError, invalid, throwInvalid } from '../../base/fault.js'
import { camel } from '../../base/text.js'
import { WARMUP_MOST } from '../../lifecycle/warmup.js'
import { poolSentence } from '../../record/queue.js'
import { endpointsOf } from '../../relay/service/connection.js'
import { trialRecord, tryUpstream } from '../../relay/trial.js'
import { POOL, poolRecord, UPSTREAM, WARMUP, warmupRecord } from '../../resource/tenants.js'
import { leaderOf } from '../../store/pools.js'
import type { KnownPool } from '../../store/port/tenants.js'
import { type PoolWish, warmupsOf, wrongWithPool } from '../../tenant/pool.js'
import { MECHANISMS, type MemberWish } from '../../tenant/upstream.js'
import type { HttpDeps } from '../deps.js'
import {
  GET,
  listing,
  PATCH,
  PEOPLE_ONLY,
  POST,
  param,
  type RouteRow,
  removing,
  statesOf,
} from '../endpoint.js'
import { liveUpstream } from '../metrics.js'
import {
  anyBody,
  asRead,
  body,
  clearable,
  count,
  id,
  membersOf,
  need,
  notAsRead,
  nullable,
  object,
  oneOf,
  orNull,
  record,
  type Shape,
  settable,
  shape,
  shapeOf,
  type TypeOf,
  time,
  why,
  whyBody,
} from '../shapes/common.js'

const oauth = shapeOf(() => ({
  token_url: need(Joi.string().max(500)).description('Token endpoint (RFC 6749)'),
  client_id: need(Joi.string().max(500)),
  client_secret: orNull(Joi.string().max(5_000)),
  refresh_token: orNull(Joi.string().max(5_000)).description(
    'Tokens are got by it, and not for the client itself; a new one that the endpoint gives is kept',
  ),
  scope: clearable(Joi.string().max(1_000)),
}))

const memberFields = shape(() => ({
  id: orNull(Joi.string().max(100)),
  service: clearable(oneOf(...UPSTREAM.service.words)).description(
    'A service that takes mail by HTTPS, in place of a mail server; its key is `auth`: of `ses` the access key as `user` and `pass`, of `mailgun` the user `api` and the key as `pass`',
  ),
  host: need(orNull(Joi.string().max(255))).description(
    'Of a mail server its name or address; of `ses` the region, of `mailgun` the sending domain',
  ),
  region: clearable(oneOf(...UPSTREAM.region.words)).description('Where Mailgun keeps the domain; null: us'),
  port: orNull(Joi.number().integer().min(1).max(65_535)),
  tls: orNull(oneOf(...UPSTREAM.tls.words)),
  fingerprint: clearable(Joi.string().max(200)),
  auth: clearable(
    object({
      user: need(Joi.string().max(255)),
      pass: orNull(Joi.string().max(1_000)),
      oauth: orNull(oauth()).description('In place of a password'),
    }),
  ),
  auth_mechanism: clearable(oneOf(...MECHANISMS)).description(
    'The only one to sign in by; null: what is offered and fits',
  ),
  bind: clearable(Joi.array<readonly string[]>().items(Joi.string().max(64)).max(16)).description(
    'Addresses of this machine to connect from, IPv4 and IPv6; null: as the system chooses',
  ),
  helo: clearable(Joi.string().max(255)).description('What EHLO says; null: `hostname` of the settings'),
  warmup: clearable(
    object({
      first: need(Joi.number().integer().min(1).max(WARMUP_MOST.first)),
      days: need(Joi.number().integer().min(1).max(WARMUP_MOST.days)).description(
        'On so many days with mail there is a limit',
      ),
    }),
  ).description(
    'While it is new: `first` recipients on its first day with mail, twice as many on each further one, any number after `days`. Null ends it; set again it begins anew, and other numbers go on',
  ),
  weight: orNull(Joi.number().integer().min(1).max(1_000)),
  priority: orNull(Joi.number().integer().min(0).max(1_000)),
  max_connections: orNull(Joi.number().integer().min(1).max(1_000)),
  messages_per_connection: orNull(Joi.number().integer().min(1).max(1_000_000)),
  rate: clearable(Joi.number().min(0.001).max(100_000)),
  state: orNull(oneOf(...UPSTREAM.state.words)),
}))

const READ_MEMBER = ['has_auth', 'has_oauth', 'has_ca', 'has_client_certificate'] as const
const READ_POOL = ['id', 'object', 'kind', 'follows'] as const

const member = shapeOf(memberFields)
type MemberBody = TypeOf<typeof member>
const changedMember: Shape<Joi.ObjectSchema<MemberBody>> = shapeOf(() => ({
  ...memberFields(),
  has_auth: asRead.flag(),
  has_oauth: asRead.flag(),
  has_ca: asRead.flag(),
  has_client_certificate: asRead.flag(),
}))

const members = (item: Joi.ObjectSchema<MemberBody>) =>
  orNull(Joi.array<readonly MemberBody[]>().items(item).max(100))
const fields = shape(() => settable(POOL, {}))

const name = () => orNull(Joi.string().max(63))

const poolBody = body(() => ({ name: need(name()), members: members(member()), ...fields() }))
const poolChangeShape = body(() => ({
  id: asRead.text(),
  object: asRead.text(),
  name: name(),
  kind: asRead.text(),
  follows: asRead.text(),
  members: members(changedMember()),
  ...fields(),
  created_at: asRead.text(),
  updated_at: asRead.text(),
  managed: asRead.managed(),
  reason: why(),
}))
type PoolChange = TypeOf<typeof poolChangeShape>

const poolShape = record('EgressPool', () => membersOf(POOL))

const memberRecord = shape(() => {
  const { id, host, port, tls, state } = UPSTREAM
  return membersOf({ id, host, port, tls, state })
})

const poolHealthShape = record('EgressPoolHealth', () => ({
  id: id('pool'),
  object: Joi.string().valid('egress_pool_health').required(),
  status: Joi.string().valid('ok', 'degraded', 'down').required(),
  since: nullable(Joi.string()).description('Since when no upstream of it has taken mail, where it is down'),
  says: Joi.string().required().description('How it does and what waits in it, in some sentences'),
  queue: Joi.object({
    due: count(),
    leased: count(),
    waiting: count(),
    held: count(),
    oldest_due_at: nullable(Joi.string()),
  }).required(),
  members: Joi.array()
    .items(
      Joi.object({
        ...memberRecord(),
        breaker: nullable(Joi.string().valid('closed', 'open', 'half-open')),
        connections: nullable(Joi.number().integer()),
        under_way: nullable(Joi.number().integer()),
        limit: nullable(Joi.number().integer()),
        full: nullable(Joi.string().valid('warmup', 'rate', 'connections')).description(
          'Which of its limits is used up now',
        ),
        warmup: nullable(Joi.object(membersOf(WARMUP))).description(
          'How much it may be given while it is new; null: as much as there is',
        ),
        last_success_at: nullable(Joi.string()),
        last_error: nullable(
          Joi.object({
            at: time(),
            stage: Joi.string().required(),
            message: Joi.string().required(),
          }),
        ),
      }),
    )
    .required(),
}))

const poolTestShape = anyBody(() => ({
  upstream_id: orNull(Joi.string().max(100)).description('Only this one'),
}))

const poolTestedShape = record('EgressPoolTest', () => ({
  object: Joi.string().valid('list').required(),
  data: Joi.array()
    .items(
      Joi.object({
        id: id('up'),
        service: nullable(oneOf(...UPSTREAM.service.words)),
        host: Joi.string().required(),
        port: Joi.number().integer().required(),
        ok: Joi.boolean().required(),
        stage: nullable(Joi.string().valid('connect', 'greeting', 'tls', 'auth')).description(
          'Where it failed',
        ),
        said: Joi.string().required().description('What failed, or what is offered'),
        tls: nullable(Joi.string()).description('Such as TLSv1.3; null in clear'),
        dsn: Joi.boolean().required().description('Whether it makes delivery reports (RFC 3461)'),
        offers: Joi.array().items(Joi.string()).required(),
        auth_offered: Joi.array()
          .items(Joi.string())
          .required()
          .description('Mechanisms of AUTH, as far as it came'),
        auth_mechanism: nullable(Joi.string()).description(
          'The one that signs in; null without a login, or when none that is offered will do',
        ),
        ms: count(),
      }),
    )
    .required(),
}))

const memberOf = ({ auth, ...member }: MemberBody): MemberWish => ({
  ...camel(member),
  auth: auth && { ...auth, oauth: auth.oauth && camel(auth.oauth) },
})

const wishOf = (body: PoolChange): PoolWish => ({
  ...camel(body),
  members: body.members?.map(memberOf),
})

/** Members without gaps: nobody objects to what stands in them. */
const mend = (body: PoolChange): PoolChange => {
  const members = body.members?.map((one) => ({ ...one, host: one?.host ?? '127.0.0.1' }))
  return members === undefined ? body : { ...body, members }
}

/** What of the sent record contradicts the stored one. A member may also say what it is about to become. */
const contradictions = (sent: PoolChange, old: KnownPool): readonly FieldError[] => {
  const record = poolRecord(old)
  const errors = [...notAsRead(sent, READ_POOL, [record])]
  for (const [i, member] of (sent.members ?? []).entries()) {
    const { id, host, port } = member
    const was = record.members.find((one) =>
      id === undefined ? one.host === host.toLowerCase() && one.port === (port ?? one.port) : one.id === id,
    ) ?? { has_auth: false, has_oauth: false, has_ca: false, has_client_certificate: false }
    const { auth } = member
    const becomes = {
      has_auth: auth === undefined ? was.has_auth : auth !== null,
      has_oauth: auth?.oauth !== undefined || (auth !== null && auth?.pass === undefined && was.has_oauth),
    }
    errors.push(...notAsRead(member, READ_MEMBER, [was, becomes], `body.members[${i}]`))
  }
  return errors
}

const wrongWithChange = (sent: PoolChange, old: KnownPool): readonly FieldError[] => [
  ...contradictions(sent, old),
  ...wrongWithPool(wishOf(sent)),
]

const health = async (deps: HttpDeps, pool: KnownPool) => {
  const { store, relay, clock } = deps
  const { accountId } = pool
  const { depths, live, test } = await statesOf(deps, { accountId, workspaceId: null, isOperator: true })
  const rows = depths.filter((depth) => depth.poolId === pool.id)
  const sum = (count: 'due' | 'leased' | 'waiting' | 'held') =>
    rows.reduce((all, depth) => all + depth[count], 0)
  const oldest = Math.min(...rows.map((depth) => depth.oldestDueAt ?? Number.POSITIVE_INFINITY))
  const seen = new Map((relay?.upstreams() ?? []).map((one) => [one.upstreamId, one]))
  const leader = await leaderOf(store, pool)
  const { upstreams } = leader ?? pool
  const warmups = await warmupsOf(store, upstreams, clock.now())
  const members = upstreams.map(({ id, host, port, tls, state }) => {
    const warmup = warmups.get(id)
    return {
      ...{ id, host, port, tls, state, ...liveUpstream(seen.get(id)) },
      warmup: warmup === undefined ? null : warmupRecord(warmup),
    }
  })
  const facts = [...live.facts.pools, ...test.facts.pools].find(({ id }) => id === pool.id) ?? null
  const state = facts?.state ?? 'ok'
  const usable = members.filter(({ breaker, state }) => breaker !== 'open' && state === 'active').length
  const all = usable === members.length && state === 'ok'
  return {
    id: pool.id,
    object: 'egress_pool_health',
    status: state === 'ok' || state === 'weak' ? (all ? 'ok' : 'degraded') : 'down',
    since: timeOrNull(facts?.since ?? null),
    says: facts === null ? '' : poolSentence(facts, clock.now()),
    queue: {
      due: sum('due'),
      leased: sum('leased'),
      waiting: sum('waiting'),
      held: sum('held'),
      oldest_due_at: Number.isFinite(oldest) ? toRfc3339(oldest) : null,
    },
    members,
  }
}

export const pools: readonly RouteRow[] = [
  POST('/v1/egress-pools', {
    ...PEOPLE_ONLY,
    id: 'createEgressPool',
    cli: 'pool create',
    summary: 'Make an egress pool; passwords are never shown again',
    description:
      'Members are tried by priority, and shared out by weight. Passwords, client secrets and refresh tokens are sealed before they are stored, and read back as `has_auth` and `has_oauth`. `auth.oauth` signs in by XOAUTH2 or OAUTHBEARER with tokens of `token_url`: by the client’s own secret, or by a refresh token. Token endpoints are called as webhooks are: by https, at public addresses.',
    locates: true,
    body: poolBody,
    answers: { 201: poolShape },
    alsoWrong: ({ body }) => wrongWithPool(wishOf(mend(body))),
    async handle({ principal, body }, deps) {
      const row = await deps.tenants.createPool(principal.accountId, { ...wishOf(body), name: body.name })
      return { status: 201, body: poolRecord(row), headers: { location: `/v1/egress-pools/${row.id}` } }
    },
  }),
  PATCH('/v1/egress-pools/{id}', {
    ...PEOPLE_ONLY,
    id: 'updateEgressPool',
    cli: 'pool update',
    summary: 'Change an egress pool; `members` is the whole new list',
    description:
      'What is left out stays as it is. Members are recognized by id, else by host and port, and keep their state and password.',
    body: poolChangeShape,
    answers: { 200: poolShape },
    faults: ['egress_pool.not_found', 'resource.conflict'],
    async alsoWrong({ body }, _, call, deps) {
      const old = await deps.store.pool(call.principal.accountId, param(call, 'id'))
      return old === null ? [] : wrongWithChange(mend(body), old)
    },
    async handle(call, deps) {
      const { accountId } = call.principal
      const old = await deps.tenants.findPool(accountId, param(call, 'id'))
      throwInvalid(wrongWithChange(call.body, old))
      const row = await deps.tenants.updatePool(accountId, old.id, wishOf(call.body))
      deps.relay?.reload()
      return { status: 200, body: poolRecord(row) }
    },
  }),

  removing({
    ...PEOPLE_ONLY,
    id: 'deleteEgressPool',
    cli: 'pool delete',
    path: '/v1/egress-pools/{id}',
    summary: 'Remove an egress pool that nothing uses',
    description:
      'Answers 409 `resource.conflict`, reason `in_use`, while a workspace uses it or mail waits in it; reason `built_in` for those that come with an account.',
    body: whyBody,
    of: poolShape,
    object: 'egress_pool',
    faults: ['resource.conflict'],
    remove: ({ principal }, ref, deps) => deps.tenants.deletePool(principal.accountId, ref),
  }),
  POST('/v1/egress-pools/{id}/test', {
    ...PEOPLE_ONLY,
    id: 'testEgressPool',
    cli: 'upstream test',
    summary: 'Connect to upstreams as the relay would, and say what they offer; no mail is sent',
    description:
      'All upstreams of the pool, or the one of `upstream_id`; of a pool that follows another, those of that pool. An upstream that refuses or is silent is an answer with `ok` false and the stage at which it failed.',
    body: poolTestShape,
    answers: { 200: poolTestedShape },
    faults: ['egress_pool.not_found'],
    async handle({ principal, params, body }, deps) {
      const { store, tenants, config, tokenDialler: dialler } = deps
      const pool = await tenants.findPool(principal.accountId, param({ params }, 'id'))
      const { upstreams } = (await leaderOf(store, pool)) ?? pool
      const wanted = body?.upstream_id
      const chosen = upstreams.filter(({ id }) => wanted === undefined || id === wanted)
      if (wanted !== undefined && chosen.length === 0)
        throw invalid([
          { field: 'body.upstream_id', kind: 'unknown', message: 'is no upstream of this pool' },
        ])
      const { pepper } = tenants.deps
      const { hostname } = config
      const parts = { store, dialler, pepper, hostname, endpoints: endpointsOf(config.relay) }
      const tried = chosen.map((one) => tryUpstream(parts, pool, one))
      const data = (await Promise.all(tried)).map(trialRecord)
      return { status: 200, body: { object: 'list', data } }
    },
  }),

  listing({
    ...PEOPLE_ONLY,
    id: 'listEgressPools',
    cli: 'pool list',
    path: '/v1/egress-pools',
    summary: 'Egress pools, newest first',
    description: 'Without passwords.',
    of: poolShape,
    rows: ({ principal }, deps) => ({
      fetch: (page) => deps.store.pools(principal.accountId, page),
      render: poolRecord,
    }),
  }),
  GET('/v1/egress-pools/{id}', {
    ...PEOPLE_ONLY,
    id: 'getEgressPool',
    cli: 'pool show',
    summary: 'One egress pool',
    description: 'By id or name.',
    answers: { 200: poolShape },
    faults: ['egress_pool.not_found'],
    async handle(call, deps) {
      const row = await deps.tenants.findPool(call.principal.accountId, param(call, 'id'))
      return { status: 200, body: poolRecord(row) }
    },
  }),
  GET('/v1/egress-pools/{id}/health', {
    ...PEOPLE_ONLY,
    id: 'getEgressPoolHealth',
    cli: 'upstream list',
    summary: 'How an egress pool is doing',
    description:
      'What waits in it, and what the relay last saw of its upstreams. `down`: no member is usable.',
    answers: { 200: poolHealthShape },
    faults: ['egress_pool.not_found'],
    async handle(call, deps) {
      const row = await deps.tenants.findPool(call.principal.accountId, param(call, 'id'))
      return { status: 200, body: await health(deps, row) }
    },
  }),
]
