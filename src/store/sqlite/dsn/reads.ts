/**
 * NAME      reads - DSNs that are pending
 * DESCRIPTION
 *   The table holds seconds' worth of rows, in the order in which they are
 *   grouped: a report is one email and one action.
 */
import type { Action } from '../../../mail/report/report.js'
import type { PendingDsn, PendingDsnRecipient } from '../../port/sender-dsns.js'
import { type More, UnpackMore } from '../../sql/log/codec.js'
import type { Row } from '../connect.js'
import type { Statements } from '../read/statements.js'

const toRecipient = (row: Row, more: More): PendingDsnRecipient => ({
  recipientId: row.id as string,
  address: row.address as string,
  dsn: { notify: row.notify as string | null, orcpt: row.orcpt as string | null },
  queuedAt: row.queued_at as number,
  occurredAt: row.occurred_at as number,
  reason: row.reason as string | null,
  ...more,
})

export const createDsnReads = (sql: Statements) => ({
  pendingDsns(before: number, limit: number): readonly PendingDsn[] {
    const unpackMore = new UnpackMore()
    return sql(
      `SELECT o.action, e.id, e.test, e.mail_from, e.envid, e.ret, e.message_id, e.subject, e.created_at, e.size, e.require_tls,
         w.id AS workspace_id, w.account_id
       FROM (SELECT email_id, action FROM owed_dsns GROUP BY email_id, action HAVING max(at) <= ? LIMIT ? + 0) o
         JOIN emails e ON e.id = o.email_id JOIN workspaces w ON w.n = e.workspace`,
    )
      .all(before, limit)
      .map((row) => ({
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
        recipients: sql(
          `SELECT r.id, r.address, r.notify, r.orcpt, r.queued_at, v.occurred_at, v.reason, v.more
           FROM owed_dsns o JOIN recipients r ON r.id = o.recipient_id
             JOIN events v ON v.ord = o.event_ord
           WHERE o.email_id = ? AND o.action = ? ORDER BY r.id`,
        )
          .all(row.id, row.action)
          .map((one) => toRecipient(one, sql.ask(unpackMore.more(one.more as string | null)))),
      }))
  },
})
