/**
 * NAME      pools - the pools that every account is born with, and pools that follow another
 *   A workspace named Default and two pools. The sandbox takes all test-mode mail, and the daemon supplies its
 *   upstream; the default pool belongs to the default workspace, and is empty at first.
 *   A pool that uses the upstreams of another: Upstreams come with the settings of their pool: return path,
 *   NOTIFY, and what "relayed" means are the leader's for as long as another follows it.
 */
import { newId } from '../base/id.js'
import type { Beginning, KnownPool, PoolRow, Tenants, WorkspaceRow } from './port/tenants.js'

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

type Led = Pick<PoolRow, 'returnPath' | 'notifySuccess' | 'relayedMeans'>

export const led = <Row extends PoolRow>(
  row: Row,
  { returnPath, notifySuccess, relayedMeans }: Led,
): Row => ({
  ...row,
  returnPath,
  notifySuccess,
  relayedMeans,
})

/** The pool whose members a pool uses: its own, or its leader's. */
export const leaderOf = async (
  store: Pick<Tenants, 'pool'>,
  { accountId, follows }: Pick<KnownPool, 'accountId' | 'follows'>,
): Promise<KnownPool | null> => (follows === null ? null : store.pool(accountId, follows))

/** A pool with the settings that its mail leaves with; null for one that is gone. */
export const poolInForce = async (
  store: Pick<Tenants, 'pool'>,
  accountId: string,
  ref: string,
): Promise<KnownPool | null> => {
  const row = await store.pool(accountId, ref)
  const leader = row === null ? null : await leaderOf(store, row)
  return row === null || leader === null ? row : led(row, leader)
}
