/**
 * NAME      record - rows as --json prints them
 * DESCRIPTION
 *   The records that no endpoint of http/ shows, in the same style: snake_case,
 *   RFC 3339 times, no secret.
 */
import { toRfc3339 } from '../base/clock.js'
import { pool as poolRecord } from '../http/render.js'
import type { CredentialRow, PoolRow, UpstreamRow } from '../store/port-tenants.js'

export const credentialRecord = (row: CredentialRow) => ({
  id: row.id,
  object: 'credential' as const,
  workspace_id: row.workspaceId,
  mode: row.mode,
  username: row.username,
  cidr: row.cidr,
  imported: row.imported,
  created_at: toRfc3339(row.createdAt),
  last_used_at: row.lastUsedAt === null ? null : toRfc3339(row.lastUsedAt),
})

/** One member of a pool, as it stands in the pool's record, and which pool that is. */
export const upstreamRecord = (pool: PoolRow, row: UpstreamRow) => ({
  ...poolRecord(pool).members.find(({ id }) => id === row.id),
  egress_pool_id: pool.id,
})

/** The answer to a removal. */
export const deletedRecord = (object: string, id: string) => ({ id, object, deleted: true })
