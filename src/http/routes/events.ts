/**
 * NAME      events - the log: page by page, one by one, and live
 *   A workspace's key sees its workspace, a key its own mode, a session both; what concerns the whole account only who
 *   acts for it, as long as no workspace is named. A mark is a place in the log; who goes forward from one that is too
 *   old is told so, who walks back comes to an end.
 */
import type { Readable } from 'node:stream'
import Joi from 'joi'
import { Fault, type FieldError, throwInvalid } from '../../base/fault.js'
import { EVENT_SOURCES } from '../../lifecycle/facts.js'
import { type Page, rowBeside } from '../../lifecycle/page.js'
import { EVENT_TYPES, type EventType, nearestEventType, readEventType } from '../../mail/event-type.js'
import { loggedEvent } from '../../record/event.js'
import type { LogFilter, LogRow } from '../../store/port/log.js'
import { type Principal, readMode, requireSession } from '../../tenant/principal.js'
import { requireRight } from '../../tenant/rights.js'
import type { HttpDeps } from '../deps.js'
import {
  ANYBODY,
  type Answer,
  asSeenBy,
  type Call,
  GET,
  listAnswer,
  param,
  type RouteRow,
  reading,
} from '../endpoint.js'
import { matcherOf } from '../feed.js'
import {
  fileQuery,
  id,
  listOf,
  need,
  nullable,
  type object,
  oneOf,
  record,
  shape,
  shapeOf,
  type TypeOf,
  time,
  timestamp,
} from '../shapes/common.js'
import { headerValue, readTime } from '../wire/values.js'

/** A bounce as others sort it. */
const bounce = shapeOf(() => ({
  provider: nullable(Joi.string()).description(
    'Who runs the mailbox (google, microsoft, yahoo, …), by the domain of the recipient, else by the server that refused and by its words. null: nothing tells',
  ),
  provider_types: Joi.object({
    ses: Joi.object({ type: Joi.string().required(), sub_type: Joi.string().required() }).required(),
    postmark: Joi.string().required(),
  })
    .required()
    .description('What Amazon SES (bounceType, bounceSubType) and Postmark (Type) call such a bounce'),
}))

const shared = shape(() => ({
  id: id('evt'),
  object: Joi.string().valid('event').required(),
  type: Joi.string()
    .required()
    .description(
      '`email.` and a status; of what was not applied, the status it would have been. Others move no status: email.complained (the recipient called it spam), email.reported (feedback that is no complaint, or a mail at a return path that is no report or cannot be read: reason `auto_reply`, `unread`), email.sender_notified (a report of our own went to who submitted it), and email.held, released, rerouted, retried (orders of an operator). In the log also what concerns no mail. New types may come: pass over what you do not know',
    ),
  recipient: nullable(Joi.string()),
  source: need(oneOf(...EVENT_SOURCES)),
  occurred_at: time(),
  created_at: time(),
  smtp: nullable(
    Joi.object({
      code: Joi.number().integer().required(),
      enhanced: nullable(Joi.string()),
      text: Joi.string().allow('').required(),
    }),
  ),
  mta: nullable(
    Joi.object({
      pool_id: Joi.string().required(),
      host: nullable(Joi.string()),
      upstream_id: Joi.string(),
    }),
  ),
  attempt: nullable(Joi.number().integer()),
  change: Joi.boolean()
    .required()
    .description(
      'true: the status is another than before, or it is a first event, a complaint, or about no mail; false: a further failed attempt, an order, or what was not applied',
    ),
  applied: Joi.boolean()
    .required()
    .description('false: noted, and nothing changed; detail.unapplied says why'),
  reason: Joi.string(),
  detail: Joi.object()
    .pattern(Joi.string(), Joi.alternatives(Joi.string().allow(''), Joi.number(), Joi.boolean()).allow(null))
    .description(
      'Of an attempt: stage, tls, port, ms, error, class, fault, upstream_message_id (what a service that took the mail by HTTPS calls it). Of a report: action, status, class, category, fault, remote_mta, diagnostic (verbatim), tier of trust, final_recipient (where it names another address than ours), unapplied (why it changed nothing: other_recipient, groups_disagree, unclear, never_sent, unverified, relayed_means_sent, unknown_action, not_a_complaint, unread, auto_reply, stale_attempt, or already_ and a status), suppression (what became of it: added, pending until a person decides on the incident, test_mode, other_address, workspace_deleted), report (the name under which the report itself is kept for `retention.reports`: GET /v1/emails/{id}/events/{event}/report). Of email.bounced with the reason suppressed: entry, where a whole domain is on the list (`*@example.com`), or list, where the reader unsubscribed from that mailing list. Of email.sender_notified: action, dsn (the id of the mail)',
    ),
  bounce: bounce().description('Of email.bounced only'),
}))

export const eventShape = record('Event', () => ({ ...shared(), email_id: id('em') }))

const loggedEventShape = record('LoggedEvent', () => ({
  ...shared(),
  email_id: nullable(Joi.string()).description('null: it is about no mail, and `data` names its thing'),
  workspace_id: nullable(Joi.string()).description('null: of the whole account'),
  mode: Joi.string().valid('live', 'test').required(),
  from: Joi.string(),
  subject: Joi.string().allow('', null),
  message_id: Joi.string(),
  tags: Joi.array().items(
    Joi.object({ name: Joi.string().required(), value: Joi.string().allow('').required() }),
  ),
  data: Joi.object()
    .unknown()
    .description(
      'Of an event about no mail. Of suppression.*: suppression_id, email, list (of whose mail it is alone; absent: all mail), origin, scope (workspace, account), source_id, reason (of a bounce or a complaint), and expires_at or cause (removed, expired, or pending: an incident has begun, and the address is written to). Of suppression.incident: incident_id, upstream_id, domain, said (what the server said, without what names one mail), addresses, delivered_before (how many of those took mail before) and outcomes (of how many in all). Of domain.*: domain_id, name, and of domain.failed reason (dns, keys_rotated) and the records that are not there. Of upstream.*: upstream_id, egress_pool_ids (its own pool and those that follow it), host, port, and why (stage, message; the stage `auth` also when for a minute no login was let in or no token was to be had) or down_since and seconds. Of workspace.rate_alarm: workspace_id, alarm (complaints, hard_bounces, deferrals), rate, count, tried, limit, window_seconds, cause (the most frequent reason: reason, title, count, of, domain; or null), and hold_id where its mail is held. Of workspace.rate_alarm_ended, when the rate was below the limit for an hour, or has no limit any more: the same but limit, cause and hold_id, raised_at, and seconds for which it stood. Of webhook.*: webhook_id first. Of postmaster.received, mail of anybody to postmaster@ or abuse@ the bounce domain: from, subject, to, text (its first 2,000 characters), size, ip, hello; of people only owners see it',
    ),
}))

const filters = shape(() => ({
  type: Joi.array<readonly string[]>()
    .items(Joi.string().max(100))
    .single()
    .max(100)
    .description(`May stand several times. One of ${EVENT_TYPES.join(', ')}`),
  email_id: Joi.string().max(100),
  recipient: Joi.string().max(320),
  change: Joi.string().valid('true', 'false').description('true: changes only; false: notes only'),
  created_after: timestamp(),
  created_before: timestamp(),
  mode: Joi.string().valid('live', 'test').description('sessions only; a key sees its own mode'),
  after: Joi.string().max(300).description('A mark: the `id` of an event on the stream. What came after it'),
}))
type FilterQuery = TypeOf<ReturnType<typeof object<ReturnType<typeof filters>>>>

const logQuery = shapeOf(() => ({
  ...filters(),
  ...fileQuery(),
  after: filters().after.description(
    'The id of an event (`evt_…`): those older than it, as on every list. Or a mark, which is the `id` of an event on the stream: what came after it. Not beside `cursor` or `before`',
  ),
}))

const streamQuery = shapeOf(() => ({
  ...filters(),
  merge: Joi.string()
    .pattern(/^[1-9]\d{2,3}ms$/)
    .description('100ms to 9999ms: at most one `log.merged` event in so long, with counters and last states')
    .meta({ must: 'must be 100ms to 9999ms' }),
}))
type StreamQuery = TypeOf<typeof streamQuery>

const streamTextShape = shape(() =>
  Joi.string().description(
    'text/event-stream: `id` is a mark, `event` the type, `data` the record of the event',
  ),
)

type Caller = Pick<Call, 'principal' | 'workspace'>

const readTypes = (
  texts: readonly (string | undefined)[] | undefined,
  errors: FieldError[],
): readonly EventType[] | null => {
  if (texts === undefined) return null
  const types = texts.flatMap((text) => {
    const type = text === undefined ? null : readEventType(text)
    if (type === null && text !== undefined) {
      const message = `${JSON.stringify(text)} is no type of event; the nearest is ${nearestEventType(text)}`
      errors.push({ field: 'query.type', message, kind: 'unsupported' })
    }
    return type ?? []
  })
  return [...new Set(types)].sort()
}

/** What strangers wrote to postmaster@ is for owners, of people. It is about no mail and no recipient. */
const typesSeen = (
  { role }: Principal,
  types: readonly EventType[] | null,
  query: FilterQuery,
): readonly EventType[] | null => {
  if (role === null || role === 'owner') return types
  if (types === null && (query.email_id ?? query.recipient) !== undefined) return types
  const seen = (types ?? EVENT_TYPES).filter((type) => type !== 'postmaster.received')
  if (seen.length > 0 || types?.length === 0) return seen
  throw new Fault('auth.role_forbidden', { detail: 'mail to postmaster@ is for owners' })
}

const readFilter = (
  { principal, workspace }: Caller,
  query: FilterQuery,
  errors: FieldError[],
): LogFilter => ({
  accountId: principal.accountId,
  workspaceId: workspace?.id ?? null,
  accountWide: workspace === null && principal.scope === 'platform',
  mode: readMode(principal, query.mode, errors),
  types: typesSeen(principal, readTypes(query.type, errors), query),
  emailId: query.email_id ?? null,
  recipient: query.recipient?.toLowerCase() ?? null,
  change: query.change === undefined ? null : query.change === 'true',
  createdAfter: readTime('query.created_after', query.created_after, errors),
  createdBefore: readTime('query.created_before', query.created_before, errors),
})

/** What names an event, and is no mark. */
const EVENT = 'evt_'

/** The store's mark behind a mark of ours. */
const readMark = (
  { marks, store }: HttpDeps,
  { principal }: Caller,
  field: string,
  text: string | null | undefined,
  errors: FieldError[],
): string | null => {
  if (text == null) return null
  const mark = marks.read(text, principal.accountId)
  if (mark !== null && store.isMark(mark)) return mark
  errors.push({ field, message: 'is no mark of this log and account', kind: 'format' })
  return null
}

/** Of a list, `after` may also name an event. */
const withMark = ({ after, ...rest }: FilterQuery): FilterQuery =>
  after === undefined || after.startsWith(EVENT) ? rest : { ...rest, after }

/** What is wrong with a query beside its shape. */
const wrongQuery = (
  { query }: { readonly query: FilterQuery },
  _: unknown,
  caller: Caller,
  deps: HttpDeps,
): readonly FieldError[] => {
  const errors: FieldError[] = []
  readFilter(caller, query, errors)
  readMark(deps, caller, 'query.after', query.after, errors)
  return errors
}

const expired = async ({ store, marks }: HttpDeps, accountId: string): Promise<Fault> =>
  new Fault('event.expired', { oldest: marks.write((await store.logEnds()).oldest, accountId) })

const NO_FILTER = {
  ...{ types: null, emailId: null, recipient: null, change: null, createdAfter: null, createdBefore: null },
}

/** A page; going forward from what is too old is refused. */
const fetchFrom = async (deps: HttpDeps, filter: LogFilter, page: Page) => {
  const { store } = deps
  const id = rowBeside(page.anchor)
  if (id !== null) {
    const row = await store.loggedEvent(filter.accountId, id)
    const { accountId, workspaceId, accountWide, mode } = filter
    if (row === null || !matcherOf({ ...NO_FILTER, accountId, workspaceId, accountWide, mode })(row))
      throw new Fault('validation.cursor_invalid')
  }
  if (page.direction === 'newer' && page.anchor !== null && store.isMark(page.anchor)) {
    if ((await store.follow(filter, page.anchor, 1)) === 'gone') throw await expired(deps, filter.accountId)
  }
  return store.log(filter, page)
}

/** Of a file; what was said in full is in the records of NDJSON. */
const COLUMNS = [
  'id',
  'type',
  'occurred_at',
  'created_at',
  'workspace_id',
  'mode',
  'email_id',
  'recipient',
  'reason',
  'change',
]

/** Nobody reads more than four changes of a page in a second. */
const PAGES_MERGE_MS = 250

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

/** Whether the caller, asked again, would still be let in, and see as much. */
const stillAllowed = ({ tenants }: HttpDeps, { principal, workspace }: Caller, token: string) => {
  return async (): Promise<boolean> => {
    try {
      const { role } = await tenants.authenticateBearer(token)
      if (workspace !== null) await tenants.findWorkspace(principal.accountId, workspace.id)
      return role === principal.role
    } catch (error) {
      // a store that is in trouble takes nobody's permission
      return !(error instanceof Fault)
    }
  }
}

interface Following {
  readonly filter: LogFilter
  readonly merge: number | null
  readonly after: string | null
  readonly caller: Caller
  readonly token: string
}

const openFeed = async (
  deps: HttpDeps,
  { filter, merge, after, caller, token }: Following,
  address: string,
): Promise<Readable> => {
  const { principal, workspace } = caller
  // records are written once for all streams, so one that must hide subjects is not opened
  requireRight(principal, 'streamEvents', { viewersSee: deps.config.identity.viewers_see })
  const free = deps.slots.take(principal.id, address)
  const holder = `${principal.id} ${workspace?.id ?? ''}`
  try {
    const isAllowed = stillAllowed(deps, caller, token)
    const stream = await deps.feed.open({ filter, merge, after, holder, isAllowed })
    stream.once('close', free)
    return stream
  } catch (error) {
    free()
    throw error
  }
}

/** The stream of a session, for the pages of this process: as a browser gets it, all that the session sees, merged. */
export const followAs =
  (deps: HttpDeps) =>
  async (session: string, after: string | null, address: string): Promise<Readable> => {
    const principal = await deps.tenants.authenticateBearer(session, address)
    requireSession(principal)
    if (principal.mustEnrol) throw new Fault('auth.second_factor_required')
    const caller: Caller = { principal, workspace: null }
    const errors: FieldError[] = []
    const filter = readFilter(caller, {}, errors)
    const mark = readMark(deps, caller, 'query.after', after, errors)
    throwInvalid(errors)
    return openFeed(deps, { filter, merge: PAGES_MERGE_MS, after: mark, caller, token: session }, address)
  }

const openStream = async (deps: HttpDeps, call: Call<StreamQuery>): Promise<Answer> => {
  const { query, req, res } = call
  const errors: FieldError[] = []
  const filter = readFilter(call, query, errors)
  const last = headerValue(req, 'last-event-id') || null
  const after =
    last === null
      ? readMark(deps, call, 'query.after', query.after, errors)
      : readMark(deps, call, 'header.last-event-id', last, errors)
  throwInvalid(errors)
  if (req.method === 'HEAD') return { status: 200, body: '', headers: STREAM_HEADERS }
  const merge = query.merge === undefined ? null : Number.parseInt(query.merge, 10)
  const token = /^Bearer +(\S+)/i.exec(headerValue(req, 'authorization') ?? '')?.[1] ?? ''
  const stream = await openFeed(deps, { filter, merge, after, caller: call, token }, call.address)
  if (res.destroyed) stream.destroy()
  else res.once('close', () => stream.destroy())
  return { status: 200, body: stream, headers: STREAM_HEADERS }
}

const stream = GET<StreamQuery, unknown>('/v1/events/stream', {
  id: 'streamEvents',
  cli: 'event tail',
  summary: 'The log of events, live, as server-sent events',
  description:
    'Each event has its mark as `id`, its type as `event` and its record as `data`. A client that comes back with `Last-Event-ID` (or `after`) goes on where it was, without a gap or a repeat, also after a restart; without either it begins now. Where that place is older than `retention.log` it is told once, by an event `log.gap` with the `oldest` mark, from which it goes on. Every 15 seconds a comment with a bare `id` tells that both sides are there. With `merge` there is at most one event `log.merged` in so long: `count`, `types` with a counter each, and `last`, the newest event of each of the last 20 mails. A credential that ends ends its streams.',
  ...ANYBODY,
  query: streamQuery,
  media: 'text/event-stream',
  headers: { 'Last-Event-ID': 'The mark to go on from; goes before `after`' },
  answers: { 200: streamTextShape },
  faults: ['rate_limit.streams'],
  alsoWrong: wrongQuery,
  handle: (call, deps) => openStream(deps, call),
})

export const events: readonly RouteRow[] = [
  GET('/v1/events', {
    id: 'listEvents',
    cli: 'event list',
    summary: 'The log of events, newest first',
    description:
      'Filters go together, and stay as they are while a cursor is followed. Following `prev_cursor` from the top gives what was committed since, the nearest first, nothing lost and nothing twice, however often it is asked; `after` starts that at a mark of the stream. The log can be followed for `retention.log`: from an older place this answers 410 with the oldest mark that can be had. Walking back simply ends.',
    ...ANYBODY,
    query: logQuery,
    files: ['csv', 'ndjson'],
    answers: { 200: listOf(loggedEventShape) },
    faults: ['validation.cursor_invalid', 'validation.cursor_filters_mismatch', 'event.expired'],
    alsoWrong: ({ query }, told, call, deps) => wrongQuery({ query: withMark(query) }, told, call, deps),
    async handle(call, deps) {
      const { query } = call
      const errors: FieldError[] = []
      const filter = readFilter(call, query, errors)
      const after = readMark(deps, call, 'query.after', withMark(query).after, errors)
      const other = query.cursor !== undefined ? 'cursor' : query.before !== undefined ? 'before' : null
      if (after !== null && other !== null)
        errors.push({ field: 'query.after', message: `must not stand beside ${other}`, kind: 'forbidden' })
      throwInvalid(errors)
      const { accountId: _, types, change, ...rest } = filter
      return listAnswer(deps, 'events', call, COLUMNS, {
        query,
        after,
        filters: {
          ...rest,
          accountWide: String(rest.accountWide),
          types: types?.join(' ') ?? null,
          change: change === null ? null : String(change),
        },
        fetch: (page) => fetchFrom(deps, filter, page),
        render: (row) => asSeenBy(deps, call)(loggedEvent(row)),
      })
    },
  }),
  stream,
  reading('/v1/events/{id}', {
    id: 'getEvent',
    cli: 'event show',
    command: {
      summary: 'One event with all that is known of it',
      about: { id: 'Its id, evt_…' },
      examples: [['$0 event show evt_01… --json', '']],
    },
    summary: 'One event of the log',
    description: 'Seen by whoever sees it in the list.',
    ...ANYBODY,
    of: loggedEventShape,
    faults: ['event.not_found'],
    async read(call, deps) {
      const row: LogRow | null = await deps.store.loggedEvent(call.principal.accountId, param(call, 'id'))
      if (row === null || !matcherOf(readFilter(call, {}, []))(row)) throw new Fault('event.not_found')
      return asSeenBy(deps, call)(loggedEvent(row))
    },
  }),
]
