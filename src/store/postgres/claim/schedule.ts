/**
 * NAME      schedule - writing what becomes of appointments, in the tables of PostgreSQL
 */

import { type Asking, run } from '../../sql/query.js'
import { type Left, scheduleWrites } from '../../sql/schedule.js'
import type { Places } from '../../sql/table.js'
import type { Effects } from '../hints.js'
import { createAddEvent } from '../write/events.js'

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

function* write(rows: readonly Left[], now: number): Asking<void> {
  const given = rows.map(({ id, status, queuedAt: queued, dueAt: due, held, heldDue: held_due }) => ({
    ...{ id, status, queued, due, held, held_due },
  }))
  yield* run(WRITE, JSON.stringify(given), now)
}

/** Verbs of mail under way (write/writer.ts). */
export const scheduleVerbs = (places: Places, effects: Effects) =>
  scheduleWrites({ addEvent: createAddEvent(places), effects, lock: ' FOR UPDATE OF e', write })
