/**
 * NAME      domains - the shapes of sending domains
 */
import Joi from 'joi'
import { CHECKED_DOMAIN, DOMAIN } from '../../resource/domain.js'
import { DOMAIN_REPORT, REPORT_KINDS, REPORT_SUMMARY } from '../../resource/domain-report.js'
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
} from './common.js'

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

export const domainChange = anyBody(asResend)

export const domainBody = body(() => ({
  name: need(orNull(Joi.string().max(255))),
  ...asResend(),
  workspace_id: orNull(Joi.string().max(100)).description(
    'Only for this workspace, by id or slug; X-Workspace-Id says the same. Without both it is for all of the account',
  ),
}))
export type DomainBody = TypeOf<typeof domainBody>

export const nothing = anyBody(() => ({}))

export const rotation = anyBody(() => ({
  now: orNull(Joi.boolean()).description('Sign with the new keys at once, published or not'),
}))

export const domain = record('Domain', () => membersOf(DOMAIN))
export const checkedDomain = record('CheckedDomain', () => membersOf(CHECKED_DOMAIN))

const reportSpan = shape(() => ({
  since: timestamp().description('Spans that began from then on: an ISO 8601 day, or a time with its zone'),
  until: timestamp().description('And before then'),
}))

export const reportSpanQuery = shapeOf(reportSpan)
export type ReportSpanQuery = TypeOf<typeof reportSpanQuery>
export const reportQuery = shapeOf(() => ({
  kind: oneOf(...REPORT_KINDS),
  ...reportSpan(),
  ...pageQuery(),
}))
export type ReportQuery = TypeOf<typeof reportQuery>

export const domainReport = record('DomainReport', () => membersOf(DOMAIN_REPORT))
export const reportSummary = record('DomainReportSummary', () => membersOf(REPORT_SUMMARY))
