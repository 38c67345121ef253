/**
 * NAME      reads - the list of who changed what
 * DESCRIPTION
 *   An object or an actor is found by its index; other filters look at the rows
 *   of the account, of which there are as many as people do things in 400 days.
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { AuditFilter, AuditRow } from '../../port/tenants/audit.js'
import { listOfBranches } from '../../sql/pages/pages.js'
import { pageOf } from '../read/pages.js'
import type { Statements } from '../read/statements.js'
import { decodeEntry } from './step.js'

const clausesOf = ({ action, ...filter }: AuditFilter): readonly (readonly [string, unknown])[] =>
  (
    [
      ['actor_id = ?', filter.actorId],
      ['object_id = ?', filter.objectId],
      ['instr(action, ?) = 1', action],
      ['workspace_id = ?', filter.workspaceId],
      ['at >= ?', filter.since],
      ['at < ?', filter.until],
    ] as const
  ).filter(([, value]) => value !== null)

export const createAuditReads = (sql: Statements) => ({
  audit(accountId: string, filter: AuditFilter, page: Page): Rows<AuditRow> {
    const given = clausesOf(filter)
    const where = ['account_id = ?', ...given.map(([text]) => text)].join(' AND ')
    const params = [accountId, ...given.map(([, value]) => value)]
    const list = listOfBranches([{ from: 'audit', ord: 'ord', where, params }], {
      from: 'audit WHERE true',
      params: [],
    })
    return pageOf(sql, list, page, (ord: number) => {
      const row = sql('SELECT * FROM audit WHERE ord = ?').get(ord)
      return row === undefined ? null : decodeEntry(row)
    })
  },
})
