/**
 * NAME      webhook - endpoints and posts as the public sees them
 *   Under Resend's names where it has them. The signing secret is in none of these: who made or rotated it is given it
 *   beside the record. Of the customer's own headers only the names are shown.
 */
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import { type KnownEndpoint, type ListedPost, WEBHOOK_FORMATS } from '../store/port/hooks.js'
import type { LogRow } from '../store/port/log.js'
import {
  constant,
  flag,
  id,
  list,
  MANAGED,
  own,
  type Rights,
  record,
  recordsOf,
  text,
  time,
  whole,
  words,
} from './member.js'

/** How an endpoint does, and since when. */
const healthOf = ({ status, state }: KnownEndpoint) => ({
  state: status === 'disabled' ? ('disabled' as const) : state.health,
  failing_since: timeOrNull(state.failingSince),
  failures: state.failures,
  last_failed_at: timeOrNull(state.lastFailedAt),
  last_succeeded_at: timeOrNull(state.lastSucceededAt),
  next_try_at: state.health === 'failing' ? timeOrNull(state.probeAt) : null,
})

export const WEBHOOK = {
  id: id('wh'),
  object: constant('webhook'),
  endpoint: text({ from: 'url' }),
  format: words(WEBHOOK_FORMATS, { says: 'In whose words events are posted; it stays what it was' }),
  public_key: text({
    none: true,
    says: 'Of format `sendgrid`: the key that verifies its signature, base64 of the DER; null: there is none',
  }),
  events: list(null),
  status: words(['enabled', 'disabled']),
  disabled_reason: words(['requested', 'gone', 'failures'], {
    none: true,
    says: '`gone`: it answered 410; `failures`: five days without a success',
  }),
  disabled_at: time({ none: true }),
  workspace_id: text({ none: true, says: 'null: it is told of the whole account' }),
  mode: words(['live', 'test']),
  domains: list(null),
  tags: list({ name: text(), value: text({ none: true }) }),
  header_names: list(null),
  has_auth: flag({
    of: ({ auth }: KnownEndpoint) => auth !== null,
    says: 'Whether posts carry a login; it is never shown',
  }),
  fields: words(['full', 'thin'], {
    set: {
      asks: '`thin` leaves subject, addresses, tags and answers of servers out of what is posted',
      option: 'thin posts no subject, address or tag',
      label: 'What is posted',
      choices: { full: 'All fields', thin: 'Without subject, addresses, tags and answers of servers' },
      fact: 'Posted',
      values: { full: 'all fields', thin: 'without subject, addresses and tags' },
    },
  }),
  max_in_flight: whole({
    set: {
      range: [1, 32],
      begins: 8,
      asks: 'Posts at the same time, default 8; 1 keeps the order, and a failing post holds up the others',
      option: 'Posts at the same time, 1 to 32; 1 keeps the order',
      label: 'Posts at the same time',
      hint: '1 keeps the order, and a failing post holds up the others.',
      fact: 'At the same time',
    },
  }),
  rate: whole({
    from: 'replayRate',
    set: {
      range: [1, 1000],
      begins: 50,
      asks: 'Replayed posts a second, default 50',
      option: 'Replayed posts a second, 1 to 1000',
      label: 'Replayed posts a second',
      fact: null,
      shown: 'replayed a second',
    },
  }),
  previous_secret_until: time({
    none: true,
    of: ({ previousSecret, previousUntil }: KnownEndpoint) =>
      previousSecret === null ? null : timeOrNull(previousUntil),
    says: 'Until when the secret before this one signs as well',
  }),
  health: record(
    {
      state: words(['healthy', 'failing', 'disabled']),
      failing_since: time({ none: true }),
      failures: whole({ says: 'In a row, up to now' }),
      last_failed_at: time({ none: true }),
      last_succeeded_at: time({ none: true }),
      next_try_at: time({ none: true }),
    },
    { of: healthOf },
  ),
  waiting: whole({
    says: 'Posts that wait for their first or next try; of one that is disabled, where `behind` is told, also the events that happened since',
  }),
  created_at: time(),
  updated_at: time(),
  managed: MANAGED,
}
export const webhook = recordsOf<KnownEndpoint>()(WEBHOOK)

export interface Behind {
  readonly events: number
  /** Counting ended early: there are more. */
  readonly capped: boolean
}

/** With the events of the log that it has not come to; null: its place is older than the log. What is off waits whole. */
export const shownWebhook = (row: KnownEndpoint, behind: Behind | null) => ({
  ...webhook(row),
  waiting: row.waiting + (row.status === 'disabled' ? (behind?.events ?? 0) : 0),
  behind,
})

export type ShownWebhook = ReturnType<typeof shownWebhook>

/** All that an endpoint is still to be told: posts that wait, and events that are no posts yet. Null: more than the log has. */
export const eventsLeft = ({ waiting, behind, status }: ShownWebhook): Behind | null =>
  behind && { ...behind, events: waiting + (status === 'disabled' ? 0 : behind.events) }

/** A post with the mail that its event is of; `about` is null where there is none, or no more. */
export type ToldPost = ListedPost & { readonly about: Pick<LogRow, 'emailId' | 'recipient'> | null }

const statusOf = ({ state, attempts }: ListedPost) => {
  if (state === 'waiting') return attempts === 0 ? ('pending' as const) : ('attempting' as const)
  return state === 'succeeded' ? ('success' as const) : state
}

/** What is said of the exchange is said of the last try. */
export const WEBHOOK_EVENT = {
  id: id('evt', {
    from: 'eventId',
    says: 'The `webhook-id`, the same at each try and replay',
  }),
  object: constant('webhook_event'),
  type: text({ from: 'eventType' }),
  created_at: time({ from: 'eventAt' }),
  email_id: id('em', {
    none: true,
    of: ({ about }: ToldPost) => about?.emailId ?? null,
    says: 'Of its mail; null: the event has none, or is no longer kept',
  }),
  recipient: text({
    none: true,
    of: ({ about }: ToldPost) => about?.recipient ?? null,
    says: 'Of whom it tells; null as for `email_id`',
  }),
  status: words(['success', 'pending', 'attempting', 'failed', 'canceled'], {
    of: statusOf,
    says: '`pending` waits for its first try, `attempting` for another one; `failed` is given up',
  }),
  next_attempt_at: time({ none: true, from: 'dueAt' }),
  post_id: text({
    none: true,
    from: 'id',
    says: 'null: it was taken at once, or given up unposted with many others; then only status and time are kept of it',
  }),
  kind: words(['event', 'replay', 'test']),
  attempts: whole(),
  url: text({ none: true }),
  request_headers: own({ from: 'headers' }),
  http_status_code: whole({
    none: true,
    from: 'status',
    says: 'null: no answer came',
  }),
  duration_ms: whole({ none: true, from: 'ms' }),
  response: text({
    empty: true,
    none: true,
    from: 'answer',
    says: 'The first kilobyte of the answer; null also for who may not read mail',
  }),
  cause: text({ none: true, says: 'What went wrong, in one sentence' }),
  updated_at: time(),
}
export const webhookEvent = recordsOf<ToldPost>()(WEBHOOK_EVENT)

/** The tries of some posts, the newest first; of the last one of each the answer is known. */
export const webhookAttempts = (posts: readonly ListedPost[]) =>
  posts
    .flatMap((post) =>
      post.tries.map((one, i) => ({
        id: `${post.id ?? post.eventId}.${post.attempts - post.tries.length + i + 1}`,
        http_status_code: one.status ?? 0,
        response: i === post.tries.length - 1 ? (post.answer ?? '') : '',
        sent_at: toRfc3339(one.at),
        duration_ms: one.ms,
        cause: one.cause,
      })),
    )
    .sort((a, b) => (a.sent_at < b.sent_at ? 1 : -1))

export interface Again {
  readonly endpointId: string
  /** null: it was only counted. */
  readonly replayId: string | null
  readonly failed: boolean
  /** null: from a mark, or from the beginning. */
  readonly since: number | null
  readonly until: number
  readonly matched: number
  readonly isCapped: boolean
}

export const WEBHOOK_REPLAY = {
  id: text({ none: true, from: 'replayId', says: 'null: it was only counted' }),
  object: constant('webhook_replay'),
  webhook_id: id('wh', { from: 'endpointId' }),
  failed: flag(),
  since: time({ none: true }),
  until: time(),
  matched: whole(),
  capped: flag({ from: 'isCapped', says: 'Counting ended early: there may be more' }),
  dry_run: flag({ of: ({ replayId }: Again) => replayId === null }),
}
export const webhookReplay = recordsOf<Again>()(WEBHOOK_REPLAY)

export type Webhook = ReturnType<typeof webhook>
export type WebhookEvent = ReturnType<typeof webhookEvent>
export type WebhookAttempt = ReturnType<typeof webhookAttempts>[number]

export const WEBHOOK_RIGHTS = {
  createWebhook: 'member',
  listWebhooks: 'viewer',
  getWebhook: 'viewer',
  updateWebhook: 'member',
  rotateWebhookSecret: 'member',
  deleteWebhook: 'member',
  listWebhookEvents: 'viewer',
  getWebhookEvent: 'bodies',
  listWebhookAttempts: 'bodies',
  testWebhook: 'member',
  replayWebhookEvent: 'member',
  replayWebhook: 'member',
} as const satisfies Rights
