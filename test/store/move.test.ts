/**
 * A store that moves from a data folder into PostgreSQL: all that can be read is the same there, and so are the rows.
 * What moves was made by the contract, which leaves something of everything.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { MoveOptions } from '../../src/store/open.js'
import { moveStore, undoMove } from '../../src/store/open.js'
import { STAYING_COLUMNS, STAYS, MOVED } from '../../src/store/move/tables.js'
import type { Store } from '../../src/store/port/store.js'
import { openPostgresStore } from '../../src/store/postgres/open.js'
import { databaseFile } from '../../src/store/sqlite/connect.js'
import { Database } from '../../src/store/sqlite/driver.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { noPostgres, type Postgres, postgres } from '../parts/postgres.js'
import { contract, FAMILY_NAMES, type FamilyName } from './contract.js'
import { filterOf, newAccount, page } from './fixture.js'

/** What they leave is what is moved; those that open stores of their own leave nothing. */
const LEAVING: ReadonlySet<FamilyName> = new Set<FamilyName>([
  ...(['queue', 'idempotency', 'settle', 'edges', 'ledger', 'tenants', 'identity', 'audit', 'operations'] as const),
  ...(['domains', 'sender dsns', 'webhooks', 'notices', 'incidents', 'jobs', 'log', 'carry'] as const),
])

const withoutOthers = Object.fromEntries(
  FAMILY_NAMES.filter((name) => !LEAVING.has(name)).map((name) => [name, 'leaves nothing']),
)

/** A data folder with something of everything. */
const made = async (outer: Test): Promise<string> => {
  let dataDir: string | null = null
  await outer.test('what is there', (t) =>
    contract(
      t,
      async (t) => {
        const folder = mkdtempSync(join(tmpdir(), 'postern-move-'))
        outer.teardown(() => rmSync(folder, { recursive: true, force: true }))
        const store = openSqliteStore({ dataDir: folder, daemon: dataDir === null })
        t.teardown(() => store.close())
        await store.open()
        dataDir ??= folder
        return store
      },
      withoutOthers,
    ),
  )
  return dataDir as unknown as string
}

t.test('move', { skip: noPostgres() }, async (t) => {
  const dataDir = await made(t)
  const copy = `${dataDir}-copy`
  cpSync(dataDir, copy, { recursive: true })
  t.teardown(() => rmSync(copy, { recursive: true, force: true }))
  const server = await postgres()
  const urls = server.database()
  const lines: string[] = []
  const options = { dataDir, urls, version: '1.0.0', say: (line: string) => lines.push(line) }
  const t0 = performance.now()
  const moved = await moveStore(options)
  console.log(performance.now() - t0, lines, moved.missing)
})
