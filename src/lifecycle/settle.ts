/**
 * NAME      settle - what one outcome changes of a recipient and its mail
 *   The table of mail/status.ts decides which status follows; this file, what that does to lease, due time, hold and
 *   mail. Three things make it safe to repeat: the key of a report, the lease generation of an attempt (an older one is
 *   recorded and not applied), and the cleared lease, which shows that this very attempt has settled before. The lease
 *   ends even when the table refuses the observation: a report may have overtaken our own 250. What was not applied
 *   says why (`unapplied`). A deadline marks a mail that another server reported as delayed. It outlasts our own 250
 *   and 4xx, so that the report may come before them or after.
 *   A mail with one recipient has the status of that one, so nobody need read its counts.
 */
import { invariant } from '../base/fault.js'
import {
  aggregate,
  type Counts,
  type EventKind,
  isRemark,
  nextStatus,
  type Observation,
  STATUSES,
  type Status,
} from '../mail/status.js'
import type { Outcome, Settled } from './facts.js'
import type { Mode } from './page.js'
import { AMBIGUOUS, checked, isWaiting, type RecipientState } from './recipient.js'

interface CountedEmail {
  readonly status: Status
  /** How many recipients it has. */
  readonly total: number
  /** Null for one with a single recipient. */
  readonly counts: Counts | null
}

export const sumOf = (counts: Counts): number => STATUSES.reduce((sum, status) => sum + counts[status], 0)

export const movedCounts = (counts: Counts, from: Status, to: Status): Counts => {
  invariant(counts[from] > 0, `nobody is ${from}, so nobody becomes ${to}`)
  const after = { ...counts, [from]: counts[from] - 1 }
  return { ...after, [to]: after[to] + 1 }
}

/** The status of a mail when one of its recipients has gone `from` one status `to` another. */
export const statusAfter = ({ status, total, counts }: CountedEmail, from: Status, to: Status): Status => {
  if (from === to) return status
  if (counts === null) {
    invariant(total === 1, 'only a mail with one recipient moves without its counts')
    return to
  }
  invariant(sumOf(counts) === total, 'the counts of a mail add up to its recipients')
  return aggregate(movedCounts(counts, from, to))
}

export interface SettleFacts {
  readonly recipient: RecipientState
  readonly email: CountedEmail
  readonly mode: Mode
  /** An event with the key of this outcome (`factKey`) is there. */
  readonly known: boolean
}

export interface SettleEvent {
  readonly kind: EventKind
  /** It changes what is told of the recipient, and does not only note something. */
  readonly change: boolean
  readonly applied: boolean
  readonly dedupe: string | null
  readonly detail: Outcome['detail']
}

export interface SettleChanges {
  /** As it is afterwards; null leaves it as it is. */
  readonly recipient: RecipientState | null
  /** The time of that row. */
  readonly writtenAt: number
  /** Of a delay that moves nothing this alone is remembered. */
  readonly deadline: number | null
  /** null: nothing happened. */
  readonly event: SettleEvent | null
  /** Of a status, so not of a remark. */
  readonly applied: boolean
  readonly from: Status
  readonly to: Status
  readonly emailStatus: Status
  /** Live mail that has bounced just now. */
  readonly bounced: boolean
}

/** How an outcome stands to the lease of its recipient. */
type Standing = 'ours' | 'repeat' | 'stale' | 'report'

const standingOf = (outcome: Outcome, { leaseGen, boot }: RecipientState): Standing => {
  if (outcome.leaseGen === null) return 'report'
  if (outcome.leaseGen !== leaseGen) return 'stale'
  return boot === null ? 'repeat' : 'ours'
}

/** The key by which a second outcome is known to say the same. A stale one has no lease to clear, so its event itself must say that it was here. */
export const factKey = (outcome: Outcome, recipient: RecipientState): string | null =>
  outcome.dedupe ??
  (standingOf(outcome, recipient) === 'stale'
    ? `stale:${outcome.recipientId}:${outcome.leaseGen}:${outcome.seen}`
    : null)

/** The status an observation stands for, also when it is not applied; a remark stands for itself. */
const meaning = (seen: Observation, fallback: Status): EventKind => {
  if (isRemark(seen)) return seen
  for (const from of STATUSES) {
    const to = nextStatus(from, seen)
    if (to !== null) return to
  }
  return fallback
}

const responseText = (reply: Outcome['reply']): string | null =>
  reply === null
    ? null
    : [String(reply.code), reply.enhanced, reply.text]
        .filter((part) => part !== null && part !== '')
        .join(' ')

/** Somebody else holds this mail and has said so: our own 250 for it is no news. */
const isElsewhere = ({ seen }: Outcome, { status, deadline }: RecipientState): boolean =>
  seen === 'accepted' && status === 'deferred' && deadline !== null

/** A delay that is reported while we have deferred the mail ourselves moves nothing, and is remembered. */
const isNoted = ({ seen, trusted }: Outcome, { status, deadline }: RecipientState): boolean =>
  seen === 'dsn-delayed' && trusted && status === 'deferred' && deadline === null

const nextOf = (outcome: Outcome, before: RecipientState, standing: Standing): Status | null =>
  !outcome.trusted || standing === 'stale' || isElsewhere(outcome, before)
    ? null
    : nextStatus(before.status, outcome.seen)

/** Our own attempt has ended. */
const ended = (outcome: Outcome, before: RecipientState, next: Status | null): RecipientState => {
  const status = next ?? before.status
  const again = next !== null && outcome.seen === 'postponed'
  return {
    status,
    attempts: before.attempts + (outcome.attempt === null ? 0 : 1),
    dueAt: again ? outcome.retryAt : null,
    boot: null,
    leaseGen: before.leaseGen,
    attempting: null,
    held: again && outcome.retryAt === null ? AMBIGUOUS : null,
    deadline: isWaiting(status) ? (before.deadline ?? outcome.deadline) : null,
    lastResponse: responseText(outcome.reply) ?? before.lastResponse,
    reason: next === null ? before.reason : outcome.reason,
  }
}

/** Others have said what became of it, or what is to become of it. */
const reported = (outcome: Outcome, before: RecipientState, status: Status): RecipientState => {
  const waits = isWaiting(status)
  // what is no longer ours to send leaves the queue, unless its attempt is past the dot
  const revoked = !waits && before.boot !== null && before.attempting === null
  return {
    status,
    attempts: before.attempts,
    dueAt: waits && outcome.seen !== 'dsn-delayed' ? before.dueAt : null,
    boot: revoked ? null : before.boot,
    leaseGen: revoked ? before.leaseGen + 1 : before.leaseGen,
    attempting: before.attempting,
    held: waits ? before.held : null,
    deadline: waits ? (before.deadline ?? outcome.deadline) : null,
    lastResponse: responseText(outcome.reply) ?? before.lastResponse,
    reason: outcome.reason,
  }
}

const recipientAfter = (
  outcome: Outcome,
  before: RecipientState,
  standing: Standing,
  next: Status | null,
): RecipientState | null => {
  if (standing !== 'ours' && next === null) return null
  const after = standing === 'ours' ? ended(outcome, before, next) : reported(outcome, before, next as Status)
  invariant(after.attempts >= before.attempts, 'attempts never fall')
  invariant(after.leaseGen >= before.leaseGen, 'lease generations never fall')
  return checked(after)
}

/** The detail of an outcome that was not applied, with the reason why where it does not say so itself. */
const explained = ({ detail, trusted }: Outcome, { status }: RecipientState, standing: Standing) => {
  if (detail?.unapplied !== undefined) return detail
  const why = standing === 'stale' ? 'stale_attempt' : trusted ? `already_${status}` : 'unverified'
  return { ...detail, unapplied: why }
}

const nothing = ({ recipient: { status }, email }: SettleFacts, now: number): SettleChanges => ({
  recipient: null,
  writtenAt: now,
  deadline: null,
  event: null,
  applied: false,
  from: status,
  to: status,
  emailStatus: email.status,
  bounced: false,
})

const eventOf = (
  outcome: Outcome,
  before: RecipientState,
  standing: Standing,
  next: Status | null,
): SettleEvent => {
  const applied = next !== null || (outcome.trusted && isRemark(outcome.seen))
  return {
    kind: next ?? meaning(outcome.seen, before.status),
    change: next === null ? applied && outcome.seen === 'complained' : next !== before.status,
    applied,
    dedupe: factKey(outcome, before),
    detail: applied ? outcome.detail : explained(outcome, before, standing),
  }
}

/** What is answered of a recipient. */
export const settledOf = (
  of: Pick<Settled, 'recipientId' | 'emailId' | 'workspaceId' | 'mode' | 'address'>,
  { applied, from, to, emailStatus }: Pick<Settled, 'applied' | 'from' | 'to' | 'emailStatus'>,
): Settled => ({ ...of, applied, from, to, emailStatus })

export const settle = (facts: SettleFacts, outcome: Outcome, now: number): SettleChanges => {
  const { recipient: before, email, mode } = facts
  const standing = standingOf(outcome, before)
  if (standing === 'repeat' || facts.known) return nothing(facts, now)
  const next = nextOf(outcome, before, standing)
  const to = next ?? before.status
  const recipient = recipientAfter(outcome, before, standing, next)
  return {
    recipient,
    // an attempt's row is written by the clock that its next try was reckoned with
    writtenAt: standing === 'ours' ? outcome.at : now,
    deadline: isNoted(outcome, before) ? outcome.deadline : null,
    event: eventOf(outcome, before, standing, next),
    applied: next !== null,
    from: before.status,
    to,
    emailStatus: statusAfter(email, before.status, to),
    bounced: to === 'bounced' && before.status !== 'bounced' && mode === 'live',
  }
}
