/**
 * NAME      queue - looking at what waits, and what may be done to it
 * DESCRIPTION
 *   The verbs of `postern queue`. An order works in small steps and is answered when
 *   it is done; it goes on when the client has left, and the same order finishes what
 *   a restart cut off. A key of a workspace sees and hurries its own mail; moving and
 *   giving up is for operators.
 *   A hold stands over what waits now and what comes later. The key of a workspace
 *   holds its own mail and lifts what it held; a hold of the operator it sees without
 *   the operator's words, and cannot lift.
 */
import { type FieldError, invalid } from '../../base/fault.js'
import type { Page } from '../../lifecycle/page.js'
import * as record from '../../record/queue.js'
import { waitingInFull, waitingInShort } from '../../record/queue.js'
import { queueStateRecord } from '../../record/queue-state.js'
import { removed } from '../../resource/member.js'
import { SANDBOX_POOL } from '../../store/pools.js'
import type { QueueAction, QueueFilter, QueueScope } from '../../store/port/operations.js'
import {
  holdQueue,
  orderQueue,
  queueMatches,
  queueScope,
  releaseHold,
  reroutePool,
  type ScopeCaller,
  wrongReason,
  wrongWithScope,
} from '../../tenant/orders.js'
import { type Principal, readMode, visibleMode } from '../../tenant/principal.js'
import { createWaiting } from '../../tenant/waiting.js'
import type { Deps } from '../deps.js'
import { type Call, DELETE, GET, OPERATORS, POST, param, type RouteRow, WORKSPACES_TOO } from '../endpoint.js'
import { listing, statesOf } from '../rows.js'
import * as shapes from '../shapes/queue.js'

type Caller = Pick<Call, 'principal' | 'workspace'>

/** A workspace that is named narrows all that is said to it. */
const callerOf = ({ principal, workspace }: Caller): ScopeCaller => ({
  accountId: principal.accountId,
  workspaceId: workspace?.id ?? null,
  mode: visibleMode(principal),
  isWorkspace: principal.scope === 'workspace',
})

const showFor = ({ principal }: Caller) => (principal.scope === 'platform' ? waitingInFull : waitingInShort)

/** A key sees mail of its own mode. */
const wrongMode = (principal: Principal, asked: string | undefined): readonly FieldError[] => {
  const errors: FieldError[] = []
  readMode(principal, asked, errors)
  return errors
}

const whyOf = ({ store, clock, relay }: Deps, { principal }: Caller) =>
  createWaiting({ store, clock, view: relay?.view() ?? null }, principal.accountId)

const depths = [
  GET('/v1/queue', {
    ...WORKSPACES_TOO,
    id: 'getQueue',
    cli: 'queue top',
    summary: 'How much waits, by pool and workspace, and for what',
    description:
      'Counts recipients. `state` says in sentences what waits, what is held and by what, and which pools are down, live and test mail apart: the same as the dashboard and `postern status` say. A platform key and a session see all of the account, or the workspace of X-Workspace-Id; the key of a workspace sees its own. API keys do not see what is for the sandbox, and test-mode keys see nothing.',
    answers: { 200: shapes.queue },
    async handle(call, deps) {
      const caller = callerOf(call)
      const { accountId, workspaceId, mode } = caller
      const isOperator = !caller.isWorkspace
      const { depths, live, test } = await statesOf(deps, { accountId, workspaceId, isOperator }, true)
      const sandbox = new Set(mode === null ? [] : test.facts.pools.map(({ id }) => id))
      const why = await whyOf(deps, call)
      const show = showFor(call)
      const now = deps.clock.now()
      const seen = depths.filter(({ poolId }) => !sandbox.has(poolId))
      const data = seen.map(async (row) =>
        record.depth(row, await why.ofAll(row.workspaceId, row.poolId), show),
      )
      const slow = caller.isWorkspace ? [] : (deps.relay?.view()?.throttled ?? [])
      const throttled = slow.map((row) => record.throttle(row, now))
      const state = {
        live: queueStateRecord(live, now),
        ...(mode === null && { test: queueStateRecord(test, now) }),
      }
      return { status: 200, body: { object: 'queue', state, data: await Promise.all(data), throttled } }
    },
  }),
]

/** Enough to know where it hurts; counting all of a deep queue would keep other readers waiting. */
const MOST_LOOKED_AT = 10_000

/** All that is wrong with an order by itself; of a scope that has wrong parts, nobody can say that it names none. */
const wrongOrder = (
  { scope, reason }: Partial<shapes.OrderBody>,
  told: ReadonlySet<string> = new Set(),
): readonly FieldError[] => [
  ...(scope === undefined
    ? []
    : wrongWithScope(
        shapes.wishOf(scope),
        'body.scope',
        [...told].some((field) => field.startsWith('body.scope')),
      )),
  ...(reason === undefined ? [] : wrongReason(reason)),
]

/** What an order is about; throws all that is wrong with it. */
const scopeOfOrder = (deps: Deps, call: Call<unknown, shapes.OrderBody>): Promise<QueueScope> => {
  const wrong = wrongOrder(call.body)
  if (wrong.length > 0) throw invalid(wrong)
  return queueScope(deps, callerOf(call), shapes.wishOf(call.body.scope))
}

interface Ordered
  extends Pick<RouteRow<unknown, shapes.OrderBody>, 'id' | 'cli' | 'summary' | 'description' | 'body'> {
  readonly action: QueueAction
  readonly rights: typeof WORKSPACES_TOO | typeof OPERATORS
  /** Said for whoever gives no reason. */
  readonly unsaid?: string
}

const ordering = ({ action, rights, unsaid = '', ...row }: Ordered): RouteRow =>
  POST<unknown, shapes.OrderBody>(`/v1/queue/${action}`, {
    ...rights,
    ...row,
    answers: { 200: shapes.order },
    faults: ['egress_pool.not_found', 'email.not_found'],
    alsoWrong: ({ body }, told) => wrongOrder(body, told),
    async handle(call, deps) {
      const { reason = unsaid, to = null, dry_run: dryRun = false } = call.body
      const scope = await scopeOfOrder(deps, call)
      if (to !== null) await reroutePool(deps, scope.accountId, to)
      // a hold rests on all mail of its scope, and so frees all of it
      const liveOnly = callerOf(call).mode !== null && action !== 'release'
      const count = await queueMatches(deps, scope, liveOnly)
      const changed = dryRun ? 0 : await orderQueue(deps, action, scope, reason, to, liveOnly)
      if (action === 'retry' && !dryRun && !callerOf(call).isWorkspace) deps.relay?.wake()
      return { status: 200, body: record.order({ action, scope, to, count, changed, dryRun }) }
    },
  })

export const queue: readonly RouteRow[] = [
  ...depths,

  listing({
    ...WORKSPACES_TOO,
    id: 'listQueueEntries',
    cli: 'queue list',
    path: '/v1/queue/entries',
    summary: 'Recipients that wait, soonest first; then those under way and those held',
    description:
      'Each with why it waits. The list is in the order of the queue, where rows move while it is read: `next_cursor` leads to what is due later. API keys do not see what is for the sandbox.',
    query: shapes.entryQuery,
    of: shapes.entry,
    faults: ['egress_pool.not_found', 'email.not_found'],
    alsoWrong: ({ query }, _told, { principal }) => [
      ...wrongWithScope(shapes.wishOf({ domain: query.domain }), 'query', true),
      ...wrongMode(principal, query.mode),
    ],
    async rows(call, deps) {
      const { egress_pool_id, domain, email_id, state = null, mode = null } = call.query
      const caller = callerOf(call)
      const isTest = mode === 'test'
      const wish = shapes.wishOf({
        egress_pool_id: egress_pool_id ?? (isTest ? SANDBOX_POOL : undefined),
        ...{ domain, email_id },
      })
      const scope = await queueScope(deps, caller, wish, 'query')
      const filter: QueueFilter = { ...scope, state, liveOnly: caller.mode !== null || mode === 'live' }
      const { workspaceId, poolId, emailId } = scope
      const why = await whyOf(deps, call)
      const show = showFor(call)
      const fetch = async (page: Page) => {
        const found = await deps.store.queueEntries(filter, page)
        const rows = found.rows.map(async (row) => record.entry(row, await why.of(row), show))
        return { ...found, rows: await Promise.all(rows) }
      }
      const filters = { workspaceId, poolId, domain: scope.domain, emailId, state, mode }
      return { name: 'queue entries', filters, fetch, render: (one) => one }
    },
  }),
  GET('/v1/queue/ages', {
    ...WORKSPACES_TOO,
    id: 'getQueueAges',
    cli: 'queue ages',
    summary: 'How long what waits has waited, by pool, workspace or recipient domain',
    description: `Recipients by the time since they were accepted, most first; what waits for a time of its own is counted apart, and what is held is not in it. Looks at about ${MOST_LOOKED_AT} recipients; \`complete\` is false where more wait.`,
    query: shapes.ageQuery,
    answers: { 200: shapes.queueAges },
    alsoWrong: ({ query }, _told, { principal }) => wrongMode(principal, query.mode),
    async handle(call, deps) {
      const { by = 'pool', mode: asked = null } = call.query
      const { accountId, workspaceId, mode } = callerOf(call)
      const seen = mode ?? asked
      const of = { accountId, workspaceId, liveOnly: seen === 'live', testOnly: seen === 'test' }
      const now = deps.clock.now()
      const { rows, scheduled, complete } = await deps.store.queueAges(of, by, MOST_LOOKED_AT, now)
      const data = rows.slice(0, 100).map(record.queueAge)
      return { status: 200, body: { object: 'queue_ages', by, complete, scheduled, data } }
    },
  }),
  ordering({
    action: 'retry',
    id: 'retryQueue',
    cli: 'queue retry',
    rights: WORKSPACES_TOO,
    unsaid: 'retried',
    body: shapes.lightOrder,
    summary: 'Try at once what would be tried later',
    description:
      'Held mail stays held. The key of a workspace reaches its own mail. For anybody else, upstreams that are avoided because they failed are tried again at once, too.',
  }),
  ordering({
    action: 'release',
    id: 'releaseQueue',
    cli: 'queue release',
    rights: OPERATORS,
    unsaid: 'released',
    body: shapes.lightOrder,
    summary: 'Lift the holds of exactly this scope, and let its mail go on',
    description:
      'Also what no hold keeps: mail that may have been sent already when a connection broke, and mail that a backup brought back. What another hold covers stays. Needs a live platform key or a session.',
  }),
  ordering({
    action: 'reroute',
    id: 'rerouteQueue',
    cli: 'queue reroute',
    rights: OPERATORS,
    body: shapes.rerouteBody,
    summary: 'Move what waits to another pool',
    description:
      'What is on the wire finishes where it is. Test mail stays in its sandbox. Needs a live platform key or a session.',
  }),
  ordering({
    action: 'purge',
    id: 'purgeQueue',
    cli: 'queue purge',
    rights: OPERATORS,
    body: shapes.orderBody,
    summary: 'Give up what waits: it becomes bounced, or canceled while scheduled',
    description:
      'Cannot be undone; `dry_run` shows what it would meet. Answered when all of it is done, while everybody else is served. Needs a live platform key or a session.',
  }),
]

const ownerOf = (isWorkspace: boolean) => (isWorkspace ? 'workspace' : 'operator')

export const holds: readonly RouteRow[] = [
  POST<unknown, shapes.OrderBody>('/v1/holds', {
    ...WORKSPACES_TOO,
    id: 'placeHold',
    cli: 'queue hold',
    summary: 'Let nothing of this leave, now and later, until it is released',
    description:
      'Answers what it met; a retry with `dry_run` tells that before. The key of a workspace holds its own mail, by at most 100 holds.',
    locates: true,
    body: shapes.holdBody,
    answers: { 201: shapes.placedHold },
    faults: ['egress_pool.not_found', 'email.not_found', 'resource.conflict'],
    alsoWrong: ({ body }, told) => wrongOrder(body, told),
    async handle(call, deps) {
      const scope = await scopeOfOrder(deps, call)
      const count = await queueMatches(deps, scope)
      const owner = ownerOf(callerOf(call).isWorkspace)
      const { hold, changed } = await holdQueue(deps, scope, call.body.reason ?? '', owner)
      const headers = { location: `/v1/holds/${hold.id}` }
      return { status: 201, body: record.placedHold(hold, count, changed), headers }
    },
  }),
  listing({
    ...WORKSPACES_TOO,
    id: 'listHolds',
    cli: 'queue holds',
    path: '/v1/holds',
    summary: 'The holds that stand, newest first',
    description: 'The key of a workspace sees those that name its workspace.',
    of: shapes.hold,
    rows(call, deps) {
      const { accountId, workspaceId, isWorkspace } = callerOf(call)
      return {
        filters: { workspaceId },
        fetch: (page) => deps.store.listHolds(accountId, page, workspaceId),
        render: (row) => record.hold(row, !isWorkspace),
      }
    },
  }),
  DELETE('/v1/holds/{id}', {
    ...WORKSPACES_TOO,
    id: 'liftHold',
    cli: 'queue release',
    summary: 'Lift a hold, and let its mail go on',
    description:
      "What another hold covers stays. An operator's hold is not for the key of a workspace. When a restart cut it off, the same request finishes it.",
    body: shapes.lifting,
    answers: { 200: shapes.removedHold },
    faults: ['auth.scope_forbidden', 'hold.not_found'],
    alsoWrong: ({ body }) => (body?.reason === undefined ? [] : wrongReason(body.reason)),
    async handle(call, deps) {
      const id = param(call, 'id')
      const caller = callerOf(call)
      const reason = call.body?.reason ?? 'released'
      const changed = await releaseHold(deps, caller, id, reason, ownerOf(caller.isWorkspace))
      return { status: 200, body: { ...removed('hold', id), changed } }
    },
  }),
]
