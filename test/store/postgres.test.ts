/**
 * The PostgreSQL engine keeps the contract, as far as it goes.
 */
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Store } from '../../src/store/port/store.js'
import { openPostgresStore } from '../../src/store/postgres/open.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { contract, FAMILY_NAMES, type FamilyName } from './contract.js'
import { deadContract } from './contract-dead.js'
import { livingContract } from './contract-living.js'

const open = async (t: Test): Promise<Store> => {
  const store = openPostgresStore({ urls: (await postgres()).database() })
  t.teardown(() => store.close())
  await store.open()
  return store
}

/** Families whose verbs are all here. */
const WITH: ReadonlySet<FamilyName> = new Set<FamilyName>([
  'queue',
  'idempotency',
  'settle',
  'sender dsns',
  'reports',
  'soft bounces',
  'jobs',
  'domains',
  'search',
  'operations',
  'rest',
  'carry',
])

const without = Object.fromEntries(
  FAMILY_NAMES.filter((name) => !WITH.has(name)).map((name) => [name, 'not done by PostgreSQL yet']),
)

t.test('postgres', { skip: noPostgres() }, (t) => contract(t, open, without))

t.test('two daemons at once', { skip: noPostgres() }, (t) =>
  livingContract(t, async (t) => {
    const urls = (await postgres()).database()
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
      const urls = (await postgres()).database()
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
