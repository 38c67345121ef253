/**
 * NAME      pool - a pool and its upstreams as the wire has them, without secrets
 */
import { toRfc3339 } from '../../base/clock.js'
import type { KnownPool, UpstreamRow } from '../../store/port/tenants.js'

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
