/**
 * NAME      lease - who may send a recipient, and what is known of the attempt
 * DESCRIPTION
 *   lifecycle/lease.ts says what a lease is. Marking, releasing and freeing what ran out are single
 *   updates, whose conditions are those rules: they run for every mail.
 */

import type { AttemptMark, LeaseRef } from '../../../lifecycle/facts.js'
import { type OnAmbiguous, recovered } from '../../../lifecycle/lease.js'
import type { DeadBoots } from '../../port/upkeep.js'
import { ambiguousEvent } from '../../sql/log/draft.js'
import { EMAIL_ID } from '../../sql/mails.js'
import type { Standing } from '../../sql/orders.js'
import type { WriteContext } from './context.js'
import type { AddEvent } from './events.js'
import { STATE_COLUMNS, type StateArray, stateOf } from './settle.js'

export interface Leases {
  attempting(marks: readonly AttemptMark[]): readonly boolean[]
  release(leases: readonly LeaseRef[], dueAt: number): void
  recover(dead: DeadBoots, now: number): { readonly released: number; readonly ambiguous: number }
  /** Remembers when the next lease may run out. */
  noteUntil(until: number): void
  /** The clock was set, and the stored ends of our leases with it. */
  moved(): void
  /** Frees unused leases that ran out; nearly always a comparison and nothing more. */
  reap(now: number): void
}

type Lost = [
  id: string,
  emailId: string,
  upstreamId: string | null,
  attemptAt: number | null,
  pool: number,
  on: OnAmbiguous,
  ...StateArray,
]
const STATE = 6

/** Due again where sending still makes sense; the generation moves on, so the old lease is void. */
const FREE = `UPDATE recipients SET boot = NULL, lease_until = NULL, attempting = NULL, lease_gen = lease_gen + 1,
  due_at = CASE WHEN status IN ('queued', 'deferred') THEN ? END`

const prepare = (context: WriteContext) => ({
  mark: context.db.prepare(
    `UPDATE recipients SET attempting = ?, attempt_upstream = ?, attempt_at = ?
     WHERE id = ? AND lease_gen = ? AND boot = ?`,
  ),
  release: context.db.prepare(`${FREE} WHERE id = ? AND lease_gen = ? AND boot = ?`),
  runOut: context.db
    .prepare<[number, number], string>(
      'SELECT id FROM recipients WHERE boot = ? AND lease_until <= ? AND attempting IS NULL',
    )
    .pluck(),
  earliest: context.db
    .prepare<[number], number | null>(
      'SELECT min(lease_until) FROM recipients WHERE boot = ? AND attempting IS NULL',
    )
    .pluck(),
  free: context.db.prepare(`${FREE} WHERE id = ?`),
  boots: context.db
    .prepare<[number], number>('SELECT DISTINCT boot FROM recipients WHERE boot IS NOT NULL AND boot <> ?')
    .pluck(),
  lost: context.db
    .prepare<[number], Lost>(
      `SELECT r.id, ${EMAIL_ID}, r.attempt_upstream, r.attempt_at, r.pool, w.ambiguous, ${STATE_COLUMNS}
       FROM recipients r JOIN workspaces w ON w.n = r.workspace WHERE r.boot = ?`,
    )
    .raw(),
  recovered: context.db.prepare(
    `UPDATE recipients SET boot = NULL, lease_until = NULL, attempting = NULL, lease_gen = ?, due_at = ?, attempts = ?,
       held = ?, held_at = CASE WHEN ? THEN ? ELSE held_at END, reason = ? WHERE id = ?`,
  ),
  standing: context.db.prepare<[string], Standing>(
    `SELECT workspace, pool, ${EMAIL_ID}, address_lc FROM recipients WHERE id = ?`,
  ),
})

type Statements = ReturnType<typeof prepare>

const createRecover = (context: WriteContext, addEvent: AddEvent, sql: Statements, alone: boolean) => {
  // whoever takes the lock of the data folder finds leases of the dead alone; what comes later may live
  const earlier = alone ? sql.boots.all(context.boot) : []

  const recoverOne = (row: Lost, now: number): boolean => {
    const { recipient, ambiguous } = recovered(stateOf(row, STATE), row[5], now)
    const { leaseGen, dueAt, attempts, held, reason } = recipient
    sql.recovered.run(leaseGen, dueAt, attempts, held, held === null ? 0 : 1, now, reason, row[0])
    if (ambiguous === null) return false
    const [id, mail, upstreamId, at, pool, on] = row
    const begun = { attempt: ambiguous, at, poolId: context.names.poolId(pool), upstreamId, on }
    addEvent(ambiguousEvent(mail, id, begun, now))
    return true
  }

  return (dead: DeadBoots, now: number) => {
    context.pauses.note(now)
    let released = 0
    let ambiguous = 0
    for (const boot of dead === 'earlier' ? earlier : dead) {
      for (const row of sql.lost.all(boot)) {
        if (recoverOne(row, now)) ambiguous++
        else released++
      }
    }
    if (released + ambiguous > 0) context.effects.due = true
    return { released, ambiguous }
  }
}

const createAttempting = (context: WriteContext, sql: Statements): Leases['attempting'] => {
  /** Somebody holds it by now: it must not begin. */
  const isHeld = (recipientId: string): boolean => {
    const standing = context.holds.any ? sql.standing.get(recipientId) : undefined
    return standing !== undefined && context.holds.over(standing) !== null
  }
  const isMarked = ({ recipientId, leaseGen, attempt, upstreamId, at }: AttemptMark): boolean =>
    !isHeld(recipientId) &&
    sql.mark.run(attempt, upstreamId, at, recipientId, leaseGen, context.boot).changes === 1
  return (marks) => {
    const marked: boolean[] = []
    for (const mark of marks) marked.push(isMarked(mark))
    return marked
  }
}

/** `alone`: nobody else of those who lease can be alive, since the lock of the data folder is ours. */
export const createLeases = (context: WriteContext, addEvent: AddEvent, alone: boolean): Leases => {
  const sql = prepare(context)
  let earliest = Number.POSITIVE_INFINITY

  return {
    attempting: createAttempting(context, sql),
    recover: createRecover(context, addEvent, sql, alone),

    release(leases, dueAt) {
      for (const lease of leases) {
        if (sql.release.run(dueAt, lease.recipientId, lease.leaseGen, context.boot).changes === 0) continue
        context.hot.drop(lease.recipientId)
        context.effects.due = true
      }
    },

    noteUntil(until) {
      if (until < earliest) earliest = until
    },

    moved() {
      // not all of them were: the next claim looks
      earliest = Number.NEGATIVE_INFINITY
    },

    reap(now) {
      if (now < earliest) return
      for (const id of sql.runOut.all(context.boot, now)) {
        sql.free.run(now, id)
        context.hot.drop(id)
      }
      earliest = sql.earliest.get(context.boot) ?? Number.POSITIVE_INFINITY
    },
  }
}
