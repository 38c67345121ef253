/**
 * NAME      incidents - hard bounces that may be the fault of a server
 */
import {
  INCIDENT_STANDS_MS,
  INCIDENT_WINDOW_MS,
  isIncident,
  LIVING_WITHIN_MS,
  MOST_LIVING,
  type Refusals,
} from '../../../lifecycle/incident.js'
import { isSuppressing } from '../../../lifecycle/suppress.js'
import { storedDomain } from '../../../mail/address.js'
import type { Notice } from '../../port/log.js'
import type {
  AddedHardBounce,
  Decision,
  HardBounce,
  IncidentRow,
  Incidents,
} from '../../port/tenants/incident.js'
import type { SuppressionRow } from '../../port/tenants/tenants.js'
import { causeOf, incidentNotice, openedIncident } from '../../rules/bounces.js'
import { createSuppressionEvents } from '../../suppression-events.js'
import type { Plain } from '../plain.js'
import type { HardBounced, State } from '../state.js'
import { listed, owned } from '../tenants.js'
import { isTaken } from './soft-bounces.js'

const HOUR = 3600_000
const MINUTE = 60_000

const createCounts = ({ hardBounces, recipients, mails, answers }: State) => {
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

  /** Since then by the hour, and at least those of the window. */
  const answersSince = (upstreamId: string, domain: string, from: number, now: number): number => {
    const all = answers.where((row) => row.upstreamId === upstreamId && row.domain === domain)
    const since = (unit: number, first: number): number =>
      all.filter(({ at }) => Math.floor(at / unit) >= first).length
    const recent = since(MINUTE, Math.floor(now / MINUTE) - INCIDENT_WINDOW_MS / MINUTE + 1)
    return now - from <= INCIDENT_WINDOW_MS ? recent : Math.max(recent, since(HOUR, Math.floor(from / HOUR)))
  }

  return (cause: string, upstreamId: string | null, domain: string, now: number): Refusals => {
    const rows = hardBounces.where((row) => row.cause === cause)
    const addresses = new Set(rows.map(({ email }) => email))
    if (addresses.size < MOST_LIVING) return { addresses: addresses.size, living: 0, outcomes: 0 }
    const living = rows.filter((row) => {
      const known = row.living ?? isLiving(row, now)
      hardBounces.change(row.key, { living: known })
      return known
    })
    const first = [...addresses].map((email) =>
      Math.min(...rows.filter((row) => row.email === email).map(({ takenAt }) => takenAt)),
    )
    const taken = first.reduce((sum, at) => sum + at, 0) / first.length
    const outcomes = upstreamId === null ? 0 : answersSince(upstreamId, domain, taken, now)
    return {
      addresses: addresses.size,
      living: new Set(living.map(({ email }) => email)).size,
      outcomes: Math.max(outcomes, addresses.size),
    }
  }
}

const onList = (list: string) => (row: SuppressionRow, email: string) =>
  row.list === list && row.email === email

const createOpening = (state: State, addNotice: (notice: Notice) => unknown) => {
  const { suppressions, pendingSuppressions, incidents, hardBounces } = state
  const tell = createSuppressionEvents(addNotice)
  /** What is listed because of it waits from now on. */
  const suspend = (incidentId: string, list: string, email: string, now: number): void => {
    const [row] = suppressions.where((one) => onList(list)(one, email))
    if (row?.origin !== 'bounce') return
    suppressions.delete(row.id)
    tell.removed(row, 'pending', now)
    pendingSuppressions.add(row.id, { ...row, incidentId })
  }

  const openAll = (dead: HardBounce, cause: string, upstreamId: string | null, seen: Refusals) => {
    const opened: IncidentRow[] = []
    for (const { email, list } of hardBounces.where((one) => one.cause === cause)) {
      let id = openOf(list, cause)
      if (id === undefined) {
        const made = openedIncident(dead, list, upstreamId, seen)
        id = made.id
        incidents.add(id, { ...made, cause })
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

/** `add` lists an address. */
const createAddHardBounce = (
  state: State,
  addNotice: (notice: Notice) => unknown,
  add: (row: SuppressionRow) => SuppressionRow,
): Plain<Incidents>['addHardBounce'] => {
  const { suppressions, pendingSuppressions, hardBounces, events } = state
  const count = createCounts(state)
  const { openAll, openOf } = createOpening(state, addNotice)
  const takenBy = (recipientId: string) =>
    events.where((row) => row.recipientId === recipientId && row.type === 'email.sent').at(-1)

  return (dead): AddedHardBounce => {
    const { row, recipientId, said } = dead
    const { accountId, list, email, createdAt: now } = row
    const [held] = suppressions.where((one) => onList(list)(one, email))
    if (held !== undefined && isSuppressing(held.expiresAt, now))
      return { row: held, as: 'listed', opened: [] }
    const [waiting] = pendingSuppressions.where((one) => onList(list)(one, email))
    if (waiting !== undefined) return { row: waiting, as: 'pending', opened: [] }
    const taken = dead.upstreamId === null ? takenBy(recipientId) : undefined
    const upstreamId = dead.upstreamId ?? taken?.mta?.upstreamId ?? null
    const domain = storedDomain(email)
    const cause = causeOf(accountId, upstreamId, domain, said)
    hardBounces.drop((one) => one.cause === cause && one.at < now - INCIDENT_WINDOW_MS)
    const key = `${cause} ${email} ${list}`
    const met = { at: now, takenAt: taken?.occurredAt ?? now }
    if (!hardBounces.change(key, met))
      hardBounces.add(key, { key, cause, email, list, recipientId, ...met, living: null })
    let opened: readonly IncidentRow[] = []
    if (openOf(list, cause) === undefined) {
      const seen = count(cause, upstreamId, domain, now)
      if (!isIncident(seen)) return { row: add(row), as: 'added', opened }
      opened = openAll(dead, cause, upstreamId, seen)
    }
    pendingSuppressions.add(row.id, { ...row, incidentId: openOf(list, cause) as string })
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
    hardBounces.drop((row) => row.cause === cause && row.list === workspaceId)
    const rows = pendingSuppressions.where(({ incidentId }) => incidentId === id)
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
    hardBounces.drop(({ at }) => Math.abs(at - now) > INCIDENT_WINDOW_MS)
    return incidents
      .where(({ decidedAt, createdAt }) => decidedAt === null && createdAt < now - INCIDENT_STANDS_MS)
      .reduce((changed, { id }) => changed + decide(id, 'dismissed', now) + 1, 0)
  }

export const createIncidents = (
  state: State,
  addNotice: (notice: Notice) => unknown,
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
