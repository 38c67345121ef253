/**
 * NAME      observed - an outcome from what is known of it
 * DESCRIPTION
 *   Whoever has seen something of a recipient says that much; the rest is empty.
 */
import type { Outcome } from './facts.js'

/** What every outcome must say; the rest is empty unless given. */
type Seen = Pick<Outcome, 'recipientId' | 'seen' | 'at' | 'source'> & Partial<Outcome>

/** `trusted` unless it says otherwise; `leaseGen: null` makes it a report, not the end of an attempt. */
export const observed = (seen: Seen): Outcome => {
  // field by field: one is made for each attempt, and a spread costs several times as much
  const outcome: Outcome = {
    recipientId: seen.recipientId,
    seen: seen.seen,
    at: seen.at,
    source: seen.source,
    leaseGen: seen.leaseGen ?? null,
    attempt: seen.attempt ?? null,
    retryAt: seen.retryAt ?? null,
    deadline: seen.deadline ?? null,
    reply: seen.reply ?? null,
    mta: seen.mta ?? null,
    dedupe: seen.dedupe ?? null,
    reason: seen.reason ?? null,
    detail: seen.detail ?? null,
    trusted: seen.trusted ?? true,
  }
  return seen.report === undefined ? outcome : { ...outcome, report: seen.report }
}
