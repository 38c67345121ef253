/**
 * NAME      times - moving what waits, when the wall clock was set
 * DESCRIPTION
 *   What lifecycle/waiting/times.ts says of a row, for all rows in one statement.
 *   A daemon that starts asks for it while others carry mail. Where no place was given by a time that is yet to come, no row was
 *   written then either, and only what waits for too long is looked at, which the queue knows by itself.
 * NOTES
 *   Times belong to the database, which all daemons share: it is for a clock that all of them follow.
 */
import { STEP_MS } from '../../../base/clock.js'
import { SEEN_WITHIN_MS } from '../../../lifecycle/waiting/times.js'
import { ordAt } from '../../sql/order/ord.js'
import { type Asking, first, run } from '../../sql/query.js'
import type { Effects } from '../hints.js'

/** A time, moved; not later than the longest wait. */
const waits = (column: string): string =>
  `CASE WHEN o.${column} IS NOT NULL THEN
    least(CASE WHEN o.is_future THEN o.now + greatest(0, o.${column} - o.updated_at) ELSE o.${column} + o.by END, o.latest) END`

/** A time, moved; not later than now. */
const past = (column: string): string =>
  `CASE WHEN o.${column} IS NOT NULL THEN least(o.${column} + o.by, o.now) END`

const MOVE = `WITH step AS (SELECT CAST(? AS BIGINT) AS now, CAST(? AS BIGINT) AS by, CAST(? AS BIGINT) AS latest,
  (SELECT max(frontier) FROM writers) > CAST(? AS BIGINT) AS is_ahead),
old AS (
  SELECT r.id, q.due_at, q.held_due, q.held_at, q.lease_until, r.queued_at, r.deadline, r.updated_at, s.now, s.latest,
    CASE WHEN r.updated_at > s.now - ${SEEN_WITHIN_MS} AND r.updated_at <= s.now THEN 0 ELSE s.by END AS by,
    s.by = 0 AND r.updated_at > s.now AS is_future
  FROM step s CROSS JOIN LATERAL (
    SELECT recipient_id AS id FROM queue
    WHERE s.by <> 0 OR s.is_ahead OR due_at > s.latest OR held_due > s.latest OR held_at > s.now
    UNION SELECT id FROM recipient_rows WHERE deadline IS NOT NULL) c
  JOIN recipient_rows r ON r.id = c.id LEFT JOIN queue q ON q.recipient_id = c.id
  WHERE r.status IN ('queued', 'deferred')),
new AS MATERIALIZED (
  SELECT o.id, o.by, ${waits('due_at')} AS due_at, ${waits('held_due')} AS held_due, ${past('held_at')} AS held_at,
    o.lease_until + o.by AS lease_until, ${past('queued_at')} AS queued_at, o.deadline + o.by AS deadline,
    ${past('updated_at')} AS updated_at
  FROM old o),
waiting AS (
  UPDATE queue q SET due_at = n.due_at, held_due = n.held_due, held_at = n.held_at, lease_until = n.lease_until FROM new n
  WHERE q.recipient_id = n.id AND (q.due_at, q.held_due, q.held_at, q.lease_until)
    IS DISTINCT FROM (n.due_at, n.held_due, n.held_at, n.lease_until) RETURNING n.id),
people AS (
  UPDATE recipient_rows r SET queued_at = n.queued_at, deadline = n.deadline, updated_at = n.updated_at FROM new n
  WHERE r.id = n.id AND (r.queued_at, r.deadline, r.updated_at)
    IS DISTINCT FROM (n.queued_at, n.deadline, n.updated_at) RETURNING n.id)
SELECT count(*) AS moved FROM (
  SELECT id FROM waiting UNION SELECT id FROM people UNION SELECT id FROM new WHERE by <> 0) m`

const PAUSES =
  'UPDATE pauses SET resumed_at = resumed_at + CAST(? AS BIGINT), paused_at = paused_at + CAST(? AS BIGINT)'

export const timeVerbs = (effects: Effects, clockMoved: () => void) => ({
  /** How many recipients were moved. */
  *adjustTimes(now: number, by: number, longestWait: number): Asking<number> {
    const values = [now, by, now + longestWait, ordAt(now + STEP_MS)]
    const moved = Number((yield* first(MOVE, ...values))?.moved ?? 0)
    if (by !== 0) {
      yield* run(PAUSES, by, by)
      clockMoved()
    }
    if (moved > 0) effects.due = true
    return moved
  },
})
