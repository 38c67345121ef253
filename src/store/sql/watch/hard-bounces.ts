/**
 * NAME      hard-bounces - hard bounces are listed, unless too many come at the same time
 * DESCRIPTION
 *   Who is refused is counted, judged (lifecycle/incident.ts) and listed in one transaction, with
 *   the incident and its event. When an incident begins, what its window has already listed becomes
 *   pending with it, in every workspace that was met.
 */
import {
  INCIDENT_WINDOW_MS,
  isIncident,
  LIVING_AFTER_MS,
  LIVING_WITHIN_MS,
  MOST_LIVING,
  type Refusals,
} from '../../../lifecycle/incident.js'
import { isSuppressing } from '../../../lifecycle/suppress.js'
import { storedDomain } from '../../../mail/address.js'
import type { Notice } from '../../port/log.js'
import type { AddedHardBounce, HardBounce, IncidentRow, Incidents } from '../../port/tenants/incident.js'
import type { SuppressionRow } from '../../port/tenants/tenants.js'
import { causeOf, incidentNotice, openedIncident } from '../../rules/bounces.js'
import { removedNotice } from '../../suppression-events.js'
import { insertInto, type Places } from '../insert.js'
import { type Asked, type Asking, all, first, run } from '../query.js'
import { PENDING } from '../tenants/tables.js'
import { pendingOf } from './incident-reads.js'
import { INCIDENTS } from './incident-tables.js'

/** What of mail and lists is to be known, and changed in the transaction that runs. */
export interface IncidentParts {
  readonly places: Places
  /** The upstream that took a recipient last, and when. */
  takenBy(recipientId: string): Asking<{ readonly upstreamId: string; readonly at: number } | null>
  /**
   * Sets `living` in the rows of hard_bounces of a cause where it is null: whether the workspace had another live
   * mail to that address, taken within the times, that did not come back.
   */
  noteLiving(cause: string, after: number, before: number): Asking<unknown>
  /** How much an upstream had to answer about a domain. */
  answersSince(upstreamId: string, domain: string, from: number, now: number): Asking<number>
  listed(list: string, email: string): Asking<SuppressionRow | null>
  addSuppression(row: SuppressionRow): Asking<SuppressionRow>
  addNotice(notice: Notice): Asking<unknown>
}

const MEET = `INSERT INTO hard_bounces (cause, email, list, recipient, at, taken_at, living) VALUES (?, ?, ?, ?, ?, ?, NULL)
  ON CONFLICT (cause, email, list) DO UPDATE SET at = excluded.at, taken_at = excluded.taken_at`

/** Addresses count once, however many lists they were met on. */
const WINDOW = `SELECT count(*) AS addresses, CAST(sum(t) AS BIGINT) AS taken,
    CAST(coalesce(sum(known), 0) AS BIGINT) AS living, CAST(coalesce(sum(unknown), 0) AS BIGINT) AS unasked
  FROM (SELECT min(taken_at) AS t, max(living) AS known, max(CASE WHEN living IS NULL THEN 1 ELSE 0 END) AS unknown
        FROM hard_bounces WHERE cause = ? GROUP BY email) AS met`

function* windowOf(cause: string) {
  const row = yield* first(WINDOW, cause)
  const addresses = Number(row?.addresses)
  return {
    addresses,
    living: Number(row?.living),
    unasked: Number(row?.unasked),
    /** On average. */
    taken: Number(row?.taken) / addresses,
  }
}

function* openOf(accountId: string, list: string, cause: string): Asking<string | null> {
  const row = yield* first(
    'SELECT id FROM incidents WHERE account_id = ? AND workspace_id = ? AND cause = ? AND decided_at IS NULL',
    ...[accountId, list, cause],
  )
  return (row?.id ?? null) as string | null
}

const createOpenAll = ({ places, listed, addNotice }: IncidentParts) => {
  const insert = insertInto(INCIDENTS, places)
  const insertPending = insertInto(PENDING, places)

  /** What is listed because of it waits from now on. */
  function* suspend(incidentId: string, list: string, email: string, now: number): Asking<void> {
    const row = yield* listed(list, email)
    if (row?.origin !== 'bounce') return
    yield* run('DELETE FROM suppressions WHERE id = ?', row.id)
    yield* addNotice(removedNotice(row, 'pending', now))
    yield* insertPending({ ...row, incidentId })
  }

  return function* (dead: HardBounce, cause: string, upstreamId: string | null, seen: Refusals) {
    const { accountId, createdAt: now } = dead.row
    const opened: IncidentRow[] = []
    const met = yield* all('SELECT email, list FROM hard_bounces WHERE cause = ?', cause)
    for (const { email, list } of met as readonly { readonly email: string; readonly list: string }[]) {
      let id = yield* openOf(accountId, list, cause)
      if (id === null) {
        const row = openedIncident(dead, list, upstreamId, seen)
        yield* insert(row)
        yield* run('UPDATE incidents SET cause = ? WHERE id = ?', cause, row.id)
        yield* addNotice(incidentNotice(row))
        opened.push(row)
        id = row.id
      }
      yield* suspend(id, list, email, now)
    }
    return opened
  }
}

export const hardBounceWrites = (parts: IncidentParts): Asked<Pick<Incidents, 'addHardBounce'>> => {
  const { places, takenBy, noteLiving, answersSince, listed, addSuppression } = parts
  const openAll = createOpenAll(parts)
  const insertPending = insertInto(PENDING, places)

  function* seenOf(cause: string, upstreamId: string | null, domain: string, now: number): Asking<Refusals> {
    const { unasked, ...seen } = yield* windowOf(cause)
    if (seen.addresses < MOST_LIVING) return { ...seen, outcomes: 0 }
    if (unasked > 0) yield* noteLiving(cause, now - LIVING_WITHIN_MS, now - LIVING_AFTER_MS)
    const { addresses, living, taken } = unasked > 0 ? yield* windowOf(cause) : seen
    const outcomes = upstreamId === null ? 0 : yield* answersSince(upstreamId, domain, taken, now)
    return { addresses, living, outcomes: Math.max(outcomes, addresses) }
  }

  return {
    *addHardBounce(dead): Asking<AddedHardBounce> {
      const { row, recipientId, said } = dead
      const { accountId, list, email, createdAt: now } = row
      const held = yield* listed(list, email)
      if (held !== null && isSuppressing(held.expiresAt, now)) return { row: held, as: 'listed', opened: [] }
      const waiting = yield* pendingOf('workspace_id = ? AND email = ?', list, email)
      if (waiting !== null) return { row: waiting, as: 'pending', opened: [] }
      const taken = dead.upstreamId === null ? yield* takenBy(recipientId) : null
      const upstreamId = dead.upstreamId ?? taken?.upstreamId ?? null
      const domain = storedDomain(email)
      const cause = causeOf(accountId, upstreamId, domain, said)
      yield* run('DELETE FROM hard_bounces WHERE cause = ? AND at < ?', cause, now - INCIDENT_WINDOW_MS)
      yield* run(MEET, cause, email, list, recipientId, now, taken?.at ?? now)
      let opened: readonly IncidentRow[] = []
      if ((yield* openOf(accountId, list, cause)) === null) {
        const seen = yield* seenOf(cause, upstreamId, domain, now)
        if (!isIncident(seen)) return { row: yield* addSuppression(row), as: 'added', opened }
        opened = yield* openAll(dead, cause, upstreamId, seen)
      }
      const incidentId = (yield* openOf(accountId, list, cause)) as string
      yield* insertPending({ ...row, incidentId })
      return { row, as: 'pending', opened }
    },
  }
}
