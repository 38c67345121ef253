/**
 * NAME      webhooks - the shapes of webhook endpoints, and of what was posted to them
 */

import Joi from 'joi'
import { CHANGE_TYPES } from '../../mail/event-type.js'
import { WEBHOOK, WEBHOOK_EVENT, WEBHOOK_REPLAY } from '../../resource/webhook.js'
import { WEBHOOK_FORMATS } from '../../store/port/hooks.js'
import { MOST_GRACE_MS, MOST_IN_FLIGHT, MOST_REPLAY_RATE } from '../../webhook/endpoints.js'
import {
  anyBody,
  asRead,
  body,
  membersOf,
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
  auth: orNull(
    Joi.string()
      .allow('')
      .max(500)
      .description(
        'With format `postmark`: `user:password`, sent as a Basic login with every post, kept sealed, and never shown again; empty takes it away',
      ),
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
    .description(
      'An https URL without a login (`auth` is for that), on a public address; redirects are not followed',
    )

export const endpointBody = body(() => ({
  endpoint: need(orNull(url())),
  events: need(orNull(events())),
  format: orNull(
    oneOf(...WEBHOOK_FORMATS).description(
      'In whose words events are posted, for receivers that were written for that service; default `standard`. Types without a counterpart there are not posted',
    ),
  ),
  mode: orNull(
    oneOf('live', 'test').description(
      'Whose mail it is told of; a session chooses, default `live`; of a key its own',
    ),
  ),
  ...filters(),
}))

export type NewEndpoint = TypeOf<typeof endpointBody>

/** Members of the record that a client may send back as it read them. */
export const READ_ENDPOINT = ['id', 'object', 'format', 'workspace_id', 'mode', 'created_at'] as const
const PASSED_OVER = [
  'public_key',
  'has_auth',
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
  managed: asRead.managed(),
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

const members = shape(() => membersOf(WEBHOOK))

const ignored = shape(() =>
  Joi.array()
    .items(Joi.string())
    .description(
      'Types that were asked for and are never told: a well-known API has them, but this one not, such as `email.opened`, or the format has no counterpart of them. Absent where there were none',
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

const postMembers = shape(() =>
  membersOf(WEBHOOK_EVENT, {
    request_headers: nullable(Joi.object().pattern(Joi.string(), Joi.string())).description(
      'As sent; values of own headers are hidden',
    ),
  }),
)

export const webhookEvent = record('WebhookEvent', postMembers)
export const shownWebhookEvent = record('ShownWebhookEvent', () => ({
  ...postMembers(),
  payload: nullable(
    Joi.alternatives(Joi.object().unknown(), Joi.array().items(Joi.object().unknown())),
  ).description(
    'What is posted, a list in format `sendgrid`; null once the event is no longer kept. What a signature adds at each try is left out',
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

export const replayed = record('WebhookReplay', () => membersOf(WEBHOOK_REPLAY))
