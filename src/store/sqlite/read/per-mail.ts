/**
 * NAME      per-mail - what is read for each mail
 */
import type { Remember } from './memory.js'
import type { Statements } from './statements.js'

/** In the list of the workspace, or in that of its account. */
const SUPPRESSED = `SELECT 1 FROM suppressions
  WHERE workspace_id IN (?, ?) AND email = ? AND (expires_at IS NULL OR expires_at > ?)`

export const createPerMailReads = (sql: Statements, remember: Remember) => {
  const accountOf = (workspaceId: string) =>
    sql('SELECT account_id FROM workspaces WHERE id = ?').get(workspaceId)?.account_id ?? null
  return {
    suppressed(list: string, emails: readonly string[], now: number): readonly string[] {
      const account = remember(`account of ${list}`, () => accountOf(list))
      return emails.filter((email) => sql(SUPPRESSED).get(list, account, email, now) !== undefined)
    },
    usedIn: (bucket: string, window: number): number =>
      Number(
        sql('SELECT used FROM rate_windows WHERE bucket = ? AND span = ?').get(bucket, window)?.used ?? 0,
      ),
  }
}
