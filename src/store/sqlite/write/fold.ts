/**
 * NAME      fold - one recipient's change, carried into its email
 * DESCRIPTION
 *   The counts and the aggregate status of an email move in the same transaction
 *   as the recipient, and `updated_at` only when they do. Most mails have one
 *   recipient, whose status is the mail's: only the others have their counts
 *   read. One statement per pair of statuses, so that the index on status is
 *   touched only when it changes.
 */

import type { Statement } from 'better-sqlite3'
import { type Counts, STATUSES, type Status } from '../../../mail/status.js'
import type { Db } from '../connect.js'

export interface Fold {
  counts(ord: number): Counts
  /** Stores that one recipient has gone `from` one status `to` another, and its mail from `before` to `after`. */
  write(ord: number, from: Status, to: Status, before: Status, after: Status, now: number): void
}

export const createFold = (db: Db): Fold => {
  const read = db.prepare<[number], Counts>(`SELECT ${STATUSES.join(', ')} FROM emails WHERE ord = ?`)
  const statements = new Map<string, Statement<unknown[]>>()

  const statement = (from: Status, to: Status, moved: boolean) => {
    const key = `${from}>${to}${moved ? '!' : ''}`
    let found = statements.get(key)
    if (found === undefined) {
      found = db.prepare(
        `UPDATE emails SET ${from} = ${from} - 1, ${to} = ${to} + 1, updated_at = ?${moved ? ', status = ?' : ''} WHERE ord = ?`,
      )
      statements.set(key, found)
    }
    return found
  }

  return {
    counts(ord) {
      const row = read.get(ord)
      if (row === undefined) throw new Error(`no email at ${ord}`)
      return row
    },
    write(ord, from, to, before, after, now) {
      if (from === to) return
      if (before === after) statement(from, to, false).run(now, ord)
      else statement(from, to, true).run(now, after, ord)
    },
  }
}
