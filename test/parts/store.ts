/**
 * Which database keeps the store of a test: a file in its data folder, or, with TEST_STORE=postgres in the environment, a
 * database of its own on a PostgreSQL, so that the same tests hold for both. The folder remembers which one that is:
 * whoever opens a store there, in this process or another, reaches the same. With TEST_STORE=postgres:PORT:TEMPLATE it is
 * on a server that runs already, and a copy of that database.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStore, type StorePlace } from '../../src/store/open.js'
import type { Store } from '../../src/store/port/store.js'
import { postgres, Server } from './postgres.js'

const [driver, port, made] = (process.env.TEST_STORE ?? 'sqlite').split(':')

export const isOnPostgres = driver === 'postgres'

/** Why a test is about the file that SQLite keeps, or false where that is what keeps the store. */
export const needsFile = isOnPostgres
  ? 'it is about a database in a file, and this one is on a server'
  : false

// whoever writes a configuration does not wait
const cluster = !isOnPostgres ? null : port === undefined ? await postgres() : new Server(Number(port))
const template = made ?? (await cluster?.template())

/** What the configuration of a data folder says of it. */
export const settingsOf = (dataDir: string): Pick<StorePlace, 'store'> => {
  if (cluster === null) return {}
  const file = join(dataDir, 'database.url')
  if (!existsSync(file)) {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    writeFileSync(file, `${cluster.database(template)}\n`, { mode: 0o600 })
  }
  return { store: { driver: 'postgres', url_file: file, pooler: 'none' } }
}

/** Runs SQL beside the store of a folder. */
export const runSql = async (dataDir: string, text: string): Promise<void> => {
  if (cluster !== null) {
    const url = readFileSync(join(dataDir, 'database.url'), 'utf8').trim()
    return void cluster.sql(url.split('/').at(-1) ?? '', text)
  }
  const { Database } = await import('../../src/store/sqlite/connect.js')
  const db = new Database(join(dataDir, 'postern.db'))
  db.exec(text)
  db.close()
}

/** As `openStore`, in a folder and nothing else; a store that no daemon has is as good as that of a daemon. */
export const openStoreIn = (
  dataDir: string,
  { daemon = true }: { readonly daemon?: boolean } = {},
): Promise<Store> => openStore({ place: { data_dir: dataDir, ...settingsOf(dataDir) }, daemon })
