/**
 * NAME      hold-recipient - holding one recipient back, and setting it free
 * DESCRIPTION
 *   Writes what the law says of a hold, with the event that tells it.
 */
import { type Freed, holdBack, setFree } from '../../../lifecycle/holds.js'
import type { Note } from '../../../lifecycle/orders.js'
import { noteEvent } from '../../sql/log/draft.js'
import type { Freeable, Holdable, StandingHold } from '../../sql/orders.js'
import type { WriteContext } from '../write/context.js'
import type { AddEvent } from '../write/events.js'

interface HeldRow extends Pick<Freed, 'heldAt' | 'heldDue' | 'queuedAt'> {
  readonly pool: number
}

export interface HoldRecipients {
  hold(one: Holdable, hold: Pick<StandingHold, 'id' | 'reason'>, now: number): void
  free(one: Freeable, note: Note): void
  /** An event of the operator that changes no status. */
  note(one: Freeable, note: Note): void
}

export const createHoldRecipients = (context: WriteContext, addEvent: AddEvent): HoldRecipients => {
  const write = context.db.prepare(
    'UPDATE recipients SET held = ?, held_at = ?, held_due = ?, due_at = ?, queued_at = coalesce(?, queued_at) WHERE id = ?',
  )
  const find = context.db.prepare<[string], HeldRow>(
    'SELECT pool, queued_at AS queuedAt, held_at AS heldAt, held_due AS heldDue FROM recipients WHERE id = ?',
  )

  const note: HoldRecipients['note'] = (one, what) => void addEvent(noteEvent(one.email_id, one.id, what))

  return {
    note,
    hold(one, hold, now) {
      const { held, heldAt, heldDue, dueAt } = holdBack(one.due_at, hold.id, now)
      write.run(held, heldAt, heldDue, dueAt, null, one.id)
      note(one, { action: 'held', did: 'held', reason: hold.reason, now, more: { hold: hold.id } })
    },
    free(one, why) {
      const row = find.get(one.id)
      if (row === undefined) return
      const { held, heldAt, heldDue, dueAt, queuedAt } = setFree(row, context.pauses.list(row.pool), why.now)
      write.run(held, heldAt, heldDue, dueAt, queuedAt, one.id)
      note(one, why)
      context.effects.due = true
    },
  }
}
