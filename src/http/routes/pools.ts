/**
 * NAME      pools - egress pools and the upstream servers in them
 * DESCRIPTION
 *   For people only: a pool holds passwords of other servers and decides where mail
 *   goes. Its health joins what the queue holds for it with what relay/ last saw.
 */

import { timeOrNull, toRfc3339 } from '../../base/clock.js'
import { type FieldError, invalid } from '../../base/fault.js'
import { camel } from '../../base/text.js'
import { poolSentence } from '../../record/queue-state.js'
import { endpointsOf } from '../../relay/service/connection.js'
import { trialRecord, tryUpstream } from '../../relay/trial.js'
import { poolRecord, warmupRecord } from '../../resource/tenants.js'
import { leaderOf } from '../../store/pools.js'
import type { KnownPool } from '../../store/port/tenants.js'
import { type PoolWish, warmupsOf, wrongWithPool } from '../../tenant/pool.js'
import type { MemberWish } from '../../tenant/upstream.js'
import type { Deps } from '../deps.js'
import { GET, PATCH, PEOPLE_ONLY, POST, param, type RouteRow } from '../endpoint.js'
import { listing, removing, statesOf } from '../rows.js'
import { notAsRead, whyBody } from '../shapes/common.js'
import * as shapes from '../shapes/pools.js'
import { liveUpstream } from '../state-metrics.js'

const memberOf = ({ auth, ...member }: shapes.MemberBody): MemberWish => ({
  ...camel(member),
  auth: auth && { ...auth, oauth: auth.oauth && camel(auth.oauth) },
})

const wishOf = (body: shapes.PoolChange): PoolWish => ({
  ...camel(body),
  members: body.members?.map(memberOf),
})

/** Members without gaps: nobody objects to what stands in them. */
const mend = (body: shapes.PoolChange): shapes.PoolChange => {
  const members = body.members?.map((one) => ({ ...one, host: one?.host ?? '127.0.0.1' }))
  return members === undefined ? body : { ...body, members }
}

/** What of the sent record contradicts the stored one. A member may also say what it is about to become. */
const contradictions = (sent: shapes.PoolChange, old: KnownPool): readonly FieldError[] => {
  const record = poolRecord(old)
  const errors = [...notAsRead(sent, shapes.READ_POOL, [record])]
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
    errors.push(...notAsRead(member, shapes.READ_MEMBER, [was, becomes], `body.members[${i}]`))
  }
  return errors
}

const wrongWithChange = (sent: shapes.PoolChange, old: KnownPool): readonly FieldError[] => [
  ...contradictions(sent, old),
  ...wrongWithPool(wishOf(sent)),
]

const health = async (deps: Deps, pool: KnownPool) => {
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
    body: shapes.poolBody,
    answers: { 201: shapes.pool },
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
    body: shapes.poolChange,
    answers: { 200: shapes.pool },
    faults: ['egress_pool.not_found', 'resource.conflict'],
    async alsoWrong({ body }, _, call, deps) {
      const old = await deps.store.pool(call.principal.accountId, param(call, 'id'))
      return old === null ? [] : wrongWithChange(mend(body), old)
    },
    async handle(call, deps) {
      const { accountId } = call.principal
      const old = await deps.tenants.findPool(accountId, param(call, 'id'))
      const wrong = wrongWithChange(call.body, old)
      if (wrong.length > 0) throw invalid(wrong)
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
    of: shapes.pool,
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
    body: shapes.poolTest,
    answers: { 200: shapes.poolTested },
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
    of: shapes.pool,
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
    answers: { 200: shapes.pool },
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
    answers: { 200: shapes.poolHealth },
    faults: ['egress_pool.not_found'],
    async handle(call, deps) {
      const row = await deps.tenants.findPool(call.principal.accountId, param(call, 'id'))
      return { status: 200, body: await health(deps, row) }
    },
  }),
]
