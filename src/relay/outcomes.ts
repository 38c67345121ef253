/**
 * NAME      outcomes - an attempt's end, counted and logged
 * DESCRIPTION
 *   Asks outcome/ what the end means, counts it, and logs one line per attempt:
 *   ids and codes, never an address.
 */
import { type AttemptEnd, fromAttempt, type RetryPlan } from '../outcome/reply.js'
import type { Outcome } from '../store/port.js'
import type { LogLine, RelayStats } from './settings.js'

/** Counts an attempt, logs it, and gives the outcome to write down. */
export const recorded = (
  end: AttemptEnd,
  plan: RetryPlan,
  stats: RelayStats,
  log: (level: LogLine['level'], fact: string, fields: LogLine['fields']) => void,
): Outcome => {
  const outcome = fromAttempt(end, plan)
  const { seen } = outcome
  if (seen === 'accepted' || seen === 'postponed' || seen === 'rejected' || seen === 'expired') stats[seen]++
  if (end.detail?.ambiguous === true) stats.ambiguous++
  if (seen !== 'accepted') {
    log('info', 'attempted', {
      email: end.claimed.emailId,
      recipient: end.claimed.recipientId,
      seen,
      stage: end.stage,
      code: outcome.reply?.code ?? null,
      enhanced: outcome.reply?.enhanced ?? null,
      upstream: end.upstreamId,
      attempt: outcome.attempt,
    })
  }
  return outcome
}
