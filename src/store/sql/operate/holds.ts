/**
 * NAME      holds - the table of what is held back
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { HoldRow } from '../../port/operations.js'
import { listOf, pageOf } from '../pages/pages.js'
import { type Asking, all, first } from '../query.js'
import { table } from '../table.js'

export const HOLDS = table<HoldRow>('holds', {
  id: 'plain',
  accountId: 'plain',
  workspaceId: 'plain',
  poolId: 'plain',
  domain: 'plain',
  emailId: 'plain',
  reason: 'plain',
  owner: 'plain',
  createdAt: 'plain',
})

export const holdReads = {
  *holds(accountId: string): Asking<readonly HoldRow[]> {
    const rows = yield* all(`SELECT ${HOLDS.columns} FROM holds WHERE account_id = ? ORDER BY ord`, accountId)
    return rows.map(HOLDS.decode)
  },

  listHolds(accountId: string, page: Page, workspaceId: string | null = null): Asking<Rows<HoldRow>> {
    const list =
      workspaceId === null
        ? listOf('holds', 'account_id = ?', [accountId])
        : listOf('holds', 'account_id = ? AND workspace_id = ?', [accountId, workspaceId])
    return pageOf(list, page, function* (id: string) {
      const row = yield* first(`SELECT ${HOLDS.columns} FROM holds WHERE id = ?`, id)
      return row === null ? null : HOLDS.decode(row)
    })
  },
}
