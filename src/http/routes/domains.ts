/**
 * NAME      domains - sending domains and what is to be published for them
 *   Named by id or by name. A domain belongs to one workspace or to all of the
 *   account; who names a workspace sees, checks and removes those of it alone.
 */
import Joi from 'joi'
import { Fault, type FieldError, readValid, throwInvalid, wrongBy } from '../../base/fault.js'
import {
  CHECKED_DOMAIN,
  checkedDomain,
  DOMAIN,
  DOMAIN_REPORT,
  domainRecord,
  domainReportRecord,
  REPORT_KINDS,
  REPORT_SUMMARY,
  reportSummaryRecord,
} from '../../resource/domain.js'
import type { DomainReportRow, DomainRow } from '../../store/port/tenants.js'
import { checkDomain, txtLookup } from '../../tenant/domain/check.js'
import {
  addDomain,
  type DomainDeps,
  findDomain,
  removeDomain,
  rotateKeys,
  wrongWithDomain,
} from '../../tenant/domain/domain.js'
import { type ReportSpan, summariseReports } from '../../tenant/domain/reports.js'
import type { HttpDeps } from '../deps.js'
import { type Call, GET, listing, PATCH, POST, param, type RouteRow, removing } from '../endpoint.js'
import {
  anyBody,
  body,
  membersOf,
  need,
  object,
  oneOf,
  orNull,
  pageQuery,
  record,
  shape,
  shapeOf,
  type TypeOf,
  timestamp,
} from '../shapes/common.js'
import { readTime } from '../wire/values.js'

/** What Resend's client says of a domain: taken where it asks for what is so here, and refused where it does not. */
const asResend = shape(() => ({
  open_tracking: orNull(Joi.boolean().valid(false)).description('Nothing is tracked: false'),
  click_tracking: orNull(Joi.boolean().valid(false)).description('Nothing is tracked: false'),
  tls: orNull(oneOf('opportunistic')).description(
    '`opportunistic`: what is wanted of TLS is said of each upstream of a pool',
  ),
  capabilities: orNull(
    object({ sending: orNull(oneOf('enabled')), receiving: orNull(oneOf('disabled')) }),
  ).description('Domains send, and do not receive'),
}))

const domainChangeShape = anyBody(asResend)

const domainBody = body(() => ({
  name: need(orNull(Joi.string().max(255))),
  ...asResend(),
  workspace_id: orNull(Joi.string().max(100)).description(
    'Only for this workspace, by id or slug; X-Workspace-Id says the same. Without both it is for all of the account',
  ),
}))
type DomainBody = TypeOf<typeof domainBody>

export const nothingShape = anyBody(() => ({}))

const rotationShape = anyBody(() => ({
  now: orNull(Joi.boolean()).description('Sign with the new keys at once, published or not'),
}))

const domainShape = record('Domain', () => membersOf(DOMAIN))
const checkedDomainShape = record('CheckedDomain', () => membersOf(CHECKED_DOMAIN))

const reportSpan = shape(() => ({
  since: timestamp().description('Spans that began from then on: an ISO 8601 day, or a time with its zone'),
  until: timestamp().description('And before then'),
}))

const reportSpanQuery = shapeOf(reportSpan)
type ReportSpanQuery = TypeOf<typeof reportSpanQuery>
const reportQuery = shapeOf(() => ({
  kind: oneOf(...REPORT_KINDS),
  ...reportSpan(),
  ...pageQuery(),
}))
type ReportQuery = TypeOf<typeof reportQuery>

const domainReportShape = record('DomainReport', () => membersOf(DOMAIN_REPORT))
const reportSummaryShape = record('DomainReportSummary', () => membersOf(REPORT_SUMMARY))

const OPERATORS = { access: 'platform', live: true, workspace: 'optional' } as const

const depsOf = ({ store, tenants }: HttpDeps): DomainDeps => ({ ...tenants.deps, store })

/** Throws domain.not_found, also for one of another workspace than the named one. */
const find = async (deps: HttpDeps, { principal, workspace, params }: Call): Promise<DomainRow> => {
  const row = await findDomain(depsOf(deps), principal.accountId, param({ params }, 'ref'))
  if (workspace !== null && row.workspaceId !== workspace.id) throw new Fault('domain.not_found')
  return row
}

/** The header and the body may not name two workspaces. */
const wrongBinding = (
  { workspace }: Pick<Call, 'workspace'>,
  { workspace_id: named }: Partial<DomainBody>,
): readonly FieldError[] =>
  workspace === null || named === undefined || named === workspace.id || named === workspace.slug
    ? []
    : [{ field: 'body.workspace_id', kind: 'forbidden', message: 'X-Workspace-Id names another workspace' }]

/** One operation at two paths: the second is what Resend's client calls it. */
const checking = (id: 'checkDomain' | 'verifyDomain', verb: 'check' | 'verify'): RouteRow =>
  POST(`/v1/domains/{ref}/${verb}`, {
    ...OPERATORS,
    id,
    cli: 'domain check',
    summary: `Look in DNS for the records of a domain${verb === 'check' ? '' : ', under another name'}`,
    description:
      'Each record is answered with what was seen of it. The domain is verified when all active keys are published; keys that wait begin to sign when all of them are. A name server that fails or is silent is `unknown`, and takes nothing back.',
    body: nothingShape,
    answers: { 200: checkedDomainShape },
    faults: ['domain.not_found'],
    async handle(call, deps) {
      const row = await find(deps, call)
      const done = await checkDomain(depsOf(deps), row, deps.lookup ?? txtLookup(null))
      return { status: 200, body: checkedDomain({ ...done.row, records: done.records }) }
    },
  })

const spanOf = (query: ReportSpanQuery, errors: FieldError[]): ReportSpan => ({
  since: readTime('query.since', query.since, errors),
  until: readTime('query.until', query.until, errors),
})

/** The span that is asked for; throws with what is wrong. */
const askedSpan = (query: ReportSpanQuery): ReportSpan => {
  const span = readValid((errors) => spanOf(query, errors))
  return span
}

const wrongSpan = ({ query }: { readonly query: Partial<ReportSpanQuery> }): readonly FieldError[] =>
  wrongBy((errors) => spanOf(query as ReportSpanQuery, errors))

/** What receivers reported. */
const REPORTS: readonly RouteRow[] = [
  listing<DomainReportRow, ReportQuery>({
    ...OPERATORS,
    id: 'listDomainReports',
    cli: 'domain reports',
    path: '/v1/domains/{ref}/reports',
    summary: 'What receivers reported of a domain (DMARC, TLS), newest first',
    description:
      'Reports come by mail to `dmarc-reports@` and `tls-reports@` of the bounce domain, for domains that are here, and are kept for `retention.domain_reports`. Anybody can send one: what it says is what its reporter says. `sources` has at most a hundred addresses.',
    query: reportQuery,
    of: domainReportShape,
    faults: ['domain.not_found'],
    alsoWrong: wrongSpan,
    async rows(call, deps) {
      const { id } = await find(deps, call)
      const { since: from, until: to } = askedSpan(call.query)
      const kind = call.query.kind ?? null
      return {
        filters: { id, kind, from, to },
        fetch: (page) => deps.store.domainReports(id, { kind, from, to }, page),
        render: domainReportRecord,
      }
    },
  }),
  GET<ReportSpanQuery, unknown>('/v1/domains/{ref}/reports/summary', {
    ...OPERATORS,
    id: 'getDomainReportSummary',
    cli: 'domain reports',
    summary: 'The sum of what receivers reported of a domain',
    description:
      'Of the newest thousand reports about a span, by default the last thirty days: mail by source and by reporter, connections by what failed, and the DNS records that ask receivers for reports.',
    query: reportSpanQuery,
    answers: { 200: reportSummaryShape },
    faults: ['domain.not_found'],
    alsoWrong: wrongSpan,
    async handle(call, deps) {
      const row = await find(deps, call)
      const { store, config, clock } = deps
      const span = askedSpan(call.query)
      const summary = await summariseReports(store, row, config.bounce.domain, span, clock.now())
      return { status: 200, body: reportSummaryRecord(summary) }
    },
  }),
]

export const domains: readonly RouteRow[] = [
  POST('/v1/domains', {
    ...OPERATORS,
    id: 'createDomain',
    cli: 'domain add',
    summary: 'Sign the mail of a domain',
    description:
      'Makes two keys, RSA and Ed25519, which sign from now on; publish what stands in `records`. With X-Workspace-Id or `workspace_id` the domain is for that workspace alone. The private halves are sealed, and no answer shows them. Needs a live platform key or a session.',
    locates: true,
    body: domainBody,
    answers: { 201: domainShape },
    alsoWrong: async ({ body }, _, call, deps) => [
      ...wrongBinding(call, body),
      ...(await wrongWithDomain(depsOf(deps), call.principal.accountId, body)),
    ],
    async handle(call, deps) {
      const { principal, workspace, body } = call
      throwInvalid(wrongBinding(call, body))
      const wish = { name: body.name, workspace: workspace?.id ?? body.workspace_id }
      const row = await addDomain(depsOf(deps), principal.accountId, wish)
      return { status: 201, body: domainRecord(row), headers: { location: `/v1/domains/${row.id}` } }
    },
  }),

  listing({
    ...OPERATORS,
    id: 'listDomains',
    cli: 'domain list',
    path: '/v1/domains',
    summary: 'Sending domains, newest first',
    description: 'Of all the account; with X-Workspace-Id those of that workspace alone.',
    of: domainShape,
    rows: ({ principal, workspace }, deps) => ({
      filters: { workspaceId: workspace?.id ?? null },
      fetch: (page) => deps.store.domains(principal.accountId, page, workspace?.id),
      render: domainRecord,
    }),
  }),
  GET('/v1/domains/{ref}', {
    ...OPERATORS,
    id: 'getDomain',
    cli: 'domain show',
    summary: 'One sending domain, by id or name',
    description: 'With the DNS records that are to be published.',
    answers: { 200: domainShape },
    faults: ['domain.not_found'],
    handle: async (call, deps) => ({ status: 200, body: domainRecord(await find(deps, call)) }),
  }),

  ...REPORTS,
  checking('checkDomain', 'check'),
  checking('verifyDomain', 'verify'),
  PATCH('/v1/domains/{ref}', {
    ...OPERATORS,
    id: 'updateDomain',
    cli: { none: 'it changes nothing' },
    summary: 'Say of a domain what is so already',
    description:
      "For Resend's client: tracking that is off, TLS that is opportunistic, a domain that sends and does not receive are taken, and change nothing; the record is the answer. What asks for something else is refused. Keys are changed by /rotate.",
    body: domainChangeShape,
    answers: { 200: domainShape },
    faults: ['domain.not_found'],
    handle: async (call, deps) => ({ status: 200, body: domainRecord(await find(deps, call)) }),
  }),
  POST('/v1/domains/{ref}/rotate', {
    ...OPERATORS,
    id: 'rotateDomain',
    cli: 'domain rotate',
    summary: 'Make new keys; they sign once a check finds them in DNS',
    description:
      'Publish the records with the state `next` beside the old ones. With `now` they sign at once, and the domain is unverified until a check has found them. Old records may go seven days after the new keys sign.',
    body: rotationShape,
    answers: { 200: domainShape },
    faults: ['domain.not_found'],
    async handle(call, deps) {
      const { id } = await find(deps, call)
      const row = await rotateKeys(depsOf(deps), call.principal.accountId, id, call.body?.now === true)
      return { status: 200, body: domainRecord(row) }
    },
  }),
  removing({
    ...OPERATORS,
    id: 'deleteDomain',
    cli: 'domain remove',
    path: '/v1/domains/{ref}',
    summary: 'Sign for a domain no more; its keys are gone for good',
    description: 'Mail of the domain leaves unsigned from now on.',
    of: domainShape,
    object: 'domain',
    async remove(call, _, deps) {
      const { accountId, id } = await find(deps, call)
      await removeDomain(depsOf(deps), accountId, id)
      return { id }
    },
  }),
]
