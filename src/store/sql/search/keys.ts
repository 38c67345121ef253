/**
 * NAME      keys - which keys and credentials somebody means
 * DESCRIPTION
 *   By an id, a name, the beginning that lists show of a key, or a login. One that was revoked is known by its id only.
 */
import { type Asking, all } from '../query.js'

export function* keysCalled(accountId: string, name: string): Asking<readonly string[]> {
  const rows = yield* all(
    `SELECT id FROM keys WHERE account_id = ? AND (id = ? OR name = ? OR 'svc_' || mode || '_' || lookup = ?)
     UNION ALL SELECT id FROM credentials WHERE account_id = ? AND (id = ? OR username = ? OR cidr = ?)`,
    ...[accountId, name, name, name, accountId, name, name, name],
  )
  return rows.map(({ id }) => id as string)
}
