/**
 * NAME      connect - one connection to the database file, its driver, and the lock of its folder
 *   One connection writes, any number read. The writer's promise rests on three settings that are set and then read
 *   back, because the library's default (WAL with synchronous=NORMAL) lost acknowledged rows in a power cut. A
 *   connection that cannot be made durable is refused.
 *   Two versions of the driver are shipped: 13 needs Node-API 10 (Node 22.14) and ends an older process with a crash;
 *   12 crashes on Node 24.19 and newer. Node-API decides. Both read and write the same files. Version 12 lies in
 *   bin/native/node20, which bin/native/install.mjs fills. A driver that cannot be loaded is an error that names the
 *   command that brings it.
 */
import { chmodSync, closeSync, existsSync, openSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type Sqlite from 'better-sqlite3'
import type { Database as Connection } from 'better-sqlite3'
import { databaseFile, makeDataFolder } from '../../base/folder.js'
import { DamagedFileError } from '../../base/secret.js'
import { StoreBusyError } from '../port/upkeep.js'

/** The driver is not there, or was compiled for another Node. */
class DriverMissingError extends Error {
  override readonly name = 'DriverMissingError'
}

/** Where they are installed, as seen from a bundle. */
declare const POSTERN_NATIVE: string | undefined

const native = (name: string): URL =>
  new URL(
    (typeof POSTERN_NATIVE === 'string' ? POSTERN_NATIVE : '../../../../bin/native/') + name,
    import.meta.url,
  )
const require = createRequire(native('driver'))
const isOld = Number(process.versions.napi) < 10

const load = (): typeof Sqlite => {
  const driver = isOld ? require('./node20/node_modules/better-sqlite3') : require('better-sqlite3')
  new driver(':memory:').close() // the native part comes with the first database
  return driver
}

const remedy = (): string => {
  // a package and the executable bring their drivers along, and there is no folder to install into
  const folder = dirname(fileURLToPath(native('driver')))
  if (!existsSync(folder)) return 'install Node 22.14 or newer'
  return isOld
    ? `run: npm ci --prefix ${folder}/node20`
    : `run: npm install --no-save --prefix ${folder} better-sqlite3@13.2.0`
}

const loadOrSay = (): typeof Sqlite => {
  try {
    return load()
  } catch (error) {
    const reason = (error as Error).message.replace(/\s+/g, ' ').slice(0, 200)
    const driver = `the SQLite driver for Node ${process.versions.node}, better-sqlite3 ${isOld ? 12 : 13},`
    throw new DriverMissingError(`${driver} can not be loaded (${reason}); ${remedy()}`)
  }
}

export const Database = loadOrSay()

export type Db = Connection
export type SqliteRow = Record<string, unknown>

/** The log that SQLite keeps beside a database: commits that are not in the file itself yet. */
export const logOf = (file: string): string => `${file}-wal`

const LEFT = '-wal.left-'

/** A name for the log of a database that has lost its own. */
export const leftLogName = (file: string): string =>
  `${file}${LEFT}${new Date().toISOString().replace(/[:.]/g, '-')}`

/** The newest log that lies beside the name of a database, in use or left behind; null when none holds anything. */
const logBeside = (file: string): string | null => {
  const folder = dirname(file)
  const left = readdirSync(folder)
    .filter((name) => name.startsWith(`${basename(file)}${LEFT}`))
    .sort()
  const logs = [logOf(file), ...left.map((name) => join(folder, name))]
  return logs.findLast((log) => (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 0) ?? null
}

/** SQLite would delete the log and begin anew: mail that was taken would be gone without a word. */
const refuseToBeginAnew = (file: string): void => {
  const log = logBeside(file)
  if (log === null) return
  throw new DamagedFileError(
    `${file} is gone, but not the end of it, ${log}; put the database back (that log beside it as ` +
      `${basename(logOf(file))}), restore a copy with postern restore, or move the log away to begin anew`,
  )
}

/**
 * Makes folder and file, readable by their owner only, before SQLite would make
 * them wider. SQLite makes the names of its files durable.
 */
export const prepareFile = (dataDir: string): string => {
  makeDataFolder(dataDir)
  const file = databaseFile(dataDir)
  if (!existsSync(file)) {
    refuseToBeginAnew(file)
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
  }
  return file
}

const FULL = 2

/** What makes this connection less than durable; none is good. */
export const durabilityFaults = (db: Db): string[] => {
  const faults: string[] = []
  const journal = db.pragma('journal_mode', { simple: true })
  const synchronous = db.pragma('synchronous', { simple: true })
  if (journal !== 'wal') faults.push(`journal_mode is ${journal}, not wal`)
  if (synchronous !== FULL) faults.push(`synchronous is ${synchronous}, not ${FULL} (FULL)`)
  if (db.pragma('foreign_keys', { simple: true }) !== 1) faults.push('foreign_keys is off')
  return faults
}

/** WAL with synchronous=FULL, for the one writer; makes the file. */
export const openWriter = (file: string): Db => {
  const db = new Database(file, { timeout: 5000 })
  db.pragma('auto_vacuum = INCREMENTAL') // of a new file; an existing one keeps what it has
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  // the edges where mail is written and settled fit; what is beyond is in the system's cache, which is shared
  db.pragma('cache_size = -8192')
  db.pragma('wal_autocheckpoint = 4000')
  // what a long reader made it grow to goes back when it is written from its beginning again
  db.pragma('journal_size_limit = 20971520')
  // what a savepoint keeps to go back takes a temporary file from 64 KiB on, and none can be made without descriptors
  db.pragma('temp_store = MEMORY')
  const faults = durabilityFaults(db)
  if (faults.length > 0) {
    db.close()
    throw new Error(`${file} can not be made durable: ${faults.join('; ')}`)
  }
  return db
}

/**
 * Read-only; throws when there is no such file. `tidies`: where nobody else has the file open, its end takes SQLite's
 * log and index away, as that of a writer does.
 */
export const openReader = (file: string, tidies = false): Db => {
  const db = new Database(file, { readonly: !tidies, fileMustExist: true, timeout: 5000 })
  db.pragma('query_only = ON')
  db.pragma('cache_size = -2048')
  return db
}

// One daemon per data folder. An exclusive transaction on a small SQLite file of its own. The lock belongs to the
// process and dies with it, however it dies, so there is never a stale one to clear. The second daemon is told at
// once and exits 75.

/** Takes the lock or throws StoreBusyError. The answer gives it back. */
export const takeDaemonLock = (dataDir: string): (() => void) => {
  const file = join(dataDir, 'daemon.lock')
  const db = new Database(file, { timeout: 0 })
  try {
    db.exec('BEGIN EXCLUSIVE')
    chmodSync(file, 0o600)
  } catch (error) {
    db.close()
    if ((error as { code?: string }).code === 'SQLITE_BUSY') {
      throw new StoreBusyError(`another daemon is running on ${dataDir}: stop it first`)
    }
    throw error
  }
  return () => {
    db.close()
  }
}
