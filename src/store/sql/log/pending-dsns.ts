/**
 * NAME      pending-dsns - DSNs that are pending
 * DESCRIPTION
 *   The table holds seconds' worth of rows, in the order in which they are
 *   grouped: a report is one email and one action.
 */
import type { Action } from '../../../mail/report/report.js'
import type { PendingDsn, PendingDsnRecipient, SenderDsns } from '../../port/mail.js'
import { type AskedReads, type Asking, all, first, type Row, together } from '../query.js'
import { type More, UnpackMore } from './codec.js'

const toRecipient = (row: Row, more: More): PendingDsnRecipient => ({
  recipientId: row.id as string,
  address: row.address as string,
  dsn: { notify: row.notify as string | null, orcpt: row.orcpt as string | null },
  queuedAt: row.queued_at as number,
  occurredAt: row.occurred_at as number,
  reason: row.reason as string | null,
  ...more,
})

const MAILS = `SELECT o.action, e.id, e.test, e.mail_from, e.envid, e.ret, e.message_id, e.subject, e.created_at, e.size,
    e.require_tls, w.id AS workspace_id, w.account_id
  FROM (SELECT email_id, action FROM owed_dsns GROUP BY email_id, action HAVING max(at) <= ? ORDER BY email_id, action LIMIT ? + 0) o
    JOIN emails e ON e.id = o.email_id JOIN workspaces w ON w.n = e.workspace ORDER BY o.email_id, o.action`

const ANY = 'SELECT 1 AS one FROM owed_dsns LIMIT 1'

const RECIPIENTS = `SELECT r.id, r.address, r.notify, r.orcpt, r.queued_at, v.occurred_at, v.reason, v.more
  FROM owed_dsns o JOIN recipients r ON r.id = o.recipient_id JOIN events v ON v.ord = o.event_ord
  WHERE o.email_id = ? AND o.action = ? ORDER BY r.id`

const toDsn = (row: Row, recipients: readonly PendingDsnRecipient[]): PendingDsn => ({
  emailId: row.id as string,
  accountId: row.account_id as string,
  workspaceId: row.workspace_id as string,
  mode: row.test === 1 ? 'test' : 'live',
  action: row.action as Action,
  mailFrom: row.mail_from as string,
  envid: row.envid as string | null,
  ret: row.ret as string | null,
  messageId: row.message_id as string,
  subject: row.subject as string,
  createdAt: row.created_at as number,
  size: row.size as number,
  requireTls: row.require_tls === 1,
  recipients,
})

function* pending(before: number, limit: number): Asking<readonly PendingDsn[]> {
  const unpack = new UnpackMore()
  const found: PendingDsn[] = []
  for (const row of yield* all(MAILS, before, limit)) {
    const recipients: PendingDsnRecipient[] = []
    for (const one of yield* all(RECIPIENTS, row.id, row.action))
      recipients.push(toRecipient(one, yield* unpack.more(one.more as string | null)))
    found.push(toDsn(row, recipients))
  }
  return found
}

export const dsnReads: AskedReads<SenderDsns> = {
  *pendingDsns(before, limit) {
    // nearly always: no snapshot is needed to find none
    if ((yield* first(ANY)) === null) return []
    return yield* together(() => pending(before, limit))
  },
}
