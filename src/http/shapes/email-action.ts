/**
 * NAME      email-action - the shapes of batches and changes
 * DESCRIPTION
 *   The items of a batch are checked one by one in routes/batch.ts, because
 *   `x-batch-validation: permissive` keeps the good ones. Body-less actions take
 *   nothing, null or `{}`, and the id that some SDKs repeat in the body.
 */
import Joi from 'joi'
import { anyBody, body, id, need, orNull, record, schedule, shape } from './common.js'
import { address, sendBody } from './email.js'

const BATCH_MAX = 100

export const batchBody = shape(() =>
  Joi.array<readonly unknown[]>()
    .items(Joi.any().meta({ like: sendBody() }))
    .min(1)
    .max(BATCH_MAX)
    .empty(null)
    .required(),
)

export const batch = record('Batch', () => ({
  object: Joi.string().valid('batch').required(),
  data: Joi.array()
    .items(Joi.object({ id: id('em') }))
    .required(),
  errors: Joi.array().items(
    Joi.object({
      index: Joi.number().integer().min(0).required(),
      message: Joi.string().required(),
      code: Joi.string().required(),
    }),
  ),
}))

const repeatedId = shape(() => ({
  id: orNull(Joi.string().max(100)),
  email_id: orNull(Joi.string().max(100)),
}))

export const reschedule = body(() => ({ scheduled_at: need(orNull(schedule())), ...repeatedId() }))

export const nothing = anyBody(repeatedId)

export const resend = anyBody(() => ({
  to: orNull(Joi.array<readonly string[]>().items(address()).single().max(100)).description(
    'Those that are to get it; null: the recipients that bounced, or else all',
  ),
  release: orNull(Joi.boolean()).description('true: a mail of test mode is sent for real'),
  ...repeatedId(),
}))

export const source = shape(() => Joi.string().description('RFC 5322, octet for octet'))
