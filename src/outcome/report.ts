/**
 * NAME      report - from a mail that came back to outcomes
 * DESCRIPTION
 *     What the bounce door hands in is read (mail/report), believed as far as it
 *     is signed (trust.ts), and settled for the recipients it may speak for.
 *     When the promise resolves, events and suppressions are on disk, so the door
 *     may answer 250; when it rejects, the door answers 452 and the sender tries again.
 *     A report that reaches a recipient of ours always leaves an event, though it may be about
 *     somebody else: case.ts knows why it is then not applied.
 *   NOTES
 *     Only a trusted report that says that the address itself is dead, or a
 *     complaint, puts an address on the suppression list (suppress.ts). The event
 *     tells whether it did (`suppression`).
 *   `verifyRecipient` says at RCPT whether reports may come to an address, so that nothing is taken that
 *   would have to be sent back: a return path that we signed, the fixed one while a pool uses it, or `fbl@`,
 *   where feedback loops send complaints (reports to these two must carry a signed reference to be
 *   believed). `ingest` records the report and resolves when that is on disk. The door and the command line
 *   (`postern bounce ingest`) take reports in by the same two verbs.
 */
import type { Clock } from '../base/clock.js'
import { type Outcome, observed, type Settled } from '../lifecycle/facts.js'
import { parseReply, type Reply } from '../mail/reply.js'
import { type Rule, suppresses } from '../mail/report/classify.js'
import { readReport } from '../mail/report/read-report.js'
import {
  type Action,
  type Report,
  type ReportKind,
  type ReportRecipient,
  UNSAID,
} from '../mail/report/report.js'
import { type ReturnPathKeys, returnPathAt, roleAt, verifyReturnPath } from '../mail/return-path.js'
import type { Observation } from '../mail/status.js'
import { poolInForce } from '../store/pools.js'
import type { RecipientOwner } from '../store/port/mail.js'
import type { Store } from '../store/port/store.js'
import { type Case, keyOf, recordComplaint, told, type Unapplied, whyDoubted } from './complaint.js'
import { keptOf, withReport } from './kept-report.js'
import { settle } from './settle.js'
import { type Suppression, type SuppressParts, speaksForAddress, suppressHardBounce } from './suppress.js'
import {
  distinct,
  groupsFor,
  groupsNaming,
  isNameOf,
  type NotOurs,
  type OurGroups,
  type Standing,
  standingOf,
  type Tier,
} from './trust.js'

interface ReportParts {
  readonly store: Pick<
    Store,
    | 'recipient'
    | 'email'
    | 'findEmails'
    | 'pool'
    | 'allPools'
    | 'events'
    | 'settle'
    | 'addSuppression'
    | 'addHardBounce'
  >
  readonly keys: ReturnPathKeys
  /** Brings `keys` up to date, since they may be rotated; by default they stay. */
  readonly lookAtKeys?: () => Promise<void>
  readonly clock: Clock
  /** Where return paths live, so that a token counts at no other domain. */
  readonly domain: string
  /** How long other servers may hold a mail that they reported as delayed, in milliseconds. */
  readonly lifetime?: number
  /** A site's own lines before the table that tells hard from soft; asked at each report, since they may change. */
  readonly rules?: () => readonly Rule[]
  readonly begun?: SuppressParts['begun']
}

/** What was made of a report; ids and words only, fit for a log. */
export interface Recorded {
  /** When it came, epoch milliseconds. */
  readonly since: number
  readonly kind: ReportKind
  readonly tier: Tier
  readonly recipientId: string | null
  readonly emailId: string | null
  /** The status it led to; null when it changed nothing. */
  readonly status: Settled['to'] | null
  readonly suppressed: boolean
  /** `applied` also for a complaint that counts; `nothing` when there is not even an event. */
  readonly did: 'applied' | 'noted' | 'nothing'
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

/** The far server's reply, its codes taken out of its text; a report without codes gets those of its action. */
const replyOf = (group: ReportRecipient): Reply | null => {
  if (group.status === null && group.diagnostic === null) return null
  const said = parseReply(group.diagnostic ?? '')
  const byAction = group.action === 'failed' ? 550 : group.action === 'delayed' ? 450 : 250
  return {
    code: group.code ?? CODE_OF[group.status?.charAt(0) ?? ''] ?? byAction,
    enhanced: group.status,
    text: said?.text ?? group.diagnostic ?? '',
  }
}

/** Whom a group names, where that is not simply our recipient: a forward, a member of a list, somebody else. */
const namedBy = ({ finalRecipient, address }: ReportRecipient, ours: string): string | null => {
  const name = finalRecipient ?? address
  return name === null || name.toLowerCase() === ours.toLowerCase() ? null : name.slice(0, 320)
}

const whyUnapplied = (at: Case, { action }: ReportRecipient): Unapplied | null =>
  whyDoubted(at) ??
  (action === null
    ? 'unknown_action'
    : action === 'relayed' && at.relayedIsSent
      ? 'relayed_means_sent'
      : null)

const outcomeOf = (
  at: Case,
  group: ReportRecipient,
  notOurs: NotOurs | null,
  suppression: Suppression | null,
): Outcome => {
  const { report, owner, tier, now } = at
  const { action } = group
  const unapplied = notOurs ?? whyUnapplied(at, group)
  const outcome = observed({
    recipientId: owner.recipientId,
    seen: action === null ? 'reported' : SEEN[action],
    at: now,
    source: 'dsn',
    deadline: action === 'delayed' ? now + at.lifetime + DAY : null,
    reply: replyOf(group),
    mta: { poolId: owner.poolId, upstreamId: null, host: report.reportingMta },
    dedupe: keyOf(at, action, group.status, unapplied),
    reason: action === 'failed' ? group.category : action === null ? 'unread' : null,
    detail: {
      tier,
      action: action ?? group.unknownAction ?? null,
      status: group.status,
      class: group.class,
      category: group.category,
      fault: group.fault,
      remote_mta: group.remoteMta,
      diagnostic: group.diagnostic,
      ...told({ final_recipient: namedBy(group, owner.address), unapplied, suppression }),
    },
    trusted: unapplied === null,
  })
  // nobody's address, and nothing that was said, comes back into what is erased
  return owner.isDeleted
    ? { ...outcome, reply: null, detail: { tier, action, ...told({ unapplied }) } }
    : outcome
}

const open = async (
  parts: ReportParts,
  report: Report,
  raw: Uint8Array,
  owner: RecipientOwner,
  tier: Tier,
): Promise<Case> => {
  const relayed = report.recipients.some(({ action }) => action === 'relayed')
  const pool = relayed ? await poolInForce(parts.store, owner.accountId, owner.poolId) : null
  return {
    report,
    raw,
    kept: owner.isDeleted ? null : await keptOf(raw),
    owner,
    tier,
    now: parts.clock.now(),
    lifetime: parts.lifetime ?? 5 * DAY,
    relayedIsSent: pool?.relayedMeans === 'sent',
  }
}

/** Puts a dead address on the list, or says why not; null when no group says that it is dead. */
const suppressReported = async (
  parts: ReportParts,
  at: Case,
  groups: readonly ReportRecipient[],
): Promise<Suppression | null> => {
  const dead = groups.filter(suppresses)
  // a report that comes again later does not undo an operator's removal
  if (dead.length === 0 || whyDoubted(at) !== null || at.owner.status === 'bounced') return null
  const one = dead.find((group) => speaksForAddress(group, at.owner, at.raw))
  if (one === undefined) return 'other_address'
  const text = one.diagnostic ?? one.category ?? ''
  return suppressHardBounce(parts, at.owner, { reason: one.category, text, upstreamId: null })
}

const WORST: readonly (Action | null)[] = ['failed', 'delayed', 'delivered', 'relayed', 'expanded', null]

/** The worst groups, where there are too many; one of them is how a report about others is remembered. */
const worst = (groups: readonly ReportRecipient[], most: number): readonly ReportRecipient[] =>
  groups.length <= most
    ? groups
    : [...groups].sort((a, b) => WORST.indexOf(a.action) - WORST.indexOf(b.action)).slice(0, most)

/** Groups that tell different things are a handful, but in a report that was made to fill a timeline. */
const MAX_EVENTS = 50

/** One report for one recipient of ours. */
const recordFor = async (parts: ReportParts, at: Case, ours: OurGroups): Promise<Partial<Recorded>> => {
  const named = at.report.recipients
  const groups = ours.why === null ? ours.groups : worst(named.length > 0 ? named : [UNSAID], 1)
  // first the list, then the status that says so: a crash between them repeats it
  const suppression = ours.why === null ? await suppressReported(parts, at, groups) : null
  const isAbout = (group: ReportRecipient): boolean => isNameOf(group.finalRecipient, at.owner)
  const outcomes = worst(distinct(groups, isAbout), MAX_EVENTS).map((group) =>
    outcomeOf(at, group, ours.why, suppresses(group) ? suppression : null),
  )
  const settled = await settle(parts.store, withReport(at.kept, outcomes))
  const status = settled.filter((one) => one.applied).at(-1)?.to ?? null
  return { status, suppressed: suppression === 'added', did: status === null ? 'noted' : 'applied' }
}

/** What came to a return path and tells nothing of delivery: an event, so that nothing is dropped in silence. */
const recordUnread = async (parts: ReportParts, at: Case, why: 'unread' | 'auto_reply'): Promise<void> => {
  const unapplied = whyDoubted(at) ?? why
  const outcome = observed({
    recipientId: at.owner.recipientId,
    seen: 'reported',
    at: at.now,
    source: 'dsn',
    mta: { poolId: at.owner.poolId, upstreamId: null, host: null },
    dedupe: keyOf(at, why, null, unapplied),
    reason: why,
    detail: { tier: at.tier, unapplied },
    trusted: false,
  })
  await settle(parts.store, withReport(at.kept, [outcome]))
}

/** Recipients that shared a transaction share its reports too: each is about those whom it names. */
const amongOurs = (
  { recipients }: Report,
  { tier, owners, shared }: Standing,
): readonly (readonly [RecipientOwner, OurGroups])[] => {
  const [first] = owners
  if (first === undefined) return []
  // its addresses are erased: the signed reference alone says whose it is
  if (first.isDeleted) return [[first, { groups: recipients, why: null }]]
  if (owners.length === 1 && !shared) return [[first, groupsFor(recipients, first, tier === 'T1')]]
  const named = owners.flatMap((owner) => {
    const groups = groupsNaming(recipients, owner)
    return groups.length === 0 ? [] : [[owner, { groups, why: null }] as const]
  })
  return named.length > 0 ? named : [[first, { groups: [], why: 'other_recipient' }]]
}

/** Reads, believes, settles. Resolves when all of it is on disk. */
export const recordReport = async (
  parts: ReportParts,
  envelopeRecipient: string,
  raw: Uint8Array,
): Promise<Recorded> => {
  const since = parts.clock.now()
  const report = await readReport(raw, parts.rules?.())
  const { kind, recipients } = report
  const nothing: Recorded = {
    since,
    kind,
    tier: 'T4',
    recipientId: null,
    emailId: null,
    status: null,
    suppressed: false,
    did: 'nothing',
  }
  const standing = await standingOf(parts, envelopeRecipient, report, since)
  const { tier, owners } = standing
  const tellsNothing = kind === 'autoreply' || (kind === 'none' && recipients.length === 0)
  if (tellsNothing && tier !== 'T1') return nothing
  const [first] = owners
  if (first === undefined) return { ...nothing, tier }
  const { recipientId, emailId } = first
  const known: Recorded = { ...nothing, tier, recipientId, emailId, did: 'noted' }
  if (tellsNothing || kind === 'arf') {
    const at = await open(parts, report, raw, first, tier)
    if (tellsNothing) {
      await recordUnread(parts, at, kind === 'autoreply' ? 'auto_reply' : 'unread')
      return known
    }
    return { ...known, ...(await recordComplaint(parts, at)) }
  }
  let made: Recorded = known
  for (const [owner, ours] of amongOurs(report, standing)) {
    const at = await open(parts, report, raw, owner, tier)
    const { recipientId, emailId } = owner
    made = { ...known, recipientId, emailId, ...(await recordFor(parts, at, ours)) }
  }
  return made
}

export interface Intake {
  verifyRecipient(address: string): Promise<boolean>
  ingest(address: string, raw: Uint8Array): Promise<Recorded>
}

const isOpen = async ({ store, domain }: ReportParts, address: string): Promise<boolean> => {
  const role = roleAt(address, domain)
  if (role !== 'bounces') return role === 'fbl'
  return (await store.allPools()).some(({ returnPath }) => returnPath === 'fixed')
}

/** `note` hears what was made of each report. */
export const createIntake = (parts: ReportParts, note: (made: Recorded) => void = () => {}): Intake => ({
  async verifyRecipient(address) {
    const token = returnPathAt(address, parts.domain)
    if (token === null) return isOpen(parts, address)
    await parts.lookAtKeys?.()
    const owner = await parts.store.recipient(token.recipientId)
    return owner !== null && verifyReturnPath(parts.keys, token, owner, parts.clock.now())
  },
  async ingest(address, raw) {
    await parts.lookAtKeys?.()
    const made = await recordReport(parts, address, raw)
    note(made)
    return made
  },
})
