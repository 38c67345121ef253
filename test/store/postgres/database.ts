/** A database of the PostgreSQL of this test process, and stores on it, which are closed when the test ends. */
import type { Test } from 'tap'
import type { Store } from '../../../src/store/port/store.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { postgres } from '../../parts/postgres.js'

export const opened = async (t: Test, urls: string): Promise<Store> => {
  const store = openPostgresStore({ urls })
  t.teardown(() => store.close())
  await store.open()
  return store
}

export const freshDatabase = async (t: Test) => {
  const cluster = await postgres()
  const urls = await cluster.withTables()
  const name = urls.split('/').at(-1) ?? ''
  return { urls, sql: (text: string): string => cluster.sql(name, text), open: () => opened(t, urls) }
}
