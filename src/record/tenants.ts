/**
 * NAME      tenants - people, workspaces, pools, keys and credentials as the public sees them
 * DESCRIPTION
 *   No hash, no secret. A link's address is told once, beside its record.
 */
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import { ALARMS, type AlarmLimit, causeRecord, limitOf } from '../store/port/alarms.js'
import type {
  AuditRow,
  FactorRow,
  IdentityRow,
  LinkRow,
  SessionRow,
  UserRow,
} from '../store/port/identity.js'
import type {
  CredentialRow,
  KeyRow,
  KeyScope,
  KnownPool,
  UpstreamRow,
  WorkspaceRow,
} from '../store/port/tenants.js'

/** The public part of a key, safe to show: `svc_live_` and the lookup id. */
export const keyPrefix = (row: Pick<KeyRow, 'mode' | 'lookup'>): string => `svc_${row.mode}_${row.lookup}`

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
  last_used_from: row.lastUsedFrom,
  expires_at: timeOrNull(row.expiresAt),
  rate_limit_per_minute: row.rateLimitPerMinute,
  permission: row.permission,
})

export const keyRecord = (row: KeyRow) => ({ ...keyHead(row), ...keyTimes(row) })

/** The secret is known at creation only; `token` is what Resend's client calls it. */
export const createdKeyRecord = (row: KeyRow, secret: string) => ({
  ...keyHead(row),
  secret,
  token: secret,
  ...keyTimes(row),
})

export const rotatedKeyRecord = (row: KeyRow, secret: string, before: KeyRow) => ({
  ...createdKeyRecord(row, secret),
  replaces: keyRecord(before),
})

export const credentialRecord = (row: CredentialRow) => ({
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
  last_used_from: row.lastUsedFrom,
})

export const person = (row: UserRow) => ({
  id: row.id,
  object: 'user' as const,
  email: row.email,
  name: row.name,
  role: row.role,
  role_from: row.roleFrom,
  has_password: row.hash !== null,
  second_factor: row.hasFactor,
  disabled: row.disabledAt !== null,
  disabled_at: timeOrNull(row.disabledAt),
  last_sign_in_at: timeOrNull(row.lastSignInAt),
  created_at: toRfc3339(row.createdAt),
})

/** Without what proves it. */
export const factor = (row: FactorRow) => ({
  id: row.id,
  object: 'factor' as const,
  kind: row.kind === 'totp' ? ('totp' as const) : ('passkey' as const),
  name: row.name,
  created_at: toRfc3339(row.createdAt),
  last_used_at: timeOrNull(row.lastUsedAt),
})

/** With the providers that know him, and what he proves beside the password. */
export const personInFull = (
  row: UserRow,
  identities: readonly IdentityRow[],
  factors: readonly FactorRow[],
) => ({
  ...person(row),
  factors: factors.filter(({ kind }) => kind !== 'recovery').map(factor),
  recovery_codes_left: factors.filter(({ kind }) => kind === 'recovery').length,
  identities: identities.map((one) => ({
    provider: one.provider,
    issuer: one.issuer,
    subject: one.subject,
    last_sign_in_at: timeOrNull(one.lastSignInAt),
  })),
})

/** `user` is the person of the session, `current` whether it asks. */
export const openSession = (row: SessionRow, user: UserRow | null, current: boolean) => ({
  id: row.id,
  object: 'session' as const,
  person: user && { id: user.id, email: user.email, name: user.name },
  role: user?.role ?? row.role,
  provider: row.provider,
  address: row.address,
  user_agent: row.userAgent,
  current,
  created_at: toRfc3339(row.createdAt),
  last_seen_at: toRfc3339(row.lastSeenAt),
  expires_at: toRfc3339(Math.min(row.expiresAt, row.lastSeenAt + row.idleMs)),
})

const stateOf = ({ usedAt, expiresAt }: LinkRow, now: number): 'open' | 'used' | 'expired' => {
  if (usedAt !== null) return 'used'
  return now < expiresAt ? 'open' : 'expired'
}

export const link = (row: LinkRow, now: number) => ({
  id: row.id,
  object: row.kind === 'setup' ? ('setup_link' as const) : ('invitation' as const),
  email: row.email,
  role: row.role,
  state: stateOf(row, now),
  created_by: row.createdBy,
  created_at: toRfc3339(row.createdAt),
  expires_at: toRfc3339(row.expiresAt),
  used_at: timeOrNull(row.usedAt),
})

export const auditEntry = ({ actor, object, ...row }: AuditRow) => ({
  id: row.id,
  object: 'audit_entry' as const,
  action: row.action,
  actor: { kind: actor.kind, id: actor.id, name: actor.name, address: actor.address },
  target: { type: object.type, id: object.id },
  workspace_id: row.workspaceId,
  detail: row.detail,
  created_at: toRfc3339(row.at),
})

export type Person = ReturnType<typeof person>
export type PersonInFull = ReturnType<typeof personInFull>
export type Factor = ReturnType<typeof factor>
export type OpenSession = ReturnType<typeof openSession>
export type Link = ReturnType<typeof link>
export type AuditEntry = ReturnType<typeof auditEntry>

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

export const poolRecord = (row: KnownPool) => ({
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

/** One member of a pool, as it stands in the pool's record, and which pool that is. */
export const upstreamRecord = (known: KnownPool, row: UpstreamRow) => ({
  ...upstream(row),
  egress_pool_id: known.id,
})

const limit = (of: AlarmLimit | 'off') => (of === 'off' ? of : { rate: of.rate, at_least: of.atLeast })

const alarms = ({ alarms: settings, alarmed, onAlarm }: WorkspaceRow) => ({
  alarms: Object.fromEntries(ALARMS.map((alarm) => [alarm, limit(limitOf(settings, alarm))])),
  on_alarm: onAlarm,
  alarmed: ALARMS.flatMap((alarm) => {
    const raised = alarmed[alarm]
    if (raised === undefined) return []
    const { since, count, tried, cause } = raised
    return [{ alarm, since: toRfc3339(since), count, tried, cause: causeRecord(cause) }]
  }),
})

/** Why it is suspended is for whoever runs this, not for the tenant. */
export const workspaceRecord = (row: WorkspaceRow, scope: KeyScope = 'platform') => ({
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

/** `object` is what it was. */
export const removed = <T extends string>(object: T, id: string) => ({ id, object, deleted: true as const })
