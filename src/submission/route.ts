/**
 * NAME      route - to which pool a mail goes
 * DESCRIPTION
 *   Test mail goes to the sandbox of its account, whatever its workspace says;
 *   live mail to the pool of its workspace, where it waits while there is no
 *   upstream for it: mail that was acknowledged is never thrown away for want of a route.
 *   The id of a sandbox never changes, so it is remembered.
 */

import { SANDBOX_POOL } from '../store/built-in.js'
import type { Mode } from '../store/page.js'
import type { Tenants, WorkspaceRow } from '../store/port-tenants.js'

export type Route = (workspace: WorkspaceRow, mode: Mode) => string | Promise<string>

export const createRoute = (store: Pick<Tenants, 'pool'>): Route => {
  const sandboxes = new Map<string, string>()
  return ({ accountId, poolId }, mode) => {
    if (mode === 'live') return poolId
    return (
      sandboxes.get(accountId) ??
      store.pool(accountId, SANDBOX_POOL).then((pool) => {
        if (pool === null) throw new Error(`account ${accountId} has lost its sandbox`)
        sandboxes.set(accountId, pool.id)
        return pool.id
      })
    )
  }
}
