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
import { aggregate, type Counts, STATUSES, type Status } from '../../../mail/status.js'
import type { Db } from '../connect.js'

export interface FoldedEmail {
  /** Its place. */
  readonly ord: number
  readonly status: Status
  /** How many recipients it has. */
  readonly total: number
}

export interface Fold {
  counts(ord: number): Counts
  /** Moves one recipient `from` to `to`; answers the email's status after it. */
  move(email: FoldedEmail, from: Status, to: Status, now: number): Status
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

  const counts = (ord: number): Counts => {
    const row = read.get(ord)
    if (row === undefined) throw new Error(`no email at ${ord}`)
    return row
  }

  const statusAfter = (email: FoldedEmail, from: Status, to: Status): Status => {
    if (email.total === 1) return to
    const before = counts(email.ord)
    return aggregate({ ...before, [from]: before[from] - 1, [to]: before[to] + 1 })
  }

  return {
    counts,
    move(email, from, to, now) {
      if (from === to) return email.status
      const status = statusAfter(email, from, to)
      if (status === email.status) statement(from, to, false).run(now, email.ord)
      else statement(from, to, true).run(now, status, email.ord)
      return status
    },
  }
}
