/**
 * NAME      upkeep - what is old goes
 */
import { ANSWER_KEPT_MS } from '../../lifecycle/idempotency.js'
import { expiry, isAged, isOpen, isOverdue, logFloor } from '../../lifecycle/retention.js'
import type { Keep, Upkeep } from '../port/upkeep.js'
import { createSuppressionEvents } from '../suppression-events.js'
import type { Plain } from './plain.js'
import type { QueueParts } from './queue.js'
import type { Mail } from './state.js'

export const createUpkeep = ({
  state,
  log,
  people,
}: QueueParts): Pick<Plain<Upkeep>, 'check' | 'sweep' | 'load' | 'clockLead' | 'followClock'> => {
  const { mails, recipients, events, reports, pending } = state
  const expire = (now: number): number => {
    const overdue = recipients.where(({ deadline }) => isOverdue(deadline, now))
    for (const { id } of overdue) {
      people.settle(expiry(id, now))
      recipients.change(id, { deadline: null })
    }
    return overdue.length
  }

  const dropMail = ({ id }: Mail): void => {
    for (const { row } of events.all()) if (row.emailId === id) events.delete(row.id)
    for (const row of reports.where(({ emailId }) => emailId === id)) reports.delete(`${id} ${row.name}`)
    for (const row of pending.where(({ emailId }) => emailId === id))
      pending.delete(`${id} ${row.action} ${row.recipientId}`)
    for (const row of recipients.where(({ emailId }) => emailId === id)) recipients.delete(row.id)
    mails.delete(id)
  }

  const retain = (now: number, { bodiesMs, emailsMs }: Keep): number => {
    const aged = (before: number) =>
      mails.where((mail) => isAged({ createdAt: mail.createdAt, isOpen: isOpen(mail.counts) }, before))
    const bodies = aged(now - bodiesMs).filter(({ raw }) => raw !== null)
    for (const { id } of bodies) mails.change(id, { raw: null, content: null })
    const gone = aged(now - emailsMs)
    for (const mail of gone) dropMail(mail)
    return bodies.length + gone.length
  }

  const raiseFloor = (now: number, logMs: number): number => {
    state.floor = Math.max(state.floor, logFloor(now * 1000, state.last, logMs * 1000))
    const old = events.all().filter(({ ord, row }) => row.emailId === null && ord < state.floor)
    for (const { row } of old) events.delete(row.id)
    return old.length
  }

  const forget = (now: number, { reportsMs }: Keep): number => {
    const kept = reports.where(({ at }) => reportsMs !== undefined && at < now - reportsMs)
    for (const row of kept) reports.delete(`${row.emailId} ${row.name}`)
    const lapsed = state.suppressions.where(({ expiresAt }) => expiresAt !== null && expiresAt < now)
    for (const row of lapsed) {
      state.suppressions.delete(row.id)
      createSuppressionEvents(log.addNotice).removed(row, 'expired', now)
    }
    const keys = state.idempotency.keys(
      ({ completedAt, lockedUntil }) => (completedAt ?? lockedUntil) < now - ANSWER_KEPT_MS,
    )
    for (const key of keys) state.idempotency.delete(key)
    return kept.length + lapsed.length + keys.length
  }

  return {
    check: () => [],
    sweep(now, keep) {
      const overdue = keep.deadlines === false ? 0 : expire(now)
      const old = retain(now, keep)
      return overdue + old + (keep.logMs === undefined ? 0 : raiseFloor(now, keep.logMs)) + forget(now, keep)
    },
    load: () => ({
      verbsPerCommit: { bounds: [], counts: [0], sum: 0 },
      commitSeconds: { bounds: [], counts: [0], sum: 0 },
    }),
    clockLead: (now) => now - Math.floor(state.last / 1000),
    followClock() {},
  }
}
