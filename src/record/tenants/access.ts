/**
 * NAME      access - API keys and SMTP credentials as the wire has them
 */
import { timeOrNull, toRfc3339 } from '../../base/clock.js'
import type { CredentialRow, KeyRow } from '../../store/port/tenants.js'

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
