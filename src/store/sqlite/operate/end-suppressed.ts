/**
 * NAME      end-suppressed - mail that waited while its address was put on the list
 */

import type { Outcome, Settled, Source } from '../../../lifecycle/facts.js'
import { endSuppressed, isSuppressing, listsAgainst } from '../../../lifecycle/suppress.js'
import { normalizeAddress } from '../../../mail/address.js'
import type { Db } from '../connect.js'

/** Ends a recipient who is due and must not be written to any more; true when it did. */
export type EndSuppressed = (
  recipient: { readonly id: string; readonly email_id: string; readonly address_lc: string },
  now: number,
) => boolean

interface Mail {
  readonly source: Source
  readonly insists: number | null
  readonly test: number
  readonly workspaceId: string
  readonly accountId: string
}

export const createEndSuppressed = (db: Db, settle: (outcome: Outcome) => Settled | null): EndSuppressed => {
  const find = db.prepare<[string], Mail>(
    `SELECT e.source, json_extract(e.lists, '$.insists') AS insists, e.test, w.id AS workspaceId, w.account_id AS accountId
     FROM emails e JOIN workspaces w ON w.n = e.workspace WHERE e.id = ?`,
  )
  const expiry = db
    .prepare<[string, string], number | null>(
      'SELECT expires_at FROM suppressions WHERE workspace_id = ? AND email = ?',
    )
    .pluck()
  const listsOf = ({ insists, test, ...mail }: Mail): readonly string[] =>
    listsAgainst({ ...mail, ignoresSuppressions: insists !== null, mode: test === 1 ? 'test' : 'live' })

  return ({ id, email_id, address_lc }, now) => {
    const mail = find.get(email_id)
    if (mail === undefined) return false
    const email = normalizeAddress(address_lc)
    const isListed = listsOf(mail).some((list) => {
      const expiresAt = expiry.get(list, email)
      return expiresAt !== undefined && isSuppressing(expiresAt, now)
    })
    return isListed && (settle(endSuppressed(id, now))?.applied ?? false)
  }
}
