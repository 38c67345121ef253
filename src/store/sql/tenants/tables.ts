/**
 * NAME      tables - the tables of tenants, field by field
 * DESCRIPTION
 *   Pools hide those deleted (`deleted_at`), which live on as names of old mail.
 */
import type {
  AccountRow,
  CredentialRow,
  DomainRow,
  KeyRow,
  KnownPool,
  PoolRow,
  SuppressionRow,
  WorkspaceRow,
} from '../../port/tenants.js'
import type { PendingSuppression } from '../../port/watch.js'
import { type Table, table } from '../table.js'

export const ACCOUNTS = table<AccountRow>('accounts', { id: 'plain', name: 'plain', createdAt: 'plain' })

export const WORKSPACES = table<WorkspaceRow>('workspaces', {
  id: 'plain',
  accountId: 'plain',
  name: 'plain',
  slug: 'plain',
  isDefault: 'bool',
  poolId: 'plain',
  defaultFrom: 'plain',
  ambiguous: 'plain',
  lineEndings: 'plain',
  senderDsn: 'bool',
  restrictSenders: 'bool',
  alarms: 'json',
  onAlarm: 'plain',
  alarmed: 'json',
  suspendedAt: 'plain',
  suspendedReason: 'plain',
  statisticsTags: 'json',
  suppressSoft: 'json',
  routes: 'json',
  createdAt: 'plain',
})

export const KEYS = table<KeyRow>('keys', {
  id: 'plain',
  accountId: 'plain',
  name: 'plain',
  mode: 'plain',
  scope: 'plain',
  workspaceId: 'plain',
  lookup: 'plain',
  hash: 'plain',
  createdAt: 'plain',
  lastUsedAt: 'plain',
  lastUsedFrom: 'plain',
  expiresAt: 'plain',
  rateLimitPerMinute: 'plain',
  permission: 'plain',
})

export const CREDENTIALS = table<CredentialRow>('credentials', {
  id: 'plain',
  accountId: 'plain',
  workspaceId: 'plain',
  mode: 'plain',
  username: 'plain',
  hash: 'plain',
  cidr: 'plain',
  certificateFingerprint: 'plain',
  imported: 'bool',
  createdAt: 'plain',
  lastUsedAt: 'plain',
  lastUsedFrom: 'plain',
})

export const POOLS = table<PoolRow>('pools', {
  id: 'plain',
  accountId: 'plain',
  name: 'plain',
  kind: 'plain',
  returnPath: 'plain',
  notifySuccess: 'bool',
  relayedMeans: 'plain',
  upstreams: 'json',
  createdAt: 'plain',
  updatedAt: 'plain',
})

/** Whose upstreams a pool uses is never stored: it depends on the default workspace. */
const FOLLOWS = `CASE WHEN kind = 'relay' AND upstreams = '[]' THEN (SELECT w.pool_id FROM workspaces w
  WHERE w.account_id = pools.account_id AND w.is_default = 1 AND w.pool_id <> pools.id) END AS follows`

export const KNOWN_POOLS: Pick<Table<KnownPool>, 'name' | 'columns' | 'decode'> = {
  name: POOLS.name,
  columns: `${POOLS.columns}, ${FOLLOWS}`,
  decode: (row) => ({ ...POOLS.decode(row), follows: row.follows as string | null }),
}

/** In the column of its list, those of a workspace alone stood once. */
const LIST = { list: 'workspace_id' } as const

const SUPPRESSION = {
  id: 'plain',
  accountId: 'plain',
  list: 'plain',
  email: 'plain',
  origin: 'plain',
  sourceId: 'plain',
  reason: 'plain',
  expiresAt: 'plain',
  createdAt: 'plain',
} as const

export const SUPPRESSIONS = table<SuppressionRow>('suppressions', SUPPRESSION, LIST)

/** Those that wait for the decision of an incident. */
export const PENDING = table<PendingSuppression>(
  'pending_suppressions',
  { ...SUPPRESSION, incidentId: 'plain' },
  LIST,
)

export const DOMAINS = table<DomainRow>('domains', {
  id: 'plain',
  accountId: 'plain',
  workspaceId: 'plain',
  name: 'plain',
  keys: 'json',
  verifiedAt: 'plain',
  checkedAt: 'plain',
  createdAt: 'plain',
  updatedAt: 'plain',
})
