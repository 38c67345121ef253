/**
 * NAME      sweep - what of housekeeping is the same in every database: one small step
 */
import { logFloor } from '../../lifecycle/schedule.js'
import type { Keep } from '../port/upkeep.js'
import type { SuppressionEvents } from '../suppression-events.js'
import { sweepAudit } from './audit.js'
import { type DecisionSteps, sweepIncidents } from './bounces.js'
import { sweepDomainReports } from './domain-reports.js'
import { sweepIdentity } from './identity.js'
import { sweepJobs } from './jobs.js'
import { ordAt, timeOf } from './pages.js'
import { type Asking, run } from './query.js'
import { sweepStatistics } from './statistics.js'
import { sweepSuppressions } from './suppressions.js'
import { sweepPosts } from './webhooks.js'

const STEP = 200

// by the order of rows, which does not follow a clock that nobody believes
const RAISE = 'UPDATE log_state SET floor = CASE WHEN floor > ? THEN floor ELSE ? END'
const NOTICES = `DELETE FROM events WHERE ord IN (SELECT ord FROM events WHERE email IS NULL AND ord < ? LIMIT ${STEP})`

export interface SweepParts extends Pick<DecisionSteps, 'decideStep'> {
  readonly tell: SuppressionEvents<Asking<unknown>>
  /** The last place that was given. */
  lastPlace(): Asking<number>
}

/** Marks below the new floor are too old; what has no mail goes. */
function* raiseFloor({ lastPlace }: SweepParts, now: number, logMs: number): Asking<number> {
  const floor = ordAt(logFloor(now, timeOf(yield* lastPlace()), logMs))
  yield* run(RAISE, floor, floor)
  return yield* run(NOTICES, floor)
}

/** How many rows are gone. */
export const sweepOthers = (parts: SweepParts) =>
  function* (now: number, keep: Keep): Asking<number> {
    return (
      (keep.logMs === undefined ? 0 : yield* raiseFloor(parts, now, keep.logMs)) +
      (yield* sweepIdentity(now)) +
      (yield* sweepAudit(now)) +
      (yield* sweepSuppressions(parts.tell, now)) +
      (yield* sweepIncidents(now, parts.decideStep)) +
      (yield* sweepPosts(now)) +
      (yield* sweepStatistics(now)) +
      (yield* sweepJobs(now)) +
      (keep.domainReportsMs === undefined ? 0 : yield* sweepDomainReports(now - keep.domainReportsMs))
    )
  }
