/**
 * NAME      route - to which pool a mail goes
 * DESCRIPTION
 *   Test mail goes to the sandbox of its account, whatever its workspace says;
 *   live mail to the pool of its workspace, or else to the account's default pool,
 *   where it waits until somebody gives that pool an upstream: mail that was
 *   acknowledged is never thrown away for want of a route.
 *   The ids of the two built-in pools never change, so they are remembered.
 */

import { DEFAULT_POOL, SANDBOX_POOL } from '../store/built-in.js'
import type { Mode } from '../store/page.js'
import type { Tenants, WorkspaceRow } from '../store/port-tenants.js'

export type Route = (workspace: WorkspaceRow, mode: Mode) => string | Promise<string>

export const createRoute = (store: Pick<Tenants, 'pool'>): Route => {
  const builtIn = new Map<string, string>()
  return (workspace, mode) => {
    if (mode === 'live' && workspace.poolId !== null) return workspace.poolId
    const name = mode === 'test' ? SANDBOX_POOL : DEFAULT_POOL
    const place = `${workspace.accountId} ${name}`
    return (
      builtIn.get(place) ??
      store.pool(workspace.accountId, name).then((pool) => {
        if (pool === null) throw new Error(`account ${workspace.accountId} has lost its ${name} pool`)
        builtIn.set(place, pool.id)
        return pool.id
      })
    )
  }
}
