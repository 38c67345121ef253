/**
 * NAME      schedule - writing what becomes of appointments, in the tables of SQLite
 */

import { type Asking, answered, atOnce, run } from '../../sql/query.js'
import { type Left, scheduleWrites } from '../../sql/schedule.js'
import type { WriteContext } from './context.js'
import type { AddEvent } from './events.js'

const WRITE = `UPDATE recipients SET status = ?, queued_at = coalesce(?, queued_at), due_at = ?, held = ?, held_due = ?,
  updated_at = ? WHERE id = ?`

function* write(rows: readonly Left[], now: number): Asking<void> {
  for (const { id, status, queuedAt, dueAt, held, heldDue } of rows)
    yield* run(WRITE, status, queuedAt, dueAt, held, heldDue, now, id)
}

export const createSchedule = ({ effects, sql }: WriteContext, addEvent: AddEvent) =>
  answered(
    scheduleWrites({ addEvent: (draft) => atOnce(() => addEvent(draft)), effects, lock: '', write }),
    sql.ask,
  )

export type Schedule = ReturnType<typeof createSchedule>
