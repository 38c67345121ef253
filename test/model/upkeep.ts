/**
 * NAME      upkeep - what is old goes
 */
import { ANSWER_KEPT_MS } from '../../src/lifecycle/accept.js'
import { expiry, isAged, isOpen, isOverdue, logFloor, WINDOW_KEPT_MS } from '../../src/lifecycle/schedule.js'
import { ALONE, type Cluster } from '../../src/store/port/cluster.js'
import type { Keep, Upkeep } from '../../src/store/port/upkeep.js'
import { createSuppressionEvents } from '../../src/store/sql/suppressions.js'
import { onlyWriter } from '../../src/store/sqlite/store-verbs.js'
import type { Plain } from './plain.js'
import type { QueueParts } from './queue.js'
import type { Mail } from './state.js'
import { sweepAudit } from './subjects/audit.js'
import { sweepPosts } from './subjects/hooks.js'
import { sweepIdentity } from './subjects/identity.js'
import { sweepJobs } from './subjects/jobs.js'
import { sweepStatistics } from './subjects/statistics.js'

const SWEEPS = [sweepAudit, sweepIdentity, sweepJobs, sweepStatistics, sweepPosts]

/** `more`: what else goes; each answers how many rows. */
export const createUpkeep = (
  { state, log, people }: QueueParts,
  more: readonly ((now: number) => number)[],
): Pick<Plain<Upkeep>, 'check' | 'sweep' | 'load' | 'clockLead' | 'followClock'> & Plain<Cluster> => {
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
    const isOf = ({ emailId }: { readonly emailId: string | null }): boolean => emailId === id
    for (const table of [events, reports, pending, recipients]) table.drop(isOf)
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

  const forget = (now: number, { reportsMs, domainReportsMs }: Keep): number => {
    const kept = reports.drop(({ at }) => reportsMs !== undefined && at < now - reportsMs)
    const told = state.domainReports.drop(
      ({ receivedAt }) => domainReportsMs !== undefined && receivedAt < now - domainReportsMs,
    )
    const lapsed = state.suppressions.where(({ expiresAt }) => expiresAt !== null && expiresAt < now)
    for (const row of lapsed) {
      state.suppressions.delete(row.id)
      createSuppressionEvents(log.addNotice).removed(row, 'expired', now)
    }
    const keys = state.idempotency.drop(
      ({ completedAt, lockedUntil }) => (completedAt ?? lockedUntil) < now - ANSWER_KEPT_MS,
    )
    const windows = state.windows.drop(({ at }) => at < now - WINDOW_KEPT_MS)
    return kept + told + lapsed.length + keys + windows
  }

  return {
    check: () => [],
    writers: () => [onlyWriter('')],
    cluster: () => ALONE,
    serverState: () => null,
    relayMark: () => null,
    holdsWork: () => true,
    sweep(now, keep) {
      const overdue = keep.deadlines === false ? 0 : expire(now)
      const old = retain(now, keep)
      const others = SWEEPS.map((sweep) => sweep(state, now)).concat(more.map((sweep) => sweep(now)))
      const below = keep.logMs === undefined ? 0 : raiseFloor(now, keep.logMs)
      return others.reduce((sum, n) => sum + n, overdue + old + below + forget(now, keep))
    },
    load: () => ({
      verbsPerCommit: { bounds: [], counts: [0], sum: 0 },
      commitSeconds: { bounds: [], counts: [0], sum: 0 },
    }),
    clockLead: (now) => now - Math.floor(state.last / 1000),
    followClock() {},
  }
}
