/**
 * NAME      per-mail - what is read for each mail
 */
import type { Statements } from './statements.js'

/** In the list of the workspace, or in that of its account: values are the list, twice, the normal address, now. */
export const SUPPRESSED = `SELECT 1 FROM suppressions
  WHERE workspace_id IN (?, (SELECT account_id FROM workspaces WHERE id = ?)) AND email = ?
    AND (expires_at IS NULL OR expires_at > ?)`

export const createPerMailReads = (sql: Statements) => ({
  suppressed: (list: string, emails: readonly string[], now: number): readonly string[] =>
    emails.filter((email) => sql(SUPPRESSED).get(list, list, email, now) !== undefined),
  usedIn: (bucket: string, window: number): number =>
    Number(sql('SELECT used FROM rate_windows WHERE bucket = ? AND span = ?').get(bucket, window)?.used ?? 0),
})
