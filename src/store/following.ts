/**
 * NAME      following - a pool that uses the upstreams of another
 * DESCRIPTION
 *   Upstreams come with the settings of their pool: return path, NOTIFY, and what
 *   "relayed" means are the leader's for as long as another follows it.
 */
import type { KnownPool, PoolRow, Tenants } from './port/tenants/tenants.js'

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
