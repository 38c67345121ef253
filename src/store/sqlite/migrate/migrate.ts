/**
 * NAME      migrate - bringing a database up to date
 *   Forward only, all missing steps in one transaction, guarded by user_version.
 *   A database from a newer Postern is refused before anything is touched, and so
 *   is one from before 0.9.0. A new one is made whole, with the account `default`,
 *   its default workspace and its two pools, so that a fresh install can send at once.
 */

import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { systemClock } from '../../../base/clock.js'
import { newId } from '../../../base/id.js'
import type { Departure } from '../../move.js'
import { beginningOf } from '../../pools.js'
import { NewerDatabaseError, refuseOlder } from '../../port/upkeep.js'
import { ordAt } from '../../sql/pages.js'
import type { Table } from '../../sql/table.js'
import { ACCOUNTS, POOLS, WORKSPACES } from '../../sql/tenants.js'
import { backup } from '../backup.js'
import { type Db, openReader } from '../connect.js'
import { createGiver } from '../giver.js'
import { SCHEMA_NUMBER, SCHEMA_TEXT } from './schema.js'
import { NEWEST, OLDEST, STEPS } from './steps.js'

/** Places begin at the present. */
const fill = (db: Db, now: number): void => {
  const first = ordAt(now)
  db.prepare('INSERT INTO order_state VALUES (?, 0)').run(first)
  db.prepare('INSERT INTO log_state VALUES (?, ?)').run(first + 1, first + 1)
  const giver = createGiver(db, { ...systemClock, now: () => now })
  giver.begin()
  const accountId = newId('acct', now)
  const { workspace, pools } = beginningOf(accountId, now)
  const add = <T>({ insert, encode }: Table<T>, row: T) =>
    db.prepare(insert).run(...encode(row), giver.next())
  add(ACCOUNTS, { id: accountId, name: 'default', createdAt: now })
  for (const pool of pools) add(POOLS, pool)
  add(WORKSPACES, workspace)
  giver.keep()
}

const versionOf = (db: Db): number => Number(db.pragma('user_version', { simple: true }))

/** The Postern that a database from a newer one wants: the one that brought it where it is, when it said so. */
export const wantedBy = (db: Db): string => {
  let maker: unknown
  try {
    maker = db.prepare('SELECT version FROM made_by').pluck().get()
  } catch {
    maker = undefined
  }
  return typeof maker === 'string' && maker !== '' ? `Postern ${maker} or newer` : 'a newer Postern'
}

/** `postern` is the version of the program, for those that come to an older one later; tests have steps of their own. */
export const migrate = (db: Db, now: number, postern: string, steps: readonly string[] = STEPS): void => {
  const newest = OLDEST + steps.length
  const refuse = (version: number): void => {
    refuseOlder(version, OLDEST)
    if (version <= newest) return
    const gone = departureOf(db)
    if (gone !== null)
      throw new NewerDatabaseError(
        `the mail of this folder moved to PostgreSQL at ${gone.place}: set store.driver postgres, ` +
          'or take it back with postern store move --to FILE --undo',
      )
    throw new NewerDatabaseError(
      `the database has schema version ${version}, this Postern knows ${newest}: install ${wantedBy(db)}`,
    )
  }
  refuse(versionOf(db))
  if (versionOf(db) === newest) return
  db.transaction(() => {
    const version = versionOf(db) // again, under the write lock: another process may have been first
    refuse(version)
    if (version === 0) db.exec(SCHEMA_TEXT)
    for (const step of steps.slice((version || SCHEMA_NUMBER) - OLDEST)) db.exec(step)
    if (version === 0) fill(db, now)
    db.prepare('UPDATE made_by SET version = ?').run(postern)
    db.pragma(`user_version = ${newest}`)
  }).immediate()
}

// The copy that is made before a migration. `before-migration-<schema>-<time>.db` beside the database, whole and
// checked before the first step runs; the newest three are kept. There must be room for it, or nothing is migrated.

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

/** Refuses one that is too old. Copies a database of this schema, if it is to be migrated; the path of the copy, or null when nothing is to be done. */
export const copyBefore = async (file: string, version: number): Promise<string | null> => {
  refuseOlder(version, OLDEST)
  if (version === 0 || version >= NEWEST) return null
  const folder = dirname(file)
  const time = new Date().toISOString().replace(/[:.]/g, '-')
  const copy = join(folder, `before-migration-${version}-${time}.db`)
  await backup(file, copy)
  prune(folder)
  return copy
}

// A database whose mail has gone elsewhere. Its schema gets a number that no Postern has reached, so that each
// refuses it, older ones too; these print what `made_by` says, which therefore says where the mail went.

/** Added to the number of the schema. */
const BEYOND = 1_000_000

const TABLE = `CREATE TABLE moved_to (
  id TEXT NOT NULL, place TEXT NOT NULL, at INTEGER NOT NULL, version INTEGER NOT NULL, made_by TEXT NOT NULL)`

export const departureOf = (db: Db): Departure | null => {
  const isThere = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'moved_to'"
  if (db.prepare(isThere).get() === undefined) return null
  return (db.prepare('SELECT id, place, at FROM moved_to').get() as Departure | undefined) ?? null
}

/** Within a transaction. */
export const depart = (db: Db, { id, place, at }: Departure): void => {
  const version = Number(db.pragma('user_version', { simple: true }))
  const maker = String(db.prepare('SELECT version FROM made_by').pluck().get() ?? '')
  db.exec(TABLE)
  db.prepare('INSERT INTO moved_to VALUES (?, ?, ?, ?, ?)').run(id, place, at, version, maker)
  const day = new Date(at).toISOString().slice(0, 10)
  db.prepare('UPDATE made_by SET version = ?').run(`${maker} (its mail moved to ${place} on ${day})`)
  db.pragma(`user_version = ${version + BEYOND}`)
}

/** The same, back. */
export const comeBack = (db: Db): void => {
  db.transaction(() => {
    const { version, made_by } = db.prepare('SELECT version, made_by FROM moved_to').get() as {
      readonly version: number
      readonly made_by: string
    }
    db.prepare('UPDATE made_by SET version = ?').run(made_by)
    db.exec('DROP TABLE moved_to')
    db.pragma(`user_version = ${version}`)
  }).immediate()
}
