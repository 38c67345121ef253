/**
 * NAME      suppressions - addresses that a workspace does not write to, and those that may still be good
 *   Named by id, by address or, for a whole domain, by `*@example.com`. Adding one that is there is no mistake and answers 200
 *   with the same record. A key sees the list of its own mode; what a test does suppresses no live mail. `scope: account` is the
 *   list for all workspaces. Addresses that bounced for good at the same time are an incident: pending, and suppressed only
 *   when a person accepts it.
 */
import Joi from 'joi'
import { type FieldError, readValid, throwInvalid, wrongBy } from '../../base/fault.js'
import { isWholeDomain, MAILING_LIST, MAILING_LIST_FORM } from '../../lifecycle/suppress.js'
import * as records from '../../record/queue.js'
import { removed } from '../../resource/member.js'
import { SUPPRESSION, suppressionRecord } from '../../resource/tenants.js'
import type { SuppressionRow } from '../../store/port/tenants.js'
import type { Decision, KnownIncident, PendingSuppression } from '../../store/port/watch.js'
import { requirePlatform } from '../../tenant/principal.js'
import {
  decideIncident,
  ENTRY_FORM,
  findIncident,
  listedAddress,
  listOfAccount,
  listOfWorkspace,
  refOf,
  standingAgainst,
} from '../../tenant/suppression.js'
import type { HttpDeps } from '../deps.js'
import {
  type Call,
  GET,
  listAnswer,
  listing,
  POST,
  param,
  type RouteRow,
  removing,
  WORKSPACES_TOO,
} from '../endpoint.js'
import {
  body,
  count,
  fileQuery,
  id,
  listOf,
  membersOf,
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
  timestamp,
  why,
  whyBody,
} from '../shapes/common.js'
import { readTime } from '../wire/values.js'
import { nothingShape } from './domains.js'

const email = () => Joi.string().max(320)

const mailingList = () =>
  Joi.string()
    .pattern(MAILING_LIST)
    .meta({ must: MAILING_LIST_FORM })
    .description('For the mail of this mailing list alone')

const scope = () =>
  oneOf('workspace', 'account').description(
    'account: the list that holds for the live mail of every workspace; needs a platform key',
  )
type Scope = TypeOf<ReturnType<typeof scope>>

const suppressionBody = body(() => ({
  email: need(orNull(email())),
  list: orNull(mailingList()),
  reason: orNull(Joi.string().max(998)),
  expires_at: orNull(timestamp()).description('When it ends; never unless given'),
  scope: orNull(scope()),
}))
type WishedSuppression = TypeOf<typeof suppressionBody>

const emails = () => orNull(Joi.array<readonly string[]>().items(email()).min(1).max(100))

const addBatchShape = body(() => ({
  emails: need(emails()),
  list: orNull(mailingList()),
  reason: orNull(Joi.string().max(998)),
  scope: orNull(scope()),
}))

type AddBatch = TypeOf<typeof addBatchShape>

/** By address, by id, or both. */
const removal = body(() => ({
  emails: emails(),
  list: orNull(mailingList()),
  ids: orNull(Joi.array<readonly string[]>().items(Joi.string().max(100)).min(1).max(100)),
  reason: why(),
  scope: orNull(scope()),
}))
const removeBatchShape = shape(() => removal().or('emails', 'ids'))

const suppressionQuery = shapeOf(() => ({
  origin: oneOf(...SUPPRESSION.origin.words),
  status: oneOf('pending').description(
    'Those that wait for the decision of an incident, and suppress nobody; all are of bounces',
  ),
  list: mailingList(),
  scope: scope(),
  ...fileQuery(),
}))

/** Which entry of an address is meant. */
const entryQuery = shapeOf(() => ({ list: mailingList() }))
interface EntryQuery {
  readonly list?: string
}

const suppressionShape = record('Suppression', () => membersOf(SUPPRESSION))

const rows = (row: Joi.Schema): Joi.ObjectSchema =>
  Joi.object({ object: Joi.string().valid('list').required(), data: Joi.array().items(row).required() })

const suppressionsShape = shape(() => rows(suppressionShape()).meta({ name: 'Suppressions' }))
/** What suppresses the address all the same, beside the answer to a removal. */
const stillShape = shape(() => Joi.object({ still: suppressionShape().optional() }))
const removedSuppressionsShape = shape(() =>
  rows(removedOf(suppressionShape, stillShape)()).meta({ name: 'RemovedSuppressions' }),
)

/* Hard bounces that wait for a decision. */

const incidentQuery = shapeOf(() => ({
  open: Joi.string().valid('true', 'false').description('true: only those that nobody has decided'),
  ...pageQuery(),
}))

const incidentShape = record('Incident', () => ({
  id: id('inc'),
  object: Joi.string().valid('incident').required(),
  workspace_id: id('ws'),
  upstream_id: nullable(Joi.string()).description('Who refused them, or took the mail that came back'),
  domain: Joi.string().allow('').required().description('Of the recipients; empty: several'),
  said: Joi.string()
    .allow('')
    .required()
    .description('What was said of all, without what names one mail; empty: several texts'),
  addresses: count().description('How many were refused when it began'),
  delivered_before: count().description('Of those, the ones that took mail in the 90 days before'),
  outcomes: count().description('How many recipients that server answered for in all'),
  pending: count().description('Suppressions that wait for it'),
  decision: nullable(Joi.string().valid('accepted', 'dismissed')),
  created_at: time(),
  decided_at: nullable(Joi.string()),
}))

const find = ({ store }: HttpDeps, { principal, workspace, ...call }: Call): Promise<KnownIncident> =>
  findIncident(store, principal.accountId, param(call, 'id'), workspace?.id ?? null)

const decide = (decision: Decision) => async (call: Call, deps: HttpDeps) => {
  const incident = await find(deps, call)
  await decideIncident(deps, incident, decision)
  return { status: 200, body: records.incident(await find(deps, call)) }
}

export const incidents: readonly RouteRow[] = [
  listing({
    ...WORKSPACES_TOO,
    id: 'listIncidents',
    cli: 'suppression incidents',
    path: '/v1/incidents',
    summary: 'Hard bounces that came together, newest first',
    description:
      'Where at least 20 addresses of a domain were refused in ten minutes by one upstream, in the same words or in others, and were 30 % of what it had to say, or ten of them took mail before, their suppressions are pending until somebody decides, and are dismissed after seven days. The same for all domains of an upstream together, where 30 % of those that it met refused somebody; and where 50 were refused in two hours, and that is 5 % more of its answers than in the seven days before. The key of a workspace sees those of its own.',
    query: incidentQuery,
    of: incidentShape,
    rows({ principal, workspace, query }, deps) {
      const workspaceId = workspace?.id ?? null
      const isOpen = query.open === 'true'
      return {
        filters: { workspaceId, open: isOpen ? 1 : 0 },
        fetch: (page) => deps.store.incidents(principal.accountId, workspaceId, isOpen, page),
        render: records.incident,
      }
    },
  }),
  GET('/v1/incidents/{id}', {
    ...WORKSPACES_TOO,
    id: 'getIncident',
    cli: 'suppression incidents',
    summary: 'One incident',
    description: 'Its addresses: GET /v1/suppressions?status=pending.',
    answers: { 200: incidentShape },
    faults: ['incident.not_found'],
    handle: async (call, deps) => ({ status: 200, body: records.incident(await find(deps, call)) }),
  }),
  POST('/v1/incidents/{id}/accept', {
    ...WORKSPACES_TOO,
    id: 'acceptIncident',
    cli: 'suppression accept',
    summary: 'The addresses are dead: suppress them',
    description: 'What is pending with it is suppressed from now on.',
    body: nothingShape,
    answers: { 200: incidentShape },
    faults: ['incident.not_found', 'resource.conflict'],
    handle: decide('accepted'),
  }),
  POST('/v1/incidents/{id}/dismiss', {
    ...WORKSPACES_TOO,
    id: 'dismissIncident',
    cli: 'suppression dismiss',
    summary: 'The addresses live: forget what was pending',
    description: 'No status of a mail changes. Who is refused again is counted anew.',
    body: nothingShape,
    answers: { 200: incidentShape },
    faults: ['incident.not_found', 'resource.conflict'],
    handle: decide('dismissed'),
  }),
]

const PER_WORKSPACE = { access: 'any', workspace: 'required' } as const

type Place = ReturnType<typeof listOfAccount>
type Caller = Pick<Call, 'workspace' | 'principal'>

const wrongScope = ({ principal }: Caller, scope: Scope | undefined, field: string): FieldError[] =>
  scope === 'account' && principal.scope === 'platform' && principal.mode === 'test'
    ? [{ field, kind: 'forbidden', message: 'test mail has no list for the whole account' }]
    : []

const listFor = (caller: Caller, scope: Scope | undefined, field: string): Place => {
  const { workspace, principal } = caller
  if (workspace === null) throw new Error('the gate lets no request without a workspace through')
  if (scope !== 'account') return listOfWorkspace(workspace, principal.mode)
  requirePlatform(principal)
  throwInvalid(wrongScope(caller, scope, field))
  return listOfAccount(principal.accountId)
}

/** The list that has it: the workspace's own, else that of the account, which holds for live mail. */
const listWith = async (deps: HttpDeps, call: Call<EntryQuery>, idOrEmail: string): Promise<Place> => {
  const own = listFor(call, 'workspace', '')
  const ref = refOf(idOrEmail, call.query.list)
  if (call.principal.mode === 'test' || (await deps.store.suppression(own.id, ref)) !== null) return own
  const wide = listOfAccount(own.accountId)
  return (await deps.store.suppression(wide.id, ref)) === null ? own : wide
}

const wrongAddresses = (emails: readonly (string | undefined)[], fieldOf: (i: number) => string) =>
  emails.flatMap((email, i): FieldError[] =>
    email !== undefined && listedAddress(email) === null
      ? [{ field: fieldOf(i), message: ENTRY_FORM, kind: 'format' }]
      : [],
  )

/** A mailing list is of one workspace, and a whole domain is suppressed for all mail. */
const wrongList = ({
  list,
  scope,
  emails = [],
  email,
}: {
  readonly list?: string | undefined
  readonly scope?: Scope | undefined
  readonly email?: string | undefined
  readonly emails?: readonly string[]
}): FieldError[] => {
  if (list === undefined) return []
  const isOfDomain = [email ?? '', ...emails].some((one) => isWholeDomain(listedAddress(one) ?? ''))
  const wrong = (message: string): FieldError[] => [{ field: 'body.list', kind: 'unsupported', message }]
  if (scope === 'account')
    return wrong('must not stand beside scope account: a mailing list is of one workspace')
  return isOfDomain ? wrong('must not stand beside a whole domain, which is suppressed for all mail') : []
}

/** Adds to `errors` all that is wrong with it. */
const readWish = (caller: Caller, body: Partial<WishedSuppression>, errors: FieldError[]) => {
  errors.push(...wrongAddresses([body.email], () => 'body.email'))
  const expiresAt = readTime('body.expires_at', body.expires_at, errors)
  errors.push(...wrongScope(caller, body.scope, 'body.scope'))
  errors.push(...wrongList(body))
  return { reason: body.reason, expiresAt, mailingList: body.list }
}

/** What is pending has bounced, for all mail: it can not be asked by another origin or by a mailing list. */
const wrongPending = ({
  origin,
  status,
  list,
}: {
  readonly origin?: string
  readonly status?: string
  readonly list?: string
}): readonly FieldError[] => {
  if (status !== 'pending') return []
  const errors: FieldError[] = []
  const wrong = (field: string, message: string) => errors.push({ field, kind: 'unsupported', message })
  if (origin !== undefined && origin !== 'bounce')
    wrong('query.origin', 'must be bounce where status is pending')
  if (list !== undefined) wrong('query.list', 'must not stand beside status pending, which is for all mail')
  return errors
}

const stillOf = (row: SuppressionRow | null) => (row === null ? {} : { still: suppressionRecord(row) })

const COLUMNS = [
  ...['email', 'origin', 'reason', 'expires_at', 'created_at', 'id', 'source_id', 'incident_id', 'list'],
]

/** All or none: what is no address is found before the first is added. */
const wrongBatch = (
  caller: Caller,
  { emails = [], scope, list }: Partial<AddBatch>,
): readonly FieldError[] => [
  ...wrongAddresses(emails, (i) => `body.emails[${i}]`),
  ...wrongScope(caller, scope, 'body.scope'),
  ...wrongList({ emails, scope, list }),
]

export const suppressions: readonly RouteRow[] = [
  POST('/v1/suppressions', {
    ...PER_WORKSPACE,
    id: 'addSuppression',
    cli: 'suppression add',
    summary: 'Write no more to an address',
    description:
      'All of a domain is `*@example.com`, without its subdomains. One that is there already is answered 200 and stays as it is. A key changes the list of its own mode; what a test-mode key lists holds for test mail only.',
    body: suppressionBody,
    answers: { 200: suppressionShape, 201: suppressionShape },
    faults: ['auth.scope_forbidden'],
    alsoWrong: ({ body }, _, caller) => wrongBy((errors) => readWish(caller, body, errors)),
    async handle(call, deps) {
      const { email, scope } = call.body
      const wish = readValid((errors) => ({ ...readWish(call, call.body, errors), email }))
      const { row, added } = await deps.tenants.suppress(listFor(call, scope, 'body.scope'), wish)
      return { status: added ? 201 : 200, body: suppressionRecord(row) }
    },
  }),
  GET('/v1/suppressions', {
    ...PER_WORKSPACE,
    id: 'listSuppressions',
    cli: 'suppression list',
    summary: 'Suppressed addresses, newest first',
    description:
      'Of the workspace, for mail of the mode of the caller; with `scope=account` the list that holds for all workspaces, with `list` those who unsubscribed from one mailing list.',
    query: suppressionQuery,
    files: ['csv', 'ndjson'],
    answers: { 200: listOf(suppressionShape) },
    faults: ['auth.scope_forbidden', 'validation.cursor_invalid', 'validation.cursor_filters_mismatch'],
    alsoWrong: ({ query }, _, caller) => [
      ...wrongScope(caller, query.scope, 'query.scope'),
      ...wrongPending(query),
    ],
    async handle(call, deps) {
      throwInvalid(wrongPending(call.query))
      const { id: workspaceId } = listFor(call, call.query.scope, 'query.scope')
      const origin = call.query.origin ?? null
      const { status = null, list = null } = call.query
      const { store } = deps
      return listAnswer<SuppressionRow | PendingSuppression>(deps, 'suppressions', call, COLUMNS, {
        query: call.query,
        filters:
          status === null ? { origin, workspaceId, ...(list !== null && { list }) } : { status, workspaceId },
        fetch: (page) =>
          status === null
            ? store.suppressions(workspaceId, origin, page, list)
            : store.pendingSuppressions(workspaceId, page),
        render: suppressionRecord,
      })
    },
  }),

  GET('/v1/suppressions/{ref}', {
    ...PER_WORKSPACE,
    id: 'getSuppression',
    cli: 'suppression show',
    summary: 'One suppression, by id or address',
    query: entryQuery,
    description:
      'Looked for in the list of the workspace, then in that of the account. For an address that has no entry of its own, that of its domain (`*@example.com`) is the answer. One of `status` pending suppresses nobody.',
    answers: { 200: suppressionShape },
    faults: ['suppression.not_found'],
    async handle(call, deps) {
      const ref = param(call, 'ref')
      const place = await listWith(deps, call, ref)
      const row = await deps.tenants.findSuppression(place, ref, call.query.list)
      return { status: 200, body: suppressionRecord(row) }
    },
  }),
  removing({
    ...PER_WORKSPACE,
    id: 'removeSuppression',
    cli: 'suppression remove',
    path: '/v1/suppressions/{ref}',
    query: entryQuery,
    summary: 'Write to an address again, by id or address',
    description:
      'Of the list of the workspace, else of that of the account, which needs a platform key. `still` is what suppresses the address all the same, such as `*@example.com`.',
    body: whyBody,
    of: suppressionShape,
    object: 'suppression',
    faults: ['auth.scope_forbidden'],
    async remove(call, ref, deps) {
      const place = await listWith(deps, call, ref)
      if (place.id === place.accountId) requirePlatform(call.principal)
      const { row, still } = await deps.tenants.removeSuppression(place, ref, call.query.list)
      return { id: row.id, beside: stillOf(still) }
    },
    more: stillShape,
  }),

  POST('/v1/suppressions/batch/add', {
    ...PER_WORKSPACE,
    id: 'addSuppressions',
    cli: 'suppression add',
    summary: 'Write no more to up to 100 addresses',
    description: 'All or none: an address that is wrong refuses the request.',
    body: addBatchShape,
    answers: { 200: suppressionsShape },
    faults: ['auth.scope_forbidden'],
    alsoWrong: ({ body }, _, caller) => wrongBatch(caller, body),
    async handle(call, deps) {
      throwInvalid(wrongBatch(call, call.body))
      const place = listFor(call, call.body.scope, 'body.scope')
      const { emails, reason, list: mailingList } = call.body
      const rows = await Promise.all(
        emails.map((email, i) =>
          deps.tenants.addSuppression(place, { email, reason, mailingList }, `body.emails[${i}]`),
        ),
      )
      return { status: 200, body: { object: 'list', data: rows.map(suppressionRecord) } }
    },
  }),
  POST('/v1/suppressions/batch/remove', {
    ...PER_WORKSPACE,
    id: 'removeSuppressions',
    cli: { none: 'a shell has loops, and what destroys names what it destroys' },
    summary: 'Write to up to 100 addresses again; those not suppressed are left out of the answer',
    description: 'By address, by id, or both. `still` is what suppresses an address all the same.',
    body: removeBatchShape,
    answers: { 200: removedSuppressionsShape },
    faults: ['auth.scope_forbidden'],
    alsoWrong: ({ body }, _, caller) => wrongScope(caller, body.scope, 'body.scope'),
    async handle(call, deps) {
      const place = listFor(call, call.body.scope, 'body.scope')
      const { emails = [], ids = [], list } = call.body
      const refs = [...emails.map((email) => refOf(email, list)), ...ids.map((id) => refOf(id))]
      const rows = await Promise.all(refs.map((ref) => deps.store.removeSuppression(place.id, ref)))
      const gone = rows.flatMap((row) => row ?? [])
      const still = await Promise.all(gone.map(({ email }) => standingAgainst(deps, place, email)))
      const data = gone.map(({ id }, i) => ({ ...removed('suppression', id), ...stillOf(still[i] ?? null) }))
      return { status: 200, body: { object: 'list', data } }
    },
  }),
]
