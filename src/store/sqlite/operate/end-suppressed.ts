/**
 * NAME      end-suppressed - mail that waited while its address was put on the list
 * NOTES
 *   It is asked of each mail that is claimed, and nearly none is on a list: so the lists are asked
 *   first, all that a mail of the workspace may look at, and the mail only where they know the address.
 */

import type { Outcome, Settled, Source } from '../../../lifecycle/facts.js'
import { endSuppressed, isSuppressing, listsAgainst, suppressionList } from '../../../lifecycle/suppress.js'
import { normalizeAddress } from '../../../mail/address.js'
import type { Db } from '../connect.js'

interface Waiting {
  readonly id: string
  readonly email_id: string
  readonly address_lc: string
}

/** Of mail of one workspace, by its number: ends a recipient who is due and must not be written to any more; true when it did. */
export type EndSuppressed = (workspace: number) => (recipient: Waiting, now: number) => boolean

type Entry = [list: string, expiresAt: number | null]

interface Mail {
  readonly source: Source
  readonly insists: number | null
  readonly test: number
}

const prepare = (db: Db) => ({
  owners: db
    .prepare<[number], [workspaceId: string, accountId: string]>(
      'SELECT id, account_id FROM workspaces WHERE n = ?',
    )
    .raw(),
  entries: db
    .prepare<[string, string, string, string], Entry>(
      'SELECT workspace_id, expires_at FROM suppressions WHERE email = ? AND workspace_id IN (?, ?, ?)',
    )
    .raw(),
  mail: db.prepare<[string], Mail>(
    `SELECT source, json_extract(lists, '$.insists') AS insists, test FROM emails WHERE id = ?`,
  ),
})

export const createEndSuppressed = (db: Db, settle: (outcome: Outcome) => Settled | null): EndSuppressed => {
  const sql = prepare(db)

  return (workspace) => {
    const [workspaceId, accountId] = sql.owners.get(workspace) ?? ['', '']
    const live = suppressionList(workspaceId, 'live')
    const test = suppressionList(workspaceId, 'test')

    const isListed = (emailId: string, entries: readonly Entry[], now: number): boolean => {
      const mail = sql.mail.get(emailId)
      if (mail === undefined) return false
      const { source, insists } = mail
      const mode = mail.test === 1 ? 'test' : 'live'
      const ignoresSuppressions = insists !== null
      const against = listsAgainst({ source, ignoresSuppressions, accountId, workspaceId, mode })
      return entries.some(([list, expiresAt]) => against.includes(list) && isSuppressing(expiresAt, now))
    }

    return ({ id, email_id, address_lc }, now) => {
      const entries = sql.entries.all(normalizeAddress(address_lc), live, test, accountId)
      if (entries.length === 0 || !isListed(email_id, entries, now)) return false
      return settle(endSuppressed(id, now))?.applied ?? false
    }
  }
}
