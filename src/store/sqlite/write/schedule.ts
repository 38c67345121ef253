/**
 * NAME      schedule - writing what becomes of appointments
 */
import { toRfc3339 } from '../../../base/clock.js'
import type { EventSource } from '../../../lifecycle/event.js'
import {
  type Appointment,
  cancelAnswer,
  isVisible,
  leaveSchedule,
  mayReschedule,
  rescheduled,
} from '../../../lifecycle/waiting/schedule.js'
import type { Status } from '../../../mail/status.js'
import type { EmailScope } from '../../port/ledger.js'
import type { RescheduleResult } from '../../port/queue.js'
import { NOTHING, scopeOf } from '../../sql/log/codec.js'
import { type MailPlace, plainEvent } from '../../sql/log/draft.js'
import { OF_EMAIL } from '../../sql/mails/short.js'
import type { Row } from '../connect.js'
import type { WriteContext } from './context.js'
import type { AddEvent } from './events.js'
import type { Fold } from './fold.js'

export interface Appointments {
  /** Queues every scheduled recipient of an email; their due times stay. */
  fallDue(emailId: string, now: number): void
  reschedule(scope: EmailScope, id: string, scheduledAt: number, now: number): RescheduleResult
  cancel(scope: EmailScope, id: string, now: number): RescheduleResult
}

interface Waiting extends Appointment {
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
    `SELECT id, address, due_at AS dueAt, held, held_due AS heldDue FROM recipients
     WHERE ${OF_EMAIL} AND status = 'scheduled'`,
  ),
  write: context.db.prepare(
    `UPDATE recipients SET status = ?, queued_at = coalesce(?, queued_at), due_at = ?, held = ?, held_due = ?, updated_at = ?
     WHERE id = ?`,
  ),
  // its appointment is another store's
  away: context.db
    .prepare<[string], number>(
      `SELECT 1 FROM recipients WHERE ${OF_EMAIL} AND status = 'scheduled' AND substr(held, 1, 4) = 'lot_'`,
    )
    .pluck(),
  moveEmail: context.db.prepare('UPDATE emails SET scheduled_at = ?, updated_at = ? WHERE id = ?'),
})

export const createAppointments = (context: WriteContext, addEvent: AddEvent, fold: Fold): Appointments => {
  const sql = prepare(context)

  /** Carries every scheduled recipient over to what the table says of `seen`. */
  const leave = (
    id: string,
    email: Row,
    seen: 'due' | 'canceled',
    source: EventSource,
    now: number,
  ): void => {
    const ord = email.ord as number
    const place = placeOf(email)
    const total = email.total as number
    let emailStatus = email.status as Status
    for (const recipient of sql.waiting.all(id)) {
      const { status: to, queuedAt, dueAt, held, heldDue } = leaveSchedule(recipient, seen)
      sql.write.run(to, queuedAt, dueAt, held, heldDue, now, recipient.id)
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
    if (email === undefined) return null
    const accountId = email.account_id as string
    const workspaceId = context.names.workspaceId(email.workspace as number)
    return isVisible(scope, { accountId, workspaceId, mode: email.test === 1 ? 'test' : 'live' })
      ? email
      : null
  }

  const isAway = (id: string): boolean => sql.away.get(id) !== undefined

  return {
    fallDue(emailId, now) {
      const email = sql.email.get(emailId)
      if (email !== undefined) leave(emailId, email, 'due', 'system', now)
    },

    reschedule(scope, id, scheduledAt, now) {
      const email = visible(scope, id)
      if (email === null) return 'not_found'
      if (!mayReschedule(fold.counts(email.ord as number), isAway(id))) return 'not_scheduled'
      for (const recipient of sql.waiting.all(id)) {
        const { dueAt, held, heldDue } = rescheduled(recipient, scheduledAt)
        sql.write.run('scheduled', null, dueAt, held, heldDue, now, recipient.id)
      }
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
      const answer = cancelAnswer(fold.counts(email.ord as number), isAway(id))
      if (answer !== 'cancel') return answer
      leave(id, email, 'canceled', 'api', now)
      return 'done'
    },
  }
}
