/**
 * NAME      account - the outermost tenant
 * DESCRIPTION
 *   An account owns workspaces, keys, pools and people, and sees nothing of any
 *   other. It is born with a default workspace and with its sandbox pool, to
 *   which all its test-mode mail goes.
 */
import { newId } from '../base/id.js'
import type { AccountRow, PoolRow } from '../store/port-tenants.js'
import type { TenantGround } from './principal.js'
import { freshWorkspace } from './workspace.js'

export const SANDBOX_POOL = 'sandbox'

const sandboxPool = (accountId: string, now: number): PoolRow => ({
  id: newId('pool', now),
  accountId,
  name: SANDBOX_POOL,
  kind: 'sandbox',
  returnPath: 'verp',
  notifySuccess: true,
  relayedMeans: 'delivered',
  upstreams: [],
  createdAt: now,
  updatedAt: now,
})

export const createAccount = async ({ store, clock }: TenantGround, name: string): Promise<AccountRow> => {
  const now = clock.now()
  const account: AccountRow = { id: newId('acct', now), name, createdAt: now }
  const workspace = freshWorkspace(account.id, now, { name: 'Default', slug: 'default', isDefault: true })
  await store.createAccount(account, workspace)
  await store.createPool(sandboxPool(account.id, now))
  return account
}

/** The first account, made if there is none: a fresh installation is ready to use. */
export const ensureAccount = async (ground: TenantGround): Promise<AccountRow> => {
  const [first] = [...(await ground.store.accounts())].sort((a, b) => (a.id < b.id ? -1 : 1))
  if (first === undefined) return createAccount(ground, 'default')
  // a crash between the two verbs of createAccount leaves an account without its sandbox
  if ((await ground.store.pool(first.id, SANDBOX_POOL)) === null) {
    await ground.store.createPool(sandboxPool(first.id, ground.clock.now()))
  }
  return first
}
