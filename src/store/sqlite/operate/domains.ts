/**
 * NAME      domains - writing and reading sending domains
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { Notice } from '../../port/log.js'
import type { DomainRow, Domains } from '../../port/tenants/domains.js'
import type { Writes } from '../../port/verbs.js'
import { listOf } from '../../sql/pages/pages.js'
import { inserter, unlessTaken } from '../order/insert.js'
import { pageOf } from '../read/pages.js'
import type { Statements } from '../read/statements.js'
import { DOMAINS } from '../schema/domains.js'
import type { WriteContext } from '../write/context.js'

/** `addNotice` writes in the commit that runs. */
export const createDomainWrites = (
  context: WriteContext,
  addNotice: (notice: Notice) => unknown,
): Writes<Domains> => {
  const { db } = context
  const insert = inserter(context, DOMAINS)
  const remove = db.prepare('DELETE FROM domains WHERE account_id = ? AND id = ?')
  return {
    createDomain: (row) => unlessTaken(() => insert(row)),
    updateDomain({ id, accountId, createdAt, name, ...rest }, updatedAt, notice) {
      const { set, values } = DOMAINS.change(rest)
      const update = db.prepare(
        `UPDATE domains SET ${set} WHERE account_id = ? AND id = ? AND updated_at = ?`,
      )
      const isDone = update.run(...values, accountId, id, updatedAt).changes === 1
      if (isDone && notice !== null) addNotice(notice)
      return isDone
    },
    removeDomain: (accountId, id) => remove.run(accountId, id).changes === 1,
  }
}

export const createDomainReads = (sql: Statements) => {
  const all = (where: string, ...params: readonly unknown[]): DomainRow[] =>
    sql(`SELECT ${DOMAINS.columns} FROM domains WHERE ${where}`)
      .all(...params)
      .map(DOMAINS.decode)
  return {
    domain: (accountId: string, ref: string): DomainRow | null =>
      all('account_id = ? AND name = ?', accountId, ref)[0] ??
      all('account_id = ? AND id = ?', accountId, ref)[0] ??
      null,
    domains(accountId: string, page: Page, workspaceId: string | null = null): Rows<DomainRow> {
      const list =
        workspaceId === null
          ? listOf('domains', 'account_id = ?', [accountId])
          : listOf('domains', 'account_id = ? AND workspace_id = ?', [accountId, workspaceId])
      return pageOf(sql, list, page, (id) => all('id = ?', id)[0] ?? null)
    },
    allDomains: (): readonly DomainRow[] => all('true ORDER BY ord'),
  }
}
