/**
 * NAME      observed - an outcome from what is known of it
 * DESCRIPTION
 *   Whoever has seen something of a recipient says that much; the rest is empty.
 */
import type { Outcome } from './facts.js'

/** What every outcome must say; the rest is empty unless given. */
type Seen = Pick<Outcome, 'recipientId' | 'seen' | 'at' | 'source'> & Partial<Outcome>

/** `trusted` unless it says otherwise; `leaseGen: null` makes it a report, not the end of an attempt. */
export const observed = (seen: Seen): Outcome => ({
  leaseGen: null,
  attempt: null,
  retryAt: null,
  deadline: null,
  reply: null,
  mta: null,
  dedupe: null,
  reason: null,
  detail: null,
  trusted: true,
  ...seen,
})
