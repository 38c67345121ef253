/**
 * NAME      setup - what applied setups made, and the lock of each
 */

import { json, plain } from '../port/row.js'
import type { ManagedKey, ManagedName, ManagedRow, SetupLock, Setups } from '../port/tenants.js'
import { type AskedReads, type AskedWrites, type Asking, all, run } from './query.js'
import { allOf, insertInto, MANY, many, manyMarks, type Places, table } from './table.js'

type Stored = ManagedRow & { readonly accountId: string }

const MANAGED = table<Stored>('managed', {
  accountId: plain(),
  setup: plain(),
  kind: plain(),
  workspace: plain(),
  name: plain(),
  objectId: plain(),
  applied: json(),
  at: plain(),
})

const ofAccount = allOf(MANAGED, 'account_id = ? ORDER BY setup, kind, workspace, name')

const NAMES_OF = `SELECT setup, kind, workspace, name, object_id AS "objectId" FROM managed
  WHERE account_id = ? AND object_id IN (${manyMarks('?')}) ORDER BY setup, kind, workspace, name`

export const setupReads: AskedReads<Setups> = {
  *managed(accountId) {
    return (yield* ofAccount(accountId)).map(({ accountId: _, ...row }) => row)
  },
  *managedNames(accountId, objectIds) {
    const found: ManagedName[] = []
    for (let from = 0; from < objectIds.length; from += MANY) {
      const some = objectIds.slice(from, from + MANY)
      found.push(...((yield* all(NAMES_OF, accountId, ...many(some))) as unknown as ManagedName[]))
    }
    return found
  },
}

const remove = ({ accountId, setup }: SetupLock, { kind, workspace, name }: ManagedKey): Asking<number> =>
  run(
    'DELETE FROM managed WHERE account_id = ? AND setup = ? AND kind = ? AND workspace = ? AND name = ?',
    ...[accountId, setup, kind, workspace, name],
  )

const OWN = 'account_id = ? AND setup = ? AND owner = ?'

export const setupWrites = (places: Places): AskedWrites<Setups> => {
  const insert = insertInto(MANAGED, places)
  return {
    *beginSetup({ accountId, setup, owner, until }, now) {
      const text = `INSERT INTO setups (account_id, setup, owner, until) VALUES (?, ?, ?, ?)
        ON CONFLICT (account_id, setup) DO UPDATE SET owner = excluded.owner, until = excluded.until
        WHERE setups.owner IS NULL OR setups.until <= ?`
      return (yield* run(text, accountId, setup, owner, until, now)) === 1 ? 'done' : 'taken'
    },
    *noteManaged(lock, kept, gone) {
      const { accountId, setup, owner, until } = lock
      // the update locks the row first: another owner waits, or has come before
      const own = yield* run(`UPDATE setups SET until = ? WHERE ${OWN}`, until, accountId, setup, owner)
      if (own === 0) return false
      for (const key of gone) yield* remove(lock, key)
      for (const row of kept) {
        yield* remove(lock, row)
        yield* insert({ ...row, accountId, setup })
      }
      return true
    },
    *endSetup({ accountId, setup, owner }) {
      yield* run(`UPDATE setups SET owner = NULL, until = 0 WHERE ${OWN}`, accountId, setup, owner)
    },
  }
}
