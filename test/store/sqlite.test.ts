/**
 * The SQLite adapter keeps the contract, as the daemon and beside it.
 */
import t from 'tap'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { contract } from './contract.js'
import { deadContract } from './contract-dead.js'
import { livingContract } from './contract-living.js'
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

for (const order of [[true, false] as const, [false, true] as const]) {
  t.test(`two at once, ${order[0] ? 'the daemon' : 'the other'} first`, (t) =>
    livingContract(t, async (t) => {
      const dataDir = t.testdir()
      const [first, second] = order.map((daemon) => openSqliteStore({ dataDir, daemon }))
      if (first === undefined || second === undefined) throw new Error('expected two')
      t.teardown(() => Promise.all([first.close(), second.close()]))
      await first.open()
      await second.open()
      return [first, second]
    }),
  )
}

t.test('one that died', (t) =>
  deadContract(t, async (t) => {
    const dataDir = t.testdir()
    let store = openSqliteStore({ dataDir, daemon: true })
    t.teardown(() => store.close())
    await store.open()
    const again = async () => {
      await store.close()
      store = openSqliteStore({ dataDir, daemon: true })
      await store.open()
      return store
    }
    return { store, again }
  }),
)
