/**
 * NAME      fold - one recipient's change, carried into its email
 * DESCRIPTION
 *   The counts and the aggregate status of an email move in the same transaction
 *   as the recipient, and `updated_at` only when they do. One statement per pair
 *   of statuses, so that the index on status is touched only when it changes.
 */

import type { Statement } from 'better-sqlite3'
import { aggregate, type Counts, STATUSES, type Status } from '../../../mail/status.js'
import type { Db } from '../connect.js'

export type EmailCounts = Counts & { status: Status }

/** The columns that foldCounts needs, for the SELECT of a caller that joins `emails e`. */
export const COUNT_COLUMNS = `e.status AS email_status, ${STATUSES.map((status) => `e.${status} AS n_${status}`).join(', ')}`

export const countsOf = (row: Readonly<Record<string, unknown>>): Counts =>
  Object.fromEntries(STATUSES.map((status) => [status, row[`n_${status}`]])) as Counts

/** Moves one recipient `from` to `to`; answers the email's status after it. */
export type FoldCounts = (
  emailId: string,
  counts: Counts,
  emailStatus: Status,
  from: Status,
  to: Status,
  now: number,
) => Status

export const createFold = (db: Db): FoldCounts => {
  const statements = new Map<string, Statement<unknown[]>>()
  const statement = (from: Status, to: Status, moved: boolean) => {
    const key = `${from}>${to}${moved ? '!' : ''}`
    let found = statements.get(key)
    if (found === undefined) {
      found = db.prepare(
        `UPDATE emails SET ${from} = ${from} - 1, ${to} = ${to} + 1, updated_at = ?${moved ? ', status = ?' : ''} WHERE id = ?`,
      )
      statements.set(key, found)
    }
    return found
  }
  return (emailId, counts, emailStatus, from, to, now) => {
    if (from === to) return emailStatus
    counts[from]--
    counts[to]++
    const status = aggregate(counts)
    if (status === emailStatus) statement(from, to, false).run(now, emailId)
    else statement(from, to, true).run(now, status, emailId)
    return status
  }
}
