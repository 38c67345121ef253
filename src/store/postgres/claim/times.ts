/**
 * NAME      times - moving what waits, when the wall clock was set
 * DESCRIPTION
 *   What lifecycle/schedule.ts says of a row, for all rows that one look finds, a page in a transaction: a long one
 *   would keep the writer from its sign of life. Nothing else of this writer comes in between. What another one has changed
 *   since the look is as its clock wants it.
 *   A daemon that starts asks for it while others carry mail. Where no place was given by a time that is yet to come, no row
 *   was written then either, and only what waits for too long is looked at, which the queue knows by itself.
 * NOTES
 *   Times belong to the database, which all daemons share: it is for a clock that all of them follow. A crash in between
 *   leaves what was not moved as it was; the next start sees that it waits no longer than the longest wait.
 */
import { STEP_MS } from '../../../base/clock.js'
import { SEEN_WITHIN_MS } from '../../../lifecycle/schedule.js'
import type { Store } from '../../port/store.js'
import { ordAt } from '../../sql/pages.js'
import { type Asking, all, first, run } from '../../sql/query.js'
import type { Readers } from '../readers.js'
import { lock } from '../settle/load.js'
import type { Writer } from '../write/writer.js'

const PAGE = 1000

/** All that is to be moved, in pages. */
const FIND = `WITH step AS (SELECT CAST(? AS BIGINT) AS now, CAST(? AS BIGINT) AS by, CAST(? AS BIGINT) AS latest,
  (SELECT max(frontier) FROM writers) > CAST(? AS BIGINT) AS is_ahead),
found AS (
  SELECT r.id, r.updated_at, coalesce(q.gen, r.last_gen) AS gen, (row_number() OVER (ORDER BY r.id) - 1) / ${PAGE} AS page
  FROM step s CROSS JOIN LATERAL (
    SELECT recipient_id AS id FROM queue
    WHERE s.by <> 0 OR s.is_ahead OR due_at > s.latest OR held_due > s.latest OR held_at > s.now
    UNION SELECT id FROM recipient_rows WHERE deadline IS NOT NULL) c
  JOIN recipient_rows r ON r.id = c.id LEFT JOIN queue q ON q.recipient_id = c.id
  WHERE r.status IN ('queued', 'deferred'))
SELECT CAST(json_agg(json_build_object('id', id, 'updated_at', updated_at, 'gen', gen)) AS TEXT) AS rows
FROM found GROUP BY page ORDER BY page`

/** A time, moved; not later than the longest wait. */
const waits = (column: string): string =>
  `CASE WHEN o.${column} IS NOT NULL THEN
    least(CASE WHEN o.is_future THEN o.now + greatest(0, o.${column} - o.updated_at) ELSE o.${column} + o.by END, o.latest) END`

/** A time, moved; not later than now. */
const past = (column: string): string =>
  `CASE WHEN o.${column} IS NOT NULL THEN least(o.${column} + o.by, o.now) END`

const MOVE = `WITH step AS (SELECT CAST(? AS BIGINT) AS now, CAST(? AS BIGINT) AS by, CAST(? AS BIGINT) AS latest),
old AS (
  SELECT r.id, q.due_at, q.held_due, q.held_at, q.lease_until, r.queued_at, r.deadline, r.updated_at, s.now, s.latest,
    CASE WHEN r.updated_at > s.now - ${SEEN_WITHIN_MS} AND r.updated_at <= s.now THEN 0 ELSE s.by END AS by,
    s.by = 0 AND r.updated_at > s.now AS is_future
  FROM step s CROSS JOIN json_to_recordset(CAST(? AS JSON)) AS g (id text, updated_at bigint, gen int)
  JOIN recipient_rows r ON r.id = g.id LEFT JOIN queue q ON q.recipient_id = r.id
  WHERE r.updated_at = g.updated_at AND coalesce(q.gen, r.last_gen) = g.gen),
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

/** One page; how many of it were moved. */
const moving = ({ effects }: Writer, now: number, by: number, latest: number) =>
  function* (rows: string): Asking<number> {
    yield* lock((JSON.parse(rows) as readonly { readonly id: string }[]).map(({ id }) => id))
    const moved = Number((yield* first(MOVE, now, by, latest, rows))?.moved ?? 0)
    if (moved > 0) effects.due = true
    return moved
  }

/** `moved` hears of stored times that are others now. */
export const timeVerbs = (
  writer: Writer,
  readers: Readers,
  moved: () => void,
): Pick<Store, 'adjustTimes'> => ({
  adjustTimes: (now, by, longestWait) =>
    writer.inTurn(async () => {
      const latest = now + longestWait
      const pages = await readers.read(() => all(FIND, now, by, latest, ordAt(now + STEP_MS)))
      const move = moving(writer, now, by, latest)
      let sum = 0
      for (const { rows } of pages) sum += await writer.step(() => move(rows as string))
      if (by === 0) return sum
      await writer.step(() => run(PAUSES, by, by))
      moved()
      return sum
    }),
})
