/**
 * NAME      suppressions - addresses that a workspace does not write to
 * DESCRIPTION
 *   Named by id, by address or, for a whole domain, by `*@example.com`. Adding one that is there is no mistake and answers
 *   200 with the same record. A key sees the list of its own mode; what a test
 *   does silences nobody. `scope: account` is the list for all workspaces.
 */

import { type FieldError, invalid } from '../../base/fault.js'
import { isWholeDomain } from '../../lifecycle/suppress.js'
import { removed } from '../../resource/member.js'
import { suppressionRecord } from '../../resource/tenants.js'
import type { SuppressionRow } from '../../store/port/tenants.js'
import type { PendingSuppression } from '../../store/port/watch.js'
import { requirePlatform } from '../../tenant/principal.js'
import {
  ENTRY_FORM,
  listedAddress,
  listOfAccount,
  listOfWorkspace,
  refOf,
  standingAgainst,
} from '../../tenant/suppression.js'
import type { Deps } from '../deps.js'
import { type Call, GET, POST, param, type RouteRow } from '../endpoint.js'
import { listAnswer, removing } from '../rows.js'
import { listOf, whyBody } from '../shapes/common.js'
import * as shapes from '../shapes/suppression.js'
import { readTime } from '../wire/values.js'

const PER_WORKSPACE = { access: 'any', workspace: 'required' } as const

type Place = ReturnType<typeof listOfAccount>
type Caller = Pick<Call, 'workspace' | 'principal'>

const wrongScope = ({ principal }: Caller, scope: shapes.Scope | undefined, field: string): FieldError[] =>
  scope === 'account' && principal.scope === 'platform' && principal.mode === 'test'
    ? [{ field, kind: 'forbidden', message: 'test mail has no list for the whole account' }]
    : []

const listFor = (caller: Caller, scope: shapes.Scope | undefined, field: string): Place => {
  const { workspace, principal } = caller
  if (workspace === null) throw new Error('the gate lets no request without a workspace through')
  if (scope !== 'account') return listOfWorkspace(workspace, principal.mode)
  requirePlatform(principal)
  const wrong = wrongScope(caller, scope, field)
  if (wrong.length > 0) throw invalid(wrong)
  return listOfAccount(principal.accountId)
}

/** The list that has it: the workspace's own, else that of the account, which holds for live mail. */
const listWith = async (deps: Deps, call: Call<shapes.EntryQuery>, idOrEmail: string): Promise<Place> => {
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
  readonly scope?: shapes.Scope | undefined
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
const readWish = (caller: Caller, body: Partial<shapes.WishedSuppression>, errors: FieldError[]) => {
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
  { emails = [], scope, list }: Partial<shapes.AddBatch>,
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
    body: shapes.suppressionBody,
    answers: { 200: shapes.suppression, 201: shapes.suppression },
    faults: ['auth.scope_forbidden'],
    alsoWrong({ body }, _, caller) {
      const errors: FieldError[] = []
      readWish(caller, body, errors)
      return errors
    },
    async handle(call, deps) {
      const { email, scope } = call.body
      const errors: FieldError[] = []
      const wish = { ...readWish(call, call.body, errors), email }
      if (errors.length > 0) throw invalid(errors)
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
    query: shapes.suppressionQuery,
    files: ['csv', 'ndjson'],
    answers: { 200: listOf(shapes.suppression) },
    faults: ['auth.scope_forbidden', 'validation.cursor_invalid', 'validation.cursor_filters_mismatch'],
    alsoWrong: ({ query }, _, caller) => [
      ...wrongScope(caller, query.scope, 'query.scope'),
      ...wrongPending(query),
    ],
    async handle(call, deps) {
      const wrong = wrongPending(call.query)
      if (wrong.length > 0) throw invalid(wrong)
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
    query: shapes.entryQuery,
    description:
      'Looked for in the list of the workspace, then in that of the account. For an address that has no entry of its own, that of its domain (`*@example.com`) is the answer. One of `status` pending suppresses nobody.',
    answers: { 200: shapes.suppression },
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
    query: shapes.entryQuery,
    summary: 'Write to an address again, by id or address',
    description:
      'Of the list of the workspace, else of that of the account, which needs a platform key. `still` is what suppresses the address all the same, such as `*@example.com`.',
    body: whyBody,
    of: shapes.suppression,
    object: 'suppression',
    faults: ['auth.scope_forbidden'],
    async remove(call, ref, deps) {
      const place = await listWith(deps, call, ref)
      if (place.id === place.accountId) requirePlatform(call.principal)
      const { row, still } = await deps.tenants.removeSuppression(place, ref, call.query.list)
      return { id: row.id, beside: stillOf(still) }
    },
    more: shapes.still,
  }),

  POST('/v1/suppressions/batch/add', {
    ...PER_WORKSPACE,
    id: 'addSuppressions',
    cli: 'suppression add',
    summary: 'Write no more to up to 100 addresses',
    description: 'All or none: an address that is wrong refuses the request.',
    body: shapes.addBatch,
    answers: { 200: shapes.suppressions },
    faults: ['auth.scope_forbidden'],
    alsoWrong: ({ body }, _, caller) => wrongBatch(caller, body),
    async handle(call, deps) {
      const wrong = wrongBatch(call, call.body)
      if (wrong.length > 0) throw invalid(wrong)
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
    body: shapes.removeBatch,
    answers: { 200: shapes.removedSuppressions },
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
