/** What waits in an installation, read and claimed beside its commands. */
import { join } from 'node:path'
import type { Store } from '../../src/store/port/store.js'
import { openStoreIn } from '../parts/store.js'
import { HOUR, type TestAccount } from '../store/fixture.js'
import type { Desk } from './desk.js'

export const withStore = async <T>(
  desk: Desk,
  use: (store: Store, at: TestAccount) => Promise<T>,
): Promise<T> => {
  const store = await openStoreIn(join(desk.dir, 'data'), { daemon: false })
  await store.open()
  try {
    const accountId = (await store.accounts())[0]?.id ?? ''
    const workspace = await store.workspace(accountId, 'default')
    const pool = await store.pool(accountId, 'sandbox')
    if (workspace === null || pool === null) throw new Error('no workspace or pool')
    return await use(store, { accountId, workspace, poolId: pool.id })
  } finally {
    await store.close()
  }
}

/** Everything that would be sent from here by now or later; it stays as it is. */
export const due = (desk: Desk) =>
  withStore(desk, async (store, at) => {
    const later = Date.now() + 9 * HOUR
    const claimed = await store.claim(at.poolId, 100, later + HOUR, later)
    await store.release(claimed, Date.now())
    return claimed.map(({ emailId, address, attempts }) => `${emailId} ${address} ${attempts}`).sort()
  })
