/**
 * NAME      report - from a mail that came back to outcomes
 *   What the bounce door hands in is read (mail/report), believed as far as it is signed (trust.ts), and settled for
 *   the recipients it may speak for. When the promise of `ingest` resolves, events and suppressions are on disk, so the
 *   door may answer 250; when it rejects, the door answers 452 and the sender tries again.
 *   `verifyRecipient` says at RCPT whether reports may come to an address, so that nothing is taken that would have to
 *   be sent back: a return path that we signed, the fixed one while a pool uses it, or `fbl@`, where feedback loops
 *   send complaints (reports to these two must carry a signed reference to be believed).
 *   A report that reaches a recipient of ours always leaves an event. Where it is not applied, the event says why
 *   (`unapplied`); what the table of statuses refuses, the store explains (`already_bounced`, `stale_attempt`).
 *   A report twice is a report once: the dedupe key is made of the recipient, the action, the status, the reporting MTA
 *   and the report's Message-ID, and of the reason why it was not believed, so that the same report may come again by a
 *   better way.
 *   Of feedback (RFC 5965) abuse and fraud are complaints: an event of their own, `email.complained`, and the address
 *   goes on the list. Every other kind, such as not-spam, opt-out or auth-failure, is `email.reported` and suppresses
 *   nobody. Neither moves a status: the mail was delivered, or there were nothing to complain of. A complaint that
 *   names somebody else we write to is an event and no more. One that names a stranger counts, since providers black
 *   out addresses, and forwards rename them.
 * NOTES
 *   Only a trusted report that says that the address itself is dead, or a complaint, puts an address on the suppression
 *   list (suppress.ts). The event tells whether it did (`suppression`).
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { Spans, Traceparent } from '../base/trace.js'
import { type EventRow, type KeptReport, type Outcome, observed, type Settled } from '../lifecycle/facts.js'
import type { Page } from '../lifecycle/page.js'
import { normalizeAddress } from '../mail/address.js'
import { parseReply, type Reply } from '../mail/reply.js'
import { type CategoryRule, suppresses } from '../mail/report/classify.js'
import { readReport } from '../mail/report/read-report.js'
import {
  type Action,
  type Report,
  type ReportKind,
  type ReportRecipient,
  UNSAID,
} from '../mail/report/report.js'
import { type ReturnPathKeys, returnPathAt, roleAt, verifyReturnPath } from '../mail/return-path.js'
import type { Observation, Status } from '../mail/status.js'
import { poolInForce } from '../store/pools.js'
import type { Ledger, RecipientOwner } from '../store/port/mail.js'
import type { Store } from '../store/port/store.js'
import { settle } from './reply.js'
import {
  type SuppressParts,
  type SuppressResult,
  speaksForAddress,
  suppressComplained,
  suppressHardBounce,
} from './suppress.js'
import {
  distinct,
  groupsFor,
  groupsNaming,
  isNameOf,
  type NotOurs,
  type OurGroups,
  type ReportStanding,
  standingOf,
  type Tier,
} from './trust.js'

/*
 * A report as it came, beside its event: the first 64 KiB of every mail that reached a recipient of ours, deflated, so
 * that a person can read what a program did not understand, or did. Its name is a digest and stands in the detail of
 * each event that it led to; the store keeps it for `retention.reports`.
 */

const MOST = 64 * 1024

export const keptOf = async (raw: Uint8Array): Promise<KeptReport> => {
  const octets = raw.subarray(0, MOST)
  return {
    name: createHash('sha256').update(octets).digest('base64url').slice(0, 22),
    octets: await promisify(deflateRaw)(octets),
  }
}

/** Each outcome names the report; one is enough to bring it. */
const withReport = (report: KeptReport | null, outcomes: readonly Outcome[]): readonly Outcome[] =>
  report === null
    ? outcomes
    : outcomes.map((outcome, at) => ({
        ...outcome,
        detail: { ...outcome.detail, report: report.name },
        ...(at === 0 && { report }),
      }))

/** The octets behind an event; throws resource.conflict where there are none, or no longer. */
export const readKept = async (
  store: Pick<Ledger, 'report'>,
  emailId: string,
  { detail }: Pick<EventRow, 'detail'>,
): Promise<Buffer> => {
  const name = detail?.report
  const octets = typeof name === 'string' ? await store.report(emailId, name) : null
  if (octets !== null) return promisify(inflateRaw)(octets, { maxOutputLength: MOST })
  const why = name === undefined ? 'No report came with this event' : 'The report is not kept, or no longer'
  throw new Fault('resource.conflict', { reason: 'report_gone', detail: why })
}

/** Why a report is kept as an event and changes nothing. */
type Unapplied =
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

interface Case {
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
const whyDoubted = ({ tier, owner }: Pick<Case, 'tier' | 'owner'>): Unapplied | null => {
  if (isUnsent(owner)) return 'never_sent'
  return tier === 'T1' || tier === 'T2' ? null : 'unverified'
}

/** The reader sees no more of a report than this either. */
const FIRST_MB = 1 << 20

/** The dedupe key: equal for the same report about the same recipient, believed alike. */
const keyOf = (
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
const told = (facts: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(facts).flatMap(([name, fact]) => (fact === null ? [] : [[name, fact]])))

const COMPLAINTS = new Set(['abuse', 'fraud'])

const complaintOutcome = (
  at: Case,
  type: string,
  unapplied: Unapplied | null,
  suppression: SuppressResult | null,
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

const LATEST: Page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 }

/** A complaint that comes again, or is passed on by two providers, does not undo an operator's removal. */
const isOld = async ({ store }: ReportParts, { owner }: Case): Promise<boolean> => {
  const { rows } = await store.events(owner.emailId, LATEST)
  return rows.some(
    ({ type, recipientId, applied }) =>
      type === 'email.complained' && recipientId === owner.recipientId && applied,
  )
}

/** A report names one; more than this is nobody's habit. */
const MAX_NAMED = 20

/** True when it names somebody else whom this account has written to, and not our recipient. */
const namesAnother = async ({ store }: ReportParts, { report, owner }: Case): Promise<boolean> => {
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
const recordComplaint = async (
  parts: ReportParts,
  at: Case,
): Promise<{ readonly suppressed: boolean; readonly did: 'applied' | 'noted' }> => {
  const type = at.report.feedbackType ?? 'abuse'
  const other = (await namesAnother(parts, at)) ? 'other_recipient' : null
  const unapplied = whyDoubted(at) ?? other ?? (COMPLAINTS.has(type) ? null : 'not_a_complaint')
  const counts = unapplied === null && !(await isOld(parts, at))
  // first the list, then the event that says so: a crash between them repeats it
  const suppression = counts ? await suppressComplained(parts, at.owner, type) : null
  await settle(parts.store, withReport(at.kept, [complaintOutcome(at, type, unapplied, suppression)]))
  return { suppressed: suppression === 'added', did: unapplied === null ? 'applied' : 'noted' }
}

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
  readonly rules?: () => readonly CategoryRule[]
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
  suppression: SuppressResult | null,
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
): Promise<SuppressResult | null> => {
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
  { tier, owners, shared }: ReportStanding,
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

export const createIntake = (parts: ReportParts, note: (made: Recorded) => void = () => {}): Intake => ({
  async verifyRecipient(address) {
    const token = returnPathAt(address, parts.domain)
    if (token === null) return isOpen(parts, address)
    await parts.lookAtKeys?.()
    const owner = await parts.store.recipient(token.recipientId)
    if (owner === null) return false
    // of erased mail the address that was signed is gone: its reports are taken, counted and change nothing
    const isErased = owner.isDeleted && owner.address === ''
    return isErased || verifyReturnPath(parts.keys, token, owner, parts.clock.now())
  },
  async ingest(address, raw) {
    await parts.lookAtKeys?.()
    const made = await recordReport(parts, address, raw)
    note(made)
    return made
  },
})

/*
 * A report of a recipient of ours is a span under the request that brought the mail, as the attempts are
 * (relay/relay.ts). Reports about others make none, so that strangers cannot fill the traces. It has no address, and
 * nothing of what the report says in words.
 */

const recordSpan = (spans: Spans, made: Recorded, origin: Traceparent | null): void => {
  const failed = made.status === 'bounced' ? 'bounced' : null
  const span = spans.start({
    name: 'delivery report',
    kind: 'consumer',
    parent: origin,
    link: origin,
    at: made.since,
    attributes: {
      'postern.email_id': made.emailId ?? '',
      'postern.recipient_id': made.recipientId ?? '',
      'postern.report.kind': made.kind,
      'postern.report.trust': made.tier,
      'postern.report.did': made.did,
      'postern.suppressed': made.suppressed,
      ...(made.status !== null && { 'postern.status': made.status }),
      ...(failed !== null && { 'error.type': failed }),
    },
  })
  span.end(failed)
}

/** A listener for what was made of reports. `traceOf` finds what was kept with a mail. */
export const reportSpans =
  (spans: Spans, traceOf: (emailId: string) => Promise<Traceparent | null>) =>
  (made: Recorded): void => {
    if (made.emailId === null) return
    traceOf(made.emailId)
      .catch(() => null)
      .then((origin) => recordSpan(spans, made, origin))
  }
