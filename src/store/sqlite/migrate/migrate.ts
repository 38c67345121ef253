/**
 * NAME      migrate - bringing a database up to date
 * DESCRIPTION
 *   Forward only, all missing steps in one transaction, guarded by user_version.
 *   A database from a newer Postern is refused before anything is touched. The
 *   first migration also makes the account `default` with its default
 *   workspace and its two pools, so that a fresh install can send at once.
 */
import { systemClock } from '../../../base/clock.js'
import { newId } from '../../../base/id.js'
import { beginningOf } from '../../pools.js'
import { NewerDatabaseError } from '../../port/upkeep.js'
import type { Table } from '../../sql/table.js'
import { ACCOUNTS, POOLS, WORKSPACES } from '../../sql/tenants.js'
import type { Db } from '../connect.js'
import { createGiver, type Giver } from '../order/giver.js'
import { departureOf } from './departure.js'
import { giveOwnPools, OWN_POOLS_STEP } from './own-pools.js'
import { runStep, STEPS } from './steps.js'

const addDefaults = (db: Db, giver: Giver, now: number): void => {
  const accountId = newId('acct', now)
  const { workspace, pools } = beginningOf(accountId, now)
  const add = <T>({ insert, encode }: Table<T>, row: T) =>
    db.prepare(insert).run(...encode(row), giver.next())
  add(ACCOUNTS, { id: accountId, name: 'default', createdAt: now })
  for (const pool of pools) add(POOLS, pool)
  add(WORKSPACES, workspace)
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

/** `postern` is the version of the program, for those that come to an older one later. */
export const migrate = (db: Db, now: number, postern: string): void => {
  const refuseNewer = (version: number): void => {
    if (version <= STEPS.length) return
    const gone = departureOf(db)
    if (gone !== null)
      throw new NewerDatabaseError(
        `the mail of this folder moved to PostgreSQL at ${gone.place}: set store.driver postgres, ` +
          'or take it back with postern store move --to FILE --undo',
      )
    throw new NewerDatabaseError(
      `the database has schema version ${version}, this Postern knows ${STEPS.length}: ` +
        `install ${wantedBy(db)}`,
    )
  }
  refuseNewer(versionOf(db))
  if (versionOf(db) === STEPS.length) return
  db.transaction(() => {
    const version = versionOf(db) // again, under the write lock: another process may have been first
    refuseNewer(version)
    for (const step of STEPS.slice(version)) runStep(db, step, now)
    const giver = createGiver(db, { ...systemClock, now: () => now })
    giver.begin()
    if (version > 0 && version <= STEPS.indexOf(OWN_POOLS_STEP)) giveOwnPools(db, giver, now)
    if (version === 0) addDefaults(db, giver, now)
    giver.keep()
    db.prepare('UPDATE made_by SET version = ?').run(postern)
    db.pragma(`user_version = ${STEPS.length}`)
  }).immediate()
}
