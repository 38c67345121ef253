/**
 * NAME      port/sender-dsns - reports that we owe to submitting senders
 * DESCRIPTION
 *   A DSN is owed from the very transaction that changes a status (`settle`, or
 *   `accept` for a suppressed recipient), and paid in the one that accepts the
 *   DSN as a mail (`Acceptance.pays`): so it is made once, whatever crashes
 *   between. Nothing is owed for a mail of a workspace without `senderDsn`, for
 *   one from the null sender, or twice for the same recipient and action.
 */

import type { Mode } from '../../lifecycle/page.js'
import type { Reply } from '../../mail/reply.js'
import type { Action } from '../../mail/report/report.js'

/** What happened to one recipient: the event that made us owe the report. */
export interface OwedRecipient {
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

/** One report: an email, an action, and the recipients to which it happened at about the same time. */
export interface OwedDsn {
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
  readonly recipients: readonly OwedRecipient[]
}

export interface SenderDsns {
  /** Those to which nothing was added since `before`: recipients that fail together share a report. */
  owedDsns(before: number, limit: number): Promise<readonly OwedDsn[]>
}
