/**
 * NAME      backup - a copy of the database and of the files beside it
 *   Copies one snapshot, page by page, from a connection of its own whose open read transaction keeps the snapshot
 *   still: without it every commit would start the copy anew. Large bodies become rows, so a copy is one file. It is
 *   checked before it gets its name, so a file with that name is always whole.
 *   A table that only backups have holds names, modes and octets of the files that a database is of no use without
 *   (the pepper). A restore writes them out and drops the table.
 */

import { chmodSync, closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { syncFolder } from '../../base/folder.js'
import type { KeptFile } from '../../keys/in-backup.js'
import { type Copied, MissingBodyError } from '../port/upkeep.js'
import { createBodyFiles } from './body.js'
import { Database, type Db, openReader } from './connect.js'

const isThere = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'kept_files'"

/** Puts files into a copy, each in the place of one with its name. */
const keepFiles = (copy: string, files: readonly KeptFile[]): void => {
  const db = new Database(copy)
  try {
    db.transaction(() => {
      db.exec(
        'CREATE TABLE IF NOT EXISTS kept_files (name TEXT PRIMARY KEY, mode INTEGER NOT NULL, bytes BLOB NOT NULL)',
      )
      const put = db.prepare('INSERT OR REPLACE INTO kept_files VALUES (?, ?, ?)')
      for (const { name, mode, bytes } of files) put.run(name, mode, bytes)
    })()
  } finally {
    db.close()
  }
}

/** The files of a copy, which are gone from it afterwards, overwritten. */
export const takeFiles = (copy: string): readonly KeptFile[] => {
  const db = new Database(copy)
  try {
    if (db.prepare(isThere).get() === undefined) return []
    const files = db.prepare('SELECT name, mode, bytes FROM kept_files').all() as KeptFile[]
    db.pragma('secure_delete = ON')
    db.exec('DROP TABLE kept_files')
    return files
  } finally {
    db.close()
  }
}

/**
 * Turns bodies beside the database into rows of the copy; the ids of those that are not there. What retention
 * took meanwhile is gone from the copy too.
 */
const bringIn = async (copy: Db, source: Db, dataDir: string): Promise<string[]> => {
  const files = createBodyFiles(dataDir)
  const rows = copy.prepare('SELECT n, email_id AS id FROM bodies WHERE beside = 1').all() as Beside[]
  const put = copy.prepare('UPDATE bodies SET raw = ?, beside = 0 WHERE n = ?')
  const drop = copy.prepare('DELETE FROM bodies WHERE n = ?')
  const isKept = source.prepare('SELECT 1 FROM bodies WHERE n = ? AND beside = 1')
  const missing: string[] = []
  for (const { n, id } of rows) {
    try {
      put.run(await files.read(id), n)
    } catch (error) {
      if (!(error instanceof MissingBodyError)) throw error
      if (isKept.get(n) === undefined) drop.run(n)
      else missing.push(id)
    }
  }
  return missing
}

interface Beside {
  readonly n: number
  readonly id: string
}

const hasBeside = (db: Db): boolean =>
  db.prepare("SELECT 1 FROM pragma_table_info('bodies') WHERE name = 'beside'").get() !== undefined

const complete = async (path: string, file: string): Promise<string[]> => {
  const copy = new Database(path)
  const live = openReader(file) // not the snapshot: what is there now
  try {
    copy.pragma('journal_mode = DELETE') // one file, no -wal beside it
    copy.pragma('synchronous = OFF') // it has no name yet, and is synced as a whole
    const missing = hasBeside(copy) ? await bringIn(copy, live, dirname(file)) : []
    const faults = integrityFaults(copy)
    if (faults.length > 0) throw new Error(`the copy is damaged: ${faults[0]}`)
    return missing
  } finally {
    live.close()
    copy.close()
  }
}

/** Reads every page; of some tables only when they are named. */
export const integrityFaults = (db: Db, tables: readonly string[] = []): string[] =>
  (tables.length === 0 ? ['10'] : tables)
    .flatMap((of) => db.pragma(`quick_check(${of})`) as { quick_check: string }[])
    .map((row) => row.quick_check)
    .filter((text) => text !== 'ok')

const isAlive = (pid: number): boolean => {
  if (pid === process.pid) return false // of an earlier process: this one has begun nothing yet
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Where a copy grows: a name of this process alone, so that two copies to one file do not write into each other.
 * What was left of copies that were cut off goes.
 */
const draftOf = (path: string): string => {
  const folder = dirname(path)
  const draft = `${basename(path)}.`
  for (const name of readdirSync(folder)) {
    const [, pid] = name.startsWith(draft)
      ? (/^(\d+)\.part(-journal)?$/.exec(name.slice(draft.length)) ?? [])
      : []
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(folder, name), { force: true })
  }
  return join(folder, `${draft}${process.pid}.part`)
}

/** `files` go into the copy too: see above. */
export const backup = async (
  file: string,
  path: string,
  files: readonly KeptFile[] = [],
): Promise<Copied> => {
  const partial = draftOf(path)
  closeSync(openSync(partial, 'wx', 0o600))
  const source = openReader(file)
  try {
    source.exec('BEGIN')
    source.prepare('SELECT count(*) FROM sqlite_master').get()
    await source.backup(partial)
    const missing = await complete(partial, file)
    if (files.length > 0) keepFiles(partial, files)
    chmodSync(partial, 0o600)
    const fd = openSync(partial, 'r')
    fsyncSync(fd)
    closeSync(fd)
    renameSync(partial, path)
    syncFolder(dirname(path))
    return { missing }
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  } finally {
    source.close()
  }
}

/** False for an empty file or the database of another program, which would open without complaint. */
export const isOurs = (file: string): boolean => {
  const db = openReader(file)
  try {
    const tables = "SELECT count(*) FROM sqlite_master WHERE name IN ('accounts', 'emails', 'recipients')"
    return db.prepare(tables).pluck().get() === 3
  } finally {
    db.close()
  }
}
