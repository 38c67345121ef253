/**
 * NAME      suppression - the shapes of suppressed addresses
 */
import Joi from 'joi'
import { SUPPRESSION_ORIGINS } from '../../store/port/tenants/tenants.js'
import { body, fileQuery, id, listOf, nullable, orNull, removed, time, timestamp, why } from './common.js'

const ORIGINS = SUPPRESSION_ORIGINS

const email = () => Joi.string().max(320)

export type Scope = 'workspace' | 'account'
const scope = () =>
  Joi.string()
    .valid('workspace', 'account')
    .description('account: the list that holds for the live mail of every workspace; needs a platform key')

export interface WishedSuppression {
  readonly email: string
  readonly reason?: string
  readonly expires_at?: string
  readonly scope?: Scope
}

export const suppressionBody = body(
  Joi.object<WishedSuppression>({
    email: orNull(email()).required(),
    reason: orNull(Joi.string().max(998)),
    expires_at: orNull(timestamp()).description('When it ends; never unless given'),
    scope: orNull(scope()),
  }),
)

const emails = () => orNull(Joi.array().items(email()).min(1).max(100))

export const addBatch = body(
  Joi.object<{ emails: readonly string[]; reason?: string; scope?: Scope }>({
    emails: emails().required(),
    reason: orNull(Joi.string().max(998)),
    scope: orNull(scope()),
  }),
)

/** By address, by id, or both. */
export const removeBatch = body(
  Joi.object<{ emails?: readonly string[]; ids?: readonly string[]; reason?: string; scope?: Scope }>({
    emails: emails(),
    ids: orNull(Joi.array().items(Joi.string().max(100)).min(1).max(100)),
    reason: why(),
    scope: orNull(scope()),
  }).or('emails', 'ids'),
)

export const suppressionQuery = Joi.object<{
  origin?: (typeof ORIGINS)[number]
  status?: 'pending'
  scope?: Scope
  format?: string
  limit?: string
  cursor?: string | string[]
}>({
  origin: Joi.string().valid(...ORIGINS),
  status: Joi.string()
    .valid('pending')
    .description('Those that wait for the decision of an incident, and suppress nobody; all are of bounces'),
  scope: scope(),
  ...fileQuery,
})

export const suppression = Joi.object({
  id: id('sup'),
  object: Joi.string().valid('suppression').required(),
  email: Joi.string().required(),
  origin: Joi.string()
    .valid(...ORIGINS)
    .required(),
  source_id: nullable(Joi.string()),
  reason: Joi.string(),
  expires_at: Joi.string(),
  scope: Joi.string().valid('account'),
  status: Joi.string().valid('pending').description('It suppresses nobody until its incident is decided'),
  incident_id: Joi.string(),
  created_at: time(),
}).meta({ name: 'Suppression' })

const rows = (row: Joi.Schema): Joi.ObjectSchema =>
  Joi.object({ object: Joi.string().valid('list').required(), data: Joi.array().items(row).required() })

export const removedSuppression = removed('sup', 'suppression').meta({ name: 'RemovedSuppression' })
export const suppressions = rows(suppression).meta({ name: 'Suppressions' })
export const removedSuppressions = rows(removedSuppression).meta({ name: 'RemovedSuppressions' })
export const suppressionList = listOf(suppression).meta({ name: 'SuppressionList' })
