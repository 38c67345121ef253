/**
 * NAME      render - rows as the wire has them
 * DESCRIPTION
 *   The only place that turns the store's rows into public records (events: in
 *   record/): snake_case, RFC 3339 times, no secret, no internal id. A send answers the
 *   accepted record without bodies; a list row leaves out recipients and attachments,
 *   too. Members stand in the order of the contract; one that it does not print (a reason, an
 *   expiry) is there only when it says something.
 */
import { toRfc3339 } from '../base/clock.js'
import { eventName } from '../mail/status.js'
import type { Content } from '../record/content.js'
import { throttle } from '../record/queue.js'
import type { ShowWaiting, Waiting } from '../record/waiting.js'
import type { LiveView } from '../relay/relay.js'
import type { UpstreamHealth } from '../relay/watch/health.js'
import type { EmailRecord, EmailRow, LastWords, RecipientRow } from '../store/port/ledger.js'
import type {
  CredentialRow,
  KeyRow,
  KeyScope,
  KnownPool,
  SuppressionRow,
  UpstreamRow,
  WorkspaceRow,
} from '../store/port/tenants/tenants.js'
import { ALARMS, type AlarmLimit, limitOf } from '../store/port/watch/alarms.js'
import type { PendingSuppression } from '../store/port/watch/incident.js'
import { keyPrefix } from '../tenant/key.js'
import type { MailWaiting } from '../tenant/queue/waiting.js'
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
  ...(row.resentFrom != null && { resent_from: row.resentFrom }),
  created_at: toRfc3339(row.createdAt),
  updated_at: toRfc3339(row.updatedAt),
})

export const emailSummary = (row: EmailRow) => ({
  ...heading(row),
  ...passage(row),
  counts: countsOf(row.counts),
})

export const listedEmail = (
  row: EmailRow,
  waiting: Waiting | null,
  words: LastWords | undefined,
  show: ShowWaiting,
) => ({
  ...emailSummary(row),
  ...(words !== undefined && {
    last_response: words.lastResponse,
    ...(words.reason !== null && { reason: words.reason }),
  }),
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

export const email = (
  row: EmailRecord,
  { html, text, headers, attachments = row.attachments }: Content,
  waiting: MailWaiting,
  show: ShowWaiting,
) => ({
  ...acceptedEmail(row),
  attachments,
  waiting: show(waiting.first),
  recipients: row.recipients.map((one) => ({
    ...recipient(one),
    waiting: show(waiting.recipients.get(one.id) ?? null),
  })),
  html,
  text,
  headers,
})

const limit = (of: AlarmLimit | 'off') => (of === 'off' ? of : { rate: of.rate, at_least: of.atLeast })

const alarms = ({ alarms: settings, alarmed, onAlarm }: WorkspaceRow) => ({
  alarms: Object.fromEntries(ALARMS.map((alarm) => [alarm, limit(limitOf(settings, alarm))])),
  on_alarm: onAlarm,
  alarmed: ALARMS.flatMap((alarm) => {
    const raised = alarmed[alarm]
    if (raised === undefined) return []
    return [{ alarm, since: toRfc3339(raised.since), count: raised.count, tried: raised.tried }]
  }),
})

/** Why it is suspended is for whoever runs this, not for the tenant. */
export const workspace = (row: WorkspaceRow, scope: KeyScope = 'platform') => ({
  id: row.id,
  object: 'workspace' as const,
  name: row.name,
  slug: row.slug,
  is_default: row.isDefault,
  egress_pool_id: row.poolId,
  routes: row.routes.map(({ domain, poolId }) => ({ domain, egress_pool_id: poolId })),
  default_from: row.defaultFrom,
  restrict_senders: row.restrictSenders,
  sender_dsn: row.senderDsn,
  line_endings: row.lineEndings,
  ambiguous: row.ambiguous,
  ...alarms(row),
  suppress_soft: row.suppressSoft,
  statistics: { tags: row.statisticsTags },
  suspended: row.suspendedAt !== null,
  suspended_at: timeOrNull(row.suspendedAt),
  suspended_reason: scope === 'platform' ? row.suspendedReason : null,
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
  certificate_fingerprint: row.certificateFingerprint,
  imported: row.imported,
  created_at: toRfc3339(row.createdAt),
  last_used_at: timeOrNull(row.lastUsedAt),
})

export const suppression = (row: SuppressionRow | PendingSuppression) => ({
  id: row.id,
  object: 'suppression' as const,
  email: row.email,
  origin: row.origin,
  source_id: row.sourceId,
  ...(row.reason !== null && { reason: row.reason }),
  ...(row.expiresAt !== null && { expires_at: toRfc3339(row.expiresAt) }),
  ...(isAccountWide(row) && { scope: 'account' as const }),
  ...('incidentId' in row && { status: 'pending' as const, incident_id: row.incidentId }),
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
  has_oauth: row.oauth != null,
  auth_mechanism: row.authMechanism ?? null,
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
export const relayState = (upstreams: readonly UpstreamHealth[], view: LiveView | null, now: number) => ({
  data: upstreams.map((one) => ({ id: one.upstreamId, ...liveUpstream(one) })),
  throttled: (view?.throttled ?? []).map((row) => throttle(row, now)),
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
