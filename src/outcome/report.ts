/**
 * NAME      report - from a mail that came back to outcomes
 * DESCRIPTION
 *   What the bounce door hands in is read (mail/report), believed as far as it
 *   is signed (trust.ts), and settled for the one recipient it may speak for.
 *   When the promise resolves, events and suppressions are on disk, so the door
 *   may answer 250; when it rejects, the door answers 452 and the sender tries again.
 *   A report twice is a report once: the dedupe key is made of the recipient,
 *   the action, the status, the reporting MTA and the report's Message-ID.
 *   What cannot be about us is kept as an event and not applied, and its detail
 *   says why (`unapplied`): nothing has been sent yet (`never_sent`), nobody
 *   signed for it (`unverified`), or the pool says so (`relayed_means_sent`).
 * NOTES
 *   Only a trusted report that says that the address itself is dead, or a
 *   complaint, puts an address on the suppression list (suppress.ts). The event
 *   tells whether it did (`suppression`).
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.js'
import { parseReply, type Reply } from '../mail/reply.js'
import { type Rule, suppresses } from '../mail/report/classify.js'
import { readReport } from '../mail/report/read-report.js'
import type { Action, Report, ReportKind, ReportRecipient } from '../mail/report/report.js'
import type { ReturnPathKeys } from '../mail/return-path.js'
import type { Observation, Status } from '../mail/status.js'
import type { Outcome, RecipientOwner, Settled, Store } from '../store/port.js'
import { groupsFor } from './groups.js'
import { observed, settle } from './settle.js'
import { type Suppression, speaksForAddress, suppress } from './suppress.js'
import { standingOf, type Tier } from './trust.js'

export interface ReportParts {
  readonly store: Pick<Store, 'recipient' | 'email' | 'findEmails' | 'pool' | 'settle' | 'addSuppression'>
  readonly keys: ReturnPathKeys
  readonly clock: Clock
  /** How long other servers may hold a mail that they reported as delayed, in milliseconds. */
  readonly lifetime?: number
  /** A site's own lines before the table that tells hard from soft. */
  readonly rules?: readonly Rule[]
}

/** What was made of a report; ids and words only, fit for a log. */
export interface Recorded {
  readonly kind: ReportKind
  readonly tier: Tier
  readonly recipientId: string | null
  readonly emailId: string | null
  /** The status it led to; null when it changed nothing. */
  readonly status: Settled['to'] | null
  readonly suppressed: boolean
}

const SEEN: Record<Action, Observation> = {
  delivered: 'dsn-delivered',
  relayed: 'dsn-relayed',
  expanded: 'dsn-expanded',
  delayed: 'dsn-delayed',
  failed: 'dsn-failed',
}

const DAY = 86_400_000
const CODE_OF: Record<string, number> = { '2': 250, '4': 450, '5': 550 }

const digest = (...parts: readonly (string | null)[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 32)

/** Why a report of an event is kept and not applied. */
type Unapplied = 'never_sent' | 'unverified' | 'relayed_means_sent'

interface Case {
  readonly report: Report
  readonly raw: Uint8Array
  readonly owner: RecipientOwner
  readonly tier: Tier
  readonly now: number
  readonly lifetime: number
  /** The pool says that what it reports as relayed is still on its way. */
  readonly relayedIsSent: boolean
}

const BEFORE: readonly Status[] = ['scheduled', 'queued', 'canceled']

/** Nobody can report on what never left: its first attempt has not even reached the journal. */
const isUnsent = ({ status, tried }: RecipientOwner): boolean => !tried && BEFORE.includes(status)

const isBelieved = ({ tier, owner }: Pick<Case, 'tier' | 'owner'>): boolean =>
  (tier === 'T1' || tier === 'T2') && !isUnsent(owner)

const whyUnapplied = (at: Case, action: Action | null): Unapplied | null => {
  if (isUnsent(at.owner)) return 'never_sent'
  if (!isBelieved(at)) return 'unverified'
  return action === 'relayed' && at.relayedIsSent ? 'relayed_means_sent' : null
}

const keyOf = ({ report, raw, owner }: Case, word: string, status: string | null): string => {
  // without a Message-ID the report is known by its bytes
  const name = report.messageId ?? createHash('sha256').update(raw).digest('base64url')
  return `report:${digest(owner.recipientId, word, status, report.reportingMta, name)}`
}

/** Only what there is to tell. */
const told = (facts: Readonly<Record<string, string | null>>): Record<string, string | null> =>
  Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== null))

/** The far server's reply, its codes taken out of its text; a report without codes gets those of its action. */
const replyOf = (group: ReportRecipient, action: Action): Reply => {
  const said = parseReply(group.diagnostic ?? '')
  const byAction = action === 'failed' ? 550 : action === 'delayed' ? 450 : 250
  return {
    code: group.code ?? CODE_OF[group.status?.charAt(0) ?? ''] ?? byAction,
    enhanced: group.status,
    text: said?.text ?? group.diagnostic ?? '',
  }
}

const outcomeOf = (at: Case, group: ReportRecipient, suppression: Suppression | null): Outcome | null => {
  if (group.action === null) return null
  const { report, owner, tier, now } = at
  const unapplied = whyUnapplied(at, group.action)
  return observed({
    recipientId: owner.recipientId,
    seen: SEEN[group.action],
    at: now,
    source: 'dsn',
    deadline: group.action === 'delayed' ? now + at.lifetime + DAY : null,
    reply: group.status === null && group.diagnostic === null ? null : replyOf(group, group.action),
    mta: { poolId: owner.poolId, upstreamId: null, host: report.reportingMta },
    dedupe: keyOf(at, group.action, group.status),
    reason: group.action === 'failed' ? group.category : null,
    detail: {
      tier,
      action: group.action,
      status: group.status,
      class: group.class,
      category: group.category,
      fault: group.fault,
      remote_mta: group.remoteMta,
      diagnostic: group.diagnostic,
      ...told({ unapplied, suppression }),
    },
    trusted: unapplied === null,
  })
}

const COMPLAINTS = new Set(['abuse', 'fraud'])

const complaintOf = (at: Case, suppression: Suppression | null): Outcome =>
  observed({
    recipientId: at.owner.recipientId,
    // a complaint proves delivery and no more: the table decides whether that is news
    seen: 'dsn-delivered',
    at: at.now,
    source: 'arf',
    mta: { poolId: at.owner.poolId, upstreamId: null, host: at.report.reportingMta },
    dedupe: keyOf(at, 'complaint', at.report.feedbackType ?? null),
    reason: at.report.feedbackType ?? 'complaint',
    detail: {
      tier: at.tier,
      feedback_type: at.report.feedbackType ?? null,
      ...told({ unapplied: whyUnapplied(at, null), suppression }),
    },
    trusted: false,
  })

/** True for an address that this account has written to, in this mail or another. */
const isKnown =
  ({ store }: ReportParts, owner: RecipientOwner) =>
  async (address: string): Promise<boolean> => {
    const found = await store.findEmails(address, 5)
    return found.some(({ accountId }) => accountId === owner.accountId)
  }

const open = async (
  parts: ReportParts,
  report: Report,
  raw: Uint8Array,
  owner: RecipientOwner,
  tier: Tier,
): Promise<Case> => {
  const relayed = report.recipients.some(({ action }) => action === 'relayed')
  const pool = relayed ? await parts.store.pool(owner.accountId, owner.poolId) : null
  return {
    report,
    raw,
    owner,
    tier,
    now: parts.clock.now(),
    lifetime: parts.lifetime ?? 5 * DAY,
    relayedIsSent: pool?.relayedMeans === 'sent',
  }
}

/** A complaint changes no status; it may put the address on the list, unless it names somebody else we write to. */
const recordComplaint = async (parts: ReportParts, at: Case): Promise<boolean> => {
  const type = at.report.feedbackType ?? null
  const named = at.report.recipients
  const ours = await groupsFor(named, at.owner.address, isKnown(parts, at.owner))
  const meant = isBelieved(at) && COMPLAINTS.has(type ?? '') && (named.length === 0 || ours.length > 0)
  const suppression = meant ? await suppress(parts, at.owner, 'complaint', type) : null
  await settle(parts.store, [complaintOf(at, suppression)])
  return suppression === 'added'
}

/** Puts a dead address on the list, or says why not; null when no group says that it is dead. */
const bury = async (
  parts: ReportParts,
  at: Case,
  groups: readonly ReportRecipient[],
): Promise<Suppression | null> => {
  const dead = groups.filter(suppresses)
  // a report that comes again later does not undo an operator's removal
  if (dead.length === 0 || !isBelieved(at) || at.owner.status === 'bounced') return null
  const one = dead.find((group) => speaksForAddress(group, at.owner.address, at.raw))
  return one === undefined ? 'other_address' : suppress(parts, at.owner, 'bounce', one.category)
}

/** Reads, believes, settles. Resolves when all of it is on disk. */
export const recordReport = async (
  parts: ReportParts,
  envelopeRecipient: string,
  raw: Uint8Array,
): Promise<Recorded> => {
  const report = await readReport(raw, parts.rules)
  const nothing: Recorded = {
    kind: report.kind,
    tier: 'T4',
    recipientId: null,
    emailId: null,
    status: null,
    suppressed: false,
  }
  if (report.kind === 'none' || report.kind === 'autoreply') return nothing
  const { tier, owner } = await standingOf(parts, envelopeRecipient, report, parts.clock.now())
  if (owner === null) return { ...nothing, tier }
  const at = await open(parts, report, raw, owner, tier)
  const known: Recorded = { ...nothing, tier, recipientId: owner.recipientId, emailId: owner.emailId }
  if (report.kind === 'arf') return { ...known, suppressed: await recordComplaint(parts, at) }

  const groups = await groupsFor(report.recipients, owner.address, isKnown(parts, owner))
  // first the list, then the status that says so: a crash between them repeats it
  const suppression = await bury(parts, at, groups)
  const settled = await settle(
    parts.store,
    groups.flatMap((group) => outcomeOf(at, group, suppresses(group) ? suppression : null) ?? []),
  )
  const applied = settled.filter((one) => one.applied).at(-1)
  return { ...known, status: applied?.to ?? null, suppressed: suppression === 'added' }
}
