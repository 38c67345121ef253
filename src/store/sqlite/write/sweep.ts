/**
 * NAME      sweep - housekeeping in small steps
 * DESCRIPTION
 *   Each step is one verb among others, so a purge never holds the writer for
 *   long; the caller repeats until a step removes nothing. Walks go from the
 *   oldest row and stop at the first young one. Mail that is still under way is
 *   never touched, whatever its age. A mail deferred by a report whose deadline
 *   passed has expired (4.4.7): some MTAs never report the end.
 */
import type { Outcome, Settled } from '../../port.js'
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
    dropBody: db.prepare('DELETE FROM bodies WHERE n = ?'),
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

const expiry = (recipientId: string, now: number): Outcome => ({
  recipientId,
  seen: 'expired',
  at: now,
  source: 'system',
  leaseGen: null,
  attempt: null,
  retryAt: null,
  deadline: null,
  reply: { code: 550, enhanced: '4.4.7', text: 'no final report arrived in time' },
  mta: null,
  dedupe: null,
  reason: 'lifetime',
  detail: null,
  trusted: true,
})

export const createSweepStep = (desk: Desk, settle: (outcome: Outcome) => Settled | null) => {
  const sql = prepare(desk)

  /** Walks aged rows in order; `drop` takes those that are old and at rest. */
  const walk = <T extends Aged, K>(
    page: (after: K) => readonly T[],
    keyOf: (row: T) => K,
    start: K,
    before: number,
    drop: (row: T) => void,
  ): number => {
    let removed = 0
    let after = start
    for (;;) {
      const rows = page(after)
      for (const row of rows) {
        if (row.created_at >= before) return removed
        if (row.open === 0) {
          drop(row)
          removed++
        }
      }
      const last = rows.at(-1)
      if (last === undefined || removed > 0) return removed
      after = keyOf(last)
    }
  }

  const dropEmail = (row: Aged & { body: number }): void => {
    sql.dropBody.run(row.body)
    for (const statement of sql.dropEmail) statement.run(row.id)
  }

  return (now: number, keep: { readonly bodiesMs: number; readonly emailsMs: number }): number => {
    const overdue = sql.overdue.all(now)
    for (const id of overdue) {
      settle(expiry(id, now))
      sql.rested.run(id) // also when the table refused: a deadline is met once
    }
    const bodies = walk(
      (after: number) => sql.bodies.all(after),
      (row) => row.n,
      0,
      now - keep.bodiesMs,
      (row) => sql.dropBody.run(row.n),
    )
    const emails = walk(
      (after: string) => sql.emails.all(after),
      (row) => row.id,
      '',
      now - keep.emailsMs,
      dropEmail,
    )
    const others =
      sql.locks.run(now, ANSWER_KEPT_MS).changes +
      sql.windows.run(now - WINDOW_KEPT_MS).changes +
      sql.sessions.run(now).changes +
      sql.suppressions.run(now).changes
    return overdue.length + bodies + emails + others
  }
}
