/**
 * NAME      holds - the table of what is held back
 * DESCRIPTION
 *   Those that stand are they and the workspaces that are suspended. Wherever mail could leave they are asked.
 */

import { covers, type Scope } from '../../../lifecycle/holds.js'
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

/** By the numbers of this database. */
export interface StandingHold extends Scope<number> {
  readonly id: string
  readonly reason: string
}

/** Where a recipient stands, as far as holds care. */
export interface Standing {
  readonly workspace: number
  readonly pool: number
  readonly email_id: string
  /** Lower case. */
  readonly address_lc: string
}

export const STANDING_HOLDS = `SELECT id, account_id AS "accountId", n AS "workspaceId", NULL AS "poolId", NULL AS domain,
    NULL AS "emailId", coalesce(suspended_reason, 'the workspace is suspended') AS reason
  FROM workspaces WHERE suspended_at IS NOT NULL
  UNION ALL SELECT * FROM (SELECT h.id, h.account_id, w.n AS workspace, p.n AS pool, h.domain, h.email_id, h.reason FROM holds h
    LEFT JOIN workspaces w ON w.id = h.workspace_id LEFT JOIN pools p ON p.id = h.pool_id ORDER BY h.ord) AS s`

/** The first that keeps this recipient, of an account, or null. */
export const holdOver = (
  standing: readonly StandingHold[],
  accountId: string,
  { workspace, pool, email_id: emailId, address_lc: address }: Standing,
): StandingHold | null => {
  const one = { accountId, workspaceId: workspace, poolId: pool, emailId, address }
  return standing.find((hold) => covers(hold, one)) ?? null
}

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
