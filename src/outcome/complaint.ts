/**
 * NAME      complaint - what recipients say of our mail to their provider
 * DESCRIPTION
 *   Feedback reports (RFC 5965). Abuse and fraud are complaints: an event of
 *   their own, `email.complained`, and the address goes on the list. Every other kind, such as
 *   not-spam, opt-out or auth-failure, is `email.reported` and suppresses nobody.
 *   Neither moves a status: the mail was delivered, or there were nothing to complain of.
 *   A complaint that names somebody else we write to is an event and no more. One that names a
 *   stranger counts, since providers black out addresses, and forwards rename them.
 */
import type { Clock } from '../base/clock.js'
import type { Outcome } from '../lifecycle/facts.js'
import { observed } from '../lifecycle/observed.js'
import type { Page } from '../lifecycle/page.js'
import { normalizeAddress } from '../mail/address.js'
import type { Store } from '../store/port/store.js'
import { type Case, keyOf, told, type Unapplied, whyDoubted } from './case.js'
import { withReport } from './kept-report.js'
import { settle } from './settle.js'
import { type Suppression, suppressComplained } from './suppress.js'

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
