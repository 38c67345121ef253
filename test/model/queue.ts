/**
 * NAME      queue - mails from accepted to settled
 */

import { toRfc3339 } from '../../src/base/clock.js'
import { firstCounts, firstState, firstStatus, isLockedBy, keyState } from '../../src/lifecycle/accept.js'
import type {
  Acceptance,
  AcceptResult,
  Claimed,
  IdempotentAnswer,
  LeaseRef,
  NewEmail,
} from '../../src/lifecycle/facts.js'
import {
  attempting,
  circle,
  deal,
  freed,
  hasRunOut,
  isLeasedTo,
  leased,
  recovered,
} from '../../src/lifecycle/lease.js'
import { isAway, waitsSince } from '../../src/lifecycle/orders.js'
import { cancelAnswer, isVisible, mayReschedule, rescheduled } from '../../src/lifecycle/schedule.js'
import { entryDetail } from '../../src/lifecycle/suppress.js'
import { aggregate } from '../../src/mail/status.js'
import type { EmailScope, Queue, Schedule } from '../../src/store/port/mail.js'
import type { Tenants } from '../../src/store/port/tenants.js'
import type { DeadBoots } from '../../src/store/port/upkeep.js'
import { asListed } from '../../src/store/rules/tenants.js'
import { recipientsOf } from './ledger.js'
import type { Log } from './log.js'
import type { PendingDsns } from './pending-dsns.js'
import type { Plain } from './plain.js'
import { pausesOf, type Recipients } from './recipients.js'
import { type Effects, type Mail, nextOrd, type Recipient, type State, workspaceOrd } from './state.js'

/** Larger bodies stay out of the answer. */
const RAW_LIMIT = 64 * 1024

export interface QueueParts {
  readonly state: State
  readonly boot: number
  readonly effects: Effects
  readonly log: Log
  readonly people: Recipients
  readonly pending: PendingDsns
  readonly suppressed: Plain<Queue & Tenants>['suppressed']
}

const keyOf = ({ workspaceId, mode, key }: Pick<IdempotentAnswer, 'workspaceId' | 'mode' | 'key'>): string =>
  `${workspaceId} ${mode} ${key}`

const createIdempotency = ({ idempotency }: State) => {
  const verbs: Pick<Plain<Queue>, 'claimKey' | 'releaseKey'> = {
    claimKey(claim) {
      const { workspaceId, fingerprint, token, lockedUntil } = claim
      const found = keyState(idempotency.get(keyOf(claim)), claim)
      if (found.state !== 'claimed') return found
      idempotency.delete(keyOf(claim))
      const row = {
        workspaceId,
        fingerprint,
        token,
        lockedUntil,
        completedAt: null,
        status: null,
        body: null,
      }
      idempotency.add(keyOf(claim), row)
      return found
    },
    releaseKey(claim) {
      const held = idempotency.get(keyOf(claim))
      if (held !== null && isLockedBy(held, claim.token)) idempotency.delete(keyOf(claim))
    },
  }
  return {
    ...verbs,
    answered(answer: IdempotentAnswer, now: number): boolean {
      const held = idempotency.get(keyOf(answer))
      if (held === null || !isLockedBy(held, answer.token)) return false
      const { status, body } = answer
      return idempotency.change(keyOf(answer), { completedAt: now, status, body })
    },
  }
}

const createAccept = (
  { state, effects, log, people, pending, suppressed }: QueueParts,
  isAnswered: (answer: IdempotentAnswer, now: number) => boolean,
) => {
  const addRecipient = (
    mail: NewEmail,
    stored: Mail,
    one: NewEmail['recipients'][number],
    n: number,
    now: number,
  ) => {
    const status = firstStatus(one, mail.scheduledAt)
    const dsn = one.dsn?.notify == null && one.dsn?.orcpt == null ? null : one.dsn
    const row: Recipient = {
      ...{ id: one.id, emailId: mail.id, workspaceId: mail.workspaceId, poolId: one.poolId ?? mail.poolId },
      ...{ address: one.address, kind: one.kind, dsn, queuedAt: now, updatedAt: mail.createdAt },
      ...firstState(status, mail.scheduledAt ?? now, null),
      ...{ leaseUntil: null, attemptUpstream: null, attemptAt: null, heldAt: null, heldDue: null },
    }
    state.recipients.add(one.id, row)
    if (one.suppressed) {
      const detail = entryDetail(one.entry)
      const said = {
        recipientId: one.id,
        source: 'system',
        occurredAt: now,
        reason: 'suppressed',
        detail,
      } as const
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
    const counts = firstCounts(recipients, mail.scheduledAt)
    const stored: Mail = {
      ...{ ...facts, counts, status: aggregate(counts), updatedAt: mail.createdAt, size: raw.byteLength },
      raw: Uint8Array.from(raw),
      content: content instanceof Uint8Array ? Buffer.from(content).toString() : content,
    }
    state.mails.add(mail.id, stored, nextOrd(state))
    for (const [i, one] of recipients.entries()) addRecipient(mail, stored, one, i + 1, now)
  }

  return (given: Acceptance): AcceptResult => {
    const { now } = given
    const listed = asListed(given, (list, entry) => suppressed(list, [entry], now).length > 0)
    if (listed === null) return 'stale'
    const { mails, idempotency, dsn } = listed.batch
    if (idempotency !== null && !isAnswered(idempotency, now)) return 'lock_lost'
    if (dsn && !pending.sent(dsn, mails[0]?.id ?? '', now)) return 'lock_lost'
    for (const mail of mails) addMail(mail, now)
    return listed.result
  }
}

const createLeases = ({ state, boot, effects, log, people }: QueueParts) => {
  const { recipients } = state
  const earlier = recipients.where((row) => row.boot !== null).map((row) => row.boot)
  const ours = (lease: LeaseRef): Recipient | null => {
    const one = recipients.get(lease.recipientId)
    return one !== null && isLeasedTo(one, lease, boot) ? one : null
  }
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
        const { attempt, upstreamId: attemptUpstream, at: attemptAt } = mark
        return recipients.change(one.id, { ...attempting(one, attempt), attemptUpstream, attemptAt })
      }),
    release(leases, dueAt) {
      for (const lease of leases) {
        const one = ours(lease)
        if (one === null) continue
        recipients.change(one.id, { ...freed(one, dueAt), leaseUntil: null })
        effects.due = true
      }
    },
    recover(dead: DeadBoots, now: number) {
      let [released, ambiguous] = [0, 0]
      const boots = dead === 'earlier' ? earlier : dead
      for (const one of recipients.where((row) => row.boot !== null && boots.includes(row.boot))) {
        const on = state.workspaces.get(one.workspaceId)?.ambiguous ?? 'retry'
        const after = recovered(one, on, now)
        const { held } = after.recipient
        const heldAt = held === null ? one.heldAt : now
        recipients.change(one.id, { ...after.recipient, leaseUntil: null, heldAt })
        if (after.ambiguous === null) {
          released++
        } else {
          ambiguous++
          noteAmbiguous(one, held !== null, now)
        }
      }
      if (released + ambiguous > 0) effects.due = true
      return { released, ambiguous }
    },
    reap(now: number): void {
      for (const one of recipients.where((row) => row.boot === boot))
        if (hasRunOut(one, one.leaseUntil as number, now))
          recipients.change(one.id, { ...freed(one, now), leaseUntil: null })
    },
  } satisfies Pick<Plain<Queue>, 'attempting' | 'release'> & Record<string, unknown>
}

const createClaim = ({ state, boot, effects, people }: QueueParts, reap: (now: number) => void) => {
  const { recipients, workspaces } = state
  const ordOf = (id: string): number => workspaceOrd(state, id)
  /** Per pool, the place of the workspace served last. */
  const served = new Map<string, number>()

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

  const dueIn = (poolId: string, now: number): Recipient[] =>
    recipients
      .where((row) => row.poolId === poolId && row.dueAt !== null && row.dueAt <= now)
      .sort((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0))

  const isStopped = (one: Recipient, now: number): boolean => {
    const hold = people.holdOver(one)
    if (hold !== null) people.hold(one, hold, now)
    return hold !== null || people.endSuppressed(one, now)
  }

  const draw = (poolId: string, workspace: number, wanted: number, now: number) => {
    const found = dueIn(poolId, now)
      .filter(({ workspaceId }) => ordOf(workspaceId) === workspace)
      .slice(0, wanted)
    for (const { status, emailId } of found)
      if (status === 'scheduled') people.leaveSchedule(emailId, 'due', 'system', now)
    served.set(poolId, workspace)
    const queued = found.map(({ id }) => recipients.get(id) as Recipient)
    return { found: found.length, free: queued.filter((one) => !isStopped(one, now)) }
  }

  return (poolId: string, limit: number, leaseUntil: number, now: number): Claimed[] => {
    reap(now)
    const ords = [...new Set(dueIn(poolId, now).map(({ workspaceId }) => ordOf(workspaceId)))]
    ords.sort((a, b) => a - b)
    const turns = [...circle(served.get(poolId) ?? 0, (last) => ords.filter((ord) => ord > last))]
    const claimed: Claimed[] = []
    const stopped = deal<Recipient>(turns.slice(0, limit), limit, {
      draw: (workspace, wanted) => draw(poolId, workspace, wanted, now),
      take: (one) => {
        recipients.change(one.id, { ...leased(one, boot), leaseUntil })
        claimed.push(claimedOf(recipients.get(one.id) as Recipient, now))
      },
    })
    if (stopped) effects.due = true
    return claimed
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
    settle: (...[outcomes, quiet = false]: Parameters<Queue['settle']>) => {
      const settled = outcomes.flatMap((outcome) => people.settle(outcome) ?? [])
      return quiet ? [] : settled
    },
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
