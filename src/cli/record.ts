/**
 * NAME      record - rows as --json prints them
 * DESCRIPTION
 *   The records that http/ does not render, in the same style: snake_case,
 *   RFC 3339 times, no secret. A pool's password reads back as `has_auth`.
 */
import { toRfc3339 } from '../base/clock.js'
import type {
  CredentialRow,
  KeyRow,
  PoolRow,
  SuppressionRow,
  UpstreamRow,
  WorkspaceRow,
} from '../store/port-tenants.js'
import { keyPrefix } from '../tenant/key.js'

const timeOrNull = (at: number | null): string | null => (at === null ? null : toRfc3339(at))

export const workspaceRecord = (row: WorkspaceRow) => ({
  id: row.id,
  object: 'workspace' as const,
  name: row.name,
  slug: row.slug,
  is_default: row.isDefault,
  egress_pool_id: row.poolId,
  default_from: row.defaultFrom,
  created_at: toRfc3339(row.createdAt),
})

export const keyRecord = (row: KeyRow, secret?: string) => ({
  id: row.id,
  object: 'api_key' as const,
  name: row.name,
  mode: row.mode,
  scope: row.scope,
  workspace_id: row.workspaceId,
  prefix: keyPrefix(row),
  ...(secret === undefined ? {} : { secret }),
  created_at: toRfc3339(row.createdAt),
  last_used_at: timeOrNull(row.lastUsedAt),
  expires_at: timeOrNull(row.expiresAt),
  rate_limit_per_minute: row.rateLimitPerMinute,
})

export const credentialRecord = (row: CredentialRow) => ({
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

export const upstreamRecord = (row: UpstreamRow) => ({
  id: row.id,
  host: row.host,
  port: row.port,
  tls: row.tls,
  fingerprint: row.fingerprint,
  user: row.user,
  has_auth: row.user !== null,
  weight: row.weight,
  priority: row.priority,
  max_connections: row.maxConnections,
  messages_per_connection: row.messagesPerConnection,
  rate: row.rate,
  state: row.state,
})

export const poolRecord = (row: PoolRow) => ({
  id: row.id,
  object: 'egress_pool' as const,
  name: row.name,
  kind: row.kind,
  return_path: row.returnPath,
  notify_success: row.notifySuccess,
  relayed_means: row.relayedMeans,
  members: row.upstreams.map(upstreamRecord),
  created_at: toRfc3339(row.createdAt),
  updated_at: toRfc3339(row.updatedAt),
})

export const suppressionRecord = (row: SuppressionRow) => ({
  id: row.id,
  object: 'suppression' as const,
  email: row.email,
  origin: row.origin,
  source_id: row.sourceId,
  reason: row.reason,
  expires_at: timeOrNull(row.expiresAt),
  created_at: toRfc3339(row.createdAt),
})

/** The answer to a removal. */
export const deletedRecord = (object: string, id: string) => ({ id, object, deleted: true })
