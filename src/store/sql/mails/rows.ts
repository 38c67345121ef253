/**
 * NAME      rows - mail and recipients as they are read
 */
import type { Mode } from '../../../lifecycle/page.js'
import { STATUSES, type Status } from '../../../mail/status.js'
import type { EmailRow, RecipientRow } from '../../port/mail.js'
import type { Row } from '../query.js'
import { BESIDE_LISTS, readLists } from './lists.js'

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

export const toRecipient = (row: Row): RecipientRow => ({
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
