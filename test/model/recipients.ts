/**
 * NAME      recipients - what an outcome, a hold or a rest changes of one recipient
 */

import { type EventSource, MAX_REPORTS, type Outcome, type Settled } from '../../src/lifecycle/facts.js'
import { covers, holdBack, type OrderNote, type Pause, setFree } from '../../src/lifecycle/orders.js'
import { leaveSchedule } from '../../src/lifecycle/schedule.js'
import { factKey, movedCounts, settle } from '../../src/lifecycle/settle.js'
import {
  endSuppressed,
  entriesAgainst,
  entryOf,
  isSuppressing,
  listsAgainst,
} from '../../src/lifecycle/suppress.js'
import { normalizeAddress } from '../../src/mail/address.js'
import { aggregate, type Status } from '../../src/mail/status.js'
import type { HoldRow } from '../../src/store/port/operations.js'
import type { Log } from './log.js'
import type { PendingDsns } from './pending-dsns.js'
import { anyWorkspace, type Effects, type Mail, type Recipient, type State } from './state.js'

export interface Recipients {
  settle(outcome: Outcome): Settled | null
  /** The hold that keeps it, or null. */
  holdOver(one: Recipient): Pick<HoldRow, 'id' | 'reason'> | null
  hold(one: Recipient, hold: Pick<HoldRow, 'id' | 'reason'>, now: number): void
  free(one: Recipient, note: OrderNote): void
  note(one: Recipient, note: OrderNote): void
  /** All that are scheduled of a mail are due, or canceled, together. */
  leaveSchedule(emailId: string, seen: 'due' | 'canceled', source: EventSource, now: number): void
  /** Ends it where its address is on a list by now. */
  endSuppressed(one: Recipient, now: number): boolean
  mailOf(one: Recipient): Mail
}

export const pausesOf = (state: State, poolId: string): Pause[] =>
  state.pauses
    .where((row) => row.poolId === poolId)
    .map(({ from, to }) => [from, to] as const)
    .sort((a, b) => b[0] - a[0])

export const createRecipients = (
  state: State,
  effects: Effects,
  log: Log,
  pending: Pick<PendingDsns, 'add'>,
  softBounce: (outcome: Outcome, one: Recipient, now: number) => void,
): Recipients => {
  const { recipients, mails, holds } = state

  const mailOf = ({ emailId }: Recipient): Mail => {
    const mail = mails.get(emailId)
    if (mail === null) throw new Error(`no mail ${emailId}`)
    return mail
  }

  /** Moves the counts and the status of its mail; answers the latter. */
  const fold = (mail: Mail, from: Status, to: Status, now: number): Status => {
    if (from === to) return mail.status
    const counts = movedCounts(mail.counts, from, to)
    mails.change(mail.id, { counts, status: aggregate(counts), updatedAt: now })
    return aggregate(counts)
  }

  const keepReport = ({ report }: Outcome, emailId: string, at: number, applied: boolean): void => {
    if (report === undefined) return
    const kept = state.reports.where((row) => row.emailId === emailId)
    if (kept.some(({ name }) => name === report.name)) return
    if (kept.length < (applied ? 2 * MAX_REPORTS : MAX_REPORTS))
      state.reports.add(`${emailId} ${report.name}`, { emailId, at, ...report })
  }

  const settledOf = (
    one: Recipient,
    mail: Mail,
    rest: Pick<Settled, 'applied' | 'to' | 'emailStatus'>,
  ): Settled => ({
    ...{ recipientId: one.id, emailId: mail.id, workspaceId: mail.workspaceId, mode: mail.mode },
    ...{ address: one.address, from: one.status, ...rest },
  })

  const settleOne = (outcome: Outcome): Settled | null => {
    const one = recipients.get(outcome.recipientId)
    if (one === null) return null
    const mail = mailOf(one)
    const key = factKey(outcome, one)
    const now = state.clock.now()
    const total = Object.values(mail.counts).reduce((sum, n) => sum + n, 0)
    const email = { status: mail.status, total, counts: mail.counts }
    const facts = { recipient: one, email, mode: mail.mode, known: key !== null && log.has(key) }
    const changes = settle(facts, outcome, now)
    const { recipient, writtenAt, deadline, event, applied, to, emailStatus } = changes
    if (recipient !== null) {
      const held = recipient.held === one.held ? {} : { heldAt: now, heldDue: null }
      const leaseUntil = recipient.boot === null ? null : one.leaseUntil
      recipients.change(one.id, { ...recipient, ...held, leaseUntil, updatedAt: writtenAt })
      if (recipient.dueAt !== null && recipient.dueAt !== one.dueAt) effects.due = true
    }
    if (deadline !== null) recipients.change(one.id, { deadline })
    fold(mail, one.status, to, now)
    if (event !== null) {
      const { kind, ...rest } = event
      const { source, at, attempt, reason, reply, mta } = outcome
      const said = { source, occurredAt: at, createdAt: now, attempt, reason, reply, mta, ...rest }
      const eventId = log.add(mail, kind, { recipientId: one.id, ...said })
      keepReport(outcome, mail.id, now, event.applied)
      if (applied) pending.add(outcome, mail.id, eventId)
    }
    if (changes.bounced) softBounce(outcome, one, outcome.at)
    const settled = settledOf(one, mail, { applied, to, emailStatus })
    if (applied) effects.settled.push(settled)
    return settled
  }

  const note: Recipients['note'] = (one, { action, did, reason, now, more }) =>
    void log.add(mailOf(one), did, {
      ...{ recipientId: one.id, source: 'operator', occurredAt: now, change: false, reason },
      detail: { action, ...more },
    })

  return {
    mailOf,
    settle: settleOne,
    note,
    holdOver(one) {
      const workspace = anyWorkspace(state, one.workspaceId)
      if (workspace !== null && workspace.suspendedAt !== null)
        return { id: workspace.id, reason: workspace.suspendedReason ?? 'the workspace is suspended' }
      const { accountId } = mailOf(one)
      const owned = { ...one, accountId, address: one.address.toLowerCase() }
      return holds.where((hold) => covers(hold, owned))[0] ?? null
    },
    hold(one, hold, now) {
      recipients.change(one.id, holdBack(one.dueAt, hold.id, now))
      note(one, { action: 'held', did: 'held', reason: hold.reason, now, more: { hold: hold.id } })
    },
    free(one, why) {
      recipients.change(one.id, setFree(one, pausesOf(state, one.poolId), why.now))
      note(one, why)
      effects.due = true
    },
    leaveSchedule(emailId, seen, source, now) {
      for (const one of recipients.where((row) => row.emailId === emailId && row.status === 'scheduled')) {
        const { status, queuedAt, dueAt, held, heldDue } = leaveSchedule(one, seen)
        const since = queuedAt === null ? {} : { queuedAt }
        recipients.change(one.id, { status, dueAt, held, heldDue, ...since, updatedAt: now })
        const mail = mailOf(one)
        const emailStatus = fold(mail, 'scheduled', status, now)
        log.add(mail, status, { recipientId: one.id, source, occurredAt: now })
        effects.settled.push(settledOf(one, mail, { applied: true, to: status, emailStatus }))
      }
    },
    endSuppressed(one, now) {
      const mail = mailOf(one)
      const lists = listsAgainst({ ...mail, ignoresSuppressions: mail.ignoreSuppressions === true })
      const email = normalizeAddress(one.address.toLowerCase())
      const standing = state.suppressions.where(
        (row) => lists.includes(row.list) && isSuppressing(row.expiresAt, now),
      )
      const entries = entriesAgainst(entryOf(email, mail.extras?.unsubscribe_list ?? null))
      const entry = entries.find((each) => standing.some((row) => row.email === each))
      return entry !== undefined && (settleOne(endSuppressed(one.id, entry, now))?.applied ?? false)
    },
  }
}
