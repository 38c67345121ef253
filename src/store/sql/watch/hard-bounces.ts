/**
 * NAME      hard-bounces - hard bounces are listed, unless too many come at the same time
 * DESCRIPTION
 *   Who is refused is counted for each of its causes, judged (lifecycle/suppress.ts) and listed in one transaction, with
 *   the incident and its event. When an incident begins, what its window has already listed becomes
 *   pending with it, in every workspace that was met. What waits for another incident is not counted again.
 *   A cause is not counted anew with each bounce, but when so many have come that it may be an incident, or some
 *   seconds have passed: a list with thousands of dead addresses costs no more for each than a short one.
 */
import {
  bouncesAway,
  INCIDENT_WINDOW_MS,
  isIncident,
  isSlowIncident,
  isSuppressing,
  isWideIncident,
  LIVING_AFTER_MS,
  LIVING_WITHIN_MS,
  MOST_ALONE,
  MOST_LIVING,
  MOST_SLOW,
  type Refusals,
} from '../../../lifecycle/suppress.js'
import { storedDomain } from '../../../mail/address.js'
import type { Notice } from '../../port/log.js'
import type { SuppressionRow } from '../../port/tenants.js'
import type { AddedHardBounce, HardBounce, IncidentRow, Incidents } from '../../port/watch.js'
import { type BounceCause, causesOf, incidentNotice, openedIncident } from '../../rules/watch.js'
import { removedNotice } from '../../suppression-events.js'
import { insertInto, type Places } from '../insert.js'
import { type Asked, type Asking, all, first, run } from '../query.js'
import { PENDING } from '../tenants/tables.js'
import { countHard, LONGEST_MS, slowFrom, usualOf } from './answers.js'
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
  /** How much an upstream had to answer since then, by domain. */
  answersOf(upstreamId: string, from: number): Asking<ReadonlyMap<string, number>>
  listed(list: string, email: string): Asking<SuppressionRow | null>
  addSuppression(row: SuppressionRow): Asking<SuppressionRow>
  addNotice(notice: Notice): Asking<unknown>
}

const MEET = `INSERT INTO hard_bounces (cause, email, list, recipient, at, taken_at, living) VALUES (?, ?, ?, ?, ?, ?, NULL)
  ON CONFLICT (cause, email, list) DO UPDATE SET at = excluded.at, taken_at = excluded.taken_at`

/** Of a cause, since then; what waits for an incident of another one is not its. */
const MET = `FROM hard_bounces h WHERE h.cause = ? AND h.at >= ? AND NOT EXISTS (
  SELECT 1 FROM pending_suppressions p JOIN incidents i ON i.id = p.incident_id
  WHERE p.workspace_id = h.list AND p.email = h.email AND i.cause <> h.cause)`

/** Addresses count once, however many lists they were met on. */
const WINDOW = `SELECT count(*) AS addresses, CAST(coalesce(sum(t), 0) AS BIGINT) AS taken,
    CAST(coalesce(sum(known), 0) AS BIGINT) AS living, CAST(coalesce(sum(unknown), 0) AS BIGINT) AS unasked
  FROM (SELECT min(h.taken_at) AS t, max(h.living) AS known, max(CASE WHEN h.living IS NULL THEN 1 ELSE 0 END) AS unknown
        ${MET} GROUP BY h.email) AS met`

interface Window {
  readonly addresses: number
  readonly living: number
  readonly unasked: number
  /** On average. */
  readonly taken: number
}

function* windowOf(cause: string, since: number): Asking<Window> {
  const row = yield* first(WINDOW, cause, since)
  const addresses = Number(row?.addresses)
  return {
    addresses,
    living: Number(row?.living),
    unasked: Number(row?.unasked),
    taken: Math.floor(Number(row?.taken) / Math.max(1, addresses)),
  }
}

function* domainsMet(cause: string, since: number): Asking<number> {
  const rows = yield* all(`SELECT DISTINCT h.email ${MET}`, cause, since)
  return new Set(rows.map(({ email }) => storedDomain(String(email)))).size
}

function* openOf(accountId: string, list: string, cause: string): Asking<string | null> {
  const row = yield* first(
    'SELECT id FROM incidents WHERE account_id = ? AND workspace_id = ? AND cause = ? AND decided_at IS NULL',
    ...[accountId, list, cause],
  )
  return (row?.id ?? null) as string | null
}

/** What was seen of a cause, and since when. */
interface Seen extends Refusals {
  readonly since: number
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

  return function* (dead: HardBounce, cause: BounceCause, seen: Seen) {
    const { accountId, createdAt: now } = dead.row
    const opened: IncidentRow[] = []
    const met = yield* all(`SELECT h.email, h.list ${MET}`, cause.key, seen.since)
    for (const { email, list } of met as readonly { readonly email: string; readonly list: string }[]) {
      let id = yield* openOf(accountId, list, cause.key)
      if (id === null) {
        const row = openedIncident(dead, list, cause, seen)
        yield* insert(row)
        yield* run('UPDATE incidents SET cause = ? WHERE id = ?', cause.key, row.id)
        yield* addNotice(incidentNotice(row))
        opened.push(row)
        id = row.id
      }
      yield* suspend(id, list, email, now)
    }
    return opened
  }
}

/** What was counted is believed for so long. */
const FRESH_MS = 30_000
const MOST_KEPT = 2_000

/** Values by key that are good for some seconds; a clock that was put back makes them old. */
class Recent<T> {
  readonly #kept = new Map<string, { readonly at: number; readonly value: T }>()

  get(key: string, now: number): T | undefined {
    const found = this.#kept.get(key)
    return found !== undefined && now >= found.at && now - found.at < FRESH_MS ? found.value : undefined
  }

  set(key: string, value: T, now: number): void {
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear()
    this.#kept.set(key, { at: now, value })
  }

  delete(key: string): void {
    this.#kept.delete(key)
  }
}

const createAnswered = ({ answersOf }: Pick<IncidentParts, 'answersOf'>) => {
  const answers = new Recent<ReadonlyMap<string, number>>()
  /** Since the mail of those was taken. What was counted a moment ago may rule an incident out, and never make one. */
  return function* ({ upstreamId, domain }: BounceCause, taken: number, now: number, isSure: boolean) {
    if (upstreamId === null) return { outcomes: 0, domains: 0 }
    const late = Math.max(0, Math.ceil((now - INCIDENT_WINDOW_MS - taken) / INCIDENT_WINDOW_MS))
    const key = `${upstreamId} ${late}`
    let found = isSure ? undefined : answers.get(key, now)
    if (found === undefined) {
      found = yield* answersOf(upstreamId, now - Math.min((late + 1) * INCIDENT_WINDOW_MS, LONGEST_MS))
      answers.set(key, found, now)
    }
    const all = [...found.values()].reduce((sum, n) => sum + n, 0)
    return { outcomes: domain === '' ? all : (found.get(domain) ?? 0), domains: found.size }
  }
}

function* isWide(cause: BounceCause, seen: Seen, met: number): Asking<boolean> {
  const mayBe = isWideIncident(seen, { refused: Number.POSITIVE_INFINITY, met })
  return mayBe && isWideIncident(seen, { refused: yield* domainsMet(cause.key, seen.since), met })
}

const createSlow = () => {
  const slowly = new Recent<true>()
  return function* ({ key, upstreamId }: BounceCause, accountId: string, now: number): Asking<Seen | null> {
    if (upstreamId === null || slowly.get(key, now)) return null
    const since = slowFrom(now)
    const { addresses, living } = yield* windowOf(key, since)
    if (addresses < MOST_SLOW) return null
    const { outcomes, before } = yield* usualOf(accountId, upstreamId, key, now)
    const found = { addresses, living, outcomes: Math.max(outcomes, addresses), since }
    if (isSlowIncident(found, before)) return found
    slowly.set(key, true, now)
    return null
  }
}

/** Tells what was seen of a cause where that is an incident, else null. */
const createJudge = ({ noteLiving, answersOf }: IncidentParts) => {
  const answered = createAnswered({ answersOf })
  const away = new Recent<{ left: number }>()
  const slow = createSlow()

  function* sudden(cause: BounceCause, now: number): Asking<Seen | null> {
    const since = now - INCIDENT_WINDOW_MS
    let seen = yield* windowOf(cause.key, since)
    if (seen.addresses >= MOST_LIVING && seen.unasked > 0) {
      yield* noteLiving(cause.key, now - LIVING_WITHIN_MS, now - LIVING_AFTER_MS)
      seen = yield* windowOf(cause.key, since)
    }
    const { addresses, living } = seen
    let found: Seen = { addresses, living, outcomes: addresses, since }
    if (addresses >= MOST_ALONE || living >= MOST_LIVING)
      for (const isSure of [false, true]) {
        const { outcomes, domains } = yield* answered(cause, seen.taken, now, isSure)
        found = { ...found, outcomes: Math.max(outcomes, addresses) }
        const isOne = cause.domain === '' ? yield* isWide(cause, found, domains) : isIncident(found)
        if (isOne && isSure) return found
        if (!isOne) break
      }
    away.set(cause.key, { left: bouncesAway(found) }, now)
    return null
  }

  return function* (cause: BounceCause, accountId: string, now: number): Asking<Seen | null> {
    const waits = away.get(cause.key, now)
    if (waits !== undefined && --waits.left > 0) return null
    away.delete(cause.key)
    const found = yield* sudden(cause, now)
    return found ?? (cause.domain === '' ? yield* slow(cause, accountId, now) : null)
  }
}

export const hardBounceWrites = (parts: IncidentParts): Asked<Pick<Incidents, 'addHardBounce'>> => {
  const { places, takenBy, listed, addSuppression } = parts
  const openAll = createOpenAll(parts)
  const judge = createJudge(parts)
  const insertPending = insertInto(PENDING, places)

  /** Counts it for all its causes, and finds or opens the incident that it belongs to. */
  function* incidentOf(dead: HardBounce, causes: readonly BounceCause[], takenAt: number) {
    const { accountId, list, email, createdAt: now } = dead.row
    for (const { key, keptMs } of causes) {
      yield* run('DELETE FROM hard_bounces WHERE cause = ? AND at < ?', key, now - keptMs)
      yield* run(MEET, key, email, list, dead.recipientId, now, takenAt)
    }
    for (const { key } of causes) {
      const id = yield* openOf(accountId, list, key)
      if (id !== null) return { id, opened: [] }
    }
    for (const cause of causes) {
      const seen = yield* judge(cause, accountId, now)
      if (seen === null) continue
      const opened = yield* openAll(dead, cause, seen)
      return { id: (yield* openOf(accountId, list, cause.key)) as string, opened }
    }
    return null
  }

  return {
    *addHardBounce(dead): Asking<AddedHardBounce> {
      const { row, recipientId } = dead
      const { list, email, createdAt: now } = row
      const held = yield* listed(list, email)
      if (held !== null && isSuppressing(held.expiresAt, now)) return { row: held, as: 'listed', opened: [] }
      const waiting = yield* pendingOf('workspace_id = ? AND email = ?', list, email)
      if (waiting !== null) return { row: waiting, as: 'pending', opened: [] }
      const taken = dead.upstreamId === null ? yield* takenBy(recipientId) : null
      const causes = causesOf(dead, dead.upstreamId ?? taken?.upstreamId ?? null)
      const incident = yield* incidentOf(dead, causes, taken?.at ?? now)
      if (incident === null) {
        const widest = causes.at(-1)
        if (widest?.domain === '') yield* countHard(widest.key, now)
        return { row: yield* addSuppression(row), as: 'added', opened: [] }
      }
      yield* insertPending({ ...row, incidentId: incident.id })
      return { row, as: 'pending', opened: incident.opened }
    },
  }
}
