/**
 * NAME      schedule - appointments: kept, moved and cancelled
 * DESCRIPTION
 *   An email is at its appointment while any recipient is `scheduled`. All of
 *   them leave that status in one step (due or canceled), so client and
 *   dispatcher compare and set the same fact and exactly one of them wins.
 */
import { toRfc3339 } from '../../../base/clock.js'
import type { EventSource } from '../../../lifecycle/event.js'
import { nextStatus, type Observation, type Status } from '../../../mail/status.js'
import type { EmailScope } from '../../port/ledger.js'
import type { RescheduleResult } from '../../port/queue.js'
import type { Row } from '../connect.js'
import { NOTHING, scopeOf } from '../log/codec.js'
import type { WriteContext } from './context.js'
import { type AddEvent, type MailPlace, plainEvent } from './events.js'
import type { Fold } from './fold.js'

export interface Appointments {
  /** Queues every scheduled recipient of an email; their due times stay. */
  fallDue(emailId: string, now: number): void
  reschedule(scope: EmailScope, id: string, scheduledAt: number, now: number): RescheduleResult
  cancel(scope: EmailScope, id: string, now: number): RescheduleResult
}

interface Waiting {
  readonly id: string
  readonly address: string
}

const placeOf = (email: Row): MailPlace => ({
  ord: email.ord as number,
  scope: scopeOf(email.workspace as number, email.test === 1),
})

const prepare = (context: WriteContext) => ({
  email: context.db.prepare<[string], Row>(
    `SELECT e.ord, e.workspace, e.test, e.source, w.account_id, e.status, e.total
     FROM emails e JOIN workspaces w ON w.n = e.workspace AND w.deleted_at IS NULL WHERE e.id = ?`,
  ),
  waiting: context.db.prepare<[string], Waiting>(
    "SELECT id, address FROM recipients WHERE email_id = ? AND status = 'scheduled'",
  ),
  queue: context.db.prepare(
    "UPDATE recipients SET status = 'queued', queued_at = due_at, updated_at = ? WHERE id = ?",
  ),
  cancel: context.db.prepare(
    "UPDATE recipients SET status = 'canceled', due_at = NULL, held = NULL, held_due = NULL, updated_at = ? WHERE id = ?",
  ),
  // its appointment is another store's
  away: context.db
    .prepare<[string], number>(
      "SELECT 1 FROM recipients WHERE email_id = ? AND status = 'scheduled' AND substr(held, 1, 4) = 'lot_'",
    )
    .pluck(),
  move: context.db.prepare(
    `UPDATE recipients SET due_at = CASE WHEN held IS NULL THEN @at END, held_due = CASE WHEN held IS NOT NULL THEN @at END,
       updated_at = @now WHERE email_id = @id AND status = 'scheduled'`,
  ),
  moveEmail: context.db.prepare('UPDATE emails SET scheduled_at = ?, updated_at = ? WHERE id = ?'),
})

export const createAppointments = (context: WriteContext, addEvent: AddEvent, fold: Fold): Appointments => {
  const sql = prepare(context)

  /** Carries every scheduled recipient over to what the table says of `seen`. */
  const leave = (id: string, email: Row, seen: Observation, source: EventSource, now: number): void => {
    const to = nextStatus('scheduled', seen) ?? 'scheduled'
    const ord = email.ord as number
    const place = placeOf(email)
    const total = email.total as number
    let emailStatus = email.status as Status
    for (const recipient of sql.waiting.all(id)) {
      ;(to === 'queued' ? sql.queue : sql.cancel).run(now, recipient.id)
      emailStatus = fold.move({ ord, status: emailStatus, total }, 'scheduled', to, now)
      addEvent(plainEvent(place, recipient.id, to, source, now))
      context.effects.settled.push({
        recipientId: recipient.id,
        emailId: id,
        workspaceId: context.names.workspaceId(email.workspace as number),
        mode: email.test === 1 ? 'test' : 'live',
        address: recipient.address,
        applied: true,
        from: 'scheduled',
        to,
        emailStatus,
      })
    }
  }

  const visible = (scope: EmailScope, id: string): Row | null => {
    const email = sql.email.get(id)
    if (email === undefined || email.account_id !== scope.accountId) return null
    if (
      scope.workspaceId !== null &&
      context.names.workspaceId(email.workspace as number) !== scope.workspaceId
    ) {
      return null
    }
    return scope.mode !== null && (email.test === 1) !== (scope.mode === 'test') ? null : email
  }

  return {
    fallDue(emailId, now) {
      const email = sql.email.get(emailId)
      if (email !== undefined) leave(emailId, email, 'due', 'system', now)
    },

    reschedule(scope, id, scheduledAt, now) {
      const email = visible(scope, id)
      if (email === null) return 'not_found'
      if (fold.counts(email.ord as number).scheduled === 0 || sql.away.get(id) !== undefined) {
        return 'not_scheduled'
      }
      sql.move.run({ at: scheduledAt, now, id })
      sql.moveEmail.run(scheduledAt, now, id)
      addEvent({
        ...plainEvent(placeOf(email), null, 'scheduled', 'api', now),
        change: false,
        more: { ...NOTHING, detail: { scheduled_at: toRfc3339(scheduledAt) } },
      })
      context.effects.due = true
      return 'done'
    },

    cancel(scope, id, now) {
      const email = visible(scope, id)
      if (email === null) return 'not_found'
      const counts = fold.counts(email.ord as number)
      if (counts.scheduled === 0) return counts.canceled > 0 ? 'done' : 'not_scheduled'
      if (sql.away.get(id) !== undefined) return 'not_scheduled'
      leave(id, email, 'canceled', 'api', now)
      return 'done'
    },
  }
}
