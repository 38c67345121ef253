/**
 * NAME      out - exported mail, as it will be carried
 */
import type { CarriedMail, Fields } from '../../port-carry.js'
import { EXPORTED } from '../../port-carry.js'
import type { QueueScope } from '../../port-operations.js'
import type { Row } from '../connect.js'
import type { Statements } from '../read/statements.js'

const STEP = 500

/** What means something here alone. */
const LOCAL: ReadonlySet<string> = new Set([
  'workspace',
  'pool',
  'body',
  'boot',
  'lease_until',
  'attempt_upstream',
])

const fieldsOf = (row: Row): Fields =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !LOCAL.has(name))) as Fields

export const createCarryReads = (sql: Statements) => {
  const isWithin = (scope: QueueScope, row: Row): boolean =>
    row.account_id === scope.accountId &&
    (scope.workspaceId === null || row.workspace_id === scope.workspaceId) &&
    (scope.poolId === null || row.pool_id === scope.poolId) &&
    (scope.emailId === null || row.email_id === scope.emailId)

  return {
    exported(
      scope: QueueScope,
      after: string,
    ): { readonly ids: readonly string[]; readonly next: string | null } {
      const rows = sql(
        `SELECT r.id, r.email_id, w.account_id, w.id AS workspace_id, p.id AS pool_id FROM recipients r
           JOIN workspaces w ON w.n = r.workspace JOIN pools p ON p.n = r.pool
         WHERE r.held = ? AND r.id > ? ORDER BY r.id LIMIT ?`,
      ).all(EXPORTED, after, STEP)
      const ids = new Set(rows.filter((row) => isWithin(scope, row)).map((row) => row.email_id as string))
      return { ids: [...ids], next: (rows.at(-1)?.id as string | undefined) ?? null }
    },

    carried(emailId: string): Omit<CarriedMail, 'raw'> | null {
      const email = sql('SELECT * FROM emails WHERE id = ?').get(emailId)
      if (email === undefined) return null
      const content = sql('SELECT content FROM bodies WHERE n = ? AND email_id = ?').get(email.body, emailId)
      return {
        id: emailId,
        workspace: sql('SELECT slug FROM workspaces WHERE n = ?').get(email.workspace)?.slug as string,
        pool: sql('SELECT name FROM pools WHERE n = ?').get(email.pool)?.name as string,
        email: fieldsOf(email),
        recipients: sql('SELECT * FROM recipients WHERE email_id = ? ORDER BY id').all(emailId).map(fieldsOf),
        events: sql('SELECT * FROM events WHERE email_id = ? ORDER BY id').all(emailId).map(fieldsOf),
        content: (content?.content as string | null | undefined) ?? null,
      }
    },

    knownEmails: (ids: readonly string[]): readonly string[] =>
      ids.filter((id) => sql('SELECT 1 FROM emails WHERE id = ?').get(id) !== undefined),
  }
}
