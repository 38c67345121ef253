/**
 * NAME      sweep - housekeeping in small steps
 * DESCRIPTION
 *   Each step is one transaction, that looks at a page of rows. What is only about mail waits for no verb of another daemon,
 *   and none waits for it; what has to do with lists and the log of changes keeps their order, and is small. It
 *   follows when nothing of old mail is left.
 */

import { ANSWER_KEPT_MS } from '../../../lifecycle/accept.js'
import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import { expiry, WINDOW_KEPT_MS } from '../../../lifecycle/retention.js'
import type { Keep } from '../../port/upkeep.js'
import { type Asking, all, run } from '../../sql/query.js'
import type { Swept } from '../../sql/steps.js'
import { type SweepParts, sweepOthers } from '../../sql/sweep.js'
import { logEnds } from '../mails.js'
import { createRetention } from './retention.js'

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
