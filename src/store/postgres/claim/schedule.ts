/**
 * NAME      schedule - writing what becomes of appointments
 * DESCRIPTION
 *   The row of the mail is locked first, by whoever claims and by whoever cancels: all its recipients leave their
 *   appointment together, and exactly one of the two wins.
 */
import { toRfc3339 } from '../../../base/clock.js'
import { movedCounts } from '../../../lifecycle/counts.js'
import type { EventSource } from '../../../lifecycle/event.js'
import {
  type Appointment,
  cancelAnswer,
  isVisible,
  leaveSchedule,
  mayReschedule,
  rescheduled,
} from '../../../lifecycle/waiting/schedule.js'
import { aggregate, type Counts, STATUSES, type Status } from '../../../mail/status.js'
import type { EmailScope } from '../../port/ledger.js'
import type { RescheduleResult } from '../../port/queue.js'
import { NOTHING, scopeOf } from '../../sql/log/codec.js'
import { type MailPlace, plainEvent } from '../../sql/log/draft.js'
import { modeOf } from '../../sql/mails/rows.js'
import { type Asking, all, first, run } from '../../sql/query.js'
import type { Effects } from '../hints.js'
import type { AddEvent } from '../write/events.js'

interface Scheduled extends Counts {
  readonly id: string
  readonly ord: number
  readonly workspace: number
  readonly test: number
  readonly workspaceId: string
  readonly accountId: string
}

interface Waiting extends Appointment {
  readonly id: string
  readonly address: string
}

/** What `leaveSchedule` and `rescheduled` say of a recipient. */
interface Written extends Appointment {
  readonly id: string
  readonly status: Status
  readonly queuedAt: number | null
}

const MAIL = `SELECT e.id, e.ord, e.workspace, e.test, w.id AS "workspaceId", w.account_id AS "accountId",
    ${STATUSES.map((status) => `e.${status}`).join(', ')}
  FROM emails e JOIN workspaces w ON w.n = e.workspace AND w.deleted_at IS NULL`

const WAITING = `SELECT id, address, due_at AS "dueAt", held, held_due AS "heldDue" FROM recipients
  WHERE email_ord = ? AND status = 'scheduled' ORDER BY first`

const WRITE = `WITH given AS (
  SELECT g.* FROM json_to_recordset(CAST(? AS JSON)) AS g (id text, status text, queued bigint, due bigint, held text,
    held_due bigint)),
gone AS (
  DELETE FROM queue q USING given g WHERE q.recipient_id = g.id AND g.due IS NULL AND g.held IS NULL
  RETURNING q.recipient_id, q.gen),
moved AS (
  UPDATE queue q SET due_at = g.due, held = g.held, held_due = g.held_due FROM given g
  WHERE q.recipient_id = g.id AND (g.due IS NOT NULL OR g.held IS NOT NULL)
    AND (q.due_at, q.held, q.held_due) IS DISTINCT FROM (g.due, g.held, g.held_due))
UPDATE recipient_rows r SET status = g.status, queued_at = coalesce(g.queued, r.queued_at), updated_at = ?,
  last_gen = coalesce((SELECT o.gen FROM gone o WHERE o.recipient_id = r.id), r.last_gen)
FROM given g WHERE r.id = g.id`

const write = (rows: readonly Written[], now: number): Asking<number> => {
  const given = rows.map(({ id, status, queuedAt: queued, dueAt: due, held, heldDue: held_due }) => ({
    ...{ id, status, queued, due, held, held_due },
  }))
  return run(WRITE, JSON.stringify(given), now)
}

function* waitingOf(ord: number): Asking<readonly Waiting[]> {
  return (yield* all(WAITING, ord)) as unknown as readonly Waiting[]
}

const placeOf = ({ ord, workspace, test }: Scheduled): MailPlace => ({
  ord,
  scope: scopeOf(workspace, test === 1),
})

/** Locked until the end of the transaction. */
function* visible(scope: EmailScope, id: string): Asking<Scheduled | null> {
  const mail = (yield* first(`${MAIL} WHERE e.id = ? FOR UPDATE OF e`, id)) as unknown as Scheduled | null
  if (mail === null) return null
  return isVisible(scope, { ...mail, mode: modeOf(mail.test) }) ? mail : null
}

/** Its appointment is another store's. */
const isAway = (waiting: readonly Waiting[]): boolean => waiting.some(({ held }) => held?.startsWith('lot_'))

/** Carries every scheduled recipient over to what the table says of `seen`. */
const leaving = (addEvent: AddEvent, effects: Effects) =>
  function* (
    mail: Scheduled,
    waiting: readonly Waiting[],
    seen: 'due' | 'canceled',
    source: EventSource,
    now: number,
  ): Asking<void> {
    const written = waiting.map((one) => ({ ...leaveSchedule(one, seen), id: one.id }))
    yield* write(written, now)
    let counts: Counts = mail
    for (const [i, { status: to }] of written.entries()) {
      const { id: recipientId, address } = waiting[i] as Waiting
      counts = movedCounts(counts, 'scheduled', to)
      yield* addEvent(plainEvent(placeOf(mail), recipientId, to, source, now))
      effects.settled.push({
        ...{ recipientId, emailId: mail.id, workspaceId: mail.workspaceId, mode: modeOf(mail.test) },
        ...{ address, applied: true, from: 'scheduled', to, emailStatus: aggregate(counts) },
      })
    }
    const { scheduled, queued, canceled } = counts
    yield* run(
      'UPDATE emails SET scheduled = ?, queued = ?, canceled = ?, status = ?, updated_at = ? WHERE ord = ?',
      ...[scheduled, queued, canceled, aggregate(counts), now, mail.ord],
    )
  }

/** Verbs of mail under way (write/writer.ts). */
export const createAppointments = (addEvent: AddEvent, effects: Effects) => {
  const leave = leaving(addEvent, effects)
  return {
    /** Queues every scheduled recipient of a mail; their due times stay. */
    *fallDue(ord: number, now: number): Asking<void> {
      const mail = (yield* first(
        `${MAIL} WHERE e.ord = ? FOR UPDATE OF e`,
        ord,
      )) as unknown as Scheduled | null
      const waiting = mail === null ? [] : yield* waitingOf(ord)
      if (mail !== null && waiting.length > 0) yield* leave(mail, waiting, 'due', 'system', now)
    },

    *reschedule(scope: EmailScope, id: string, scheduledAt: number, now: number): Asking<RescheduleResult> {
      const mail = yield* visible(scope, id)
      if (mail === null) return 'not_found'
      const waiting = yield* waitingOf(mail.ord)
      if (!mayReschedule(mail, isAway(waiting))) return 'not_scheduled'
      const written = waiting.map((one) => ({
        ...({ ...rescheduled(one, scheduledAt), id: one.id, status: 'scheduled', queuedAt: null } as const),
      }))
      yield* write(written, now)
      yield* run(
        'UPDATE emails SET scheduled_at = ?, updated_at = ? WHERE ord = ?',
        scheduledAt,
        now,
        mail.ord,
      )
      yield* addEvent({
        ...plainEvent(placeOf(mail), null, 'scheduled', 'api', now),
        change: false,
        more: { ...NOTHING, detail: { scheduled_at: toRfc3339(scheduledAt) } },
      })
      effects.due = true
      return 'done'
    },

    *cancel(scope: EmailScope, id: string, now: number): Asking<RescheduleResult> {
      const mail = yield* visible(scope, id)
      if (mail === null) return 'not_found'
      const waiting = yield* waitingOf(mail.ord)
      const answer = cancelAnswer(mail, isAway(waiting))
      if (answer !== 'cancel') return answer
      yield* leave(mail, waiting, 'canceled', 'api', now)
      return 'done'
    },
  }
}

export type Appointments = ReturnType<typeof createAppointments>
