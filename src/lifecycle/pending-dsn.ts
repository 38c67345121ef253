/**
 * NAME      pending-dsn - which report a change owes to the sender
 * DESCRIPTION
 *   RFC 3461 sections 4.1 and 5.2: a failure is told unless NOTIFY leaves it
 *   out, a delay as well, a success only when NOTIFY asks for it. Without NOTIFY
 *   failures and delays are told. A delay is worth a mail only once it is long; a report
 *   of delay from an upstream is about a long one already. What an upstream took
 *   without a promise to report on it is `relayed` (section 5.2.3).
 *   What an operator purges is told to nobody: whoever does that means silence.
 */
import type { Action } from '../mail/report/report.js'
import type { Observation } from '../mail/status.js'

/** How long a mail waits before its sender hears that it does, in milliseconds. */
const TELL_DELAY_AFTER_MS = 4 * 3_600_000

const TOLD: Partial<Record<Observation, Action>> = {
  rejected: 'failed',
  expired: 'failed',
  suppressed: 'failed',
  'dsn-failed': 'failed',
  postponed: 'delayed',
  'dsn-delayed': 'delayed',
  'dsn-delivered': 'delivered',
  'dsn-relayed': 'relayed',
  'dsn-expanded': 'expanded',
}

const WISH: Record<Action, 'FAILURE' | 'DELAY' | 'SUCCESS'> = {
  failed: 'FAILURE',
  delayed: 'DELAY',
  delivered: 'SUCCESS',
  relayed: 'SUCCESS',
  expanded: 'SUCCESS',
}

export interface Change {
  readonly seen: Observation
  /** The client's NOTIFY, or null. */
  readonly notify: string | null
  /** How long it has been in the queue, in milliseconds. */
  readonly waited: number
  /** True when an upstream took it that will not report its success. */
  readonly untracked: boolean
}

/** The report that the sender of an SMTP mail must get, or null. */
export const owedReport = ({ seen, notify, waited, untracked }: Change): Action | null => {
  const action = seen === 'accepted' && untracked ? 'relayed' : TOLD[seen]
  if (action === undefined || (seen === 'postponed' && waited < TELL_DELAY_AFTER_MS)) return null
  const wish = WISH[action]
  const wanted = notify === null ? wish !== 'SUCCESS' : notify.toUpperCase().split(',').includes(wish)
  return wanted ? action : null
}
