/**
 * NAME      case - one report, about one recipient of ours
 * DESCRIPTION
 *   Everything that decides what the report may do: who is meant, how far it is
 *   believed, and why it changes nothing where it does not. Every event that is kept and not
 *   applied says so in its detail (`unapplied`); what the table of statuses refuses, the store
 *   explains (`already_bounced`, `stale_attempt`).
 *   A report twice is a report once: the dedupe key is made of the recipient,
 *   the action, the status, the reporting MTA and the report's Message-ID, and of the reason
 *   why it was not believed, so that the same report may come again by a better way.
 */
import { createHash } from 'node:crypto'
import type { KeptReport } from '../lifecycle/event.js'
import type { Report } from '../mail/report/report.js'
import type { Status } from '../mail/status.js'
import type { RecipientOwner } from '../store/port/mail.js'
import type { NotOurs } from './groups.js'
import type { Tier } from './trust.js'

/** Why a report is kept as an event and changes nothing. */
export type Unapplied =
  | NotOurs
  /** Nothing has left for this recipient yet. */
  | 'never_sent'
  /** Nobody signed for it: a Message-ID that fits, no more. */
  | 'unverified'
  /** The pool says that what it reports as relayed is still on its way. */
  | 'relayed_means_sent'
  /** Its Action is none of RFC 3464's. */
  | 'unknown_action'
  /** Feedback of a kind that is no complaint: not-spam, opt-out, auth-failure... */
  | 'not_a_complaint'
  /** It came to a signed return path, and is no report, or none that anybody can read. */
  | 'unread'
  | 'auto_reply'

export interface Case {
  readonly report: Report
  readonly raw: Uint8Array
  /** What is kept of it; null of a mail that is erased. */
  readonly kept: KeptReport | null
  readonly owner: RecipientOwner
  readonly tier: Tier
  readonly now: number
  readonly lifetime: number
  readonly relayedIsSent: boolean
}

const BEFORE: readonly Status[] = ['scheduled', 'queued', 'canceled']

/** Nobody can report on what never left: its first attempt has not even reached the journal. */
const isUnsent = ({ status, tried }: RecipientOwner): boolean => !tried && BEFORE.includes(status)

/** Why the whole report is not believed about this recipient; null when it is. */
export const whyDoubted = ({ tier, owner }: Pick<Case, 'tier' | 'owner'>): Unapplied | null => {
  if (isUnsent(owner)) return 'never_sent'
  return tier === 'T1' || tier === 'T2' ? null : 'unverified'
}

/** The reader sees no more of a report than this either. */
const FIRST_MB = 1 << 20

/** The dedupe key: equal for the same report about the same recipient, believed alike. */
export const keyOf = (
  { report, raw, owner }: Case,
  word: string | null,
  status: string | null,
  unapplied: Unapplied | null,
): string => {
  // without a Message-ID the report is known by its bytes
  const name = report.messageId ?? createHash('sha256').update(raw.subarray(0, FIRST_MB)).digest('base64url')
  const parts = [owner.recipientId, word, status, report.reportingMta, name]
  const key = JSON.stringify(unapplied === null ? parts : [...parts, unapplied])
  return `report:${createHash('sha256').update(key).digest('base64url').slice(0, 32)}`
}

/** Only what there is to tell. */
export const told = (facts: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(facts).flatMap(([name, fact]) => (fact === null ? [] : [[name, fact]])))
