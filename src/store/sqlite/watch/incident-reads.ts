/**
 * NAME      incident-reads - incidents, and the suppressions that wait for them
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { KnownIncident, PendingSuppression } from '../../port/tenants/incident.js'
import { listOf } from '../../sql/pages/pages.js'
import { pageOf } from '../read/pages.js'
import type { Statements } from '../read/statements.js'
import { INCIDENTS, PENDING } from './incident-step.js'

const KNOWN = `SELECT ${INCIDENTS.columns},
  (SELECT count(*) FROM pending_suppressions p WHERE p.incident_id = incidents.id) AS pending FROM incidents`

export const createIncidentReads = (sql: Statements) => {
  const known = (where: string, ...params: readonly unknown[]): KnownIncident | null => {
    const row = sql(`${KNOWN} WHERE ${where}`).get(...params)
    return row === undefined ? null : { ...INCIDENTS.decode(row), pending: Number(row.pending) }
  }
  const waiting = (where: string, ...params: readonly unknown[]): PendingSuppression | null => {
    const row = sql(`SELECT ${PENDING.columns} FROM pending_suppressions WHERE ${where}`).get(...params)
    return row === undefined ? null : PENDING.decode(row)
  }
  return {
    incident: (accountId: string, id: string) => known('account_id = ? AND id = ?', accountId, id),
    incidents(
      accountId: string,
      workspaceId: string | null,
      isOpen: boolean,
      page: Page,
    ): Rows<KnownIncident> {
      const where = `account_id = ?${workspaceId === null ? '' : ' AND workspace_id = ?'}`
      const params = workspaceId === null ? [accountId] : [accountId, workspaceId]
      const list = listOf('incidents', isOpen ? `${where} AND decided_at IS NULL` : where, params)
      return pageOf(sql, list, page, (id: string) => known('id = ?', id))
    },
    pendingSuppressions: (workspaceId: string, page: Page): Rows<PendingSuppression> =>
      pageOf(sql, listOf('pending_suppressions', 'workspace_id = ?', [workspaceId]), page, (id: string) =>
        waiting('id = ?', id),
      ),
    pendingSuppression: (workspaceId: string, ref: string) =>
      waiting('workspace_id = ? AND (id = ? OR email = ?)', workspaceId, ref, ref),
    openIncidents: () => {
      const count = (of: string): number => Number(sql(`SELECT count(*) AS n FROM ${of}`).get()?.n ?? 0)
      return {
        incidents: count('incidents WHERE decided_at IS NULL'),
        suppressions: count('pending_suppressions'),
      }
    },
  }
}
