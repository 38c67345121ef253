/**
 * NAME      email - what is known of one mail
 */
import { isVisible } from '../../../lifecycle/schedule.js'
import type { Status } from '../../../mail/status.js'
import type { EmailRecord, EmailScope, LastWords, RecipientOwner } from '../../port/mail.js'
import { type Asking, all, first, type Row } from '../query.js'
import { readLists } from './lists.js'
import { EMAIL, modeOf, toEmail, toRecipient } from './rows.js'
import type { MailTables } from './tables.js'

const toOwner = (row: Row): RecipientOwner => ({
  recipientId: row.id as string,
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
})

function* email(tables: MailTables, scope: EmailScope, id: string): Asking<EmailRecord | null> {
  const row = yield* first(`${EMAIL} WHERE e.id = ?`, id)
  if (row === null || !isVisible(scope, toEmail(row))) return null
  const pool = yield* first('SELECT id FROM pools WHERE n = ?', row.pool)
  const recipients = yield* all(`SELECT * FROM ${tables.recipients} WHERE email_ord = ? ORDER BY id`, row.ord)
  return {
    ...toEmail(row),
    recipients: recipients.map(toRecipient),
    poolId: pool?.id as string,
    requireTls: row.require_tls === 1,
    ...(row.mail_from === '' && { mailFrom: '' }),
  }
}

function* lastWordsOf(emailId: string): Asking<readonly LastWords[]> {
  const row = yield* first(
    `SELECT r.last_response, r.reason FROM emails e JOIN recipients r ON r.email_ord = e.ord
     WHERE e.id = ? AND r.status = e.status AND r.status IN ('bounced', 'deferred') LIMIT 1`,
    emailId,
  )
  if (row === null) return []
  const { last_response, reason } = row
  return [{ emailId, lastResponse: last_response as string | null, reason: reason as string | null }]
}

/** `b.n` is where a database looks for a body, and `e.body` says so. */
const WITH_BODY = 'FROM emails e JOIN bodies b ON b.n = e.body AND b.email_id = e.id WHERE e.id = ?'

export const mailReads = (tables: MailTables) => ({
  email: (scope: EmailScope, id: string): Asking<EmailRecord | null> => email(tables, scope, id),

  *trace(emailId: string): Asking<string | null> {
    const row = yield* first('SELECT lists FROM emails WHERE id = ?', emailId)
    return row === null ? null : (readLists(row).trace ?? null)
  },

  *content(emailId: string): Asking<string | null> {
    const row = yield* first(`SELECT b.content ${WITH_BODY}`, emailId)
    return (row?.content ?? null) as string | null
  },

  *hasBody(emailId: string): Asking<boolean> {
    return (yield* first(`SELECT 1 AS found ${WITH_BODY}`, emailId)) !== null
  },

  *report(emailId: string, name: string): Asking<Uint8Array | null> {
    const row = yield* first(
      'SELECT o.octets FROM emails e JOIN reports o ON o.email = e.ord WHERE e.id = ? AND o.name = ?',
      emailId,
      name,
    )
    return (row?.octets ?? null) as Uint8Array | null
  },

  *lastWords(emailIds: readonly string[]): Asking<readonly LastWords[]> {
    const words: LastWords[] = []
    for (const emailId of emailIds) words.push(...(yield* lastWordsOf(emailId)))
    return words
  },

  *recipient(recipientId: string): Asking<RecipientOwner | null> {
    const row = yield* first(
      `SELECT r.id, e.id AS email_id, r.address, r.orcpt, r.status, r.attempts, r.attempting, w.account_id, w.id AS workspace_id, w.deleted_at, p.id AS pool_id,
         e.test, e.message_id, e.envid, e.created_at
       FROM ${tables.recipients} r JOIN emails e ON e.ord = r.email_ord JOIN workspaces w ON w.n = r.workspace
         JOIN pools p ON p.n = r.pool WHERE r.id = ?`,
      recipientId,
    )
    return row === null ? null : toOwner(row)
  },
})
