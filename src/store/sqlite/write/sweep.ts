/**
 * NAME      sweep - housekeeping in small steps
 * DESCRIPTION
 *   Each step is one verb among others and looks at a page of rows, so a purge
 *   never holds the writer for long; the caller repeats while there is more.
 *   Walks go from the oldest row and stop at the first young one. Mail that is
 *   still under way is never touched, whatever its age. The caller unlinks body
 *   files when the step that dropped their rows is committed. A mail deferred by a report whose deadline
 *   passed has expired (4.4.7): some MTAs never report the end.
 */
import { observed } from '../../observed.js'
import type { Outcome, Settled } from '../../port.js'
import type { Keep } from '../../port-upkeep.js'
import type { Swept } from '../protocol.js'
import type { Desk } from './desk.js'
import { ANSWER_KEPT_MS } from './idempotency.js'

const STEP = 200
const WINDOW_KEPT_MS = 3600_000

interface Aged {
  readonly id: string
  readonly created_at: number
  readonly open: number
}

const OPEN = '(scheduled + queued + deferred > 0) AS open'

const prepare = (desk: Desk) => {
  const { db } = desk
  return {
    overdue: db
      .prepare<[number], string>(`SELECT id FROM recipients WHERE deadline <= ? LIMIT ${STEP}`)
      .pluck(),
    rested: db.prepare('UPDATE recipients SET deadline = NULL WHERE id = ?'),
    bodies: db.prepare<[number], Aged & { n: number }>(
      `SELECT b.n, e.id, b.created_at, ${OPEN} FROM bodies b JOIN emails e ON e.id = b.email_id
       WHERE b.n > ? ORDER BY b.n LIMIT ${STEP}`,
    ),
    // the number of a body that is gone may be given to a later one: the mail must agree
    dropBody: db
      .prepare<[number, string], number>('DELETE FROM bodies WHERE n = ? AND email_id = ? RETURNING beside')
      .pluck(),
    emails: db.prepare<[string], Aged & { body: number }>(
      `SELECT id, created_at, body, ${OPEN} FROM emails WHERE id > ? ORDER BY id LIMIT ${STEP}`,
    ),
    dropEmail: [
      "DELETE FROM tags WHERE (workspace, name, value, email_id) IN (SELECT e.workspace, json_extract(t.value, '$.name'), json_extract(t.value, '$.value'), e.id FROM emails e, json_each(e.lists, '$.tags') t WHERE e.id = ?)",
      'DELETE FROM owed_dsns WHERE email_id = ?',
      'DELETE FROM events WHERE email_id = ?',
      'DELETE FROM recipients WHERE email_id = ?',
      'DELETE FROM emails WHERE id = ?',
    ].map((sql) => db.prepare(sql)),
    locks: db.prepare<[number, number]>(
      `DELETE FROM idempotency WHERE n IN (SELECT n FROM idempotency ORDER BY n LIMIT ${STEP})
       AND coalesce(completed_at, locked_until) < ? - ?`,
    ),
    windows: db.prepare('DELETE FROM rate_windows WHERE at < ?'),
    sessions: db.prepare('DELETE FROM sessions WHERE expires_at < ?'),
    suppressions: db.prepare('DELETE FROM suppressions WHERE expires_at < ?'),
  }
}

const expiry = (recipientId: string, now: number): Outcome =>
  observed({
    recipientId,
    seen: 'expired',
    at: now,
    source: 'system',
    reply: { code: 550, enhanced: '4.4.7', text: 'no final report arrived in time' },
    reason: 'lifetime',
  })

/** Goes over aged rows a page at a time, and remembers where it was until it has met a young one. */
const createWalk = <T extends Aged, K>(
  page: (after: K) => readonly T[],
  keyOf: (row: T) => K,
  start: K,
  drop: (row: T) => void,
) => {
  let after = start
  return (before: number): { readonly removed: number; readonly again: boolean } => {
    const rows = page(after)
    let removed = 0
    for (const row of rows) {
      after = keyOf(row)
      if (row.created_at >= before) {
        after = start
        return { removed, again: false }
      }
      if (row.open !== 0) continue
      drop(row)
      removed++
    }
    const again = rows.length > 0
    if (!again) after = start
    return { removed, again }
  }
}

export const createSweepStep = (desk: Desk, settle: (outcome: Outcome) => Settled | null) => {
  const sql = prepare(desk)
  let files: string[] = []

  const dropBody = (n: number, emailId: string): void => {
    if (sql.dropBody.get(n, emailId) === 1) files.push(emailId)
  }
  const bodies = createWalk(
    (after: number) => sql.bodies.all(after),
    (row) => row.n,
    0,
    (row) => dropBody(row.n, row.id),
  )
  const emails = createWalk(
    (after: string) => sql.emails.all(after),
    (row) => row.id,
    '',
    (row) => {
      dropBody(row.body, row.id)
      for (const statement of sql.dropEmail) statement.run(row.id)
    },
  )

  const expire = (now: number): number => {
    const overdue = sql.overdue.all(now)
    for (const id of overdue) {
      settle(expiry(id, now))
      sql.rested.run(id) // also when the table refused: a deadline is met once
    }
    return overdue.length
  }

  return (now: number, keep: Keep): Swept => {
    files = []
    const overdue = keep.deadlines === false ? 0 : expire(now)
    const agedBodies = bodies(now - keep.bodiesMs)
    const agedEmails = emails(now - keep.emailsMs)
    const others =
      sql.locks.run(now, ANSWER_KEPT_MS).changes +
      sql.windows.run(now - WINDOW_KEPT_MS).changes +
      sql.sessions.run(now).changes +
      sql.suppressions.run(now).changes
    return {
      removed: overdue + agedBodies.removed + agedEmails.removed + others,
      files,
      again: overdue > 0 || agedBodies.again || agedEmails.again || others > 0,
    }
  }
}
