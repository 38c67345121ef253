/**
 * NAME      render - rows as the wire has them
 * DESCRIPTION
 *   The only place that turns the store's rows into public records: snake_case,
 *   RFC 3339 times, no secret, no internal id. A send answers the accepted record
 *   without bodies; a list row leaves out recipients and attachments, too. Members
 *   stand in the order of API.md; one that it does not print (a reason, an expiry)
 *   is there only when it says something.
 */
import { toRfc3339 } from '../base/clock.js'
import { eventName } from '../mail/status.js'
import type { UpstreamHealth } from '../relay/watch/health.js'
import type { EmailRecord, EmailRow, EventRow, RecipientRow } from '../store/port.js'
import type {
  CredentialRow,
  KeyRow,
  KnownPool,
  SuppressionRow,
  UpstreamRow,
  WorkspaceRow,
} from '../store/port-tenants.js'
import { keyPrefix } from '../tenant/key.js'
import type { MailWaiting, RelayView, Waiting } from '../tenant/queue/waiting.js'
import { isAccountWide } from '../tenant/suppression.js'

const timeOrNull = (at: number | null): string | null => (at === null ? null : toRfc3339(at))

/** Before its time a mail counts as scheduled; a count that most mails never have shows only then. */
const countsOf = ({ scheduled, ...rest }: EmailRow['counts']) =>
  scheduled === 0 ? rest : { scheduled, ...rest }

const heading = (row: EmailRow) => ({
  id: row.id,
  object: 'email' as const,
  status: row.status,
  last_event: eventName(row.status),
  workspace_id: row.workspaceId,
  mode: row.mode,
  source: row.source,
  from: row.from,
  to: row.to,
  cc: row.cc,
  bcc: row.bcc,
  reply_to: row.replyTo,
  subject: row.subject,
  tags: row.tags,
})

const passage = (row: EmailRow) => ({
  message_id: row.messageId,
  scheduled_at: timeOrNull(row.scheduledAt),
  created_at: toRfc3339(row.createdAt),
  updated_at: toRfc3339(row.updatedAt),
})

/**
 * Why something waits. Who may mend it, or must find who may, is told what there is to know
 * and which command mends it; the owner of a workspace, in words that name nothing of others.
 */
export type ShowWaiting = (waiting: Waiting | null) => {
  readonly reason: string
  readonly detail: string
  readonly until: string | null
} | null

const shown = ({ reason, until }: Waiting, parts: readonly (string | null)[]) => ({
  reason,
  detail: parts.filter((part) => part !== null).join('; '),
  until: timeOrNull(until),
})

export const waitingInFull: ShowWaiting = (waiting) =>
  waiting &&
  shown(waiting, [waiting.plain, waiting.more, waiting.remedy && `an operator runs: ${waiting.remedy}`])

export const waitingInShort: ShowWaiting = (waiting) => waiting && shown(waiting, [waiting.plain])

export const emailSummary = (row: EmailRow) => ({
  ...heading(row),
  ...passage(row),
  counts: countsOf(row.counts),
})

export const listedEmail = (row: EmailRow, waiting: Waiting | null, show: ShowWaiting) => ({
  ...emailSummary(row),
  waiting: show(waiting),
})

const recipient = (row: RecipientRow) => ({
  address: row.address,
  kind: row.kind,
  status: row.status,
  attempts: row.attempts,
  last_response: row.lastResponse,
  ...(row.reason !== null && { reason: row.reason }),
  updated_at: toRfc3339(row.updatedAt),
})

export const acceptedEmail = (row: EmailRecord) => ({
  ...heading(row),
  attachments: row.attachments,
  ...passage(row),
  recipients: row.recipients.map(recipient),
  counts: countsOf(row.counts),
})

/** What was written, while it is kept; all null after retention. */
export interface Content {
  readonly html: string | null
  readonly text: string | null
  readonly headers: Readonly<Record<string, string>> | null
}

export const NO_CONTENT: Content = { html: null, text: null, headers: null }

export const email = (
  row: EmailRecord,
  { html, text, headers }: Content,
  waiting: MailWaiting,
  show: ShowWaiting,
) => ({
  ...acceptedEmail(row),
  waiting: show(waiting.first),
  recipients: row.recipients.map((one) => ({
    ...recipient(one),
    waiting: show(waiting.recipients.get(one.id) ?? null),
  })),
  html,
  text,
  headers,
})

export const event = (row: EventRow) => ({
  id: row.id,
  object: 'event' as const,
  type: row.type,
  email_id: row.emailId,
  recipient: row.recipient,
  source: row.source,
  occurred_at: toRfc3339(row.occurredAt),
  created_at: toRfc3339(row.createdAt),
  smtp: row.reply,
  mta: row.mta && {
    pool_id: row.mta.poolId,
    host: row.mta.host,
    ...(row.mta.upstreamId !== null && { upstream_id: row.mta.upstreamId }),
  },
  attempt: row.attempt,
  applied: row.applied,
  ...(row.reason !== null && { reason: row.reason }),
  ...(row.detail !== null && { detail: row.detail }),
})

export const workspace = (row: WorkspaceRow) => ({
  id: row.id,
  object: 'workspace' as const,
  name: row.name,
  slug: row.slug,
  is_default: row.isDefault,
  egress_pool_id: row.poolId,
  default_from: row.defaultFrom,
  restrict_senders: row.restrictSenders,
  sender_dsn: row.senderDsn,
  suspended: row.suspendedAt !== null,
  created_at: toRfc3339(row.createdAt),
})

const keyHead = (row: KeyRow) => ({
  id: row.id,
  object: 'api_key' as const,
  name: row.name,
  mode: row.mode,
  scope: row.scope,
  workspace_id: row.workspaceId,
  prefix: keyPrefix(row),
})

const keyTimes = (row: KeyRow) => ({
  created_at: toRfc3339(row.createdAt),
  last_used_at: timeOrNull(row.lastUsedAt),
  expires_at: timeOrNull(row.expiresAt),
  rate_limit_per_minute: row.rateLimitPerMinute,
})

export const apiKey = (row: KeyRow) => ({ ...keyHead(row), ...keyTimes(row) })

/** The secret is known at creation only. */
export const createdKey = (row: KeyRow, secret: string) => ({ ...keyHead(row), secret, ...keyTimes(row) })

export const credential = (row: CredentialRow) => ({
  id: row.id,
  object: 'credential' as const,
  workspace_id: row.workspaceId,
  mode: row.mode,
  username: row.username,
  cidr: row.cidr,
  imported: row.imported,
  created_at: toRfc3339(row.createdAt),
  last_used_at: timeOrNull(row.lastUsedAt),
})

export const suppression = (row: SuppressionRow) => ({
  id: row.id,
  object: 'suppression' as const,
  email: row.email,
  origin: row.origin,
  source_id: row.sourceId,
  ...(row.reason !== null && { reason: row.reason }),
  ...(row.expiresAt !== null && { expires_at: toRfc3339(row.expiresAt) }),
  ...(isAccountWide(row) && { scope: 'account' as const }),
  created_at: toRfc3339(row.createdAt),
})

const upstream = (row: UpstreamRow) => ({
  id: row.id,
  host: row.host,
  port: row.port,
  tls: row.tls,
  state: row.state,
  fingerprint: row.fingerprint,
  has_auth: row.user !== null,
  has_ca: row.caFile != null,
  has_client_certificate: row.clientCertFile !== null,
  weight: row.weight,
  priority: row.priority,
  max_connections: row.maxConnections,
  messages_per_connection: row.messagesPerConnection,
  rate: row.rate,
})

/** What the relay last saw of an upstream; nulls when it is not known to it. */
export const liveUpstream = (health: UpstreamHealth | undefined) => ({
  breaker: health?.breaker ?? null,
  connections: health?.connections ?? null,
  under_way: health?.underWay ?? null,
  limit: health?.limit ?? null,
  full: health?.full ?? null,
  last_success_at: health?.lastSuccessAt == null ? null : toRfc3339(health.lastSuccessAt),
  last_error: health?.lastError == null ? null : { ...health.lastError, at: toRfc3339(health.lastError.at) },
})

/** What the relay knows now, for the management listener: the command line asks it why mail waits. */
export const relayState = (upstreams: readonly UpstreamHealth[], view: RelayView | null) => ({
  data: upstreams.map((one) => ({ id: one.upstreamId, ...liveUpstream(one) })),
  throttled: (view?.throttled ?? []).map(({ poolId, domain, until }) => ({
    egress_pool_id: poolId,
    domain,
    until: toRfc3339(until),
  })),
  captures: view?.captures ?? false,
})

export const pool = (row: KnownPool) => ({
  id: row.id,
  object: 'egress_pool' as const,
  name: row.name,
  kind: row.kind,
  return_path: row.returnPath,
  notify_success: row.notifySuccess,
  relayed_means: row.relayedMeans,
  follows: row.follows,
  members: row.upstreams.map(upstream),
  created_at: toRfc3339(row.createdAt),
  updated_at: toRfc3339(row.updatedAt),
})
