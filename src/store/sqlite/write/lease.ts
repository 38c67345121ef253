/**
 * NAME      lease - who may send a recipient, and what is known of the attempt
 * DESCRIPTION
 *   A lease is a boot number and a generation. It ends by settle, by release,
 *   when it runs out unused, or when another boot recovers it. Once an attempt
 *   is journaled the lease no longer runs out while this boot lives: the message
 *   may be past the final dot, and sending it again is the one thing that time
 *   alone must never cause (RELAY.md G2).
 */

import type { AttemptMark, LeaseRef } from '../../../lifecycle/facts.js'
import { AMBIGUOUS } from '../../../lifecycle/recipient.js'
import type { Status } from '../../../mail/status.js'
import type { Standing } from '../operate/holds.js'
import type { WriteContext } from './context.js'
import type { AddEvent } from './events.js'

export interface Leases {
  attempting(marks: readonly AttemptMark[]): readonly boolean[]
  release(leases: readonly LeaseRef[], dueAt: number): void
  recover(now: number): { readonly released: number; readonly ambiguous: number }
  /** Remembers when the next lease may run out. */
  noteUntil(until: number): void
  /** The clock was set, and the stored ends of our leases with it. */
  moved(by: number): void
  /** Frees unused leases that ran out; nearly always a comparison and nothing more. */
  reap(now: number): void
}

interface Lost {
  readonly id: string
  readonly email_id: string
  readonly status: Status
  readonly attempting: number | null
  readonly attempt_upstream: string | null
  readonly attempt_at: number | null
  readonly pool: number
  readonly ambiguous: 'retry' | 'hold'
}

const WAITING: readonly Status[] = ['queued', 'deferred']

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
  lost: context.db.prepare<[number], Lost>(
    `SELECT r.id, r.email_id, r.status, r.attempting, r.attempt_upstream, r.attempt_at, r.pool, w.ambiguous
     FROM recipients r JOIN workspaces w ON w.n = r.workspace WHERE r.boot IS NOT NULL AND r.boot <> ?`,
  ),
  standing: context.db.prepare<[string], Standing>(
    'SELECT workspace, pool, email_id, address_lc FROM recipients WHERE id = ?',
  ),
  counted: context.db.prepare('UPDATE recipients SET attempts = max(attempts, ?) WHERE id = ?'),
  hold: context.db.prepare(
    `UPDATE recipients SET due_at = NULL, held = '${AMBIGUOUS}', held_at = ?, reason = '${AMBIGUOUS}' WHERE id = ?`,
  ),
})

export const createLeases = (context: WriteContext, addEvent: AddEvent): Leases => {
  const sql = prepare(context)
  let earliest = Number.POSITIVE_INFINITY

  const ambiguousEvent = (row: Lost, now: number): number =>
    addEvent({
      mail: row.email_id,
      recipientId: row.id,
      status: 'sent',
      change: false,
      source: 'system',
      occurredAt: row.attempt_at ?? now,
      now,
      attempt: row.attempting,
      applied: false,
      reason: 'ambiguous',
      dedupe: null,
      more: {
        reply: null,
        mta: { poolId: context.names.poolId(row.pool), upstreamId: row.attempt_upstream, host: null },
        detail: { ambiguous: true, held: row.ambiguous === 'hold' },
      },
    })

  /** Somebody holds it by now: it must not begin. */
  const isHeld = (recipientId: string): boolean => {
    const standing = context.holds.any ? sql.standing.get(recipientId) : undefined
    return standing !== undefined && context.holds.over(standing) !== null
  }

  return {
    attempting: (marks) =>
      marks.map(
        (mark) =>
          !isHeld(mark.recipientId) &&
          sql.mark.run(mark.attempt, mark.upstreamId, mark.at, mark.recipientId, mark.leaseGen, context.boot)
            .changes === 1,
      ),

    release(leases, dueAt) {
      for (const lease of leases) {
        if (sql.release.run(dueAt, lease.recipientId, lease.leaseGen, context.boot).changes === 0) continue
        context.hot.drop(lease.recipientId)
        context.effects.due = true
      }
    },

    recover(now) {
      context.pauses.note(now)
      let released = 0
      let ambiguous = 0
      for (const row of sql.lost.all(context.boot)) {
        sql.free.run(now, row.id)
        if (row.attempting === null || !WAITING.includes(row.status)) {
          released++
          continue
        }
        ambiguous++
        sql.counted.run(row.attempting, row.id)
        ambiguousEvent(row, now)
        if (row.ambiguous === 'hold') sql.hold.run(now, row.id)
      }
      if (released + ambiguous > 0) context.effects.due = true
      return { released, ambiguous }
    },

    noteUntil(until) {
      if (until < earliest) earliest = until
    },

    moved(by) {
      earliest += by
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
