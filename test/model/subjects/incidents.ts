/**
 * NAME      incidents - hard bounces that may be the fault of a server
 */
import {
  INCIDENT_STANDS_MS,
  INCIDENT_WINDOW_MS,
  isIncident,
  isSlowIncident,
  isSuppressing,
  isWideIncident,
  LIVING_WITHIN_MS,
  MOST_LIVING,
  type Refusals,
  SLOW_BEFORE_MS,
  SLOW_WINDOW_MS,
} from '../../../src/lifecycle/suppress.js'
import { storedDomain } from '../../../src/mail/address.js'
import type { EventNotice } from '../../../src/store/port/log.js'
import type { SuppressionRow } from '../../../src/store/port/tenants.js'
import type {
  AddedHardBounce,
  Decision,
  HardBounce,
  IncidentRow,
  Incidents,
} from '../../../src/store/port/watch.js'
import {
  answeredIn,
  type BounceCause,
  causesOf,
  incidentNotice,
  openedIncident,
} from '../../../src/store/rules/watch.js'
import { createSuppressionEvents } from '../../../src/store/sql/suppressions.js'
import type { Plain } from '../plain.js'
import type { HardBounced, State } from '../state.js'
import { listed, owned } from '../tenants.js'
import { isTaken } from './soft-bounces.js'

const HOUR = 3600_000

const domainOf = ({ email }: HardBounced): string => storedDomain(email)

/** Whom a cause met since then, but for those that wait for an incident of another one. */
const createMet =
  ({ hardBounces, pendingSuppressions, incidents }: State) =>
  (cause: string, since: number): readonly HardBounced[] =>
    hardBounces.where((row) => {
      if (row.cause !== cause || row.at < since) return false
      const [waits] = pendingSuppressions.where((one) => one.list === row.list && one.email === row.email)
      return waits === undefined || incidents.get(waits.incidentId)?.cause === cause
    })

interface Seen extends Refusals {
  readonly since: number
}

const createSlow = (state: State) => {
  const { hardCounts, statistics, workspaces } = state
  const met = createMet(state)
  return ({ key, upstreamId }: BounceCause, accountId: string, now: number): Seen | null => {
    const since = (Math.floor(now / HOUR) - 1) * HOUR
    const before = since - SLOW_BEFORE_MS
    const addresses = new Set(met(key, since).map(({ email }) => email)).size
    const answered = (from: number, to: number): number =>
      statistics
        .where((row) => row.dimension === 'upstream' && row.value === upstreamId && row.mode === 'live')
        .filter(({ span, at }) => span === 60 && at >= from && at < to)
        .filter(({ workspaceId }) => workspaces.get(workspaceId)?.accountId === accountId)
        .reduce((sum, { counts }) => sum + answeredIn(counts), 0)
    const hard = hardCounts
      .where((row) => row.cause === key && row.hour * HOUR >= before && row.hour * HOUR < since)
      .reduce((sum, { n }) => sum + n, 0)
    const found = { addresses, living: 0, outcomes: Math.max(answered(since, now), addresses), since }
    return isSlowIncident(found, { addresses: hard, outcomes: answered(before, since) }) ? found : null
  }
}

/** The domains of what was answered since then. */
const createAnswers =
  ({ events, recipients }: State) =>
  (upstreamId: string, from: number): readonly string[] =>
    events
      .where(
        (row) =>
          row.mode === 'live' &&
          row.mta?.upstreamId === upstreamId &&
          row.occurredAt >= from &&
          (row.type === 'email.sent' ||
            row.type === 'email.bounced' ||
            (row.type === 'email.deferred' && row.attempt === 1)),
      )
      .map(({ recipientId }) => storedDomain(recipients.get(recipientId ?? '')?.address ?? ''))

const createCounts = (state: State) => {
  const { hardBounces, recipients, mails } = state
  const answers = createAnswers(state)
  const met = createMet(state)
  const slow = createSlow(state)
  const isLiving = ({ recipientId }: HardBounced, now: number): boolean => {
    const me = recipients.get(recipientId)
    const address = me?.address.toLowerCase()
    return recipients
      .where((row) => row.workspaceId === me?.workspaceId && row.emailId !== me.emailId)
      .some(
        (row) =>
          row.address.toLowerCase() === address &&
          mails.get(row.emailId)?.mode === 'live' &&
          isTaken(row, now) &&
          row.updatedAt > now - LIVING_WITHIN_MS,
      )
  }

  const sudden = ({ key, upstreamId, domain }: BounceCause, now: number): Seen | null => {
    const since = now - INCIDENT_WINDOW_MS
    const rows = met(key, since)
    const names = new Set(rows.map(({ email }) => email))
    if (names.size < MOST_LIVING) return null
    const living = rows.filter((row) => {
      const known = row.living ?? isLiving(row, now)
      hardBounces.change(row.key, { living: known })
      return known
    })
    const first = [...names].map((email) =>
      Math.min(...rows.filter((row) => row.email === email).map(({ takenAt }) => takenAt)),
    )
    const taken = first.reduce((sum, at) => sum + at, 0) / first.length
    const late = Math.max(0, Math.ceil((since - taken) / INCIDENT_WINDOW_MS))
    const all = upstreamId === null ? [] : answers(upstreamId, now - (late + 1) * INCIDENT_WINDOW_MS)
    const ours = domain === '' ? all : all.filter((one) => one === domain)
    const seen = {
      addresses: names.size,
      living: new Set(living.map(({ email }) => email)).size,
      outcomes: Math.max(ours.length, names.size),
      since,
    }
    const domains = { refused: new Set(rows.map(domainOf)).size, met: new Set(all).size }
    return (domain === '' ? isWideIncident(seen, domains) : isIncident(seen)) ? seen : null
  }

  return (cause: BounceCause, accountId: string, now: number): Seen | null =>
    sudden(cause, now) ?? (cause.domain === '' ? slow(cause, accountId, now) : null)
}

const onList = (list: string) => (row: SuppressionRow, email: string) =>
  row.list === list && row.email === email

const createOpening = (state: State, addNotice: (notice: EventNotice) => unknown) => {
  const { suppressions, pendingSuppressions, incidents } = state
  const met = createMet(state)
  const tell = createSuppressionEvents(addNotice)
  /** What is listed because of it waits from now on. */
  const suspend = (incidentId: string, list: string, email: string, now: number): void => {
    const [row] = suppressions.where((one) => onList(list)(one, email))
    if (row?.origin !== 'bounce') return
    suppressions.delete(row.id)
    tell.removed(row, 'pending', now)
    pendingSuppressions.add(row.id, { ...row, incidentId })
  }

  const openAll = (dead: HardBounce, cause: BounceCause, seen: Seen) => {
    const opened: IncidentRow[] = []
    for (const { email, list } of met(cause.key, seen.since)) {
      let id = openOf(list, cause.key)
      if (id === undefined) {
        const made = openedIncident(dead, list, cause, seen)
        id = made.id
        incidents.add(id, { ...made, cause: cause.key })
        addNotice(incidentNotice(made))
        opened.push(made)
      }
      suspend(id, list, email, dead.row.createdAt)
    }
    return opened
  }

  const openOf = (list: string, cause: string): string | undefined =>
    incidents.where((row) => row.workspaceId === list && row.cause === cause && row.decidedAt === null)[0]?.id

  return { openAll, openOf }
}

/** Counts a bounce for all its causes, and tells the incident that it belongs to; `seen` null: one that is open. */
const createIncidentOf = (state: State, openOf: (list: string, cause: string) => string | undefined) => {
  const { hardBounces } = state
  const count = createCounts(state)
  return ({ row, recipientId }: HardBounce, causes: readonly BounceCause[], takenAt: number) => {
    const { accountId, list, email, createdAt: now } = row
    for (const { key: cause, keptMs } of causes) {
      hardBounces.drop((one) => one.cause === cause && one.at < now - keptMs)
      const key = `${cause} ${email} ${list}`
      if (!hardBounces.change(key, { at: now, takenAt }))
        hardBounces.add(key, { key, cause, email, list, recipientId, at: now, takenAt, living: null })
    }
    const isOpen = causes.find(({ key }) => openOf(list, key) !== undefined)
    if (isOpen !== undefined) return { cause: isOpen, seen: null }
    for (const cause of causes) {
      const seen = count(cause, accountId, now)
      if (seen !== null) return { cause, seen }
    }
    return null
  }
}

/** `add` lists an address. */
const createAddHardBounce = (
  state: State,
  addNotice: (notice: EventNotice) => unknown,
  add: (row: SuppressionRow) => SuppressionRow,
): Plain<Incidents>['addHardBounce'] => {
  const { suppressions, pendingSuppressions, hardCounts, events } = state
  const { openAll, openOf } = createOpening(state, addNotice)
  const incidentOf = createIncidentOf(state, openOf)
  const takenBy = (recipientId: string) =>
    events.where((row) => row.recipientId === recipientId && row.type === 'email.sent').at(-1)

  const countHard = (cause: string, now: number): void => {
    const hour = Math.floor(now / HOUR)
    const key = `${cause} ${hour}`
    hardCounts.put(key, { cause, hour, n: (hardCounts.get(key)?.n ?? 0) + 1 })
  }

  return (dead): AddedHardBounce => {
    const { row, recipientId } = dead
    const { list, email, createdAt: now } = row
    const [held] = suppressions.where((one) => onList(list)(one, email))
    if (held !== undefined && isSuppressing(held.expiresAt, now))
      return { row: held, as: 'listed', opened: [] }
    const [waiting] = pendingSuppressions.where((one) => onList(list)(one, email))
    if (waiting !== undefined) return { row: waiting, as: 'pending', opened: [] }
    const taken = dead.upstreamId === null ? takenBy(recipientId) : undefined
    const causes = causesOf(dead, dead.upstreamId ?? taken?.mta?.upstreamId ?? null)
    const incident = incidentOf(dead, causes, taken?.occurredAt ?? now)
    if (incident === null) {
      const widest = causes.at(-1)
      if (widest?.domain === '') countHard(widest.key, now)
      return { row: add(row), as: 'added', opened: [] }
    }
    const { cause, seen } = incident
    const opened = seen === null ? [] : openAll(dead, cause, seen)
    pendingSuppressions.add(row.id, { ...row, incidentId: openOf(list, cause.key) as string })
    return { row, as: 'pending', opened }
  }
}

const createDecide = (
  { incidents, pendingSuppressions, hardBounces }: State,
  add: (row: SuppressionRow) => SuppressionRow,
) => {
  return (id: string, decision: Decision, now: number): number => {
    const { cause, workspaceId } = incidents.get(id) ?? { cause: '', workspaceId: '' }
    incidents.change(id, { decidedAt: now, decision })
    const rows = pendingSuppressions.where(({ incidentId }) => incidentId === id)
    const waited = new Set(rows.map(({ email }) => email))
    hardBounces.drop((row) => row.list === workspaceId && (row.cause === cause || waited.has(row.email)))
    for (const { incidentId, ...row } of rows) {
      pendingSuppressions.delete(row.id)
      if (decision === 'accepted') add({ ...row, createdAt: now })
    }
    return rows.length
  }
}

const createSweep =
  ({ incidents, hardBounces }: State, decide: ReturnType<typeof createDecide>) =>
  (now: number): number => {
    hardBounces.drop(({ at }) => Math.abs(at - now) > SLOW_WINDOW_MS)
    return incidents
      .where(({ decidedAt, createdAt }) => decidedAt === null && createdAt < now - INCIDENT_STANDS_MS)
      .reduce((changed, { id }) => changed + decide(id, 'dismissed', now) + 1, 0)
  }

export const createIncidents = (
  state: State,
  addNotice: (notice: EventNotice) => unknown,
  add: (row: SuppressionRow) => SuppressionRow,
) => {
  const { incidents, pendingSuppressions } = state
  const known = ({ cause, ...row }: ReturnType<typeof incidents.where>[number]) => ({
    ...row,
    pending: pendingSuppressions.where(({ incidentId }) => incidentId === row.id).length,
  })
  const decide = createDecide(state, add)
  const verbs: Plain<Incidents> = {
    addHardBounce: createAddHardBounce(state, addNotice, add),
    incident(accountId, id) {
      const row = owned(incidents, accountId, id)
      return row && known(row)
    },
    incidents(accountId, workspaceId, isOpen, page) {
      const found = listed(
        incidents,
        (row) =>
          row.accountId === accountId &&
          (workspaceId === null || row.workspaceId === workspaceId) &&
          (!isOpen || row.decidedAt === null),
        page,
      )
      return { ...found, rows: found.rows.map(known) }
    },
    pendingSuppressions: (list, page) => listed(pendingSuppressions, (row) => row.list === list, page),
    pendingSuppression: (list, ref) =>
      pendingSuppressions.where((row) => row.list === list && (row.id === ref || row.email === ref))[0] ??
      null,
    decideIncident(accountId, id, decision, now) {
      const row = owned(incidents, accountId, id)
      if (row === null) return 'not_found'
      return row.decidedAt === null ? decide(id, decision, now) : 'decided'
    },
    openIncidents: () => ({
      incidents: incidents.where(({ decidedAt }) => decidedAt === null).length,
      suppressions: pendingSuppressions.where(() => true).length,
    }),
  }
  return { ...verbs, sweepIncidents: createSweep(state, decide) }
}
