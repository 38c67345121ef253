/**
 * NAME      job - the shapes of what is done to many mails at once
 */
import Joi from 'joi'
import { JOB_ACTIONS, JOB_STATES } from '../../../store/port/jobs.js'
import { body, id, need, nullable, oneOf, orNull, record, shape, type TypeOf, time } from '../common.js'
import { emailFilters } from '../email.js'

const order = body(() => ({
  action: need(oneOf(...JOB_ACTIONS)).description(
    'cancel: what is scheduled. retry: what would be tried later is due now. release: what no hold keeps, such as mail that may ' +
      'have been sent already. resend: to the recipients that bounced, or else to all. suppress: the recipients that bounced, or else all',
  ),
  ...emailFilters(),
  reason: need(Joi.string().max(500)).description('Why; it stands with what is changed'),
  all: orNull(Joi.boolean()).description('true: all mails, where neither q nor a filter is given'),
  dry_run: orNull(Joi.boolean()).description('true: only counts'),
}))
export const bulkBody = shape(() => order().meta({ name: 'BulkOrder' }))
export type BulkBody = TypeOf<typeof bulkBody>

const count = () => Joi.number().integer().min(0).required()
const matched = shape(() => ({
  action: need(oneOf(...JOB_ACTIONS)),
  matched: Joi.alternatives()
    .try(
      Joi.number().integer().min(0),
      Joi.object({
        at_least: count().description('As many as were counted in three seconds; there are more'),
      }),
    )
    .required()
    .description('Mails that matched when it was made'),
}))

export const preview = record('JobPreview', () => ({
  object: Joi.string().valid('job_preview').required(),
  ...matched(),
  dry_run: Joi.boolean().valid(true).required(),
}))

export const job = record('Job', () => ({
  id: id('job'),
  object: Joi.string().valid('job').required(),
  ...matched(),
  state: need(oneOf(...JOB_STATES)),
  reason: Joi.string().required(),
  q: nullable(Joi.string()),
  workspace_id: nullable(Joi.string()).description('null: it may be about several'),
  done: count().description('Mails that were changed'),
  skipped: count().description('Mails that needed no change'),
  failed: count().description('Mails that could not be changed'),
  per_second: nullable(Joi.number().min(0)).description(
    'Mails met a second since it was made; null before the first',
  ),
  seconds_left: nullable(Joi.number().integer().min(0)).description(
    'At this speed; null where it has ended, or where it is not known how many there are',
  ),
  last_error: nullable(Joi.string()).description('A mail that could not be changed, and why'),
  created_by: Joi.string()
    .required()
    .description(
      'The id of the key, person or session that made it; `cli:` and the number of a user: the command line',
    ),
  created_by_name: nullable(Joi.string()).description('What that is called'),
  created_at: time(),
  updated_at: time(),
  finished_at: nullable(Joi.string()),
}))
