/**
 * NAME      built-in - the two pools that every account has
 * DESCRIPTION
 *   The sandbox takes all test-mode mail; the default pool takes the mail of
 *   workspaces without a pool of their own, and is empty at first.
 */
import { newId } from '../base/id.js'
import type { PoolRow } from '../store/port-tenants.js'

export const SANDBOX_POOL = 'sandbox'
export const DEFAULT_POOL = 'default'

export const builtInPool = (accountId: string, name: string, now: number): PoolRow => ({
  id: newId('pool', now),
  accountId,
  name,
  kind: name === SANDBOX_POOL ? 'sandbox' : 'relay',
  returnPath: 'verp',
  notifySuccess: true,
  relayedMeans: 'delivered',
  upstreams: [],
  createdAt: now,
  updatedAt: now,
})
