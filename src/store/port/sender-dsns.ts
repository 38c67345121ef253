/**
 * NAME      port/sender-dsns - DSNs that are pending to submitting senders
 * DESCRIPTION
 *   A DSN is pending from the very transaction that changes a status (`settle`, or
 *   `accept` for a suppressed recipient) to the one that accepts the DSN as a mail
 *   (`Acceptance.dsn`): so it is made once, whatever crashes between. Whether there
 *   is one is the law's to say (lifecycle/pending-dsn.ts).
 */

import type { Mode } from '../../lifecycle/page.js'
import type { Reply } from '../../mail/reply.js'
import type { Action } from '../../mail/report/report.js'

/** What happened to one recipient: the event that the DSN tells. */
export interface PendingDsnRecipient {
  readonly recipientId: string
  readonly address: string
  /** What the client asked (RFC 3461), as received. */
  readonly dsn: { readonly notify: string | null; readonly orcpt: string | null }
  readonly reply: Reply | null
  readonly mta: { readonly host: string | null } | null
  readonly detail: Readonly<Record<string, string | number | boolean | null>> | null
  readonly reason: string | null
  readonly occurredAt: number
  readonly queuedAt: number
}

/** One DSN: an email, an action, and the recipients to which it happened at about the same time. */
export interface PendingDsn {
  readonly emailId: string
  readonly accountId: string
  readonly workspaceId: string
  readonly mode: Mode
  readonly action: Action
  /** Who submitted it: where the report goes. */
  readonly mailFrom: string
  readonly envid: string | null
  readonly ret: string | null
  readonly messageId: string
  readonly subject: string
  readonly createdAt: number
  readonly size: number
  readonly requireTls: boolean
  readonly recipients: readonly PendingDsnRecipient[]
}

export interface SenderDsns {
  /** Those to which nothing was added since `before`: recipients that fail together share a report. */
  pendingDsns(before: number, limit: number): Promise<readonly PendingDsn[]>
}
