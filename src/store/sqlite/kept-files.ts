/**
 * NAME      kept-files - what stands beside the database, carried inside a copy of it
 * DESCRIPTION
 *   A table of a backup and of nothing else: names, modes and bytes of the files
 *   that a database is no use without. A restore takes them out again and leaves
 *   no trace of them in what it puts in place.
 */
import type { KeptFile } from '../../keys/in-backup.js'
import { Database } from './driver.js'

const isThere = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'kept_files'"

/** Puts files into a copy, each in the place of one with its name. */
export const keepFiles = (copy: string, files: readonly KeptFile[]): void => {
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
