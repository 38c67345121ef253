/**
 * NAME      email-action - the shapes of batches, changes and events
 * DESCRIPTION
 *   The items of a batch are checked one by one in routes/batch.ts, because
 *   `x-batch-validation: permissive` keeps the good ones. Body-less actions take
 *   nothing, null or `{}`, and the id that some SDKs repeat in the body.
 */
import Joi from 'joi'
import { body, id, listOf, nullable, orNull, time, timestamp } from './common.js'
import { sendBody } from './email.js'

const BATCH_MAX = 100

export const batchBody = Joi.array<readonly unknown[]>()
  .items(Joi.any().meta({ like: sendBody }))
  .min(1)
  .max(BATCH_MAX)
  .empty(null)
  .required()

export const batch = Joi.object({
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
}).meta({ name: 'Batch' })

const repeatedId = { id: orNull(Joi.string().max(100)), email_id: orNull(Joi.string().max(100)) }

export const reschedule = body(
  Joi.object<{ scheduled_at: string }>({
    scheduled_at: orNull(timestamp()).required(),
    ...repeatedId,
  }),
)

export const nothing = Joi.object(repeatedId).empty(null)

const SOURCES = ['api', 'smtp', 'dsn', 'arf', 'operator', 'system']

const event = Joi.object({
  id: id('evt'),
  object: Joi.string().valid('event').required(),
  type: Joi.string()
    .pattern(/^email\./)
    .required()
    .description(
      '`email.` and a status; of what was not applied, the status it would have been. Two kinds move no status: email.complained (the recipient called it spam) and email.reported (feedback that is no complaint, or a report that nobody can read)',
    ),
  email_id: id('em'),
  recipient: nullable(Joi.string()),
  source: Joi.string()
    .valid(...SOURCES)
    .required(),
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
  applied: Joi.boolean()
    .required()
    .description('false: noted, and nothing changed; detail.unapplied says why'),
  reason: Joi.string(),
  detail: Joi.object()
    .pattern(Joi.string(), Joi.alternatives(Joi.string().allow(''), Joi.number(), Joi.boolean()).allow(null))
    .description(
      'Of an attempt: stage, tls, port, ms, error, class, fault. Of a report: action, status, class, category, fault, remote_mta, diagnostic (verbatim), tier of trust, final_recipient (where it names another address than ours), unapplied (why it changed nothing: other_recipient, groups_disagree, unclear, never_sent, unverified, relayed_means_sent, unknown_action, not_a_complaint, stale_attempt, or already_ and a status), suppression (what became of it: added, test_mode, other_address)',
    ),
}).meta({ name: 'Event' })

export const eventList = listOf(event).meta({ name: 'EventList' })
