/**
 * NAME      incident-decisions - what a person says of an incident
 * DESCRIPTION
 *   Only a decision ends one; then its window begins anew. It is carried out by pages: the first
 *   of them makes it, the sweep ends what a crash left.
 */
import { INCIDENT_STANDS_MS, SLOW_WINDOW_MS } from '../../../lifecycle/suppress.js'
import type { Decision } from '../../port/watch.js'
import { type Asking, all, first, run } from '../query.js'
import { PENDING } from '../tenants/tables.js'
import { forgetHard } from './answers.js'
import type { IncidentParts } from './hard-bounces.js'
import { INCIDENTS } from './incident-tables.js'

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
