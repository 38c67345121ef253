/**
 * NAME      reads - people, links and sessions
 * DESCRIPTION
 *   A page of the dashboard asks for a session and its person ten times; both are remembered as keys are, until
 *   anything but mail on its way is committed (read/memory.ts).
 */

import type { Page, Rows } from '../../../lifecycle/page.js'
import type { IdentityRow, LinkKind, LinkRow, SessionRow, UserRow } from '../../port/tenants/identity.js'
import { listOf } from '../../sql/pages/pages.js'
import type { Table } from '../../sql/table.js'
import type { Remember } from '../read/memory.js'
import { pageOf } from '../read/pages.js'
import type { Statements } from '../read/statements.js'
import { IDENTITIES, LINKS, SESSIONS, USERS } from './step.js'

export const createIdentityReads = (sql: Statements, remember: Remember) => {
  const all = <T>(table: Table<T>, where: string, ...params: readonly unknown[]): T[] =>
    sql(`SELECT ${table.columns} FROM ${table.name} WHERE ${where}`)
      .all(...params)
      .map(table.decode)
  const list = <T>(table: Table<T>, where: string, params: readonly unknown[], page: Page): Rows<T> =>
    pageOf(sql, listOf(table.name, where, params), page, (id: string) => all(table, 'id = ?', id)[0] ?? null)
  return {
    /** No address begins like an id. */
    user: (accountId: string, ref: string): UserRow | null =>
      remember(
        `user ${accountId} ${ref}`,
        () =>
          all(USERS, `account_id = ? AND ${ref.includes('@') ? 'email' : 'id'} = ?`, accountId, ref)[0] ??
          null,
      ),
    users: (accountId: string, page: Page): Rows<UserRow> => list(USERS, 'account_id = ?', [accountId], page),
    userByIdentity: (accountId: string, issuer: string, subject: string): UserRow | null =>
      all(
        USERS,
        'id = (SELECT user_id FROM identities WHERE account_id = ? AND issuer = ? AND subject = ?)',
        accountId,
        issuer,
        subject,
      )[0] ?? null,
    identities: (userId: string): readonly IdentityRow[] =>
      all(IDENTITIES, 'user_id = ? ORDER BY ord', userId),
    linkByLookup: (lookup: string): LinkRow | null => all(LINKS, 'lookup = ?', lookup)[0] ?? null,
    links: (accountId: string, kind: LinkKind, page: Page): Rows<LinkRow> =>
      list(LINKS, 'account_id = ? AND kind = ?', [accountId, kind], page),
    sessionByLookup: (lookup: string): SessionRow | null =>
      remember(`session ${lookup}`, () => all(SESSIONS, 'lookup = ?', lookup)[0] ?? null),
    session: (accountId: string, id: string): SessionRow | null =>
      all(SESSIONS, 'account_id = ? AND id = ?', accountId, id)[0] ?? null,
    sessions: (accountId: string, userId: string | null, page: Page): Rows<SessionRow> =>
      userId === null
        ? list(SESSIONS, 'account_id = ?', [accountId], page)
        : list(SESSIONS, 'user_id = ? AND account_id = ?', [userId, accountId], page),
  }
}
