/**
 * NAME      sweep - what is over is removed in small pieces
 *   Each step is one transaction, that looks at a page of rows. What is only about mail waits for no verb of
 *   another daemon, and none waits for it; what has to do with lists and the log of changes keeps their
 *   order, and is small. It follows when nothing of old mail is left.
 *     Walks go by the place of a row and delete by its created_at; the days' notes say where old rows can stand, so what
 *     is young is not looked at. Mail that is under way stays, whatever its age, and so does what somebody writes just now:
 *     until the next sweep. A step ends where what it deletes would take long.
 *     Bodies go row by row, and not with a partition a day: `retention.bodies` is kept to the minute, so when a day can be
 *     dropped each of its rows has gone by itself. One costs the server 25 to 50 us, and accepting it four times as much.
 *     A hundred partitions would cost reads by the place of a body nothing, joins five times and their plans ten times as much.
 *   NOTES
 *     Where a walk stands is not stored: a step that was undone is made up for by the next sweep.
 */

import { ANSWER_KEPT_MS } from '../../lifecycle/accept.js'
import type { Outcome, Settled } from '../../lifecycle/facts.js'
import { expiry, isAged, WINDOW_KEPT_MS } from '../../lifecycle/schedule.js'
import type { Keep } from '../port/upkeep.js'
import { ALL_DAYS, type Day, dayStart, type Range, rangeOf, rangesOf } from '../sql/pages.js'
import { type Asking, all, run } from '../sql/query.js'
import { type SweepParts, type Swept, sweepOthers } from '../sql/steps.js'
import { logEnds } from './mails.js'

/** Mails that are looked at in a step. */
const RETENTION_STEP = 500
/** Of recipients, and of 64 KiB of a body, a step deletes about so many. */
const MOST = 1000

interface Aged {
  readonly at: number
  readonly created_at: number
  readonly open: number
  readonly total: number
  readonly size: number
}

/** As isOpen of the law. */
const FACTS = 'e.created_at, e.total, e.size, e.scheduled + e.queued + e.deferred AS open'

const BODIES = `SELECT b.n AS at, ${FACTS} FROM bodies b JOIN emails e ON e.ord = b.n
  WHERE b.n >= ? AND b.n < ? ORDER BY b.n LIMIT ${RETENTION_STEP}`

const EMAILS = `SELECT e.ord AS at, ${FACTS} FROM emails e
  WHERE e.ord >= ? AND e.ord < ? ORDER BY e.ord LIMIT ${RETENTION_STEP} FOR UPDATE SKIP LOCKED`

const DROP_BODIES = 'DELETE FROM bodies WHERE n = ANY(CAST(? AS BIGINT[]))'

/** Whoever indexes mails has this row until it is done. */
const NO_INDEXING = 'SELECT place FROM search_state FOR SHARE'

/** Before the rest, and by itself: what is told of a recipient waits for its row, and the next statement sees what was told before. */
const DROP_RECIPIENTS = `WITH gone AS (DELETE FROM recipient_rows WHERE email_ord = ANY(CAST(? AS BIGINT[])))
DELETE FROM queue WHERE email_ord = ANY(CAST(? AS BIGINT[]))`

const DROP_EMAILS = `WITH gone AS (DELETE FROM emails WHERE ord = ANY(CAST(? AS BIGINT[])) RETURNING ord, id, workspace, lists),
body AS (DELETE FROM bodies WHERE n = ANY(CAST(? AS BIGINT[]))),
event AS (DELETE FROM events WHERE email = ANY(CAST(? AS BIGINT[]))),
report AS (DELETE FROM reports WHERE email = ANY(CAST(? AS BIGINT[]))),
word AS (DELETE FROM search_words WHERE ord = ANY(CAST(? AS BIGINT[]))),
owed AS (DELETE FROM owed_dsns d USING gone g WHERE d.email_id = g.id),
tag AS (
  DELETE FROM tags t USING gone g, json_array_elements(CAST(g.lists AS JSON) -> 'tags') l
  WHERE t.workspace = g.workspace AND t.name = l ->> 'name' AND t.value = l ->> 'value' AND t.email_ord = g.ord)
SELECT count(*) AS n FROM gone`

/** Not the day in which places are given. */
const FORGET_DAY = `DELETE FROM email_days WHERE day = ?
  AND (SELECT min(frontier) FROM writers WHERE boot IS NOT NULL) >= ?
  AND NOT EXISTS (SELECT 1 FROM emails WHERE ord >= ? AND ord < ?)`

/** Places to go over, and what to do there. */
interface Stretch extends Range {
  readonly page: string
  readonly drop: readonly string[]
  /** What was created earlier is old. */
  readonly before: number
  /** The day of which nothing is left to look at. */
  readonly day: number | null
}

function* stretches(bodies: number, emails: number): Asking<Stretch[]> {
  const days = (yield* all(ALL_DAYS)) as unknown as readonly Day[]
  const ofBodies = { page: BODIES, drop: [DROP_BODIES], before: bodies, day: null }
  const ofEmails = { page: EMAILS, drop: [NO_INDEXING, DROP_RECIPIENTS, DROP_EMAILS], before: emails }
  return [
    ...rangesOf(days, null, bodies).map((range) => ({ ...range, ...ofBodies })),
    ...days.flatMap((day) => {
      const range = rangeOf(day, null, emails)
      return range === null ? [] : { ...range, ...ofEmails, day: day.day }
    }),
  ]
}

/** Each part of the statements takes their places. */
function* dropAll(drop: readonly string[], rows: readonly Aged[]): Asking<void> {
  const places = rows.map(({ at }) => at)
  for (const text of drop) yield* all(text, ...Array.from(text.matchAll(/\?/g), () => places))
}

/** The first of them that can go in one step; one at least. */
const light = (rows: readonly Aged[]): readonly Aged[] => {
  let weight = 0
  const end = rows.findIndex(({ total, size }) => {
    weight += total + size / 65_536
    return weight > MOST
  })
  return end < 0 ? rows : rows.slice(0, Math.max(1, end))
}

function* forgetDay(day: number): Asking<void> {
  const [start, end] = [dayStart(day), dayStart(day + 1)]
  yield* run(FORGET_DAY, day, end, start, end)
}

const createRetention = () => {
  let left: Stretch[] = []
  let from = 0

  /** One step: bodies created before one time, and emails created before another. */
  return function* (
    bodies: number,
    emails: number,
  ): Asking<{ readonly removed: number; readonly again: boolean }> {
    if (left.length === 0) left = yield* stretches(bodies, emails)
    for (let stretch = left[0]; stretch !== undefined; stretch = left[0]) {
      const { page, drop, before, day } = stretch
      const found = yield* all(
        page,
        Math.max(from, stretch.from),
        Math.min(stretch.to, Number.MAX_SAFE_INTEGER),
      )
      const rows = light(found as unknown as readonly Aged[])
      const old = rows.filter((row) => isAged({ createdAt: row.created_at, isOpen: row.open > 0 }, before))
      if (old.length > 0) yield* dropAll(drop, old)
      from = (rows.at(-1)?.at ?? 0) + 1
      if (rows.length === found.length && rows.length < RETENTION_STEP) {
        if (day !== null) yield* forgetDay(day)
        left.shift()
        from = 0
      }
      if (rows.length > 0) return { removed: old.length, again: left.length > 0 }
    }
    return { removed: 0, again: false }
  }
}

const STEP = 200
/** Each is up to 64 KiB. */
const REPORTS = 50
const WINDOWS = 1000

const OVERDUE = `SELECT id FROM recipient_rows WHERE deadline <= ? LIMIT ${STEP}`
/** Also when the table refused: a deadline is met once. */
const MET = 'UPDATE recipient_rows SET deadline = NULL WHERE id = ANY(CAST(? AS TEXT[])) AND deadline <= ?'
const ANSWERS = `DELETE FROM idempotency WHERE (workspace, test, key) IN (
  SELECT workspace, test, key FROM idempotency WHERE coalesce(completed_at, locked_until) < ?
  LIMIT ${STEP} FOR UPDATE SKIP LOCKED)`
const DROP_REPORTS = `DELETE FROM reports WHERE n IN (SELECT n FROM reports WHERE at < ? LIMIT ${REPORTS})`
const DROP_WINDOWS = `DELETE FROM rate_windows WHERE (bucket, span) IN (
  SELECT bucket, span FROM rate_windows WHERE at < ? LIMIT ${WINDOWS} FOR UPDATE SKIP LOCKED)`

interface Parts extends Pick<SweepParts, 'tell' | 'decideStep'> {
  settleAll(outcomes: readonly Outcome[]): Asking<readonly (Settled | null)[]>
}

/** Verbs of a writer. */
export const sweepWrites = ({ settleAll, ...parts }: Parts) => {
  const retain = createRetention()
  const others = sweepOthers({
    ...parts,
    // a log to which nothing comes keeps its floor, or who follows it would have missed something
    *lastPlace() {
      return (yield* logEnds()).newest.ord - 1
    },
  })
  return {
    /** Mail that others hold, and whose time is over. */
    *sweepOverdue(now: number): Asking<number> {
      const ids = (yield* all(OVERDUE, now)).map((row) => row.id as string)
      if (ids.length === 0) return 0
      yield* settleAll(ids.map((id) => expiry(id, now)))
      yield* run(MET, ids, now)
      return ids.length
    },
    *sweepMail(now: number, keep: Keep): Asking<Omit<Swept, 'files'>> {
      const old = yield* retain(now - keep.bodiesMs, now - keep.emailsMs)
      if (old.again) return old
      const small =
        (yield* run(ANSWERS, now - ANSWER_KEPT_MS)) +
        (yield* run(DROP_WINDOWS, now - WINDOW_KEPT_MS)) +
        (keep.reportsMs === undefined ? 0 : yield* run(DROP_REPORTS, now - keep.reportsMs))
      return { removed: old.removed + small, again: small > 0 }
    },
    sweepOthers: others,
  }
}
