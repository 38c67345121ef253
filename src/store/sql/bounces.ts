/**
 * NAME      bounces - what refusals of addresses are counted and judged from, and incidents: many refusals that say more of a server
 *   Who is refused is counted for each of its causes, judged (lifecycle/suppress.ts) and listed in one
 *   transaction, with the incident and its event. When an incident begins, what its window has already
 *   listed becomes pending with it, in every workspace that was met. What waits for another incident is not
 *   counted again. A cause is not counted anew with each bounce, but when so many have come that it may be
 *   an incident, or some seconds have passed: a list with thousands of dead addresses costs no more for each
 *   than a short one. In the transaction of the bounce that is one too many, where its workspace has a limit
 *   for the kind. What is counted are the recipients of that address that are kept and bounced so, since the
 *   last one that took its mail.
 *   `hard_bounces` has who was refused in the last minutes or hours, by `cause`: account and upstream, with
 *   domain and text, with the domain, or alone. `hard_counts` has how many of an upstream were listed in
 *   each hour; its row without a cause tells since when. `pending` are suppressions that wait for a
 *   decision; what asks for suppressions does not see them. `living` is null until it was asked. Only a
 *   decision ends one; then its window begins anew. It is carried out by pages: the first of them makes it,
 *   the sweep ends what a crash left.
 */

import type { Outcome } from '../../lifecycle/facts.js'
import type { Page, Rows } from '../../lifecycle/page.js'
import {
  bouncesAway,
  INCIDENT_STANDS_MS,
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
  SLOW_WINDOW_MS,
} from '../../lifecycle/suppress.js'
import { storedDomain } from '../../mail/address.js'
import type { SoftLimits } from '../port/alarms.js'
import type { EventNotice } from '../port/log.js'
import type { SuppressionRow } from '../port/tenants.js'
import {
  type AddedHardBounce,
  type Decision,
  type HardBounce,
  INCIDENT_ROW,
  type IncidentRow,
  type Incidents,
  type KnownIncident,
  type PendingSuppression,
} from '../port/watch.js'
import {
  type BounceCause,
  causesOf,
  incidentNotice,
  isTooMuch,
  openedIncident,
  softLimitOf,
  softSuppression,
} from '../rules/watch.js'
import { answersOf, countHard, forgetHard, LONGEST_MS, slowFrom, usualOf } from './alarms.js'
import { kindOf } from './log/events.js'
import type { MailTables } from './mails.js'
import { listOf, pageOf } from './pages.js'
import { type Asked, type Asking, all, first, run } from './query.js'
import { removedNotice } from './suppressions.js'
import { insertInto, type Places, table } from './table.js'
import { PENDING, SUPPRESSIONS } from './tenants.js'

export const INCIDENTS = table<IncidentRow>('incidents', INCIDENT_ROW)

const PAGE = 200

interface DecisionStep {
  readonly changed: number
  /** False when nothing is left. */
  readonly again: boolean
}

/** Whom it met is counted no more, by no cause. */
const FORGET = `DELETE FROM hard_bounces WHERE list = ?
  AND email IN (SELECT email FROM pending_suppressions WHERE incident_id = ?)`
const PENDING_OF = `SELECT ${PENDING.columns} FROM pending_suppressions WHERE incident_id = ? ORDER BY ord LIMIT ${PAGE}`

export const incidentDecisions = ({ addSuppression }: Pick<IncidentParts, 'addSuppression'>) => ({
  *decideStep(
    accountId: string,
    id: string,
    decision: Decision,
    now: number,
    isFirst: boolean,
  ): Asking<DecisionStep | 'decided' | 'not_found'> {
    const text = `SELECT ${INCIDENTS.columns}, cause FROM incidents WHERE account_id = ? AND id = ?`
    const found = yield* first(text, accountId, id)
    if (found === null) return 'not_found'
    const { workspaceId, decidedAt } = INCIDENTS.decode(found)
    if (isFirst && decidedAt !== null) return 'decided'
    if (isFirst) {
      yield* run('UPDATE incidents SET decided_at = ?, decision = ? WHERE id = ?', now, decision, id)
      yield* run('DELETE FROM hard_bounces WHERE cause = ? AND list = ?', found.cause, workspaceId)
      yield* run(FORGET, workspaceId, id)
    }
    const rows = (yield* all(PENDING_OF, id)).map(PENDING.decode)
    for (const { incidentId: _, ...row } of rows) {
      yield* run('DELETE FROM pending_suppressions WHERE id = ?', row.id)
      if (decision === 'accepted') yield* addSuppression({ ...row, createdAt: now })
    }
    return { changed: rows.length, again: rows.length === PAGE }
  },
})

export type DecisionSteps = ReturnType<typeof incidentDecisions>

const STALE = 'SELECT id, account_id FROM incidents WHERE decided_at IS NULL AND created_at < ? LIMIT 10'
const LEFT = `SELECT i.id, i.account_id, i.decision FROM pending_suppressions p JOIN incidents i ON i.id = p.incident_id
  WHERE i.decided_at IS NOT NULL LIMIT 1`

/** What nobody decided is dismissed; what was decided is carried out. The number of rows. */
export function* sweepIncidents(now: number, decideStep: DecisionSteps['decideStep']): Asking<number> {
  yield* run('DELETE FROM hard_bounces WHERE at < ?', now - SLOW_WINDOW_MS)
  yield* forgetHard(now)
  // of a clock that was put back since
  yield* run('DELETE FROM hard_bounces WHERE at > ?', now + SLOW_WINDOW_MS)
  const stale = yield* all(STALE, now - INCIDENT_STANDS_MS)
  const left = yield* all(LEFT)
  let changed = 0
  for (const { id, account_id, decision } of [...stale, ...left]) {
    const said = (decision ?? 'dismissed') as Decision
    const step = yield* decideStep(String(account_id), String(id), said, now, decision === undefined)
    changed += typeof step === 'string' ? 0 : step.changed + 1
  }
  return changed
}

const KNOWN = `SELECT ${INCIDENTS.columns},
  (SELECT count(*) FROM pending_suppressions p WHERE p.incident_id = incidents.id) AS pending FROM incidents`

function* known(where: string, ...values: readonly unknown[]): Asking<KnownIncident | null> {
  const row = yield* first(`${KNOWN} WHERE ${where}`, ...values)
  return row === null ? null : { ...INCIDENTS.decode(row), pending: Number(row.pending) }
}

function* pendingOf(where: string, ...values: readonly unknown[]): Asking<PendingSuppression | null> {
  const row = yield* first(`SELECT ${PENDING.columns} FROM pending_suppressions WHERE ${where}`, ...values)
  return row === null ? null : PENDING.decode(row)
}

function* count(of: string): Asking<number> {
  return Number((yield* first(`SELECT count(*) AS n FROM ${of}`))?.n)
}

export const incidentReads = {
  incident: (accountId: string, id: string) => known('account_id = ? AND id = ?', accountId, id),
  incidents(
    accountId: string,
    workspaceId: string | null,
    isOpen: boolean,
    page: Page,
  ): Asking<Rows<KnownIncident>> {
    const where = `account_id = ?${workspaceId === null ? '' : ' AND workspace_id = ?'}`
    const values = workspaceId === null ? [accountId] : [accountId, workspaceId]
    const list = listOf('incidents', isOpen ? `${where} AND decided_at IS NULL` : where, values)
    return pageOf(list, page, (id: string) => known('id = ?', id))
  },
  pendingSuppressions(workspaceId: string, page: Page): Asking<Rows<PendingSuppression>> {
    const list = listOf('pending_suppressions', 'workspace_id = ?', [workspaceId])
    return pageOf(list, page, (id: string) => pendingOf('id = ?', id))
  },
  pendingSuppression: (workspaceId: string, ref: string) =>
    pendingOf('workspace_id = ? AND (id = ? OR email = ?)', workspaceId, ref, ref),
  *openIncidents() {
    const incidents = yield* count('incidents WHERE decided_at IS NULL')
    return { incidents, suppressions: yield* count('pending_suppressions') }
  },
}

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
  addNotice(notice: EventNotice): Asking<unknown>
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

export interface SoftBounced {
  readonly emailId: string
  /** Its number. */
  readonly workspace: number
  readonly address: string
}

interface SoftBounceParts {
  /** Live recipients of an address that bounced for that reason, and when the first did, since one took its mail; what was sent is taken when nothing has come back by then. */
  bouncesOf(
    bounced: SoftBounced,
    reason: string | null,
    settled: number,
  ): Asking<{ readonly bounces: number; readonly first: number | null }>
  addSuppression(row: SuppressionRow): Asking<unknown>
}

const LIMITS = "SELECT id, account_id, suppress_soft FROM workspaces WHERE n = ? AND suppress_soft <> '{}'"

/** Of a live recipient that has bounced just now. */
export const softBounces = ({ bouncesOf, addSuppression }: SoftBounceParts) =>
  function* (outcome: Outcome, bounced: SoftBounced, now: number): Asking<void> {
    const found = yield* first(LIMITS, bounced.workspace)
    if (found === null) return
    const limit = softLimitOf(outcome, JSON.parse(String(found.suppress_soft)) as SoftLimits)
    if (limit === null) return
    const seen = yield* bouncesOf(bounced, outcome.reason, now - LIVING_AFTER_MS)
    if (!isTooMuch(limit, seen, now)) return
    const ids = { accountId: String(found.account_id), workspaceId: String(found.id) }
    const mail = { ...ids, emailId: bounced.emailId }
    yield* addSuppression(softSuppression(mail, bounced.address, outcome, now))
  }

const LIVING = `UPDATE hard_bounces SET living = CASE WHEN EXISTS (
    SELECT 1 FROM recipients me JOIN recipients r ON r.workspace = me.workspace AND r.address_lc = me.address_lc
    JOIN emails e ON e.ord = r.email_ord AND e.test = 0
    WHERE me.id = hard_bounces.recipient AND r.email_ord <> me.email_ord AND r.updated_at > ?
      AND (r.status = 'delivered' OR r.status = 'sent' AND r.updated_at < ?)) THEN 1 ELSE 0 END
  WHERE cause = ? AND living IS NULL`

const BOUNCES = `SELECT count(*) AS bounces, min(r.updated_at) AS first FROM recipients r
  JOIN emails e ON e.ord = r.email_ord AND e.test = 0 AND e.source <> 'system'
  WHERE r.workspace = ? AND r.address_lc = ? AND r.status = 'bounced' AND r.reason = ?
    AND r.updated_at > coalesce((
      SELECT max(d.updated_at) FROM recipients d JOIN emails m ON m.ord = d.email_ord AND m.test = 0
      WHERE d.workspace = r.workspace AND d.address_lc = r.address_lc
        AND (d.status = 'delivered' OR d.status = 'sent' AND d.updated_at < ?)), 0)`

type Parts = Pick<IncidentParts, 'takenBy' | 'noteLiving' | 'answersOf' | 'listed'> &
  Pick<SoftBounceParts, 'bouncesOf'>

const takenBy = ({ mtaOfEvent }: MailTables): Parts['takenBy'] => {
  const text = `SELECT m.upstream_id AS upstream, e.occurred_at AS at FROM recipients r
    JOIN events e ON e.email = r.email_ord AND e.recipient = r.id JOIN mtas m ON m.n = ${mtaOfEvent}
    WHERE r.id = ? AND e.kind = ${kindOf('email.sent')} ORDER BY e.ord DESC LIMIT 1`
  return function* (recipientId) {
    const row = yield* first(text, recipientId)
    return row === null ? null : { upstreamId: row.upstream as string, at: row.at as number }
  }
}

export const bounced = (tables: MailTables): Parts => ({
  takenBy: takenBy(tables),
  answersOf: answersOf(tables),
  noteLiving: (cause, after, before) => run(LIVING, after, before, cause),
  *listed(list, email) {
    const text = `SELECT ${SUPPRESSIONS.columns} FROM suppressions WHERE workspace_id = ? AND email = ?`
    const row = yield* first(text, list, email)
    return row === null ? null : SUPPRESSIONS.decode(row)
  },
  *bouncesOf({ workspace, address }, reason, settled) {
    const row = yield* first(BOUNCES, workspace, address.toLowerCase(), reason, settled)
    return (row as { bounces: number; first: number | null } | null) ?? { bounces: 0, first: null }
  },
})
