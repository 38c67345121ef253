/**
 * NAME      schedule - what becomes of appointments
 * DESCRIPTION
 *   The row of the mail is locked first, by whoever claims and by whoever cancels: all its recipients leave their
 *   appointment together, and exactly one of the two wins.
 */
import { toRfc3339 } from '../../../base/clock.js'
import type { EventSource, Settled } from '../../../lifecycle/facts.js'
import { isAway } from '../../../lifecycle/holds.js'
import {
  type Appointment,
  cancelAnswer,
  isVisible,
  leaveSchedule,
  mayReschedule,
  rescheduled,
} from '../../../lifecycle/schedule.js'
import { movedCounts } from '../../../lifecycle/settle.js'
import { aggregate, type Counts, STATUSES, type Status } from '../../../mail/status.js'
import type { EmailScope, RescheduleResult } from '../../port/mail.js'
import { NOTHING, scopeOf } from '../log/codec.js'
import { type EventDraft, plainEvent } from '../log/draft.js'
import { modeOf } from '../mails/rows.js'
import { type Asking, all, first, run } from '../query.js'

/** What `leaveSchedule` and `rescheduled` say of a recipient. */
export interface Left extends Appointment {
  readonly id: string
  readonly status: Status
  /** null leaves it as it is. */
  readonly queuedAt: number | null
}

interface ScheduleParts {
  readonly addEvent: (draft: EventDraft) => Asking<unknown>
  /** What is told after the commit. */
  readonly effects: { due: boolean; readonly settled: Settled[] }
  /** Behind a SELECT of a mail `e`: nobody else writes it until the end of the transaction. */
  readonly lock: string
  /** Stores recipients of a mail. */
  readonly write: (rows: readonly Left[], now: number) => Asking<void>
}

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

const MAIL = `SELECT e.id, e.ord, e.workspace, e.test, w.id AS "workspaceId", w.account_id AS "accountId",
    ${STATUSES.map((status) => `e.${status}`).join(', ')}
  FROM emails e JOIN workspaces w ON w.n = e.workspace AND w.deleted_at IS NULL`

const WAITING = `SELECT id, address, due_at AS "dueAt", held, held_due AS "heldDue" FROM recipients
  WHERE email_ord = ? AND status = 'scheduled' ORDER BY first`

const COUNTED =
  'UPDATE emails SET scheduled = ?, queued = ?, canceled = ?, status = ?, updated_at = ? WHERE ord = ?'

function* waitingOf(ord: number): Asking<readonly Waiting[]> {
  return (yield* all(WAITING, ord)) as unknown as readonly Waiting[]
}

const placeOf = ({ ord, workspace, test }: Scheduled) => ({ ord, scope: scopeOf(workspace, test === 1) })

const isSomeAway = (waiting: readonly Waiting[]): boolean =>
  waiting.some(({ held }) => held !== null && isAway(held))

/** Carries every scheduled recipient over to what the table says of `seen`. */
const leaving = ({ addEvent, effects, write }: ScheduleParts) =>
  function* (
    mail: Scheduled,
    waiting: readonly Waiting[],
    seen: 'due' | 'canceled',
    source: EventSource,
    now: number,
  ): Asking<void> {
    const left = waiting.map((one) => ({ ...leaveSchedule(one, seen), id: one.id }))
    yield* write(left, now)
    const place = placeOf(mail)
    let counts: Counts = mail
    for (const [i, { status: to }] of left.entries()) {
      const { id: recipientId, address } = waiting[i] as Waiting
      counts = movedCounts(counts, 'scheduled', to)
      yield* addEvent(plainEvent(place, recipientId, to, source, now))
      effects.settled.push({
        ...{ recipientId, emailId: mail.id, workspaceId: mail.workspaceId, mode: modeOf(mail.test) },
        ...{ address, applied: true, from: 'scheduled', to, emailStatus: aggregate(counts) },
      })
    }
    const { scheduled, queued, canceled } = counts
    yield* run(COUNTED, scheduled, queued, canceled, aggregate(counts), now, mail.ord)
  }

const locking = ({ lock }: ScheduleParts) => {
  function* find(column: 'id' | 'ord', value: string | number): Asking<Scheduled | null> {
    return (yield* first(`${MAIL} WHERE e.${column} = ?${lock}`, value)) as unknown as Scheduled | null
  }
  function* visible(scope: EmailScope, id: string): Asking<Scheduled | null> {
    const mail = yield* find('id', id)
    return mail !== null && isVisible(scope, { ...mail, mode: modeOf(mail.test) }) ? mail : null
  }
  return { find, visible }
}

export const scheduleWrites = (parts: ScheduleParts) => {
  const { addEvent, effects, write } = parts
  const leave = leaving(parts)
  const { find, visible } = locking(parts)

  return {
    /** Queues every scheduled recipient of the mail at this place; their due times stay. */
    *fallDue(ord: number, now: number): Asking<void> {
      const mail = yield* find('ord', ord)
      const waiting = mail === null ? [] : yield* waitingOf(ord)
      if (mail !== null && waiting.length > 0) yield* leave(mail, waiting, 'due', 'system', now)
    },

    *reschedule(scope: EmailScope, id: string, scheduledAt: number, now: number): Asking<RescheduleResult> {
      const mail = yield* visible(scope, id)
      if (mail === null) return 'not_found'
      const waiting = yield* waitingOf(mail.ord)
      if (!mayReschedule(mail, isSomeAway(waiting))) return 'not_scheduled'
      yield* write(
        waiting.map((one) => ({
          ...rescheduled(one, scheduledAt),
          ...{ id: one.id, status: 'scheduled', queuedAt: null },
        })),
        now,
      )
      yield* run(
        'UPDATE emails SET scheduled_at = ?, updated_at = ? WHERE ord = ?',
        ...[scheduledAt, now, mail.ord],
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
      const answer = cancelAnswer(mail, isSomeAway(waiting))
      if (answer !== 'cancel') return answer
      yield* leave(mail, waiting, 'canceled', 'api', now)
      return 'done'
    },
  }
}

export type ScheduleWrites = ReturnType<typeof scheduleWrites>
