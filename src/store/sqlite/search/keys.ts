/**
 * NAME      keys - which keys and credentials somebody means
 * DESCRIPTION
 *   By an id, a name, the beginning that lists show of a key, or a login. One that was revoked is known by its id only.
 */
import type { Statements } from '../read/statements.js'

export const keysCalled = (sql: Statements, accountId: string, name: string): readonly string[] =>
  sql(
    `SELECT id FROM keys WHERE account_id = ? AND (id = ? OR name = ? OR 'svc_' || mode || '_' || lookup = ?)
     UNION ALL SELECT id FROM credentials WHERE account_id = ? AND (id = ? OR username = ? OR cidr = ?)`,
  )
    .all(accountId, name, name, name, accountId, name, name, name)
    .map(({ id }) => id as string)
