/**
 * NAME      hold-recipient - holding one recipient back, and setting it free
 * DESCRIPTION
 *   A held recipient has no due time, so nothing looks at it; it remembers
 *   when it would have been due. Free again, it keeps its place in the queue, and is
 *   as old as it was when it came to rest.
 */
import type { OrderKind, Status } from '../../../mail/status.js'
import { NOTHING } from '../log/codec.js'
import type { WriteContext } from '../write/context.js'
import type { AddEvent } from '../write/events.js'
import type { Hold } from './holds.js'

export interface Holdable {
  readonly id: string
  readonly email_id: string
  readonly status: Status
  readonly due_at: number | null
}

export interface Note {
  /** What was ordered; also what an order did to the mail, where that has the same name. */
  readonly action: string
  readonly did: OrderKind
  readonly reason: string
  readonly now: number
  readonly more?: Readonly<Record<string, string>>
}

export interface HoldRecipients {
  hold(one: Holdable, hold: Pick<Hold, 'id' | 'reason'>, now: number): void
  free(one: Omit<Holdable, 'due_at'>, note: Note): void
  /** An event of the operator that changes no status. */
  note(one: Omit<Holdable, 'due_at'>, note: Note): void
}

export const createHoldRecipients = (context: WriteContext, addEvent: AddEvent): HoldRecipients => {
  const park = context.db.prepare(
    'UPDATE recipients SET held = ?, held_at = ?, held_due = ?, due_at = NULL WHERE id = ?',
  )
  const free = context.db.prepare(
    `UPDATE recipients SET held = NULL, held_at = @now, queued_at = @since, due_at = coalesce(held_due, @now), held_due = NULL
     WHERE id = @id`,
  )
  const rest = context.db.prepare<[string], { pool: number; queued_at: number; held_at: number | null }>(
    'SELECT pool, queued_at, held_at FROM recipients WHERE id = ?',
  )
  const sinceOf = (id: string, now: number): number => {
    const { pool, queued_at, held_at } = rest.get(id) ?? { pool: 0, queued_at: now, held_at: null }
    return held_at === null ? queued_at : context.pauses.rested(pool, queued_at, held_at, now)
  }

  const note: HoldRecipients['note'] = (one, { action, did, reason, now, more }) =>
    addEvent({
      mail: one.email_id,
      recipientId: one.id,
      status: did,
      change: false,
      source: 'operator',
      occurredAt: now,
      now,
      attempt: null,
      applied: true,
      reason,
      dedupe: null,
      more: { ...NOTHING, detail: { action, ...more } },
    })

  return {
    note,
    hold(one, hold, now) {
      park.run(hold.id, now, one.due_at, one.id)
      note(one, { action: 'held', did: 'held', reason: hold.reason, now, more: { hold: hold.id } })
    },
    free(one, why) {
      free.run({ id: one.id, now: why.now, since: sinceOf(one.id, why.now) })
      note(one, why)
      context.effects.due = true
    },
  }
}
