/**
 * NAME      webhooks - the shapes of webhook endpoints, and of what was posted to them
 */

import Joi from 'joi'
import { CHANGE_TYPES } from '../../mail/event-type.js'
import { MOST_GRACE_MS, MOST_IN_FLIGHT, MOST_REPLAY_RATE } from '../../webhook/endpoints.js'
import {
  anyBody,
  asRead,
  body,
  id,
  need,
  nullable,
  oneOf,
  orNull,
  pageQuery,
  record,
  shape,
  shapeOf,
  span,
  type TypeOf,
  time,
} from './common.js'

const events = () =>
  Joi.array<readonly string[]>()
    .items(Joi.string().max(100))
    .min(1)
    .max(100)
    .description(
      `What to tell: ${CHANGE_TYPES.join(', ')}; \`email.delivery_delayed\` is \`email.deferred\` under Resend's name; \`*\` is everything, also what is yet to come. Changes only: orders of an operator and email.reported stand in GET /v1/events, and are not told`,
    )

const tag = shapeOf(() => ({ name: need(Joi.string().max(256)), value: orNull(Joi.string().max(256)) }))

const filters = shape(() => ({
  domains: orNull(
    Joi.array<readonly string[]>()
      .items(Joi.string().max(255))
      .max(100)
      .description('Only of mail that is from these domains; empty: of all. What is about no mail passes'),
  ),
  tags: orNull(
    Joi.array<readonly (TypeOf<typeof tag> | undefined)[]>()
      .items(tag())
      .max(20)
      .description('Only of mail that has one of these tags; without a value, whatever its value is'),
  ),
  headers: orNull(
    Joi.object<Readonly<Record<string, string>>>()
      .pattern(Joi.string().max(100), Joi.string().max(2000))
      .description(
        'At most 10 header fields to send with every post, such as a token. They take the place of all that were, are kept sealed, and never shown again',
      ),
  ),
  fields: orNull(
    oneOf('full', 'thin').description(
      '`thin` leaves subject, addresses, tags and answers of servers out of what is posted',
    ),
  ),
  max_in_flight: orNull(
    Joi.number()
      .integer()
      .min(1)
      .max(MOST_IN_FLIGHT)
      .description(
        'Posts at the same time, default 8; 1 keeps the order, and a failing post holds up the others',
      ),
  ),
  rate: orNull(
    Joi.number().integer().min(1).max(MOST_REPLAY_RATE).description('Replayed posts a second, default 50'),
  ),
}))

const url = () =>
  Joi.string()
    .max(2048)
    .description('An https URL without a login, on a public address; redirects are not followed')

export const endpointBody = body(() => ({
  endpoint: need(orNull(url())),
  events: need(orNull(events())),
  mode: orNull(
    oneOf('live', 'test').description(
      'Whose mail it is told of; a session chooses, default `live`; of a key its own',
    ),
  ),
  ...filters(),
}))

/** Members of the record that a client may send back as it read them. */
export const READ_ENDPOINT = ['id', 'object', 'workspace_id', 'mode', 'created_at'] as const
const PASSED_OVER = [
  'header_names',
  'disabled_reason',
  'disabled_at',
  'previous_secret_until',
  'health',
  'waiting',
  'behind',
  'ignored',
  'updated_at',
] as const

export const endpointChange = body(() => ({
  endpoint: orNull(url()),
  events: orNull(events()),
  ...filters(),
  status: orNull(oneOf('enabled', 'disabled')),
  from: orNull(
    oneOf('now').description('With `"status": "enabled"`: go on from now, and pass over what waits'),
  ),
  ...Object.fromEntries(READ_ENDPOINT.map((name) => [name, asRead.text()])),
  ...Object.fromEntries(
    PASSED_OVER.map((name) => [name, Joi.any().description('As it was read; passed over')]),
  ),
}))
export type EndpointChange = TypeOf<typeof endpointChange>

export const rotationBody = anyBody(() => ({
  grace: span(MOST_GRACE_MS).description(
    'How long the secret so far signs as well: `90m`, `24h`, at most `7d`; or seconds. Default `24h`',
  ),
}))
export type Rotation = TypeOf<typeof rotationBody>

const members = shape(() => ({
  id: id('wh'),
  object: Joi.string().valid('webhook').required(),
  endpoint: Joi.string().required(),
  events: Joi.array().items(Joi.string()).required(),
  status: Joi.string().valid('enabled', 'disabled').required(),
  disabled_reason: nullable(Joi.string().valid('requested', 'gone', 'failures')).description(
    '`gone`: it answered 410; `failures`: five days without a success',
  ),
  disabled_at: nullable(Joi.string()),
  workspace_id: nullable(Joi.string()).description('null: it is told of the whole account'),
  mode: Joi.string().valid('live', 'test').required(),
  domains: Joi.array().items(Joi.string()).required(),
  tags: Joi.array()
    .items(Joi.object({ name: Joi.string().required(), value: nullable(Joi.string()) }))
    .required(),
  header_names: Joi.array().items(Joi.string()).required(),
  fields: Joi.string().valid('full', 'thin').required(),
  max_in_flight: Joi.number().integer().required(),
  rate: Joi.number().integer().required(),
  previous_secret_until: nullable(Joi.string()).description(
    'Until when the secret before this one signs as well',
  ),
  health: Joi.object({
    state: Joi.string().valid('healthy', 'failing', 'disabled').required(),
    failing_since: nullable(Joi.string()),
    failures: Joi.number().integer().required().description('In a row, up to now'),
    last_failed_at: nullable(Joi.string()),
    last_succeeded_at: nullable(Joi.string()),
    next_try_at: nullable(Joi.string()),
  }).required(),
  waiting: Joi.number()
    .integer()
    .required()
    .description(
      'Posts that wait for their first or next try; of one that is disabled, where `behind` is told, also the events that happened since',
    ),
  created_at: time(),
  updated_at: time(),
}))

const ignored = shape(() =>
  Joi.array()
    .items(Joi.string())
    .description(
      'Types that were asked for and that a well-known API has, but this one not, such as `email.opened`: nothing is told of them. Absent where there were none',
    ),
)

const behind = shape(() =>
  Joi.object({
    events: Joi.number().integer().required(),
    capped: Joi.boolean().required().description('Counting ended early: there are more'),
  }).description('Events of the log that it has not come to yet; null: its place is older than the log'),
)

export const webhook = record('Webhook', () => ({
  ...members(),
  behind: nullable(behind()),
  ignored: ignored(),
}))
export const madeWebhook = record('MadeWebhook', () => ({
  ...members(),
  signing_secret: Joi.string()
    .pattern(/^whsec_/)
    .required()
    .description('Shown now, and never again'),
  ignored: ignored(),
}))

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

const postMembers = shape(() => ({
  id: id('evt').description('The `webhook-id`, the same at each try and replay'),
  object: Joi.string().valid('webhook_event').required(),
  type: Joi.string().required(),
  created_at: time(),
  email_id: nullable(id('em')).description('Of its mail; null: the event has none, or is no longer kept'),
  recipient: nullable(Joi.string()).description('Of whom it tells; null as for `email_id`'),
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
  response: nullable(Joi.string().allow('')).description(
    'The first kilobyte of the answer; null also for who may not read mail',
  ),
  cause: nullable(Joi.string()).description('What went wrong, in one sentence'),
  updated_at: time(),
}))

export const webhookEvent = record('WebhookEvent', postMembers)
export const shownWebhookEvent = record('ShownWebhookEvent', () => ({
  ...postMembers(),
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
