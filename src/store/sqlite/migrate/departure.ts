/**
 * NAME      departure - a database whose mail has gone elsewhere
 * DESCRIPTION
 *   Its schema gets a number that no Postern has reached, so that each refuses it, older ones too; these print what
 *   `made_by` says, which therefore says where the mail went.
 */
import type { Departure } from '../../move.js'
import type { Db } from '../connect.js'

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
