/**
 * NAME      account - the outermost tenant
 * DESCRIPTION
 *   An account owns workspaces, keys, pools and people, and sees nothing of any
 *   other. It is born with a default workspace and two pools: the sandbox, to
 *   which all its test-mode mail goes, and the default pool, which the default
 *   workspace sends through. The latter is empty at first.
 */
import { newId } from '../base/id.js'
import { PepperError } from '../base/secret.js'
import { pepperMark } from '../keys/pepper.js'
import { beginningOf } from '../store/pools.js'
import type { AccountRow } from '../store/port/tenants.js'
import type { TenantDeps } from './principal.js'

/** With its default workspace and its two pools. */
export const createAccount = async (deps: TenantDeps, name: string): Promise<AccountRow> => {
  const now = deps.clock.now()
  const account: AccountRow = { id: newId('acct', now), name, createdAt: now }
  await deps.store.createAccount(account, beginningOf(account.id, now))
  return account
}

/**
 * Keys, upstream passwords and DKIM keys of a database open under one pepper only. The first that comes marks
 * it; any other is turned away, and would otherwise look like an installation whose keys are all wrong.
 */
const checkPepper = async ({ store, pepper }: TenantDeps): Promise<void> => {
  const mark = pepperMark(pepper)
  // of several daemons that begin at once one is the first
  if ((await store.pepperMark()) === null) await store.setPepperMark(mark, true)
  if ((await store.pepperMark()) !== mark) {
    throw new PepperError(
      'the pepper is not the one of this database, so no key of it would work; ' +
        'put the right one back, or start over with new keys: postern pepper accept',
    )
  }
}

/** The first account, made if there is none: a fresh installation is ready to use. */
export const ensureAccount = async (deps: TenantDeps): Promise<AccountRow> => {
  await checkPepper(deps)
  const [first] = [...(await deps.store.accounts())].sort((a, b) => (a.id < b.id ? -1 : 1))
  return first ?? createAccount(deps, 'default')
}
