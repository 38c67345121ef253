/**
 * NAME      sweep - what is over is removed in small pieces
 *   Each step is one verb among others and looks at a page of rows, so a purge never holds the writer for
 *   long; the caller repeats while there is more. The caller unlinks body files when the step that dropped
 *   their rows is committed.
 *   Walks go by the place of a row and delete by its created_at: a row from the future, or from the past,
 *   holds up nothing behind it. The days' notes say where old rows can stand, so what is young is not looked
 *   at. Mail that is under way stays, whatever its age.
 */
import { type Clock, systemClock } from '../../base/clock.js'
import { ANSWER_KEPT_MS } from '../../lifecycle/accept.js'
import type { Outcome, Settled } from '../../lifecycle/facts.js'
import { expiry, isAged, WINDOW_KEPT_MS } from '../../lifecycle/schedule.js'
import type { Keep } from '../port/upkeep.js'
import type { DecisionSteps } from '../sql/bounces.js'
import { ALL_DAYS, type Day, dayStart, ordAt, type Range, rangeOf, rangesOf } from '../sql/pages.js'
import { type Asking, atOnce } from '../sql/query.js'
import { type Swept, sweepOthers } from '../sql/steps.js'
import type { SuppressionEvents } from '../sql/suppressions.js'
import type { Unindex } from './search.js'
import type { WriteContext } from './write/context.js'
import { createReportSweep, DROP_REPORTS } from './write/events.js'

/** Mails that are looked at in a step. */
const RETENTION_STEP = 50
/** A step that has taken so long ends, and others write in between. */
const STEP_MS = 2

interface Aged {
  /** The place, or the number of a body from before there were places. */
  readonly at: number
  readonly id: string
  readonly body: number
  readonly created_at: number
  readonly open: number
  /** It may have tags. */
  readonly tagged: number
}

interface CarriedBodies {
  readonly first: number
  readonly last: number
  readonly created_from: number
}

interface Dropped {
  readonly removed: number
  /** Mails whose body files no row names any more. */
  readonly files: readonly string[]
  readonly again: boolean
}

/** As isOpen of the law. */
const OPEN = '(scheduled + queued + deferred > 0) AS open'

const prepareRetention = ({ db }: WriteContext) => ({
  days: db.prepare<[], Day>(ALL_DAYS),
  /** Not the day in which places are given. */
  forgetDay: db.prepare<[number, number, number, number]>(
    `DELETE FROM email_days WHERE day = ? AND (SELECT last FROM order_state) >= ?
     AND NOT EXISTS (SELECT 1 FROM emails WHERE ord >= ? AND ord < ?)`,
  ),
  carried: db.prepare<[], CarriedBodies>('SELECT first, last, created_from FROM carried_bodies'),
  forgetCarried: db.prepare<[number, number, number]>(
    'DELETE FROM carried_bodies WHERE first = ? AND NOT EXISTS (SELECT 1 FROM bodies WHERE n >= ? AND n <= ?)',
  ),
  bodies: db.prepare<[number, number], Aged>(
    `SELECT b.n AS at, b.n AS body, e.id, b.created_at, 0 AS tagged, ${OPEN} FROM bodies b CROSS JOIN emails e ON e.id = b.email_id
     WHERE b.n >= ? AND b.n < ? ORDER BY b.n LIMIT ${RETENTION_STEP}`,
  ),
  // the number of a body from before may be given to a later mail's: the mail must agree
  dropBody: db
    .prepare<[number, string], number>('DELETE FROM bodies WHERE n = ? AND email_id = ? RETURNING beside')
    .pluck(),
  emails: db.prepare<[number, number], Aged>(
    `SELECT ord AS at, id, created_at, body, instr(lists, '"tags"') > 0 AS tagged, ${OPEN} FROM emails WHERE ord >= ? AND ord < ? ORDER BY ord LIMIT ${RETENTION_STEP}`,
  ),
  dropTags: db.prepare(
    `DELETE FROM tags WHERE (workspace, name, value, email_ord) IN (SELECT e.workspace, json_extract(t.value, '$.name'),
       json_extract(t.value, '$.value'), e.ord FROM emails e, json_each(e.lists, '$.tags') t WHERE e.ord = ?)`,
  ),
  dropEvents: db.prepare('DELETE FROM events WHERE email = ?'),
  dropReports: db.prepare(DROP_REPORTS),
  dropEmail: db.prepare('DELETE FROM emails WHERE ord = ?'),
  dropRecipients: db.prepare('DELETE FROM recipients WHERE email_ord = ?'),
  dropOwed: db.prepare('DELETE FROM owed_dsns WHERE email_id = ?'),
})

/** Places to go over, and what to do there. */
interface Stretch extends Range {
  page(from: number, to: number): readonly Aged[]
  /** What was created earlier is old. */
  readonly before: number
  drop(row: Aged): void
  /** No row of it is left to look at. */
  done(): void
}

/** Goes over stretches a page at a time, or less when that takes long, and remembers where it was. */
const createWalk = (begin: () => Stretch[], tick: () => number) => {
  let left: Stretch[] = []
  let from = 0
  return (): { readonly removed: number; readonly again: boolean } => {
    if (left.length === 0) left = begin()
    for (let stretch = left[0]; stretch !== undefined; stretch = left[0]) {
      const { before } = stretch
      const rows = stretch.page(Math.max(from, stretch.from), stretch.to)
      const ends = tick() + STEP_MS
      let removed = 0
      for (const [i, row] of rows.entries()) {
        if (isAged({ createdAt: row.created_at, isOpen: row.open === 1 }, before)) {
          stretch.drop(row)
          removed++
        }
        from = row.at + 1
        if (tick() >= ends && i < rows.length - 1) return { removed, again: true }
      }
      if (rows.length < RETENTION_STEP) {
        stretch.done()
        left.shift()
        from = 0
      }
      if (rows.length > 0) return { removed, again: left.length > 0 }
    }
    return { removed: 0, again: false }
  }
}

export const createRetention = (
  context: WriteContext,
  unindex: Pick<Unindex, 'age'>,
  { tick }: Pick<Clock, 'tick'> = systemClock,
) => {
  const sql = prepareRetention(context)
  let files: string[] = []

  const dropBody = (n: number, emailId: string): void => {
    if (sql.dropBody.get(n, emailId) === 1) files.push(emailId)
  }

  const bodyStretches = (before: number): Stretch[] => {
    const common = {
      page: (from: number, to: number) => sql.bodies.all(from, to),
      before,
      drop: (row: Aged) => dropBody(row.body, row.id),
    }
    const carried = sql.carried.all().filter((one) => one.created_from < before)
    return [
      ...carried.map(({ first, last }) => ({
        ...common,
        from: first,
        to: last + 1,
        done: () => void sql.forgetCarried.run(first, first, last),
      })),
      ...rangesOf(sql.days.all(), null, before).map((range) => ({ ...common, ...range, done: () => {} })),
    ]
  }

  const dropEmail = (row: Aged): void => {
    dropBody(row.body, row.id)
    unindex.age(row.at)
    if (row.tagged === 1) sql.dropTags.run(row.at)
    sql.dropEvents.run(row.at)
    sql.dropReports.run(row.at)
    sql.dropRecipients.run(row.at)
    sql.dropOwed.run(row.id)
    sql.dropEmail.run(row.at)
  }

  const emailStretches = (before: number): Stretch[] =>
    sql.days.all().flatMap((day) => {
      const range = rangeOf(day, null, before)
      if (range === null) return []
      const [start, end] = [dayStart(day.day), dayStart(day.day + 1)]
      return {
        ...range,
        page: (from: number, to: number) => sql.emails.all(from, to),
        before,
        drop: dropEmail,
        done: () => void sql.forgetDay.run(day.day, end, start, end),
      }
    })

  let bodiesBefore = 0
  let emailsBefore = 0
  const walk = createWalk(() => [...bodyStretches(bodiesBefore), ...emailStretches(emailsBefore)], tick)

  /** One step: bodies created before one time, and emails created before another. */
  return (bodies: number, emails: number): Dropped => {
    files = []
    bodiesBefore = bodies
    emailsBefore = emails
    return { ...walk(), files }
  }
}

const STEP = 200

const prepare = (context: WriteContext) => {
  const { db } = context
  return {
    overdue: db
      .prepare<[number], string>(`SELECT id FROM recipients WHERE deadline <= ? LIMIT ${STEP}`)
      .pluck(),
    rested: db.prepare('UPDATE recipients SET deadline = NULL WHERE id = ?'),
    locks: db.prepare<[number, number]>(
      `DELETE FROM idempotency WHERE n IN (SELECT n FROM idempotency ORDER BY n LIMIT ${STEP})
       AND coalesce(completed_at, locked_until) < ? - ?`,
    ),
    windows: db.prepare<[number]>('DELETE FROM rate_windows WHERE at < ?'),
    last: db.prepare<[], number>('SELECT last FROM order_state').pluck(),
  }
}

export const createSweepStep = (
  context: WriteContext,
  settle: (outcome: Outcome) => Settled | null,
  tell: SuppressionEvents<Asking<unknown>>,
  unindex: Pick<Unindex, 'age' | 'drop'>,
  { decideStep }: DecisionSteps,
) => {
  const sql = prepare(context)
  const { ask } = context.sql
  const retain = createRetention(context, unindex)
  const forgetReports = createReportSweep(context.db)
  const sweepShared = sweepOthers({ tell, decideStep, lastPlace: () => atOnce(() => sql.last.get() ?? 0) })

  const expire = (now: number): number => {
    const overdue = sql.overdue.all(now)
    for (const id of overdue) {
      settle(expiry(id, now))
      sql.rested.run(id) // also when the table refused: a deadline is met once
    }
    return overdue.length
  }

  return (now: number, keep: Keep): Swept => {
    context.order.beat()
    const overdue = keep.deadlines === false ? 0 : expire(now)
    const old = retain(now - keep.bodiesMs, now - keep.emailsMs)
    const others =
      (keep.reportsMs === undefined ? 0 : forgetReports(now - keep.reportsMs)) +
      unindex.drop(ordAt(now - keep.emailsMs)) +
      sql.locks.run(now, ANSWER_KEPT_MS).changes +
      sql.windows.run(now - WINDOW_KEPT_MS).changes +
      ask(sweepShared(now, keep))
    return {
      removed: overdue + old.removed + others,
      files: old.files,
      again: overdue > 0 || old.again || others > 0,
    }
  }
}
