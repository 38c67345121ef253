/**
 * The SQLite adapter keeps the contract, as the daemon and beside it.
 */
import t from 'tap'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { contract } from './contract.js'
import type { OpenStore } from './fixture.js'

const opener =
  (daemon: boolean): OpenStore =>
  async (t) => {
    const store = openSqliteStore({ dataDir: t.testdir(), daemon })
    t.teardown(() => store.close())
    await store.open()
    return store
  }

t.test('daemon', (t) => contract(t, opener(true)))
t.test('beside a daemon', (t) => contract(t, opener(false)))
