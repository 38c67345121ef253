/**
 * NAME      emails - reading mail
 * DESCRIPTION
 *   Lists are made of branches: one per workspace and mode (and status), each an
 *   index range, so a page costs the same at a thousand rows and at ten million.
 *   `to` and `tag` lead with their own index.
 *   Time filters become ranges of places (order/days.ts), which are narrow
 *   unless the clock was wrong on a day.
 */

import type { Mode, Page, Rows } from '../../../lifecycle/page.js'
import { isVisible } from '../../../lifecycle/waiting/schedule.js'
import { wireAddress } from '../../../mail/address.js'
import { STATUSES, type Status } from '../../../mail/status.js'
import type {
  EmailFilter,
  EmailRecord,
  EmailRow,
  EmailScope,
  LastWords,
  RecipientOwner,
  RecipientRow,
} from '../../port/ledger.js'
import { ALL_DAYS, type Day, type Range, rangesOf } from '../../sql/order/days.js'
import { type Branch, type List, listOfBranches } from '../../sql/pages/pages.js'
import type { Row } from '../connect.js'
import { BESIDE_LISTS, readLists } from '../schema/lists.js'
import { FOREIGN_MESSAGE_ID } from '../schema/short.js'
import { pageOf } from './pages.js'
import type { Statements } from './statements.js'

export const EMAIL = `SELECT e.*, w.id AS workspace_id, w.account_id, ${BESIDE_LISTS} FROM emails e JOIN workspaces w ON w.n = e.workspace AND w.deleted_at IS NULL`

export const modeOf = (test: unknown): Mode => (test === 1 ? 'test' : 'live')

export const toEmail = (row: Row): EmailRow => ({
  id: row.id as string,
  accountId: row.account_id as string,
  workspaceId: row.workspace_id as string,
  mode: modeOf(row.test),
  source: row.source as EmailRow['source'],
  from: row.sender as string,
  subject: row.subject as string,
  ...readLists(row),
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

const timesOf = ({ createdAfter, createdBefore }: EmailFilter): Clauses => {
  const clauses = new Clauses()
  if (createdAfter !== null) clauses.add('e.created_at > ?', createdAfter)
  if (createdBefore !== null) clauses.add('e.created_at < ?', createdBefore)
  return clauses
}

const whole = ({ texts, params }: Clauses) => ({ where: texts.join(' AND '), params })

const branch = (from: string, ord: string, clauses: Clauses, filter: EmailFilter): Branch => {
  const times = timesOf(filter)
  return { from, ord, ...whole(clauses), ...(times.texts.length > 0 && { unsure: whole(times) }) }
}

/** An address as `address_lc` has it, however its domain is written. */
export const addressLc = (address: string): string => wireAddress(address).toLowerCase()

/** Branches of one workspace that start from a recipient's address or a tag, and look the rest up. */
const searched = (filter: EmailFilter, workspace: number): Branch => {
  const clauses = new Clauses()
  const { to, tag } = filter
  const ord = to !== null ? 'r.email_ord' : 't.email_ord'
  if (to !== null) clauses.add('r.workspace = ? AND r.address_lc = ?', workspace, addressLc(to))
  if (tag !== null) {
    const table = to === null ? '' : ' AND t.email_ord = r.email_ord'
    clauses.add(`t.workspace = ? AND t.name = ? AND t.value = ?${table}`, workspace, tag.name, tag.value)
  }
  if (filter.mode !== null) clauses.add('e.test = ?', filter.mode === 'test' ? 1 : 0)
  if (filter.status !== null) clauses.add('e.status = ?', filter.status)
  const from = [...(to !== null ? ['recipients r'] : []), ...(tag !== null ? ['tags t'] : []), 'emails e']
  // CROSS JOIN keeps this order: the searched index leads.
  const joined = clauses.add(`e.ord = ${ord}`)
  return { ...branch(from.join(' CROSS JOIN '), ord, joined, filter), repeats: true }
}

const branchesOf = (filter: EmailFilter, workspaces: readonly number[]): Branch[] => {
  if (filter.to !== null || filter.tag !== null) return workspaces.map((n) => searched(filter, n))
  const modes = filter.mode === null ? [0, 1] : [filter.mode === 'test' ? 1 : 0]
  return workspaces.flatMap((n) =>
    modes.map((test) => {
      const clauses = new Clauses().add('e.workspace = ? AND e.test = ?', n, test)
      if (filter.status !== null) clauses.add('e.status = ?', filter.status)
      return branch('emails e', 'e.ord', clauses, filter)
    }),
  )
}

/** The numbers of the workspaces that are meant. */
export const workspacesIn = (
  sql: Statements,
  { accountId, workspaceId }: Pick<EmailScope, 'accountId' | 'workspaceId'>,
): number[] =>
  sql(
    `SELECT n FROM workspaces WHERE account_id = ? AND deleted_at IS NULL${workspaceId === null ? '' : ' AND id = ?'} `,
  )
    .all(...(workspaceId === null ? [accountId] : [accountId, workspaceId]))
    .map((row) => row.n as number)

/** Places of mails with a Message-ID, newest first. */
export const ordsOfMessage = (sql: Statements, messageId: string, limit: number): number[] => {
  const own = /^<?(em_[0-9a-z]{26})@/.exec(messageId)?.[1]
  const mine = own === undefined ? undefined : sql('SELECT ord FROM emails WHERE id = ?').get(own)
  if (mine !== undefined) return [mine.ord as number]
  return sql(
    `SELECT ord FROM emails WHERE message = ? AND ${FOREIGN_MESSAGE_ID} ORDER BY ord DESC LIMIT ? + 0`,
  )
    .all(messageId, limit)
    .map((row) => row.ord as number)
}

/** Where mails can stand that were created within these times. */
export const rangesFor = (
  sql: Statements,
  { createdAfter, createdBefore }: Pick<EmailFilter, 'createdAfter' | 'createdBefore'>,
): readonly Range[] | undefined =>
  createdAfter === null && createdBefore === null
    ? undefined
    : rangesOf(sql(ALL_DAYS).all() as unknown as Day[], createdAfter, createdBefore)

export const createEmailReads = (sql: Statements) => {
  const byId = (id: string): Row | undefined => sql(`${EMAIL} WHERE e.id = ?`).get(id)

  const byOrd = (ord: number): EmailRow | null => {
    const row = sql(`${EMAIL} WHERE e.ord = ?`).get(ord)
    return row === undefined ? null : toEmail(row)
  }

  const listed = (filter: EmailFilter): List =>
    listOfBranches(
      branchesOf(filter, workspacesIn(sql, filter)),
      { from: 'emails WHERE true', params: [] },
      rangesFor(sql, filter),
    )

  const byAddress = (address: string, limit: number): number[] =>
    sql('SELECT n FROM workspaces WHERE deleted_at IS NULL')
      .all()
      .flatMap((workspace) =>
        sql(
          'SELECT DISTINCT email_ord FROM recipients WHERE workspace = ? AND address_lc = ? ORDER BY email_ord DESC LIMIT ? + 0',
        ).all(workspace.n, address, limit),
      )
      .map((row) => row.email_ord as number)

  return {
    email(scope: EmailScope, id: string): EmailRecord | null {
      const row = byId(id)
      if (row === undefined || !isVisible(scope, toEmail(row))) return null
      const pool = sql('SELECT id FROM pools WHERE n = ?').get(row.pool)
      const recipients = sql('SELECT * FROM recipients WHERE email_ord = ? ORDER BY id').all(row.ord)
      return {
        ...toEmail(row),
        recipients: recipients.map(toRecipient),
        poolId: pool?.id as string,
        requireTls: row.require_tls === 1,
        ...(row.mail_from === '' && { mailFrom: '' }),
      }
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

    report: (emailId: string, name: string): Uint8Array | null =>
      (sql(
        'SELECT o.octets FROM emails e JOIN reports o ON o.email = e.ord WHERE e.id = ? AND o.name = ?',
      ).get(emailId, name)?.octets as Uint8Array | undefined) ?? null,

    emails: (filter: EmailFilter, page: Page): Rows<EmailRow> => pageOf(sql, listed(filter), page, byOrd),

    lastWords: (emailIds: readonly string[]): readonly LastWords[] =>
      emailIds.flatMap((emailId) => {
        const row = sql(
          `SELECT r.last_response, r.reason FROM emails e JOIN recipients r ON r.email_ord = e.ord
           WHERE e.id = ? AND r.status = e.status AND r.status IN ('bounced', 'deferred') LIMIT 1`,
        ).get(emailId)
        if (row === undefined) return []
        return [
          { emailId, lastResponse: row.last_response as string | null, reason: row.reason as string | null },
        ]
      }),

    recipient(recipientId: string): RecipientOwner | null {
      const row = sql(
        `SELECT r.id, e.id AS email_id, r.address, r.orcpt, r.status, r.attempts, r.attempting, w.account_id, w.id AS workspace_id, w.deleted_at, p.id AS pool_id,
           e.test, e.message_id, e.envid, e.created_at
         FROM recipients r JOIN emails e ON e.ord = r.email_ord JOIN workspaces w ON w.n = r.workspace
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
        orcpt: row.orcpt as string | null,
        status: row.status as Status,
        tried: row.attempts !== 0 || row.attempting !== null,
        poolId: row.pool_id as string,
        messageId: row.message_id as string,
        envid: row.envid as string | null,
        isDeleted: row.deleted_at !== null,
        createdAt: row.created_at as number,
      }
    },

    findEmails(text: string, limit: number): readonly EmailRow[] {
      const found = text.startsWith('<') ? ordsOfMessage(sql, text, limit) : byAddress(addressLc(text), limit)
      return [...new Set(found)]
        .sort((a, b) => b - a)
        .slice(0, limit)
        .map(byOrd)
        .filter((row): row is EmailRow => row !== null)
    },
  }
}
