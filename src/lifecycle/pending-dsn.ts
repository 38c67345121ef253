/**
 * NAME      pending-dsn - whether the sender of a mail hears of a change
 *   RFC 3461 sections 4.1 and 5.2: a failure is told unless NOTIFY leaves it
 *   out, a delay as well, a success only when NOTIFY asks for it. Without NOTIFY failures and delays are told. A delay
 *   is worth a mail only once it is long; a report of delay from an upstream is about a long one already. What an
 *   upstream took without a promise to report on it is `relayed` (section 5.2.3).
 *   Nobody hears of what an operator purges, of mail that came over HTTP or from the null sender, or twice of the same:
 *   an event with `toldKey` says that it was told.
 */
import type { Action } from '../mail/report/report.js'
import type { Observation } from '../mail/status.js'
import type { Outcome } from './facts.js'

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

export type ToldOutcome = Pick<Outcome, 'seen' | 'at' | 'detail'>

/** What a DSN of this would say; null, as for nearly every change: there is none, whoever the sender is. */
export const dsnActionOf = ({ seen, detail }: ToldOutcome): Action | null =>
  // an upstream took it that will not report its success
  seen === 'accepted' && detail?.reports === false ? 'relayed' : (TOLD[seen] ?? null)

export interface SenderWish {
  /** '' is the null sender; null: it came over HTTP. */
  readonly mailFrom: string | null
  /** The client's NOTIFY. */
  readonly notify: string | null
  readonly queuedAt: number
  /** Its workspace wants that senders hear. */
  readonly senderDsn: boolean
}

/** Whether the sender hears of an outcome whose DSN says this. */
export const isTold = (
  action: Action,
  { seen, at }: ToldOutcome,
  { mailFrom, notify, queuedAt, senderDsn }: SenderWish,
): boolean => {
  if (!senderDsn || mailFrom === null || mailFrom === '') return false
  if (seen === 'postponed' && at - queuedAt < TELL_DELAY_AFTER_MS) return false
  const wish = WISH[action]
  return notify === null ? wish !== 'SUCCESS' : notify.toUpperCase().split(',').includes(wish)
}

/** The dedupe key of the event which says that this was told. */
export const toldKey = (recipientId: string, action: Action): string => `sender-dsn:${recipientId}:${action}`
