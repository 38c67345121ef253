/**
 * NAME      sweep - housekeeping in small steps
 * DESCRIPTION
 *   Each step is one verb among others and looks at a page of rows, so a purge
 *   never holds the writer for long; the caller repeats while there is more.
 *   The caller unlinks body files when the step that dropped their rows is
 *   committed.
 */

import { ANSWER_KEPT_MS } from '../../../lifecycle/accept.js'
import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import { expiry, WINDOW_KEPT_MS } from '../../../lifecycle/retention.js'
import type { Keep } from '../../port/upkeep.js'
import type { DecisionSteps } from '../../sql/bounces.js'
import { ordAt } from '../../sql/pages.js'
import { type Asking, atOnce } from '../../sql/query.js'
import type { Swept } from '../../sql/steps.js'
import { sweepOthers } from '../../sql/sweep.js'
import type { SuppressionEvents } from '../../suppression-events.js'
import type { Unindex } from '../search/write.js'
import type { WriteContext } from '../write/context.js'
import { createReportSweep } from '../write/reports.js'
import { createRetention } from './retention.js'

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
