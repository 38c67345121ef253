/**
 * The PostgreSQL engine keeps the contract.
 */
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Store } from '../../src/store/port/store.js'
import { openPostgresStore } from '../../src/store/postgres/open.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { contract } from './contract.js'
import { deadContract } from './contract-dead.js'
import { livingContract } from './contract-living.js'

const open = async (t: Test): Promise<Store> => {
  const store = openPostgresStore({ urls: await (await postgres()).withTables() })
  t.teardown(() => store.close())
  await store.open()
  return store
}

const without = { backup: 'copies are made by the tools of the database' }

t.test('postgres', { skip: noPostgres() }, (t) => contract(t, open, without))

t.test('two daemons at once', { skip: noPostgres() }, (t) =>
  livingContract(t, async (t) => {
    const urls = await (await postgres()).withTables()
    const both = [openPostgresStore({ urls }), openPostgresStore({ urls })] as const
    t.teardown(() => Promise.all(both.map((store) => store.close())))
    for (const store of both) await store.open()
    return both
  }),
)

for (const [how, isClosed] of [
  ['was closed', true],
  ['was killed', false],
] as const)
  t.test(`one that ${how}`, { skip: noPostgres() }, (t) =>
    deadContract(t, async (t) => {
      const urls = await (await postgres()).withTables()
      const owner = randomUUID()
      const opened = async (): Promise<Store> => {
        const store = openPostgresStore({ urls, lock: () => ({ owner, unlock: () => {} }) })
        t.teardown(() => store.close())
        await store.open()
        return store
      }
      const store = await opened()
      const again = async () => {
        if (isClosed) await store.close()
        return opened()
      }
      return { store, again }
    }),
  )
