/**
 * NAME      emails - reading mail
 * DESCRIPTION
 *   Lists are made of strands: one per workspace and mode (and status), each an
 *   index range, so a page costs the same at a thousand rows and at ten million.
 *   `to` and `tag` lead with their own index.
 *   Time filters narrow the id range by as much as id and created_at ever
 *   differed (skew.ts), which is milliseconds unless the clock was set back.
 */
import { wireAddress } from '../../../mail/address.js'
import { STATUSES, type Status } from '../../../mail/status.js'
import type { Mode, Page, Rows } from '../../page.js'
import type {
  EmailFilter,
  EmailRecord,
  EmailRow,
  EmailScope,
  RecipientOwner,
  RecipientRow,
} from '../../port.js'
import type { Row } from '../connect.js'
import { firstIdAt, NO_SKEW, type Skew } from '../skew.js'
import { pageOf, type Strand } from './pages.js'
import type { Statements } from './statements.js'

const EMAIL = `SELECT e.*, w.id AS workspace_id, w.account_id FROM emails e JOIN workspaces w ON w.n = e.workspace`

const modeOf = (test: unknown): Mode => (test === 1 ? 'test' : 'live')

type Lists = Pick<EmailRow, 'to' | 'cc' | 'bcc' | 'replyTo' | 'tags' | 'attachments'>

const toEmail = (row: Row): EmailRow => ({
  id: row.id as string,
  accountId: row.account_id as string,
  workspaceId: row.workspace_id as string,
  mode: modeOf(row.test),
  source: row.source as EmailRow['source'],
  from: row.sender as string,
  subject: row.subject as string,
  ...(JSON.parse(row.lists as string) as Lists),
  messageId: row.message_id as string,
  scheduledAt: row.scheduled_at as number | null,
  createdAt: row.created_at as number,
  updatedAt: row.updated_at as number,
  status: row.status as Status,
  counts: Object.fromEntries(STATUSES.map((status) => [status, row[status]])) as EmailRow['counts'],
})

const toRecipient = (row: Row): RecipientRow => ({
  id: row.id as string,
  address: row.address as string,
  kind: row.kind as RecipientRow['kind'],
  status: row.status as Status,
  attempts: row.attempts as number,
  lastResponse: row.last_response as string | null,
  reason: row.reason as string | null,
  updatedAt: row.updated_at as number,
  dueAt: row.due_at as number | null,
})

class Clauses {
  readonly texts: string[] = []
  readonly params: unknown[] = []
  add(text: string, ...params: readonly unknown[]): this {
    this.texts.push(text)
    this.params.push(...params)
    return this
  }
}

const withTimes = (clauses: Clauses, filter: EmailFilter, skew: Skew, id: string): Clauses => {
  if (filter.createdAfter !== null) {
    clauses.add(
      `${id} >= ? AND e.created_at > ?`,
      firstIdAt(filter.createdAfter - skew.behind),
      filter.createdAfter,
    )
  }
  if (filter.createdBefore !== null) {
    clauses.add(
      `${id} < ? AND e.created_at < ?`,
      firstIdAt(filter.createdBefore + skew.ahead),
      filter.createdBefore,
    )
  }
  return clauses
}

const strand = (from: string, id: string, clauses: Clauses): Strand => ({
  from,
  id,
  where: clauses.texts.join(' AND '),
  params: clauses.params,
})

/** An address as `address_lc` has it, however its domain is written. */
const addressLc = (address: string): string => wireAddress(address).toLowerCase()

/** Strands of one workspace that start from a recipient's address or a tag, and look the rest up. */
const searched = (filter: EmailFilter, skew: Skew, workspace: number): Strand => {
  const clauses = new Clauses()
  const { to, tag } = filter
  const id = to !== null ? 'r.email_id' : 't.email_id'
  if (to !== null) clauses.add('r.workspace = ? AND r.address_lc = ?', workspace, addressLc(to))
  if (tag !== null) {
    const table = to === null ? '' : ' AND t.email_id = r.email_id'
    clauses.add(`t.workspace = ? AND t.name = ? AND t.value = ?${table}`, workspace, tag.name, tag.value)
  }
  if (filter.mode !== null) clauses.add('e.test = ?', filter.mode === 'test' ? 1 : 0)
  if (filter.status !== null) clauses.add('e.status = ?', filter.status)
  const from = [...(to !== null ? ['recipients r'] : []), ...(tag !== null ? ['tags t'] : []), 'emails e']
  // CROSS JOIN keeps this order: the searched index leads.
  const timed = withTimes(clauses.add(`e.id = ${id}`), filter, skew, id)
  return { ...strand(from.join(' CROSS JOIN '), id, timed), repeats: true }
}

const strandsOf = (filter: EmailFilter, skew: Skew, workspaces: readonly number[]): Strand[] => {
  if (filter.to !== null || filter.tag !== null) return workspaces.map((n) => searched(filter, skew, n))
  const modes = filter.mode === null ? [0, 1] : [filter.mode === 'test' ? 1 : 0]
  return workspaces.flatMap((n) =>
    modes.map((test) => {
      const clauses = new Clauses().add('e.workspace = ? AND e.test = ?', n, test)
      if (filter.status !== null) clauses.add('e.status = ?', filter.status)
      return strand('emails e', 'e.id', withTimes(clauses, filter, skew, 'e.id'))
    }),
  )
}

export const createEmailReads = (sql: Statements) => {
  const byId = (id: string): Row | undefined => sql(`${EMAIL} WHERE e.id = ?`).get(id)

  const emailRow = (id: string): EmailRow | null => {
    const row = byId(id)
    return row === undefined ? null : toEmail(row)
  }

  const workspacesOf = (accountId: string, workspaceId: string | null): number[] =>
    sql(`SELECT n FROM workspaces WHERE account_id = ?${workspaceId === null ? '' : ' AND id = ?'} `)
      .all(...(workspaceId === null ? [accountId] : [accountId, workspaceId]))
      .map((row) => row.n as number)

  const skew = (filter: EmailFilter): Skew =>
    filter.createdAfter === null && filter.createdBefore === null
      ? NO_SKEW
      : ((sql('SELECT ahead, behind FROM skew').get() as Skew | undefined) ?? NO_SKEW)

  const idsByAddress = (address: string, limit: number): string[] =>
    sql('SELECT n FROM workspaces')
      .all()
      .flatMap((workspace) =>
        sql(
          'SELECT DISTINCT email_id FROM recipients WHERE workspace = ? AND address_lc = ? ORDER BY email_id DESC LIMIT ?',
        ).all(workspace.n, address, limit),
      )
      .map((row) => row.email_id as string)

  const idsByMessage = (messageId: string, limit: number): string[] => {
    const own = /^<?(em_[0-9a-z]{26})@/.exec(messageId)?.[1]
    if (own !== undefined && byId(own) !== undefined) return [own]
    return sql("SELECT id FROM emails WHERE message_id = ? AND source = 'smtp' ORDER BY id DESC LIMIT ?")
      .all(messageId, limit)
      .map((row) => row.id as string)
  }

  return {
    email(scope: EmailScope, id: string): EmailRecord | null {
      const row = byId(id)
      if (row === undefined || row.account_id !== scope.accountId) return null
      if (scope.workspaceId !== null && row.workspace_id !== scope.workspaceId) return null
      if (scope.mode !== null && modeOf(row.test) !== scope.mode) return null
      const pool = sql('SELECT id FROM pools WHERE n = ?').get(row.pool)
      const recipients = sql('SELECT * FROM recipients WHERE email_id = ? ORDER BY id').all(id)
      return { ...toEmail(row), recipients: recipients.map(toRecipient), poolId: pool?.id as string }
    },

    trace: (emailId: string): string | null =>
      (sql("SELECT lists ->> '$.trace' AS trace FROM emails WHERE id = ?").get(emailId)?.trace as
        | string
        | null
        | undefined) ?? null,

    content: (emailId: string): string | null =>
      (sql(
        'SELECT b.content FROM emails e JOIN bodies b ON b.n = e.body AND b.email_id = e.id WHERE e.id = ?',
      ).get(emailId)?.content as string | null | undefined) ?? null,

    emails: (filter: EmailFilter, page: Page): Rows<EmailRow> =>
      pageOf(
        sql,
        strandsOf(filter, skew(filter), workspacesOf(filter.accountId, filter.workspaceId)),
        page,
        emailRow,
      ),

    recipient(recipientId: string): RecipientOwner | null {
      const row = sql(
        `SELECT r.id, r.email_id, r.address, r.status, r.attempts, r.attempting, w.account_id, w.id AS workspace_id, p.id AS pool_id,
           e.test, e.message_id, e.envid, e.created_at
         FROM recipients r JOIN emails e ON e.id = r.email_id JOIN workspaces w ON w.n = r.workspace
           JOIN pools p ON p.n = r.pool WHERE r.id = ?`,
      ).get(recipientId)
      if (row === undefined) return null
      return {
        recipientId,
        emailId: row.email_id as string,
        accountId: row.account_id as string,
        workspaceId: row.workspace_id as string,
        mode: modeOf(row.test),
        address: row.address as string,
        status: row.status as Status,
        tried: row.attempts !== 0 || row.attempting !== null,
        poolId: row.pool_id as string,
        messageId: row.message_id as string,
        envid: row.envid as string | null,
        createdAt: row.created_at as number,
      }
    },

    findEmails(text: string, limit: number): readonly EmailRow[] {
      const ids = text.startsWith('<') ? idsByMessage(text, limit) : idsByAddress(addressLc(text), limit)
      return [...new Set(ids)]
        .sort()
        .reverse()
        .slice(0, limit)
        .map(emailRow)
        .filter((row): row is EmailRow => row !== null)
    },
  }
}
