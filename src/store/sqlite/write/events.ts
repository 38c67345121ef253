/**
 * NAME      events - writing the timeline
 * DESCRIPTION
 *   Events are only ever added, each with its place. They are clustered by email, so reading a
 *   timeline is one seek; the parts that nothing searches by are one JSON text.
 */
import { newId } from '../../../base/id.js'
import type { EventKind } from '../../../mail/status.js'
import type { EventSource, Outcome } from '../../port.js'
import type { Desk } from './desk.js'

export interface EventDraft {
  readonly emailId: string
  readonly recipientId: string | null
  readonly status: EventKind
  readonly source: EventSource
  readonly occurredAt: number
  readonly now: number
  readonly attempt: number | null
  readonly applied: boolean
  readonly reason: string | null
  readonly dedupe: string | null
  readonly more: string | null
}

/** Answers with the event's place. */
export type AddEvent = (draft: EventDraft) => number

/** The JSON of what an outcome tells beyond its status; null when there is nothing. */
export const moreOf = (of: Pick<Outcome, 'reply' | 'mta' | 'detail'>): string | null =>
  of.reply === null && of.mta === null && of.detail === null
    ? null
    : JSON.stringify({ reply: of.reply, mta: of.mta, detail: of.detail })

export const createAddEvent = ({ db, order }: Pick<Desk, 'db' | 'order'>): AddEvent => {
  const insert = db.prepare(
    `INSERT INTO events (email_id, ord, id, type, recipient_id, source, occurred_at, created_at, attempt, applied, reason, dedupe, more)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return (draft) => {
    const ord = order.next()
    insert.run(
      draft.emailId,
      ord,
      newId('evt', draft.now),
      `email.${draft.status}`,
      draft.recipientId,
      draft.source,
      draft.occurredAt,
      draft.now,
      draft.attempt,
      draft.applied ? 1 : 0,
      draft.reason,
      draft.dedupe,
      draft.more,
    )
    return ord
  }
}

/** A first event: nothing has happened yet but the mail's arrival. */
export const plainEvent = (
  emailId: string,
  recipientId: string | null,
  status: EventKind,
  source: EventSource,
  now: number,
  reason: string | null = null,
): EventDraft => ({
  emailId,
  recipientId,
  status,
  source,
  occurredAt: now,
  now,
  attempt: null,
  applied: true,
  reason,
  dedupe: null,
  more: null,
})
