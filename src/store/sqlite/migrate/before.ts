/**
 * NAME      before - the copy that is made before a migration
 * DESCRIPTION
 *   `before-migration-<schema>-<time>.db` beside the database, whole and checked
 *   before the first step runs; the newest three are kept. There must be room
 *   for it, or nothing is migrated.
 */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { backup } from '../backup.js'
import { openReader } from '../connect.js'
import { STEPS } from './steps.js'

const KEPT = 3
const NAME = /^before-migration-\d+-.*\.db$/
/** What a copy that was cut off leaves, with the journal of SQLite. */
const PARTIAL = /^before-migration-.*\.part(-journal)?$/

/** The schema of a database file; 0 for one that is empty or not there. */
export const versionIn = (file: string): number => {
  if (!existsSync(file) || statSync(file).size === 0) return 0
  const db = openReader(file)
  try {
    return Number(db.pragma('user_version', { simple: true }))
  } finally {
    db.close()
  }
}

const prune = (folder: string): void => {
  const names = readdirSync(folder)
  const copies = names
    .filter((name) => NAME.test(name))
    .map((name) => ({ name, at: statSync(join(folder, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at)
    .map(({ name }) => name)
  for (const name of [...copies.slice(KEPT), ...names.filter((one) => PARTIAL.test(one))])
    rmSync(join(folder, name), { force: true })
}

/** Copies a database of this schema, if it is to be migrated; the path of the copy, or null when nothing is to be done. */
export const copyBefore = async (file: string, version: number): Promise<string | null> => {
  if (version === 0 || version >= STEPS.length) return null
  const folder = dirname(file)
  const time = new Date().toISOString().replace(/[:.]/g, '-')
  const copy = join(folder, `before-migration-${version}-${time}.db`)
  await backup(file, copy)
  prune(folder)
  return copy
}
