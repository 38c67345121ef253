/**
 * NAME      record - rows as --json prints them
 * DESCRIPTION
 *   The records that no endpoint of http/ shows, in the same style: snake_case,
 *   RFC 3339 times, no secret.
 */
import { pool as poolRecord } from '../http/render.js'
import type { KnownPool, UpstreamRow } from '../store/port/tenants/tenants.js'

/** One member of a pool, as it stands in the pool's record, and which pool that is. */
export const upstreamRecord = (pool: KnownPool, row: UpstreamRow) => ({
  ...poolRecord(pool).members.find(({ id }) => id === row.id),
  egress_pool_id: pool.id,
})
