/**
 * NAME      post - the shapes of what was posted to an endpoint
 */
import Joi from 'joi'
import {
  anyBody,
  id,
  need,
  nullable,
  oneOf,
  orNull,
  pageQuery,
  record,
  shape,
  shapeOf,
  type TypeOf,
  time,
} from '../common.js'

export const postsQuery = shapeOf(() => ({
  ...pageQuery(),
  failed: Joi.string().valid('true', 'false').description('`true`: only those whose last try failed'),
}))

export const replayBody = anyBody(() => ({
  since: orNull(
    Joi.string()
      .max(200)
      .description(
        'From where: an ISO 8601 time with its zone, a day, or a mark of the log; needed without `failed`',
      ),
  ),
  until: orNull(Joi.string().max(64).description('Up to when events happened, default now')),
  failed: orNull(Joi.boolean().description('Only events that were given up, and were not posted since')),
  dry_run: orNull(Joi.boolean().description('Only count')),
}))
export type ReplayBody = TypeOf<typeof replayBody>

const STATUS = ['success', 'pending', 'attempting', 'failed', 'canceled'] as const

const members = shape(() => ({
  id: id('evt').description('The `webhook-id`, the same at each try and replay'),
  object: Joi.string().valid('webhook_event').required(),
  type: Joi.string().required(),
  created_at: time(),
  status: need(oneOf(...STATUS)).description(
    '`pending` waits for its first try, `attempting` for another one; `failed` is given up',
  ),
  next_attempt_at: nullable(Joi.string()),
  post_id: nullable(Joi.string()).description(
    'null: it was taken at once, or given up unposted with many others; then only status and time are kept of it',
  ),
  kind: Joi.string().valid('event', 'replay', 'test').required(),
  attempts: Joi.number().integer().required(),
  url: nullable(Joi.string()),
  request_headers: nullable(Joi.object().pattern(Joi.string(), Joi.string())).description(
    'As sent; values of own headers are hidden',
  ),
  http_status_code: nullable(Joi.number().integer()).description('null: no answer came'),
  duration_ms: nullable(Joi.number().integer()),
  response: nullable(Joi.string().allow('')).description('The first kilobyte of the answer'),
  cause: nullable(Joi.string()).description('What went wrong, in one sentence'),
  updated_at: time(),
}))

export const webhookEvent = record('WebhookEvent', members)
export const shownWebhookEvent = record('ShownWebhookEvent', () => ({
  ...members(),
  payload: nullable(Joi.object().unknown()).description(
    'What is posted; null once the event is no longer kept',
  ),
}))

export const attemptList = record('WebhookAttemptList', () => ({
  object: Joi.string().valid('list').required(),
  has_more: Joi.boolean().required(),
  data: Joi.array()
    .items(
      Joi.object({
        id: Joi.string().required(),
        http_status_code: Joi.number().integer().required().description('0: no answer came'),
        response: Joi.string().allow('').required().description('Kept of the last try only'),
        sent_at: time(),
        duration_ms: Joi.number().integer().required(),
        cause: nullable(Joi.string()),
      }),
    )
    .required(),
}))

export const replayed = record('WebhookReplay', () => ({
  id: nullable(Joi.string()).description('null: it was only counted'),
  object: Joi.string().valid('webhook_replay').required(),
  webhook_id: id('wh'),
  failed: Joi.boolean().required(),
  since: nullable(Joi.string()),
  until: time(),
  matched: Joi.number().integer().required(),
  capped: Joi.boolean().required().description('Counting ended early: there may be more'),
  dry_run: Joi.boolean().required(),
}))
