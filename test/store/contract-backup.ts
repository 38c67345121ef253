/** contract-backup - a copy is a store of its own */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Store } from '../../src/store/port/store.js'
import { accepted, newAccount } from './fixture.js'

export const backupContract = async (t: Test, store: Store): Promise<void> => {
  await accepted(store, await newAccount(store))
  const path = join(t.testdir(), 'copy.db')
  t.same(await store.backup(path), { missing: [] })
  t.ok(existsSync(path))
}
