/**
 * NAME      built-in - the rows that every account is born with
 * DESCRIPTION
 *   A workspace named Default and two pools. The sandbox takes all test-mode mail,
 *   and the daemon supplies its upstream; the default pool belongs to the default
 *   workspace, and is empty at first.
 */
import { newId } from '../base/id.js'
import type { Beginning, PoolRow, WorkspaceRow } from './port/tenants/tenants.js'

export const SANDBOX_POOL = 'sandbox'
export const DEFAULT_POOL = 'default'

/** A pool row with the defaults of a new one. */
export const freshPool = (accountId: string, name: string, now: number): PoolRow => ({
  id: newId('pool', now),
  accountId,
  name,
  kind: 'relay',
  returnPath: 'verp',
  notifySuccess: true,
  relayedMeans: 'delivered',
  upstreams: [],
  createdAt: now,
  updatedAt: now,
})

/** One of the two pools, by its name. */
const builtInPool = (accountId: string, name: string, now: number): PoolRow => ({
  ...freshPool(accountId, name, now),
  kind: name === SANDBOX_POOL ? 'sandbox' : 'relay',
})

/** A workspace row with the defaults of a new one. */
export const freshWorkspace = (
  accountId: string,
  now: number,
  facts: Pick<WorkspaceRow, 'name' | 'slug' | 'isDefault' | 'poolId'>,
): WorkspaceRow => ({
  id: newId('ws', now),
  accountId,
  ...facts,
  defaultFrom: null,
  ambiguous: 'retry',
  lineEndings: 'normalize',
  senderDsn: false,
  restrictSenders: false,
  alarms: {},
  onAlarm: 'notify',
  alarmed: {},
  suspendedAt: null,
  suspendedReason: null,
  statisticsTags: [],
  routes: [],
  suppressSoft: {},
  createdAt: now,
})

/** What an account begins with. */
export const beginningOf = (accountId: string, now: number): Beginning => {
  const own = builtInPool(accountId, DEFAULT_POOL, now)
  const facts = { name: 'Default', slug: 'default', isDefault: true, poolId: own.id }
  return {
    workspace: freshWorkspace(accountId, now, facts),
    pools: [own, builtInPool(accountId, SANDBOX_POOL, now)],
  }
}

/** A name with a number that steps aside: `shop`, `shop-2`, within the 63 characters of a name. */
export const numbered = (name: string, n: number): string =>
  n === 1 ? name : `${name.slice(0, 62 - String(n).length)}-${n}`
