/**
 * NAME      sweep - housekeeping in small steps
 * DESCRIPTION
 *   Each step is one transaction, that looks at a page of rows. Old mail goes first; the rest is small, and follows when
 *   nothing of that is left.
 */
import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import { ANSWER_KEPT_MS } from '../../../lifecycle/idempotency.js'
import { expiry } from '../../../lifecycle/retention.js'
import type { Keep } from '../../port/upkeep.js'
import { type Asking, all, first, run } from '../../sql/query.js'
import type { Swept } from '../../sql/steps.js'
import { type SweepParts, sweepOthers } from '../../sql/sweep.js'
import { createRetention } from './retention.js'

const STEP = 200
/** Each is up to 64 KiB. */
const REPORTS = 50

const OVERDUE = `SELECT id FROM recipient_rows WHERE deadline <= ? LIMIT ${STEP}`
const ANSWERS = `DELETE FROM idempotency WHERE (workspace, test, key) IN (
  SELECT workspace, test, key FROM idempotency WHERE coalesce(completed_at, locked_until) < ?
  LIMIT ${STEP} FOR UPDATE SKIP LOCKED)`
const DROP_REPORTS = `DELETE FROM reports WHERE n IN (SELECT n FROM reports WHERE at < ? LIMIT ${REPORTS})`

export interface Parts extends Pick<SweepParts, 'tell' | 'decideStep'> {
  settleAll(outcomes: readonly Outcome[]): Asking<readonly (Settled | null)[]>
}

export const createSweepStep = ({ settleAll, ...parts }: Parts) => {
  const retain = createRetention()
  const others = sweepOthers({
    ...parts,
    *lastPlace() {
      return Number((yield* first('SELECT max(frontier) AS last FROM writers'))?.last)
    },
  })

  function* expire(now: number): Asking<number> {
    const ids = (yield* all(OVERDUE, now)).map((row) => row.id as string)
    if (ids.length === 0) return 0
    yield* settleAll(ids.map((id) => expiry(id, now)))
    // also when the table refused: a deadline is met once
    yield* run('UPDATE recipient_rows SET deadline = NULL WHERE id = ANY(CAST(? AS TEXT[]))', ids)
    return ids.length
  }

  return function* (now: number, keep: Keep): Asking<Swept> {
    const overdue = keep.deadlines === false ? 0 : yield* expire(now)
    const old = yield* retain(now - keep.bodiesMs, now - keep.emailsMs)
    if (overdue > 0 || old.again) return { removed: overdue + old.removed, files: [], again: true }
    const before = now - ANSWER_KEPT_MS
    const small =
      (yield* run(ANSWERS, before)) +
      (keep.reportsMs === undefined ? 0 : yield* run(DROP_REPORTS, now - keep.reportsMs)) +
      (yield* others(now, keep))
    return { removed: old.removed + small, files: [], again: small > 0 }
  }
}
