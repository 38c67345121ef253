/**
 * The PostgreSQL engine keeps the contract, as far as it goes.
 */
import t, { type Test } from 'tap'
import type { Store } from '../../src/store/port/store.js'
import { openPostgresStore } from '../../src/store/postgres/open.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { contract, FAMILY_NAMES, type FamilyName } from './contract.js'

const open = async (t: Test): Promise<Store> => {
  const store = openPostgresStore({ urls: (await postgres()).database() })
  t.teardown(() => store.close())
  await store.open()
  return store
}

/** Families whose verbs are all here. */
const WITH: ReadonlySet<FamilyName> = new Set<FamilyName>(['jobs', 'domains', 'operations'])

const without = Object.fromEntries(
  FAMILY_NAMES.filter((name) => !WITH.has(name)).map((name) => [name, 'not done by PostgreSQL yet']),
)

t.test('postgres', { skip: noPostgres() }, (t) => contract(t, open, without))
