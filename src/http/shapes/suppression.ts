/**
 * NAME      suppression - the shapes of suppressed addresses, and of the hard bounces that wait for a decision
 */
import Joi from 'joi'
import { MAILING_LIST, MAILING_LIST_FORM } from '../../lifecycle/suppress.js'
import { SUPPRESSION } from '../../resource/tenants.js'
import {
  body,
  count,
  fileQuery,
  id,
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
} from './common.js'

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
export type Scope = TypeOf<ReturnType<typeof scope>>

export const suppressionBody = body(() => ({
  email: need(orNull(email())),
  list: orNull(mailingList()),
  reason: orNull(Joi.string().max(998)),
  expires_at: orNull(timestamp()).description('When it ends; never unless given'),
  scope: orNull(scope()),
}))
export type WishedSuppression = TypeOf<typeof suppressionBody>

const emails = () => orNull(Joi.array<readonly string[]>().items(email()).min(1).max(100))

export const addBatch = body(() => ({
  emails: need(emails()),
  list: orNull(mailingList()),
  reason: orNull(Joi.string().max(998)),
  scope: orNull(scope()),
}))

export type AddBatch = TypeOf<typeof addBatch>

/** By address, by id, or both. */
const removal = body(() => ({
  emails: emails(),
  list: orNull(mailingList()),
  ids: orNull(Joi.array<readonly string[]>().items(Joi.string().max(100)).min(1).max(100)),
  reason: why(),
  scope: orNull(scope()),
}))
export const removeBatch = shape(() => removal().or('emails', 'ids'))

export const suppressionQuery = shapeOf(() => ({
  origin: oneOf(...SUPPRESSION.origin.words),
  status: oneOf('pending').description(
    'Those that wait for the decision of an incident, and suppress nobody; all are of bounces',
  ),
  list: mailingList(),
  scope: scope(),
  ...fileQuery(),
}))

/** Which entry of an address is meant. */
export const entryQuery = shapeOf(() => ({ list: mailingList() }))
export interface EntryQuery {
  readonly list?: string
}

export const suppression = record('Suppression', () => membersOf(SUPPRESSION))

const rows = (row: Joi.Schema): Joi.ObjectSchema =>
  Joi.object({ object: Joi.string().valid('list').required(), data: Joi.array().items(row).required() })

export const suppressions = shape(() => rows(suppression()).meta({ name: 'Suppressions' }))
/** What suppresses the address all the same, beside the answer to a removal. */
export const still = shape(() => Joi.object({ still: suppression().optional() }))
export const removedSuppressions = shape(() =>
  rows(removedOf(suppression, still)()).meta({ name: 'RemovedSuppressions' }),
)

/* Hard bounces that wait for a decision. */

export const incidentQuery = shapeOf(() => ({
  open: Joi.string().valid('true', 'false').description('true: only those that nobody has decided'),
  ...pageQuery(),
}))

export const incident = record('Incident', () => ({
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
