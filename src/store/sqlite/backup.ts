/**
 * NAME      backup - an online copy
 * DESCRIPTION
 *   Copies one snapshot, page by page, from a connection of its own whose open
 *   read transaction keeps the snapshot still: without it every commit of the
 *   writer would start the copy anew. The copy is checked before it gets its
 *   name, so a file with that name is always whole.
 */
import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { type Db, openReader } from './connect.js'

const verify = (path: string): void => {
  const copy = new Database(path)
  try {
    copy.pragma('journal_mode = DELETE') // one file, no -wal beside it
    const faults = integrityFaults(copy)
    if (faults.length > 0) throw new Error(`the copy is damaged: ${faults[0]}`)
  } finally {
    copy.close()
  }
}

/** Reads every page; of some tables only when they are named. */
export const integrityFaults = (db: Db, tables: readonly string[] = []): string[] =>
  (tables.length === 0 ? ['10'] : tables)
    .flatMap((of) => db.pragma(`quick_check(${of})`) as { quick_check: string }[])
    .map((row) => row.quick_check)
    .filter((text) => text !== 'ok')

export const backup = async (file: string, path: string): Promise<void> => {
  const partial = `${path}.part`
  rmSync(partial, { force: true })
  closeSync(openSync(partial, 'wx', 0o600))
  const source = openReader(file)
  try {
    source.exec('BEGIN')
    source.prepare('SELECT count(*) FROM sqlite_master').get()
    await source.backup(partial)
    verify(partial)
    chmodSync(partial, 0o600)
    const fd = openSync(partial, 'r')
    fsyncSync(fd)
    closeSync(fd)
    renameSync(partial, path)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  } finally {
    source.close()
  }
}
