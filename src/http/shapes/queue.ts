/**
 * NAME      queue - the shapes of the queue, its holds, what is ordered, and of jobs that meet many mails at once
 */
import Joi from 'joi'
import { WAITING_REASONS } from '../../record/queue.js'
import { JOB_ACTIONS, JOB_STATES } from '../../store/port/mail.js'
import { AGE_NAMES, QUEUE_GROUPS, QUEUE_STATES } from '../../store/port/operations.js'
import { SCOPE_ALL, SCOPE_PARTS, SCOPE_WORDS, type ScopeWish } from '../../tenant/orders.js'
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
} from './common.js'
import { emailFilters } from './emails.js'

type Member = (typeof SCOPE_PARTS)[keyof typeof SCOPE_PARTS]['member']
type ScopeBody = { readonly [member in Member]?: string | undefined } & {
  readonly all?: boolean | undefined
}

/** The parts of the queue by the words of the tenants' floor. */
export const wishOf = (scope: ScopeBody): ScopeWish => ({
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
export const lightOrder = body(() => ({ ...members(), reason: reason() }))
export const holdBody = body(() => ({ ...named(), reason: need(reason()) }))
export const orderBody = body(() => ({ ...members(), reason: need(reason()) }))
export const rerouteBody = body(() => ({
  ...members(),
  reason: need(reason()),
  to: need(part()).description('Egress pool, by name or id'),
}))
/** The widest of them. */
export type OrderBody = TypeOf<typeof lightOrder> & { readonly to?: string }
export const lifting = anyBody(() => ({ reason: reason() }))

const matched = shape(() => Joi.object({ waiting: count(), held: count(), under_way: count() }).required())

const scopeRecord = shape(() => ({
  workspace_id: nullable(Joi.string()),
  egress_pool_id: nullable(Joi.string()),
  domain: nullable(Joi.string()),
  email_id: nullable(Joi.string()),
}))

export const order = record('QueueOrder', () => ({
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

export const hold = record('Hold', holdMembers)
export const placedHold = record('PlacedHold', () => ({
  ...holdMembers(),
  matched: matched(),
  changed: count(),
}))
export const removedHold = shape(() =>
  removedOf(hold)().keys({ changed: count().description('Recipients set free') }),
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

export const queueState = shape(() =>
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

export const queue = record('Queue', () => ({
  object: Joi.string().valid('queue').required(),
  state: Joi.object({ live: queueState(), test: queueState().optional() })
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

export const ageQuery = shapeOf(() => ({
  by: oneOf(...QUEUE_GROUPS).description('What the rows are; `pool` unless given'),
  mode: oneOf('live', 'test').description('Only mail of it'),
}))

export const queueAges = record('QueueAges', () => ({
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

export const entry = record('QueueEntry', () => ({
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

export const entryQuery = shapeOf(() => ({
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
  ...emailFilters(),
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

export const preview = record('JobPreview', () => ({
  object: Joi.string().valid('job_preview').required(),
  ...matchedMails(),
  dry_run: Joi.boolean().valid(true).required(),
}))

export const job = record('Job', () => ({
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
