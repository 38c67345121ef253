/**
 * NAME      complaint - one report about one recipient of ours, and complaints to a provider
 * DESCRIPTION
 *   Feedback reports (RFC 5965). Abuse and fraud are complaints: an event of their own, `email.complained`,
 *   and the address goes on the list. Every other kind, such as not-spam, opt-out or auth-failure, is
 *   `email.reported` and suppresses nobody. Neither moves a status: the mail was delivered, or there were
 *   nothing to complain of. A complaint that names somebody else we write to is an event and no more. One
 *   that names a stranger counts, since providers black out addresses, and forwards rename them.
 *   Everything that decides what the report may do: who is meant, how far it is believed, and why it changes
 *   nothing where it does not. Every event that is kept and not applied says so in its detail (`unapplied`);
 *   what the table of statuses refuses, the store explains (`already_bounced`, `stale_attempt`). A report
 *   twice is a report once: the dedupe key is made of the recipient, the action, the status, the reporting
 *   MTA and the report's Message-ID, and of the reason why it was not believed, so that the same report may
 *   come again by a better way.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.js'
import { type KeptReport, type Outcome, observed } from '../lifecycle/facts.js'
import type { Page } from '../lifecycle/page.js'
import { normalizeAddress } from '../mail/address.js'
import type { Report } from '../mail/report/report.js'
import type { Status } from '../mail/status.js'
import type { RecipientOwner } from '../store/port/mail.js'
import type { Store } from '../store/port/store.js'
import { withReport } from './kept-report.js'
import { settle } from './settle.js'
import { type Suppression, suppressComplained } from './suppress.js'
import type { NotOurs, Tier } from './trust.js'

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

const COMPLAINTS = new Set(['abuse', 'fraud'])

const outcomeOf = (
  at: Case,
  type: string,
  unapplied: Unapplied | null,
  suppression: Suppression | null,
): Outcome =>
  observed({
    recipientId: at.owner.recipientId,
    seen: COMPLAINTS.has(type) ? 'complained' : 'reported',
    at: at.now,
    source: 'arf',
    mta: { poolId: at.owner.poolId, upstreamId: null, host: at.report.reportingMta },
    dedupe: keyOf(at, 'complaint', type, unapplied),
    reason: type,
    detail: { tier: at.tier, feedback_type: type, ...told({ unapplied, suppression }) },
    trusted: unapplied === null,
  })

interface Parts {
  readonly store: Pick<Store, 'addSuppression' | 'settle' | 'events' | 'findEmails'>
  readonly clock: Clock
}

const LATEST: Page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 }

/** A complaint that comes again, or is passed on by two providers, does not undo an operator's removal. */
const isOld = async ({ store }: Parts, { owner }: Case): Promise<boolean> => {
  const { rows } = await store.events(owner.emailId, LATEST)
  return rows.some(
    ({ type, recipientId, applied }) =>
      type === 'email.complained' && recipientId === owner.recipientId && applied,
  )
}

/** A report names one; more than this is nobody's habit. */
const MAX_NAMED = 20

/** True when it names somebody else whom this account has written to, and not our recipient. */
const namesAnother = async ({ store }: Parts, { report, owner }: Case): Promise<boolean> => {
  const named = report.recipients.flatMap(({ address }) =>
    address === null ? [] : [normalizeAddress(address)],
  )
  if (named.includes(normalizeAddress(owner.address))) return false
  for (const address of named.slice(0, MAX_NAMED)) {
    const found = await store.findEmails(address, 20)
    if (found.some(({ accountId }) => accountId === owner.accountId)) return true
  }
  return false
}

/** Puts the address on the list where that is due, and writes the event; resolves when both are on disk. */
export const recordComplaint = async (
  parts: Parts,
  at: Case,
): Promise<{ readonly suppressed: boolean; readonly did: 'applied' | 'noted' }> => {
  const type = at.report.feedbackType ?? 'abuse'
  const other = (await namesAnother(parts, at)) ? 'other_recipient' : null
  const unapplied = whyDoubted(at) ?? other ?? (COMPLAINTS.has(type) ? null : 'not_a_complaint')
  const counts = unapplied === null && !(await isOld(parts, at))
  // first the list, then the event that says so: a crash between them repeats it
  const suppression = counts ? await suppressComplained(parts, at.owner, type) : null
  await settle(parts.store, withReport(at.kept, [outcomeOf(at, type, unapplied, suppression)]))
  return { suppressed: suppression === 'added', did: unapplied === null ? 'applied' : 'noted' }
}
