/**
 * NAME      queue - looking at what waits, and what may be done to it
 *   The verbs of `postern queue`. An order works in small steps and is answered when it is done; it goes on when the
 *   client has left, and the same order finishes what a restart cut off. A key of a workspace sees and hurries its own
 *   mail; moving and giving up is for operators.
 *   A hold stands over what waits now and what comes later. The key of a workspace holds its own mail and lifts what
 *   it held; a hold of the operator it sees without the operator's words, and cannot lift.
 */
import Joi from 'joi'
import { type FieldError, throwInvalid, wrongBy } from '../../base/fault.js'
import type { Page } from '../../lifecycle/page.js'
import * as records from '../../record/queue.js'
import { queueStateRecord, WAITING_REASONS, waitingInFull, waitingInShort } from '../../record/queue.js'
import { removed } from '../../resource/member.js'
import { SANDBOX_POOL } from '../../store/pools.js'
import { JOB_ACTIONS, JOB_STATES } from '../../store/port/mail.js'
import {
  AGE_NAMES,
  QUEUE_GROUPS,
  QUEUE_STATES,
  type QueueAction,
  type QueueFilter,
  type QueueScope,
} from '../../store/port/operations.js'
import {
  holdQueue,
  orderQueue,
  queueMatches,
  queueScope,
  releaseHold,
  reroutePool,
  SCOPE_ALL,
  SCOPE_PARTS,
  SCOPE_WORDS,
  type ScopeCaller,
  type ScopeWish,
  wrongReason,
  wrongWithScope,
} from '../../tenant/orders.js'
import { type Principal, readMode, visibleMode } from '../../tenant/principal.js'
import { createWaiting } from '../../tenant/waiting.js'
import type { HttpDeps } from '../deps.js'
import {
  type Call,
  DELETE,
  GET,
  listing,
  OPERATORS,
  POST,
  param,
  type RouteRow,
  statesOf,
  WORKSPACES_TOO,
} from '../endpoint.js'
import {
  anyBody,
  body,
  count,
  id,
  need,
  nullable,
  oneOf,
  orNull,
  pageQuery,
  record,
  removedOf,
  shape,
  shapeOf,
  type TypeOf,
  time,
} from '../shapes/common.js'
import { emailFiltersShape } from '../shapes/emails.js'

type Member = (typeof SCOPE_PARTS)[keyof typeof SCOPE_PARTS]['member']
type ScopeBody = { readonly [member in Member]?: string | undefined } & {
  readonly all?: boolean | undefined
}

/** The parts of the queue by the words of the tenants' floor. */
const wishOf = (scope: ScopeBody): ScopeWish => ({
  workspace: scope.workspace_id,
  pool: scope.egress_pool_id,
  domain: scope.domain,
  email: scope.email_id,
  all: scope.all,
})

const part = () => orNull(Joi.string().max(255))

const scope = shape(() =>
  Joi.object<ScopeBody>({
    ...Object.fromEntries(
      SCOPE_WORDS.map((word) => [SCOPE_PARTS[word].member, part().description(SCOPE_PARTS[word].says)]),
    ),
    all: orNull(Joi.boolean()).description(SCOPE_ALL),
  }).meta({ name: 'QueueScope' }),
)

const reason = () =>
  orNull(Joi.string().allow('').max(2_000)).description('Why; kept in the timeline of each mail')
const named = shape(() => ({ scope: need(orNull(scope())) }))
const members = shape(() => ({
  ...named(),
  dry_run: orNull(Joi.boolean()).description('Only look: `matched` tells what it would meet'),
}))

/** What goes back to normal by itself needs no reason. */
const lightOrderShape = body(() => ({ ...members(), reason: reason() }))
const holdBody = body(() => ({ ...named(), reason: need(reason()) }))
const orderBody = body(() => ({ ...members(), reason: need(reason()) }))
const rerouteBody = body(() => ({
  ...members(),
  reason: need(reason()),
  to: need(part()).description('Egress pool, by name or id'),
}))
/** The widest of them. */
type OrderBody = TypeOf<typeof lightOrderShape> & { readonly to?: string }
const lifting = anyBody(() => ({ reason: reason() }))

const matched = shape(() => Joi.object({ waiting: count(), held: count(), under_way: count() }).required())

const scopeRecord = shape(() => ({
  workspace_id: nullable(Joi.string()),
  egress_pool_id: nullable(Joi.string()),
  domain: nullable(Joi.string()),
  email_id: nullable(Joi.string()),
}))

const orderShape = record('QueueOrder', () => ({
  action: Joi.string().valid('hold', 'release', 'retry', 'reroute', 'purge').required(),
  ...scopeRecord(),
  to: nullable(Joi.string()).description('The pool of a reroute, as it was named'),
  matched: matched(),
  changed: count().description('Recipients; what is on the wire at that moment is left alone'),
  dry_run: Joi.boolean().required(),
}))

const holdMembers = shape(() => ({
  id: id('hold'),
  object: Joi.string().valid('hold').required(),
  ...scopeRecord(),
  reason: nullable(Joi.string()).description("null: an operator's reason, which is not for the workspace"),
  owner: Joi.string()
    .valid('operator', 'workspace')
    .required()
    .description('Who put it there; a key of the workspace lifts its own holds only'),
  created_at: time(),
}))

const holdShape = record('Hold', holdMembers)
const placedHoldShape = record('PlacedHold', () => ({
  ...holdMembers(),
  matched: matched(),
  changed: count(),
}))
const removedHoldShape = shape(() =>
  removedOf(holdShape)().keys({ changed: count().description('Recipients set free') }),
)

const waiting = shape(() =>
  nullable(
    Joi.object({
      reason: need(oneOf(...WAITING_REASONS)),
      detail: Joi.string().required(),
      until: nullable(Joi.string()),
    }),
  ),
)

const stateFigures = () => ({ waiting: count(), scheduled: count(), held: count() })

const statePool = shapeOf(() => ({
  egress_pool_id: Joi.string().required(),
  state: need(oneOf('ok', 'weak', 'down', 'paused', 'no_upstream')).description(
    '`weak`: some of its upstreams take mail',
  ),
  since: nullable(Joi.string()).description('Since when it has been down'),
  ...stateFigures(),
  oldest_at: nullable(Joi.string()),
  warmup_until: nullable(Joi.string()).description(
    'Its upstreams have been given what their warm-up allows today: when it goes on',
  ),
  says: Joi.string().required(),
  failing: Joi.array()
    .items(
      Joi.object({
        upstream: Joi.string().required(),
        since: nullable(Joi.string()),
        error: nullable(Joi.string()),
      }),
    )
    .required()
    .description('Operators see them'),
}))

const stateHold = shapeOf(() => ({
  hold_id: nullable(Joi.string()).description('null: no hold, or many'),
  by: need(
    oneOf(
      ...['all', 'workspace', 'pool', 'domain', 'email', 'many', 'part'],
      ...['suspended', 'ambiguous', 'restored', 'exported', 'other'],
    ),
  ).description('`many`: mails that are held one by one'),
  since: nullable(Joi.string()),
  reason: nullable(Joi.string()),
  recipients: count(),
  says: Joi.string().required(),
}))

export const queueStateShape = shape(() =>
  Joi.object({
    tone: need(oneOf('ok', 'wait', 'bad')).description(
      '`bad`: a pool sends nothing that nobody held; `wait`: mail is held, or has waited for a minute and more',
    ),
    title: Joi.string().required().description('The state in one sentence'),
    says: Joi.string().required().description('What proves it, in some more'),
    short: nullable(Joi.string()).description('Such as `138 wait, 506 held`; null where there is nothing'),
    down: count().description('Pools that are down, with or without mail'),
    ...stateFigures(),
    oldest_at: nullable(Joi.string()).description('When the oldest that waits was accepted'),
    pools: Joi.array().items(statePool()).required(),
    holds: Joi.array()
      .items(stateHold())
      .required()
      .description('What is held, and by what; also holds that have met nothing yet'),
  })
    .required()
    .meta({ name: 'QueueState' })
    .description(
      'Recipients that wait are due or under way; those held and those with a time of their own (`scheduled`) are counted apart',
    ),
)

const queueShape = record('Queue', () => ({
  object: Joi.string().valid('queue').required(),
  state: Joi.object({ live: queueStateShape(), test: queueStateShape().optional() })
    .required()
    .description('`test` is for sessions: API keys do not see what is for the sandbox'),
  data: Joi.array()
    .items(
      Joi.object({
        egress_pool_id: Joi.string().required(),
        workspace_id: Joi.string().required(),
        due: count().description('Could be sent now'),
        leased: count().description('With the relay'),
        waiting: count().description('Due later'),
        held: count(),
        oldest_due_at: nullable(Joi.string()),
        waiting_for: waiting().description('Why all of it waits; null: nothing is known to be in its way'),
      }),
    )
    .required(),
  throttled: Joi.array()
    .items(
      Joi.object({
        egress_pool_id: Joi.string().required(),
        domain: Joi.string().required(),
        at_once: count().description('So many messages at once'),
        until: nullable(Joi.string()).description('The end of its pause'),
        since: time(),
        rule: Joi.string().required().description('Which rule of the relay its reply met'),
        last_response: Joi.string().required(),
      }),
    )
    .required()
    .description('Recipient domains that asked for a slower pace, and keep mail waiting; operators see them'),
}))

const ageQuery = shapeOf(() => ({
  by: oneOf(...QUEUE_GROUPS).description('What the rows are; `pool` unless given'),
  mode: oneOf('live', 'test').description('Only mail of it'),
}))

const queueAgesShape = record('QueueAges', () => ({
  object: Joi.string().valid('queue_ages').required(),
  by: need(oneOf(...QUEUE_GROUPS)),
  complete: Joi.boolean().required().description('False where more waits than was looked at'),
  scheduled: count().description('Waits for a time of its own; in no row'),
  data: Joi.array()
    .items(
      Joi.object({
        key: Joi.string().required().description('Id of the pool or workspace, or the recipient domain'),
        recipients: count(),
        ages: Joi.object(Object.fromEntries(AGE_NAMES.map((name) => [name, count()])))
          .required()
          .description('Recipients by the time since they were accepted'),
        oldest_at: time(),
        next_due_at: nullable(Joi.string()),
        last_response: nullable(Joi.string()).description('What was said to one of them'),
      }),
    )
    .required(),
}))

const entryShape = record('QueueEntry', () => ({
  email_id: id('em'),
  workspace_id: Joi.string().required(),
  egress_pool_id: Joi.string().required(),
  address: Joi.string().required(),
  status: Joi.string().required(),
  attempts: count(),
  due_at: nullable(Joi.string()),
  held: nullable(Joi.string()).description(
    'The hold that keeps it; `ambiguous`: it may have been sent already; `restored`: a backup brought it back; else what suspends or carries it away',
  ),
  under_way: Joi.boolean().required(),
  last_response: nullable(Joi.string()),
  waiting: waiting(),
}))

const entryQuery = shapeOf(() => ({
  egress_pool_id: Joi.string().max(255).description(SCOPE_PARTS.pool.says),
  domain: Joi.string().max(255).description(SCOPE_PARTS.domain.says),
  email_id: Joi.string().max(255).description(SCOPE_PARTS.email.says),
  state: oneOf(...QUEUE_STATES).description('Only what waits, is with the relay, or is held'),
  mode: oneOf('live', 'test').description('Only mail of it; `test` is what is for the sandbox'),
  limit: pageQuery().limit,
  cursor: pageQuery().cursor,
}))

const bulkOrder = body(() => ({
  action: need(oneOf(...JOB_ACTIONS)).description(
    'cancel: what is scheduled. retry: what would be tried later is due now. release: what no hold keeps, such as mail that may ' +
      'have been sent already. resend: to the recipients that bounced, or else to all. suppress: the recipients that bounced, or else all',
  ),
  ...emailFiltersShape(),
  reason: need(Joi.string().max(500)).description('Why; it stands with what is changed'),
  all: orNull(Joi.boolean()).description('true: all mails, where neither q nor a filter is given'),
  dry_run: orNull(Joi.boolean()).description('true: only counts'),
}))
export const bulkBody = shape(() => bulkOrder().meta({ name: 'BulkOrder' }))
export type BulkBody = TypeOf<typeof bulkBody>

const matchedMails = shape(() => ({
  action: need(oneOf(...JOB_ACTIONS)),
  matched: Joi.alternatives()
    .try(
      Joi.number().integer().min(0),
      Joi.object({
        at_least: count().description('As many as were counted in three seconds; there are more'),
      }),
    )
    .required()
    .description('Mails that matched when it was made'),
}))

export const previewShape = record('JobPreview', () => ({
  object: Joi.string().valid('job_preview').required(),
  ...matchedMails(),
  dry_run: Joi.boolean().valid(true).required(),
}))

export const jobShape = record('Job', () => ({
  id: id('job'),
  object: Joi.string().valid('job').required(),
  ...matchedMails(),
  state: need(oneOf(...JOB_STATES)),
  reason: Joi.string().required(),
  q: nullable(Joi.string()),
  workspace_id: nullable(Joi.string()).description('null: it may be about several'),
  done: count().description('Mails that were changed'),
  skipped: count().description('Mails that needed no change'),
  failed: count().description('Mails that could not be changed'),
  per_second: nullable(Joi.number().min(0)).description(
    'Mails met a second since it was made; null before the first',
  ),
  seconds_left: nullable(Joi.number().integer().min(0)).description(
    'At this speed; null where it has ended, or where it is not known how many there are',
  ),
  last_error: nullable(Joi.string()).description('A mail that could not be changed, and why'),
  created_by: Joi.string()
    .required()
    .description(
      'The id of the key, person or session that made it; `cli:` and the number of a user: the command line',
    ),
  created_by_name: nullable(Joi.string()).description('What that is called'),
  created_at: time(),
  updated_at: time(),
  finished_at: nullable(Joi.string()),
}))

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
const wrongMode = (principal: Principal, asked: string | undefined): readonly FieldError[] =>
  wrongBy((errors) => readMode(principal, asked, errors))

const whyOf = ({ store, clock, relay }: HttpDeps, { principal }: Caller) =>
  createWaiting({ store, clock, view: relay?.view() ?? null }, principal.accountId)

const depths = [
  GET('/v1/queue', {
    ...WORKSPACES_TOO,
    id: 'getQueue',
    cli: 'queue top',
    summary: 'How much waits, by pool and workspace, and for what',
    description:
      'Counts recipients. `state` says in sentences what waits, what is held and by what, and which pools are down, live and test mail apart: the same as the dashboard and `postern status` say. A platform key and a session see all of the account, or the workspace of X-Workspace-Id; the key of a workspace sees its own. API keys do not see what is for the sandbox, and test-mode keys see nothing.',
    answers: { 200: queueShape },
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
        records.depth(row, await why.ofAll(row.workspaceId, row.poolId), show),
      )
      const slow = caller.isWorkspace ? [] : (deps.relay?.view()?.throttled ?? [])
      const throttled = slow.map((row) => records.throttle(row, now))
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
  { scope, reason }: Partial<OrderBody>,
  told: ReadonlySet<string> = new Set(),
): readonly FieldError[] => [
  ...(scope === undefined
    ? []
    : wrongWithScope(
        wishOf(scope),
        'body.scope',
        [...told].some((field) => field.startsWith('body.scope')),
      )),
  ...(reason === undefined ? [] : wrongReason(reason)),
]

/** What an order is about; throws all that is wrong with it. */
const scopeOfOrder = (deps: HttpDeps, call: Call<unknown, OrderBody>): Promise<QueueScope> => {
  throwInvalid(wrongOrder(call.body))
  return queueScope(deps, callerOf(call), wishOf(call.body.scope))
}

interface Ordered
  extends Pick<RouteRow<unknown, OrderBody>, 'id' | 'cli' | 'summary' | 'description' | 'body'> {
  readonly action: QueueAction
  readonly rights: typeof WORKSPACES_TOO | typeof OPERATORS
  /** Said for whoever gives no reason. */
  readonly unsaid?: string
}

const ordering = ({ action, rights, unsaid = '', ...row }: Ordered): RouteRow =>
  POST<unknown, OrderBody>(`/v1/queue/${action}`, {
    ...rights,
    ...row,
    answers: { 200: orderShape },
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
      return { status: 200, body: records.order({ action, scope, to, count, changed, dryRun }) }
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
    query: entryQuery,
    of: entryShape,
    faults: ['egress_pool.not_found', 'email.not_found'],
    alsoWrong: ({ query }, _told, { principal }) => [
      ...wrongWithScope(wishOf({ domain: query.domain }), 'query', true),
      ...wrongMode(principal, query.mode),
    ],
    async rows(call, deps) {
      const { egress_pool_id, domain, email_id, state = null, mode = null } = call.query
      const caller = callerOf(call)
      const isTest = mode === 'test'
      const wish = wishOf({
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
        const rows = found.rows.map(async (row) => records.entry(row, await why.of(row), show))
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
    query: ageQuery,
    answers: { 200: queueAgesShape },
    alsoWrong: ({ query }, _told, { principal }) => wrongMode(principal, query.mode),
    async handle(call, deps) {
      const { by = 'pool', mode: asked = null } = call.query
      const { accountId, workspaceId, mode } = callerOf(call)
      const seen = mode ?? asked
      const of = { accountId, workspaceId, liveOnly: seen === 'live', testOnly: seen === 'test' }
      const now = deps.clock.now()
      const { rows, scheduled, complete } = await deps.store.queueAges(of, by, MOST_LOOKED_AT, now)
      const data = rows.slice(0, 100).map(records.queueAge)
      return { status: 200, body: { object: 'queue_ages', by, complete, scheduled, data } }
    },
  }),
  ordering({
    action: 'retry',
    id: 'retryQueue',
    cli: 'queue retry',
    rights: WORKSPACES_TOO,
    unsaid: 'retried',
    body: lightOrderShape,
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
    body: lightOrderShape,
    summary: 'Lift the holds of exactly this scope, and let its mail go on',
    description:
      'Also what no hold keeps: mail that may have been sent already when a connection broke, and mail that a backup brought back. What another hold covers stays. Needs a live platform key or a session.',
  }),
  ordering({
    action: 'reroute',
    id: 'rerouteQueue',
    cli: 'queue reroute',
    rights: OPERATORS,
    body: rerouteBody,
    summary: 'Move what waits to another pool',
    description:
      'What is on the wire finishes where it is. Test mail stays in its sandbox. Needs a live platform key or a session.',
  }),
  ordering({
    action: 'purge',
    id: 'purgeQueue',
    cli: 'queue purge',
    rights: OPERATORS,
    body: orderBody,
    summary: 'Give up what waits: it becomes bounced, or canceled while scheduled',
    description:
      'Cannot be undone; `dry_run` shows what it would meet. Answered when all of it is done, while everybody else is served. Needs a live platform key or a session.',
  }),
]

const ownerOf = (isWorkspace: boolean) => (isWorkspace ? 'workspace' : 'operator')

export const holds: readonly RouteRow[] = [
  POST<unknown, OrderBody>('/v1/holds', {
    ...WORKSPACES_TOO,
    id: 'placeHold',
    cli: 'queue hold',
    summary: 'Let nothing of this leave, now and later, until it is released',
    description:
      'Answers what it met; a retry with `dry_run` tells that before. The key of a workspace holds its own mail, by at most 100 holds.',
    locates: true,
    body: holdBody,
    answers: { 201: placedHoldShape },
    faults: ['egress_pool.not_found', 'email.not_found', 'resource.conflict'],
    alsoWrong: ({ body }, told) => wrongOrder(body, told),
    async handle(call, deps) {
      const scope = await scopeOfOrder(deps, call)
      const count = await queueMatches(deps, scope)
      const owner = ownerOf(callerOf(call).isWorkspace)
      const { hold, changed } = await holdQueue(deps, scope, call.body.reason ?? '', owner)
      const headers = { location: `/v1/holds/${hold.id}` }
      return { status: 201, body: records.placedHold(hold, count, changed), headers }
    },
  }),
  listing({
    ...WORKSPACES_TOO,
    id: 'listHolds',
    cli: 'queue holds',
    path: '/v1/holds',
    summary: 'The holds that stand, newest first',
    description: 'The key of a workspace sees those that name its workspace.',
    of: holdShape,
    rows(call, deps) {
      const { accountId, workspaceId, isWorkspace } = callerOf(call)
      return {
        filters: { workspaceId },
        fetch: (page) => deps.store.listHolds(accountId, page, workspaceId),
        render: (row) => records.hold(row, !isWorkspace),
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
    body: lifting,
    answers: { 200: removedHoldShape },
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
