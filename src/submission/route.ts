/**
 * NAME      route - to which pool a mail goes
 * DESCRIPTION
 *   Test mail goes to the sandbox of its account, whatever its workspace says;
 *   live mail to the pool that its workspace has for the domain of the recipient, or to that of the workspace, where it
 *   waits while there is no upstream for it: mail that was acknowledged is never thrown away for want of a route.
 *   The id of a sandbox never changes, so it is remembered.
 */

import type { NewEmail, NewRecipient } from '../lifecycle/facts.js'
import type { Mode } from '../lifecycle/page.js'
import { SANDBOX_POOL } from '../store/pools.js'
import { poolFor, type Routing, type Tenants } from '../store/port/tenants.js'

export type Route = (
  workspace: Routing & { readonly accountId: string },
  mode: Mode,
) => Routing | Promise<Routing>

export const createRoute = (store: Pick<Tenants, 'pool'>): Route => {
  const sandboxes = new Map<string, Routing>()
  return (workspace, mode) => {
    const { accountId } = workspace
    if (mode === 'live') return workspace
    return (
      sandboxes.get(accountId) ??
      store.pool(accountId, SANDBOX_POOL).then((pool) => {
        if (pool === null) throw new Error(`account ${accountId} has lost its sandbox`)
        const routing = { poolId: pool.id, routes: [] }
        sandboxes.set(accountId, routing)
        return routing
      })
    )
  }
}

/** Each recipient in its pool. The mail's is that of all of them, or where they differ that of the workspace. */
export const routed = (
  routing: Routing,
  recipients: readonly NewRecipient[],
): Pick<NewEmail, 'poolId' | 'recipients'> => {
  const { poolId, routes } = routing
  if (routes.length === 0) return { poolId, recipients }
  const placed = recipients.map((one) => ({ ...one, poolId: poolFor(routing, one.address) }))
  const [first] = placed
  const isOne = placed.every((one) => one.poolId === first?.poolId)
  return { poolId: isOne ? (first?.poolId ?? poolId) : poolId, recipients: placed }
}
