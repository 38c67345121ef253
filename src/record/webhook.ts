/**
 * NAME      webhook - endpoints and posts as the public sees them
 * DESCRIPTION
 *   Under Resend's names where it has them. The signing secret is in none of these:
 *   who made or rotated it is given it beside the record. Of the customer's own
 *   headers only the names are shown.
 */
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import type { KnownEndpoint, ListedPost } from '../store/port/hooks.js'
import type { LogRow } from '../store/port/log.js'

/** How an endpoint does, in one word. */
const healthOf = ({ status, state }: KnownEndpoint): 'disabled' | 'healthy' | 'failing' =>
  status === 'disabled' ? 'disabled' : state.health

export const webhook = (row: KnownEndpoint) => ({
  id: row.id,
  object: 'webhook' as const,
  endpoint: row.url,
  events: row.events,
  status: row.status,
  disabled_reason: row.disabledReason,
  disabled_at: timeOrNull(row.disabledAt),
  workspace_id: row.workspaceId,
  mode: row.mode,
  domains: row.domains,
  tags: row.tags,
  header_names: row.headerNames,
  fields: row.fields,
  max_in_flight: row.maxInFlight,
  rate: row.replayRate,
  previous_secret_until: row.previousSecret === null ? null : timeOrNull(row.previousUntil),
  health: {
    state: healthOf(row),
    failing_since: timeOrNull(row.state.failingSince),
    failures: row.state.failures,
    last_failed_at: timeOrNull(row.state.lastFailedAt),
    last_succeeded_at: timeOrNull(row.state.lastSucceededAt),
    next_try_at: row.state.health === 'failing' ? timeOrNull(row.state.probeAt) : null,
  },
  waiting: row.waiting,
  created_at: toRfc3339(row.createdAt),
  updated_at: toRfc3339(row.updatedAt),
})

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
export const webhookEvent = (post: ToldPost) => ({
  id: post.eventId,
  object: 'webhook_event' as const,
  type: post.eventType,
  created_at: toRfc3339(post.eventAt),
  email_id: post.about?.emailId ?? null,
  recipient: post.about?.recipient ?? null,
  status: statusOf(post),
  next_attempt_at: timeOrNull(post.dueAt),
  post_id: post.id,
  kind: post.kind,
  attempts: post.attempts,
  url: post.url,
  request_headers: post.headers,
  http_status_code: post.status,
  duration_ms: post.ms,
  response: post.answer,
  cause: post.cause,
  updated_at: toRfc3339(post.updatedAt),
})

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

export const webhookReplay = (one: Again) => ({
  id: one.replayId,
  object: 'webhook_replay' as const,
  webhook_id: one.endpointId,
  failed: one.failed,
  since: timeOrNull(one.since),
  until: toRfc3339(one.until),
  matched: one.matched,
  capped: one.isCapped,
  dry_run: one.replayId === null,
})

export type Webhook = ReturnType<typeof webhook>
export type WebhookEvent = ReturnType<typeof webhookEvent>
export type WebhookAttempt = ReturnType<typeof webhookAttempts>[number]
