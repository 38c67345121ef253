/**
 * NAME      incidents - hard bounces are listed, unless too many come at the same time
 * DESCRIPTION
 *   Who is refused is counted, judged (lifecycle/incident.ts) and listed in one commit, with
 *   the incident and its event. When an incident begins, what its window has already listed becomes
 *   pending with it, in every workspace that was met. Only a decision ends one; then the window begins anew.
 *   A decision is carried out by pages: the first of them makes it, the sweep ends what a crash left.
 */
import {
  INCIDENT_STANDS_MS,
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
import type {
  AddedHardBounce,
  Decision,
  HardBounce,
  IncidentRow,
  Incidents,
  PendingSuppression,
} from '../../port/tenants/incident.js'
import type { SuppressionRow } from '../../port/tenants/tenants.js'
import type { Writes } from '../../port/verbs.js'
import { causeOf, incidentNotice, openedIncident } from '../../rules/bounces.js'
import type { SuppressionEvents } from '../../suppression-events.js'
import type { Row } from '../connect.js'
import { kindOf } from '../log/codec.js'
import { inserter } from '../order/insert.js'
import { SUPPRESSIONS } from '../schema/tables.js'
import type { WriteContext } from '../write/context.js'
import { INCIDENTS, PENDING } from './incident-step.js'
import type { OutcomeCounts } from './outcome-counts.js'

const PAGE = 200

export interface DecisionStep {
  readonly changed: number
  /** False when nothing is left. */
  readonly again: boolean
}

export interface IncidentWrites extends Writes<Incidents> {
  decideStep(
    accountId: string,
    id: string,
    decision: Decision,
    now: number,
    isFirst: boolean,
  ): DecisionStep | 'decided' | 'not_found'
}

export interface IncidentParts {
  readonly counts: Pick<OutcomeCounts, 'since'>
  readonly tell: SuppressionEvents
  readonly addSuppression: (row: SuppressionRow) => SuppressionRow
  readonly addNotice: (notice: Notice) => unknown
}

interface Met {
  readonly email: string
  readonly list: string
}

const prepare = ({ db }: WriteContext) => ({
  taken: db.prepare<[string], { upstream: string; at: number }>(
    `SELECT m.upstream_id AS upstream, e.occurred_at AS at FROM recipients r
     JOIN events e ON e.email = r.email_ord AND e.recipient = r.id JOIN mtas m ON m.n = json_extract(e.more, '$[1]')
     WHERE r.id = ? AND e.kind = ${kindOf('email.sent')} ORDER BY e.ord DESC LIMIT 1`,
  ),
  listed: db.prepare<[string, string], Row>(
    `SELECT ${SUPPRESSIONS.columns} FROM suppressions WHERE workspace_id = ? AND email = ?`,
  ),
  unlist: db.prepare('DELETE FROM suppressions WHERE id = ?'),
  pending: db.prepare<[string, string], Row>(
    `SELECT ${PENDING.columns} FROM pending_suppressions WHERE workspace_id = ? AND email = ?`,
  ),
  forget: db.prepare('DELETE FROM hard_bounces WHERE cause = ? AND at < ?'),
  meet: db.prepare(
    `INSERT INTO hard_bounces VALUES (@cause, @email, @list, @recipient, @at, @taken, NULL)
     ON CONFLICT DO UPDATE SET at = excluded.at, taken_at = excluded.taken_at`,
  ),
  window: db.prepare<[string], { addresses: number; taken: number | null; living: number; unasked: number }>(
    `SELECT count(*) AS addresses, avg(t) AS taken, coalesce(sum(living), 0) AS living, coalesce(sum(unasked), 0) AS unasked
     FROM (SELECT min(taken_at) AS t, max(living) AS living, max(living IS NULL) AS unasked
           FROM hard_bounces WHERE cause = ? GROUP BY email)`,
  ),
  // its own workspace wrote to it in another live mail, which was not sent back
  ask: db.prepare(
    `UPDATE hard_bounces SET living = EXISTS (
       SELECT 1 FROM recipients me JOIN recipients r ON r.workspace = me.workspace AND r.address_lc = me.address_lc
       JOIN emails e ON e.ord = r.email_ord AND e.test = 0
       WHERE me.id = hard_bounces.recipient AND r.email_ord <> me.email_ord
         AND (r.status = 'delivered' OR r.status = 'sent' AND r.updated_at < @before) AND r.updated_at > @after)
     WHERE cause = @cause AND living IS NULL`,
  ),
  met: db.prepare<[string], Met>('SELECT email, list FROM hard_bounces WHERE cause = ?'),
  begin: db.prepare('DELETE FROM hard_bounces WHERE cause = ? AND list = ?'),
  open: db
    .prepare<[string, string, string], string>(
      'SELECT id FROM incidents WHERE account_id = ? AND workspace_id = ? AND cause = ? AND decided_at IS NULL',
    )
    .pluck(),
  cause: db.prepare('UPDATE incidents SET cause = ? WHERE id = ?'),
  incident: db.prepare<[string, string], Row & { cause: string }>(
    `SELECT ${INCIDENTS.columns}, cause FROM incidents WHERE account_id = ? AND id = ?`,
  ),
  decide: db.prepare('UPDATE incidents SET decided_at = ?, decision = ? WHERE id = ?'),
  page: db.prepare<[string], Row>(
    `SELECT ${PENDING.columns} FROM pending_suppressions WHERE incident_id = ? ORDER BY ord LIMIT ${PAGE}`,
  ),
  drop: db.prepare('DELETE FROM pending_suppressions WHERE id = ?'),
})

export const createIncidentWrites = (context: WriteContext, parts: IncidentParts): IncidentWrites => {
  const { counts, tell, addSuppression, addNotice } = parts
  const sql = prepare(context)
  const insert = inserter(context, INCIDENTS)
  const insertPending = inserter(context, PENDING)

  const countWindow = (cause: string, upstreamId: string | null, domain: string, now: number): Refusals => {
    const look = () => sql.window.get(cause) ?? { addresses: 0, taken: now, living: 0, unasked: 0 }
    const first = look()
    if (first.addresses < MOST_LIVING) return { ...first, outcomes: 0 }
    if (first.unasked > 0)
      sql.ask.run({ cause, before: now - LIVING_AFTER_MS, after: now - LIVING_WITHIN_MS })
    const { addresses, living, taken } = look()
    const outcomes = upstreamId === null ? 0 : counts.since(upstreamId, domain, taken ?? now, now)
    return { addresses, living, outcomes: Math.max(outcomes, addresses) }
  }

  const open = (row: IncidentRow, cause: string): void => {
    insert(row)
    sql.cause.run(cause, row.id)
    addNotice(incidentNotice(row))
  }

  /** What is listed because of it waits from now on. */
  const suspend = (incidentId: string, list: string, email: string, now: number): void => {
    const row = sql.listed.get(list, email)
    if (row === undefined) return
    const listed = SUPPRESSIONS.decode(row)
    if (listed.origin !== 'bounce') return
    sql.unlist.run(listed.id)
    tell.removed(listed, 'pending', now)
    insertPending({ ...listed, incidentId })
  }

  const openAll = (dead: HardBounce, cause: string, upstreamId: string | null, seen: Refusals) => {
    const { accountId, createdAt: now, workspaceId } = dead.row
    const opened: IncidentRow[] = []
    const byList = new Map<string, string>()
    for (const { email, list } of sql.met.all(cause)) {
      let id = byList.get(list) ?? sql.open.get(accountId, list, cause)
      if (id === undefined) {
        const row = openedIncident(dead, list, upstreamId, seen)
        open(row, cause)
        opened.push(row)
        id = row.id
      }
      byList.set(list, id)
      suspend(id, list, email, now)
    }
    return { opened, id: byList.get(workspaceId) as string }
  }

  const wait = (row: SuppressionRow, incidentId: string, opened: readonly IncidentRow[]): AddedHardBounce => {
    insertPending({ ...row, incidentId })
    return { row, as: 'pending', opened }
  }

  const addHardBounce = (dead: HardBounce): AddedHardBounce => {
    const { row, recipientId, said } = dead
    const { accountId, workspaceId: list, email, createdAt: now } = row
    const listed = sql.listed.get(list, email)
    const held = listed === undefined ? null : SUPPRESSIONS.decode(listed)
    if (held !== null && isSuppressing(held.expiresAt, now)) return { row: held, as: 'listed', opened: [] }
    const waiting = sql.pending.get(list, email)
    if (waiting !== undefined) return { row: PENDING.decode(waiting), as: 'pending', opened: [] }
    const taken = dead.upstreamId === null ? sql.taken.get(recipientId) : undefined
    const upstreamId = dead.upstreamId ?? taken?.upstream ?? null
    const domain = storedDomain(email)
    const cause = causeOf(accountId, upstreamId, domain, said)
    sql.forget.run(cause, now - INCIDENT_WINDOW_MS)
    sql.meet.run({ cause, email, list, recipient: recipientId, at: now, taken: taken?.at ?? now })
    const begun = sql.open.get(accountId, list, cause)
    if (begun !== undefined) return wait(row, begun, [])
    const seen = countWindow(cause, upstreamId, domain, now)
    if (!isIncident(seen)) return { row: addSuppression(row), as: 'added', opened: [] }
    const { id, opened } = openAll(dead, cause, upstreamId, seen)
    return wait(row, id, opened)
  }

  const endPending = ({ incidentId: _, ...row }: PendingSuppression, decision: Decision, now: number) => {
    sql.drop.run(row.id)
    if (decision === 'accepted') addSuppression({ ...row, createdAt: now })
  }

  return {
    addHardBounce,
    decideStep(accountId, id, decision, now, isFirst) {
      const found = sql.incident.get(accountId, id)
      if (found === undefined) return 'not_found'
      const incident = INCIDENTS.decode(found)
      if (isFirst && incident.decidedAt !== null) return 'decided'
      if (isFirst) {
        sql.decide.run(now, decision, id)
        sql.begin.run(found.cause, incident.workspaceId)
      }
      const rows = sql.page.all(id).map(PENDING.decode)
      for (const row of rows) endPending(row, decision, now)
      return { changed: rows.length, again: rows.length === PAGE }
    },
  }
}

/** What nobody decided is dismissed; what was decided is carried out. The number of rows. */
export const createIncidentSweep = (context: WriteContext, { decideStep }: IncidentWrites) => {
  const { db } = context
  const stale = db.prepare<[number], { id: string; account: string }>(
    'SELECT id, account_id AS account FROM incidents WHERE decided_at IS NULL AND created_at < ? LIMIT 10',
  )
  const left = db.prepare<[], { id: string; account: string; decision: Decision }>(
    `SELECT i.id, i.account_id AS account, i.decision FROM pending_suppressions p JOIN incidents i ON i.id = p.incident_id
     WHERE i.decided_at IS NOT NULL LIMIT 1`,
  )
  const past = db.prepare('DELETE FROM hard_bounces WHERE at < ?')
  // of a clock that was put back since
  const future = db.prepare('DELETE FROM hard_bounces WHERE at > ?')
  const changedBy = (step: ReturnType<typeof decideStep>): number =>
    typeof step === 'string' ? 0 : step.changed + 1
  return (now: number): number => {
    past.run(now - INCIDENT_WINDOW_MS)
    future.run(now + INCIDENT_WINDOW_MS)
    let changed = 0
    for (const { id, account } of stale.all(now - INCIDENT_STANDS_MS))
      changed += changedBy(decideStep(account, id, 'dismissed', now, true))
    const rest = left.get()
    if (rest !== undefined) changed += changedBy(decideStep(rest.account, rest.id, rest.decision, now, false))
    return changed
  }
}
