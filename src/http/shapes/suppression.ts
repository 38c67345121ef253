/**
 * NAME      suppression - the shapes of suppressed addresses
 */
import Joi from 'joi'
import { SUPPRESSION_ORIGINS } from '../../store/port/tenants.js'
import {
  body,
  fileQuery,
  id,
  need,
  nullable,
  oneOf,
  orNull,
  record,
  removedOf,
  shape,
  shapeOf,
  type TypeOf,
  time,
  timestamp,
  why,
} from './common.js'

const ORIGINS = SUPPRESSION_ORIGINS

const email = () => Joi.string().max(320)

const scope = () =>
  oneOf('workspace', 'account').description(
    'account: the list that holds for the live mail of every workspace; needs a platform key',
  )
export type Scope = TypeOf<ReturnType<typeof scope>>

export const suppressionBody = body(() => ({
  email: need(orNull(email())),
  reason: orNull(Joi.string().max(998)),
  expires_at: orNull(timestamp()).description('When it ends; never unless given'),
  scope: orNull(scope()),
}))
export type WishedSuppression = TypeOf<typeof suppressionBody>

const emails = () => orNull(Joi.array<readonly string[]>().items(email()).min(1).max(100))

export const addBatch = body(() => ({
  emails: need(emails()),
  reason: orNull(Joi.string().max(998)),
  scope: orNull(scope()),
}))

/** By address, by id, or both. */
const removal = body(() => ({
  emails: emails(),
  ids: orNull(Joi.array<readonly string[]>().items(Joi.string().max(100)).min(1).max(100)),
  reason: why(),
  scope: orNull(scope()),
}))
export const removeBatch = shape(() => removal().or('emails', 'ids'))

export const suppressionQuery = shapeOf(() => ({
  origin: oneOf(...ORIGINS),
  status: oneOf('pending').description(
    'Those that wait for the decision of an incident, and suppress nobody; all are of bounces',
  ),
  scope: scope(),
  ...fileQuery(),
}))

export const suppression = record('Suppression', () => ({
  id: id('sup'),
  object: Joi.string().valid('suppression').required(),
  email: Joi.string().required(),
  origin: need(oneOf(...ORIGINS)),
  source_id: nullable(Joi.string()),
  reason: Joi.string(),
  expires_at: Joi.string(),
  scope: Joi.string().valid('account'),
  status: Joi.string().valid('pending').description('It suppresses nobody until its incident is decided'),
  incident_id: Joi.string(),
  created_at: time(),
}))

const rows = (row: Joi.Schema): Joi.ObjectSchema =>
  Joi.object({ object: Joi.string().valid('list').required(), data: Joi.array().items(row).required() })

export const suppressions = shape(() => rows(suppression()).meta({ name: 'Suppressions' }))
export const removedSuppressions = shape(() =>
  rows(removedOf(suppression)()).meta({ name: 'RemovedSuppressions' }),
)
