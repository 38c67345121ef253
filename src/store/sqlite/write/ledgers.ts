/**
 * NAME      ledgers - suppressions and rate windows
 * DESCRIPTION
 *   A suppression is one row per list and address; adding it again gives
 *   back the row that is there, except that an expired one is replaced. What is
 *   added or removed is an event in the same commit; what changes nothing is none. To add or to
 *   remove an address that is pending decides about it. A rate
 *   window is a sum per bucket and minute; the daemon grants from memory and
 *   adds here what it granted, a process without a daemon counts here directly.
 */

import { countSends } from '../../../lifecycle/rate.js'
import { isSuppressing } from '../../../lifecycle/suppress.js'
import type { Rates, SuppressionRow, Suppressions } from '../../port/tenants/tenants.js'
import type { Writes } from '../../port/verbs.js'
import type { SuppressionEvents } from '../../suppression-events.js'
import type { Db, Row } from '../connect.js'
import { inserter } from '../order/insert.js'
import type { Inner } from '../protocol.js'
import { SUPPRESSIONS } from '../schema/tables.js'
import type { WriteContext } from './context.js'

export const createSuppressionWrites = (
  context: WriteContext,
  tell: SuppressionEvents,
  clock: () => number,
): Writes<Suppressions> => {
  const { db } = context
  const insert = inserter(context, SUPPRESSIONS)
  const find = db.prepare<[string, string, string], Row>(
    `SELECT ${SUPPRESSIONS.columns} FROM suppressions WHERE workspace_id = ? AND (id = ? OR email = ?)`,
  )
  const remove = db.prepare('DELETE FROM suppressions WHERE id = ?')
  const forgive = db.prepare<[string, string, string], Row>(
    `DELETE FROM pending_suppressions WHERE workspace_id = ? AND (id = ? OR email = ?) RETURNING ${SUPPRESSIONS.columns}`,
  )
  const found = (workspaceId: string, ref: string): SuppressionRow | null => {
    const row = find.get(workspaceId, ref, ref)
    return row === undefined ? null : SUPPRESSIONS.decode(row)
  }
  return {
    addSuppression(row) {
      const held = found(row.workspaceId, row.email)
      if (held !== null && isSuppressing(held.expiresAt, row.createdAt)) return held
      if (held !== null) {
        remove.run(held.id)
        tell.removed(held, 'expired', row.createdAt)
      }
      forgive.get(row.workspaceId, row.email, row.email)
      insert(row)
      tell.added(row, row.createdAt)
      return row
    },
    removeSuppression(workspaceId, ref) {
      const held = found(workspaceId, ref)
      if (held === null) {
        const waiting = forgive.get(workspaceId, ref, ref)
        return waiting === undefined ? null : SUPPRESSIONS.decode(waiting)
      }
      remove.run(held.id)
      tell.removed(held, 'removed', clock())
      return held
    },
  }
}

export const createWindowWrites = (db: Db, now: () => number): Writes<Rates> & Pick<Inner, 'addUsed'> => {
  const used = db
    .prepare<[string, number], number>('SELECT used FROM rate_windows WHERE bucket = ? AND span = ?')
    .pluck()
  const add = db.prepare(
    `INSERT INTO rate_windows (bucket, span, used, at) VALUES (?, ?, ?, ?)
     ON CONFLICT (bucket, span) DO UPDATE SET used = used + excluded.used`,
  )
  return {
    consume(bucket, window, n, limit) {
      const count = countSends(used.get(bucket, window) ?? 0, n, limit)
      if (count.allowed && n > 0) add.run(bucket, window, n, now())
      return count
    },
    addUsed(granted) {
      for (const [bucket, window, n] of granted) add.run(bucket, window, n, now())
    },
  }
}
