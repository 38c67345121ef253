/**
 * NAME      event - the shapes of events, in a mail's timeline and in the log
 */
import Joi from 'joi'
import { EVENT_SOURCES } from '../../lifecycle/facts.js'
import { EVENT_TYPES } from '../../mail/event-type.js'
import {
  fileQuery,
  id,
  need,
  nullable,
  type object,
  oneOf,
  record,
  shape,
  shapeOf,
  type TypeOf,
  time,
  timestamp,
} from './common.js'

/** A bounce as others sort it. */
const bounce = shapeOf(() => ({
  provider: nullable(Joi.string()).description(
    'Who runs the mailbox (google, microsoft, yahoo, …), by the domain of the recipient, else by the server that refused and by its words. null: nothing tells',
  ),
  provider_types: Joi.object({
    ses: Joi.object({ type: Joi.string().required(), sub_type: Joi.string().required() }).required(),
    postmark: Joi.string().required(),
  })
    .required()
    .description('What Amazon SES (bounceType, bounceSubType) and Postmark (Type) call such a bounce'),
}))

const shared = shape(() => ({
  id: id('evt'),
  object: Joi.string().valid('event').required(),
  type: Joi.string()
    .required()
    .description(
      '`email.` and a status; of what was not applied, the status it would have been. Others move no status: email.complained (the recipient called it spam), email.reported (feedback that is no complaint, or a mail at a return path that is no report or cannot be read: reason `auto_reply`, `unread`), email.sender_notified (a report of our own went to who submitted it), and email.held, released, rerouted, retried (orders of an operator). In the log also what concerns no mail. New types may come: pass over what you do not know',
    ),
  recipient: nullable(Joi.string()),
  source: need(oneOf(...EVENT_SOURCES)),
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
  change: Joi.boolean()
    .required()
    .description(
      'true: the status is another than before, or it is a first event, a complaint, or about no mail; false: a further failed attempt, an order, or what was not applied',
    ),
  applied: Joi.boolean()
    .required()
    .description('false: noted, and nothing changed; detail.unapplied says why'),
  reason: Joi.string(),
  detail: Joi.object()
    .pattern(Joi.string(), Joi.alternatives(Joi.string().allow(''), Joi.number(), Joi.boolean()).allow(null))
    .description(
      'Of an attempt: stage, tls, port, ms, error, class, fault, upstream_message_id (what a service that took the mail by HTTPS calls it). Of a report: action, status, class, category, fault, remote_mta, diagnostic (verbatim), tier of trust, final_recipient (where it names another address than ours), unapplied (why it changed nothing: other_recipient, groups_disagree, unclear, never_sent, unverified, relayed_means_sent, unknown_action, not_a_complaint, unread, auto_reply, stale_attempt, or already_ and a status), suppression (what became of it: added, pending until a person decides on the incident, test_mode, other_address, workspace_deleted), report (the name under which the report itself is kept for `retention.reports`: GET /v1/emails/{id}/events/{event}/report). Of email.bounced with the reason suppressed: entry, where a whole domain is on the list (`*@example.com`), or list, where the reader unsubscribed from that mailing list. Of email.sender_notified: action, dsn (the id of the mail)',
    ),
  bounce: bounce().description('Of email.bounced only'),
}))

export const event = record('Event', () => ({ ...shared(), email_id: id('em') }))

export const loggedEvent = record('LoggedEvent', () => ({
  ...shared(),
  email_id: nullable(Joi.string()).description('null: it is about no mail, and `data` names its thing'),
  workspace_id: nullable(Joi.string()).description('null: of the whole account'),
  mode: Joi.string().valid('live', 'test').required(),
  from: Joi.string(),
  subject: Joi.string().allow('', null),
  message_id: Joi.string(),
  tags: Joi.array().items(
    Joi.object({ name: Joi.string().required(), value: Joi.string().allow('').required() }),
  ),
  data: Joi.object()
    .unknown()
    .description(
      'Of an event about no mail. Of suppression.*: suppression_id, email, list (of whose mail it is alone; absent: all mail), origin, scope (workspace, account), source_id, reason (of a bounce or a complaint), and expires_at or cause (removed, expired, or pending: an incident has begun, and the address is written to). Of suppression.incident: incident_id, upstream_id, domain, said (what the server said, without what names one mail), addresses, delivered_before (how many of those took mail before) and outcomes (of how many in all). Of domain.*: domain_id, name, and of domain.failed reason (dns, keys_rotated) and the records that are not there. Of upstream.*: upstream_id, egress_pool_ids (its own pool and those that follow it), host, port, and why (stage, message; the stage `auth` also when for a minute no login was let in or no token was to be had) or down_since and seconds. Of workspace.rate_alarm: workspace_id, alarm (complaints, hard_bounces, deferrals), rate, count, tried, limit, window_seconds, cause (the most frequent reason: reason, title, count, of, domain; or null), and hold_id where its mail is held. Of workspace.rate_alarm_ended, when the rate was below the limit for an hour, or has no limit any more: the same but limit, cause and hold_id, raised_at, and seconds for which it stood. Of webhook.*: webhook_id first. Of postmaster.received, mail of anybody to postmaster@ or abuse@ the bounce domain: from, subject, to, text (its first 2,000 characters), size, ip, hello; of people only owners see it',
    ),
}))

const filters = shape(() => ({
  type: Joi.array<readonly string[]>()
    .items(Joi.string().max(100))
    .single()
    .max(100)
    .description(`May stand several times. One of ${EVENT_TYPES.join(', ')}`),
  email_id: Joi.string().max(100),
  recipient: Joi.string().max(320),
  change: Joi.string().valid('true', 'false').description('true: changes only; false: notes only'),
  created_after: timestamp(),
  created_before: timestamp(),
  mode: Joi.string().valid('live', 'test').description('sessions only; a key sees its own mode'),
  after: Joi.string().max(300).description('A mark: the `id` of an event on the stream. What came after it'),
}))
export type FilterQuery = TypeOf<ReturnType<typeof object<ReturnType<typeof filters>>>>

export const logQuery = shapeOf(() => ({
  ...filters(),
  ...fileQuery(),
  after: filters().after.description(
    'The id of an event (`evt_…`): those older than it, as on every list. Or a mark, which is the `id` of an event on the stream: what came after it. Not beside `cursor` or `before`',
  ),
}))

export const streamQuery = shapeOf(() => ({
  ...filters(),
  merge: Joi.string()
    .pattern(/^[1-9]\d{2,3}ms$/)
    .description('100ms to 9999ms: at most one `log.merged` event in so long, with counters and last states')
    .meta({ must: 'must be 100ms to 9999ms' }),
}))
export type StreamQuery = TypeOf<typeof streamQuery>

export const streamText = shape(() =>
  Joi.string().description(
    'text/event-stream: `id` is a mark, `event` the type, `data` the record of the event',
  ),
)
