/**
 * NAME      incident-reads - incidents, and the suppressions that wait for them
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { KnownIncident, PendingSuppression } from '../../port/watch.js'
import { listOf, pageOf } from '../pages/pages.js'
import { type Asking, first } from '../query.js'
import { PENDING } from '../tenants/tables.js'
import { INCIDENTS } from './incident-tables.js'

const KNOWN = `SELECT ${INCIDENTS.columns},
  (SELECT count(*) FROM pending_suppressions p WHERE p.incident_id = incidents.id) AS pending FROM incidents`

function* known(where: string, ...values: readonly unknown[]): Asking<KnownIncident | null> {
  const row = yield* first(`${KNOWN} WHERE ${where}`, ...values)
  return row === null ? null : { ...INCIDENTS.decode(row), pending: Number(row.pending) }
}

export function* pendingOf(where: string, ...values: readonly unknown[]): Asking<PendingSuppression | null> {
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
