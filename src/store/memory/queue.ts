/**
 * NAME      queue - mails from accepted to settled
 */

import { toRfc3339 } from '../../base/clock.js'
import type { Acceptance, Claimed, IdempotentAnswer, LeaseRef, NewEmail } from '../../lifecycle/facts.js'
import { ANSWER_KEPT_MS } from '../../lifecycle/idempotency.js'
import { isAway } from '../../lifecycle/waiting/holds.js'
import { waitsSince } from '../../lifecycle/waiting/pauses.js'
import { cancelAnswer, isVisible, mayReschedule, rescheduled } from '../../lifecycle/waiting/schedule.js'
import { aggregate, emptyCounts } from '../../mail/status.js'
import type { EmailScope } from '../port/ledger.js'
import type { Queue, Schedule } from '../port/queue.js'
import type { DeadBoots } from '../port/upkeep.js'
import { recipientsOf } from './ledger.js'
import type { Log } from './log.js'
import type { PendingDsns } from './pending-dsns.js'
import type { Plain } from './plain.js'
import { pausesOf, type Recipients } from './recipients.js'
import { type Effects, type Mail, nextOrd, type Recipient, type State } from './state.js'

/** Larger bodies stay out of the answer. */
const RAW_LIMIT = 64 * 1024

export interface QueueParts {
  readonly state: State
  readonly boot: number
  readonly effects: Effects
  readonly log: Log
  readonly people: Recipients
  readonly pending: PendingDsns
}

const keyOf = ({ workspaceId, mode, key }: Pick<IdempotentAnswer, 'workspaceId' | 'mode' | 'key'>): string =>
  `${workspaceId} ${mode} ${key}`

const createIdempotency = ({ idempotency }: State) => {
  const verbs: Pick<Plain<Queue>, 'claimKey' | 'releaseKey'> = {
    claimKey(claim) {
      const { fingerprint, token, lockedUntil, now } = claim
      const held = idempotency.get(keyOf(claim))
      if (held !== null) {
        const isDone = held.completedAt !== null
        const isOver = isDone ? now - (held.completedAt ?? 0) > ANSWER_KEPT_MS : held.lockedUntil <= now
        if (!isOver && held.fingerprint !== fingerprint) return { state: 'mismatch' }
        if (!isOver && isDone) return { state: 'done', status: held.status ?? 0, body: held.body ?? '' }
        if (!isOver) return { state: 'in_progress' }
        idempotency.delete(keyOf(claim))
      }
      const row = { fingerprint, token, lockedUntil, completedAt: null, status: null, body: null }
      idempotency.add(keyOf(claim), row)
      return { state: 'claimed' }
    },
    releaseKey(claim) {
      const held = idempotency.get(keyOf(claim))
      if (held?.token === claim.token && held.completedAt === null) idempotency.delete(keyOf(claim))
    },
  }
  return {
    ...verbs,
    answered(answer: IdempotentAnswer, now: number): boolean {
      const held = idempotency.get(keyOf(answer))
      if (held?.token !== answer.token || held.completedAt !== null) return false
      const { status, body } = answer
      return idempotency.change(keyOf(answer), { completedAt: now, status, body })
    },
  }
}

const createAccept = (
  { state, effects, log, people, pending }: QueueParts,
  isAnswered: (answer: IdempotentAnswer, now: number) => boolean,
) => {
  const addRecipient = (
    mail: NewEmail,
    stored: Mail,
    one: NewEmail['recipients'][number],
    n: number,
    now: number,
  ) => {
    const status = one.suppressed ? 'bounced' : mail.scheduledAt === null ? 'queued' : 'scheduled'
    const dueAt = status === 'queued' ? now : status === 'scheduled' ? mail.scheduledAt : null
    const dsn = one.dsn?.notify == null && one.dsn?.orcpt == null ? null : one.dsn
    const row: Recipient = {
      ...{ id: one.id, emailId: mail.id, workspaceId: mail.workspaceId, poolId: one.poolId ?? mail.poolId },
      ...{ address: one.address, kind: one.kind, dsn, status, dueAt, queuedAt: now },
      ...{
        attempts: 0,
        updatedAt: mail.createdAt,
        boot: null,
        leaseUntil: null,
        leaseGen: 0,
        attempting: null,
      },
      ...{ attemptUpstream: null, attemptAt: null, deadline: null, lastResponse: null },
      ...{ reason: one.suppressed ? 'suppressed' : null, held: null, heldAt: null, heldDue: null },
    }
    state.recipients.add(one.id, row)
    if (one.suppressed) {
      const said = { recipientId: one.id, source: 'system', occurredAt: now, reason: 'suppressed' } as const
      const event = log.add(stored, status, said)
      pending.add({ recipientId: one.id, seen: 'suppressed', at: now, detail: null }, mail.id, event)
      return
    }
    log.add(stored, status, { recipientId: one.id, source: mail.source, occurredAt: mail.createdAt }, n)
    const hold = status === 'queued' ? people.holdOver(row) : null
    if (hold !== null) people.hold(row, hold, now)
    else effects.due = true
  }

  const addMail = (mail: NewEmail, now: number): void => {
    const { recipients, raw, content, ...facts } = mail
    const counts = emptyCounts()
    for (const { suppressed } of recipients)
      counts[suppressed ? 'bounced' : mail.scheduledAt === null ? 'queued' : 'scheduled']++
    const stored: Mail = {
      ...{ ...facts, counts, status: aggregate(counts), updatedAt: mail.createdAt, size: raw.byteLength },
      raw: Uint8Array.from(raw),
      content: content instanceof Uint8Array ? Buffer.from(content).toString() : content,
    }
    state.mails.add(mail.id, stored, nextOrd(state))
    for (const [i, one] of recipients.entries()) addRecipient(mail, stored, one, i + 1, now)
  }

  return ({ mails, idempotency, dsn, now }: Acceptance) => {
    if (idempotency !== null && !isAnswered(idempotency, now)) return 'lock_lost'
    if (dsn && !pending.sent(dsn, mails[0]?.id ?? '', now)) return 'lock_lost'
    for (const mail of mails) addMail(mail, now)
    return 'accepted'
  }
}

/** What of it is left when its lease ends unused. */
const unleased = ({ status, leaseGen }: Recipient, dueAt: number) => ({
  ...{ boot: null, leaseUntil: null, attempting: null, leaseGen: leaseGen + 1 },
  dueAt: status === 'queued' || status === 'deferred' ? dueAt : null,
})

const createLeases = ({ state, boot, effects, log, people }: QueueParts) => {
  const { recipients } = state
  const earlier = recipients.where((row) => row.boot !== null).map((row) => row.boot)
  const ours = ({ recipientId, leaseGen }: LeaseRef): Recipient | null => {
    const one = recipients.get(recipientId)
    return one !== null && one.leaseGen === leaseGen && one.boot === boot ? one : null
  }
  const isAmbiguous = (one: Recipient): boolean =>
    one.attempting !== null && (one.status === 'queued' || one.status === 'deferred')
  const noteAmbiguous = (one: Recipient, held: boolean, now: number): void => {
    log.add(people.mailOf(one), 'sent', {
      ...{ recipientId: one.id, source: 'system', occurredAt: one.attemptAt ?? now, createdAt: now },
      ...{ change: false, applied: false, attempt: one.attempting, reason: 'ambiguous' },
      ...{ mta: { poolId: one.poolId, upstreamId: one.attemptUpstream, host: null } },
      detail: { ambiguous: true, held },
    })
  }
  return {
    attempting: (marks) =>
      marks.map((mark) => {
        const one = ours(mark)
        if (one === null || people.holdOver(one) !== null) return false
        const { attempt, upstreamId, at } = mark
        return recipients.change(one.id, { attempting: attempt, attemptUpstream: upstreamId, attemptAt: at })
      }),
    release(leases, dueAt) {
      for (const lease of leases) {
        const one = ours(lease)
        if (one === null) continue
        recipients.change(one.id, unleased(one, dueAt))
        effects.due = true
      }
    },
    recover(dead: DeadBoots, now: number) {
      let [released, ambiguous] = [0, 0]
      const boots = dead === 'earlier' ? earlier : dead
      for (const one of recipients.where((row) => row.boot !== null && boots.includes(row.boot))) {
        recipients.change(one.id, unleased(one, now))
        if (!isAmbiguous(one)) {
          released++
          continue
        }
        ambiguous++
        recipients.change(one.id, { attempts: Math.max(one.attempts, one.attempting ?? 0) })
        const isHeld = state.workspaces.get(one.workspaceId)?.ambiguous === 'hold'
        noteAmbiguous(one, isHeld, now)
        const held = { dueAt: null, held: 'ambiguous', heldAt: now, reason: 'ambiguous' }
        if (isHeld) recipients.change(one.id, held)
      }
      if (released + ambiguous > 0) effects.due = true
      return { released, ambiguous }
    },
    reap(now: number): void {
      for (const one of recipients.where((row) => row.boot === boot && row.attempting === null))
        if ((one.leaseUntil ?? now + 1) <= now) recipients.change(one.id, unleased(one, now))
    },
  } satisfies Pick<Plain<Queue>, 'attempting' | 'release'> & Record<string, unknown>
}

const createClaim = ({ state, boot, people }: QueueParts, reap: (now: number) => void) => {
  const { recipients, workspaces } = state
  /** Per pool, the place of the workspace served last. */
  const served = new Map<string, number>()
  const workspaceOrd = (id: string): number => workspaces.ordOf(id) || state.deleted.ordOf(id)

  const claimedOf = (one: Recipient, now: number): Claimed => {
    const mail = people.mailOf(one)
    const [queuedAt, resumedAt] = waitsSince(pausesOf(state, one.poolId), one.queuedAt, now)
    const heldAt = one.held === null ? one.heldAt : null
    const { mode, envid, ret, messageId, from, needsSmtpUtf8, createdAt, size } = mail
    return {
      ...{ recipientId: one.id, emailId: mail.id, workspaceId: mail.workspaceId, poolId: one.poolId, mode },
      ...{ address: one.address, dsn: one.dsn, envid, ret, messageId, from, needsSmtpUtf8 },
      ...{ attempts: one.attempts, createdAt, queuedAt, leaseGen: one.leaseGen, size },
      raw: size <= RAW_LIMIT ? mail.raw : null,
      ambiguous: workspaces.get(mail.workspaceId)?.ambiguous ?? 'retry',
      nullSender: mail.mailFrom === '',
      requireTls: mail.requireTls === true,
      freedAt: resumedAt === null ? heldAt : Math.max(resumedAt, heldAt ?? resumedAt),
    }
  }

  return (poolId: string, limit: number, leaseUntil: number, now: number): Claimed[] => {
    reap(now)
    const due = (workspaceId: string | null): Recipient[] =>
      recipients
        .where(
          (row) =>
            row.poolId === poolId &&
            (workspaceId === null || row.workspaceId === workspaceId) &&
            row.dueAt !== null &&
            row.dueAt <= now,
        )
        .sort((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0))
    const start = served.get(poolId) ?? 0
    const turn = (id: string): number => (workspaceOrd(id) > start ? 0 : 1)
    let waiting = [...new Set(due(null).map((row) => row.workspaceId))]
      .sort((a, b) => turn(a) - turn(b) || workspaceOrd(a) - workspaceOrd(b))
      .slice(0, limit)
    const claimed: Recipient[] = []
    while (waiting.length > 0 && claimed.length < limit) {
      let left = limit - claimed.length
      const share = Math.ceil(left / waiting.length)
      const hands: Recipient[][] = []
      const more: string[] = []
      for (const workspaceId of waiting) {
        const wanted = Math.min(share, left)
        if (wanted === 0) break
        const hand = due(workspaceId).slice(0, wanted)
        for (const { status, emailId } of hand)
          if (status === 'scheduled') people.leaveSchedule(emailId, 'due', 'system', now)
        const free = hand
          .map(({ id }) => recipients.get(id) as Recipient)
          .filter((one) => {
            const hold = people.holdOver(one)
            if (hold !== null) people.hold(one, hold, now)
            return hold === null && !people.endSuppressed(one, now)
          })
        hands.push(free)
        left -= free.length
        served.set(poolId, workspaceOrd(workspaceId))
        if (hand.length === wanted) more.push(workspaceId)
      }
      for (let i = 0; hands.some((hand) => i < hand.length); i++)
        for (const one of hands.flatMap((hand) => hand[i] ?? [])) {
          const leased = { dueAt: null, boot, leaseUntil, leaseGen: one.leaseGen + 1 }
          recipients.change(one.id, leased)
          claimed.push(recipients.get(one.id) as Recipient)
        }
      waiting = more
    }
    return claimed.map((one) => claimedOf(one, now))
  }
}

const createSchedule = ({ state, effects, log, people }: QueueParts): Plain<Schedule> => {
  const find = (scope: EmailScope, id: string): { mail: Mail; away: boolean } | null => {
    const mail = state.mails.get(id)
    if (mail === null || state.workspaces.get(mail.workspaceId) === null || !isVisible(scope, mail))
      return null
    const away = recipientsOf(state, id).some((one) => one.status === 'scheduled' && isAway(one.held))
    return { mail, away }
  }
  return {
    reschedule(scope, id, scheduledAt, now) {
      const found = find(scope, id)
      if (found === null) return 'not_found'
      if (!mayReschedule(found.mail.counts, found.away)) return 'not_scheduled'
      for (const one of recipientsOf(state, id))
        if (one.status === 'scheduled')
          state.recipients.change(one.id, { ...rescheduled(one, scheduledAt), updatedAt: now })
      state.mails.change(id, { scheduledAt, updatedAt: now })
      const detail = { scheduled_at: toRfc3339(scheduledAt) }
      const said = { recipientId: null, source: 'api', occurredAt: now, change: false, detail } as const
      log.add(found.mail, 'scheduled', said)
      effects.due = true
      return 'done'
    },
    cancel(scope, id, now) {
      const found = find(scope, id)
      if (found === null) return 'not_found'
      const answer = cancelAnswer(found.mail.counts, found.away)
      if (answer !== 'cancel') return answer
      people.leaveSchedule(id, 'canceled', 'api', now)
      return 'done'
    },
  }
}

export const createQueue = (parts: QueueParts) => {
  const { state, people } = parts
  const { answered, ...idempotency } = createIdempotency(state)
  const { reap, ...leases } = createLeases(parts)
  const due = (poolIds?: readonly string[]): Recipient[] =>
    state.recipients.where(
      (row) => row.dueAt !== null && (poolIds === undefined || poolIds.includes(row.poolId)),
    )
  return {
    ...idempotency,
    ...leases,
    ...createSchedule(parts),
    accept: createAccept(parts, answered),
    claim: createClaim(parts, reap),
    settle: (outcomes: Parameters<Queue['settle']>[0]) =>
      outcomes.flatMap((outcome) => people.settle(outcome) ?? []),
    nextDue(poolIds?: readonly string[]): number | null {
      const times = due(poolIds).map((row) => row.dueAt as number)
      return times.length === 0 ? null : Math.min(...times)
    },
    duePools: (now: number) => {
      const pools = new Set(due().flatMap((row) => ((row.dueAt ?? 0) <= now ? row.poolId : [])))
      return [...pools].sort((a, b) => state.pools.ordOf(a) - state.pools.ordOf(b))
    },
  }
}
