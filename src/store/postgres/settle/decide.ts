/**
 * NAME      decide - what outcomes make of the recipients and mails that were loaded
 * DESCRIPTION
 *   lifecycle/settle.ts decides on one after another, in their order: what follows in a batch sees what came
 *   before it. Nothing is written here.
 */
import type { KeptReport, Outcome, Settled } from '../../../lifecycle/facts.js'
import { dsnActionOf, isTold } from '../../../lifecycle/pending-dsn.js'
import type { RecipientState } from '../../../lifecycle/recipient.js'
import { factKey, type SettleChanges, settle, settledOf } from '../../../lifecycle/settle.js'
import type { Action } from '../../../mail/report/report.js'
import { type Counts, emptyCounts, type Status } from '../../../mail/status.js'
import { type EventDraft, type MailPlace, outcomeEvent } from '../../sql/log/draft.js'
import { type Loaded, type LoadedMail, type LoadedRecipient, placeOf } from './load.js'

export interface DecidedRecipient {
  readonly loaded: LoadedRecipient
  after: RecipientState
  /** The time of its row; null leaves it. */
  writtenAt: number | null
}

export interface DecidedMail {
  readonly loaded: LoadedMail
  status: Status
  readonly counts: Counts
  /** How many more recipients it has in each status. */
  readonly moved: Counts
  hasMoved: boolean
}

export interface DecidedEvent {
  readonly draft: EventDraft & { readonly mail: MailPlace }
  readonly report: KeptReport | null
  /** What the sender is to hear. */
  readonly owed: { readonly emailId: string; readonly action: Action } | null
}

/** A recipient of live mail has bounced, and its workspace counts that. */
export interface Bounce {
  readonly outcome: Outcome
  readonly of: LoadedRecipient
}

export interface Decided {
  readonly now: number
  /** Null for a recipient that nobody knows. */
  readonly answers: readonly (Settled | null)[]
  /** Those that something was seen of. */
  readonly recipients: readonly DecidedRecipient[]
  readonly mails: readonly DecidedMail[]
  readonly events: readonly DecidedEvent[]
  readonly bounces: readonly Bounce[]
}

/** The keys by which it may be known that these outcomes of a recipient were settled before. */
export const keysOf = (outcomes: readonly Outcome[]) => {
  const byId = new Map<string, Outcome[]>()
  for (const outcome of outcomes) {
    const those = byId.get(outcome.recipientId)
    if (those === undefined) byId.set(outcome.recipientId, [outcome])
    else those.push(outcome)
  }
  return (id: string, state: RecipientState): readonly string[] => {
    const those = byId.get(id) ?? []
    // what comes first may end the lease of what follows
    const gone = { ...state, leaseGen: state.leaseGen + 1 }
    const keys = those.flatMap((one) => [factKey(one, state), those.length > 1 ? factKey(one, gone) : null])
    return keys.filter((key) => key !== null)
  }
}

const answerOf = ({ id, address, mail }: LoadedRecipient, changes: SettleChanges): Settled => {
  const { id: emailId, workspaceId, mode } = mail
  return settledOf({ recipientId: id, emailId, workspaceId, mode, address }, changes)
}

const owedOf = (outcome: Outcome, { mail, notify, queuedAt }: LoadedRecipient): DecidedEvent['owed'] => {
  const action = dsnActionOf(outcome)
  if (action === null) return null
  const { id, mailFrom, senderDsn } = mail
  return isTold(action, outcome, { mailFrom, notify, queuedAt, senderDsn }) ? { emailId: id, action } : null
}

const remember = (
  recipient: DecidedRecipient,
  { recipient: after, deadline, writtenAt }: SettleChanges,
): void => {
  if (after !== null) {
    recipient.after = after
    recipient.writtenAt = writtenAt
  } else if (deadline !== null) recipient.after = { ...recipient.after, deadline }
}

const move = (mail: DecidedMail, { from, to, emailStatus }: SettleChanges): void => {
  if (from === to) return
  mail.hasMoved = true
  mail.status = emailStatus
  for (const counts of [mail.counts, mail.moved]) {
    counts[from]--
    counts[to]++
  }
}

const freshMail = (loaded: LoadedMail): DecidedMail => ({
  loaded,
  status: loaded.status,
  counts: { ...loaded.counts },
  moved: emptyCounts(),
  hasMoved: false,
})

export const decide = ({ recipients, known }: Loaded, outcomes: readonly Outcome[], now: number): Decided => {
  const seen = new Set(known)
  const decided = new Map<string, DecidedRecipient>()
  const mails = new Map<number, DecidedMail>()
  const events: DecidedEvent[] = []
  const bounces: Bounce[] = []
  const touched = new Set<DecidedRecipient>()

  const one = (outcome: Outcome): Settled | null => {
    const of = recipients.get(outcome.recipientId)
    if (of === undefined) return null
    const recipient = decided.get(of.id) ?? { loaded: of, after: of.state, writtenAt: null }
    decided.set(of.id, recipient)
    const mail = mails.get(of.mail.ord) ?? freshMail(of.mail)
    mails.set(of.mail.ord, mail)
    const key = factKey(outcome, recipient.after)
    const { total } = of.mail
    const facts = {
      recipient: recipient.after,
      email: { status: mail.status, total, counts: total === 1 ? null : { ...mail.counts } },
      mode: of.mail.mode,
      known: key !== null && seen.has(key),
    }
    const changes = settle(facts, outcome, now)
    const { event } = changes
    if (event === null) return answerOf(of, changes)
    touched.add(recipient)
    if (event.dedupe !== null) seen.add(event.dedupe)
    remember(recipient, changes)
    move(mail, changes)
    const owed = changes.applied ? owedOf(outcome, of) : null
    events.push({
      draft: outcomeEvent(placeOf(of.mail), outcome, event, now),
      report: outcome.report ?? null,
      owed,
    })
    if (changes.bounced && of.mail.countsSoftBounces) bounces.push({ outcome, of })
    return answerOf(of, changes)
  }

  const answers = outcomes.map(one)
  const inOrder = [...mails.values()].filter(({ hasMoved }) => hasMoved)
  inOrder.sort((a, b) => a.loaded.ord - b.loaded.ord)
  return { now, answers, recipients: [...touched], mails: inOrder, events, bounces }
}
