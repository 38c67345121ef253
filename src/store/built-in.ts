/**
 * NAME      built-in - the rows that every account is born with
 * DESCRIPTION
 *   A workspace named Default and two pools. The sandbox takes all test-mode mail,
 *   and the daemon supplies its upstream; the default pool takes the mail of
 *   workspaces without a pool of their own, and is empty at first.
 */
import { newId } from '../base/id.js'
import type { PoolRow, WorkspaceRow } from './port-tenants.js'

export const SANDBOX_POOL = 'sandbox'
export const DEFAULT_POOL = 'default'

/** One of the two pools, by its name. */
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

/** A workspace row with the defaults of a new one. */
export const freshWorkspace = (
  accountId: string,
  now: number,
  facts: Pick<WorkspaceRow, 'name' | 'slug' | 'isDefault'>,
): WorkspaceRow => ({
  id: newId('ws', now),
  accountId,
  ...facts,
  poolId: null,
  defaultFrom: null,
  ambiguous: 'retry',
  lineEndings: 'strict',
  senderDsn: false,
  restrictSenders: false,
  createdAt: now,
})

export const defaultWorkspace = (accountId: string, now: number): WorkspaceRow =>
  freshWorkspace(accountId, now, { name: 'Default', slug: 'default', isDefault: true })
