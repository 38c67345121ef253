/**
 * NAME      port/ledger - what became of the mails, read
 * DESCRIPTION
 *   Reads only: a mail with its recipients, pages of mails, their events and
 *   reports, and whose recipient a bounce is about.
 */

import type { EventRow, Tag } from '../../lifecycle/event.js'
import type { EmailFacts, NewEmail, RecipientKind, Settled } from '../../lifecycle/facts.js'
import type { Mode, Page, Rows } from '../../lifecycle/page.js'
import type { Counts, Status } from '../../mail/status.js'
import type { Search, SearchFor } from './search.js'

export interface RecipientRow {
  readonly id: string
  readonly address: string
  readonly kind: RecipientKind
  readonly status: Status
  readonly attempts: number
  readonly lastResponse: string | null
  readonly reason: string | null
  readonly updatedAt: number
  readonly dueAt: number | null
}

export interface EmailRow extends EmailFacts {
  readonly status: Status
  readonly counts: Counts
  readonly updatedAt: number
}

export interface EmailRecord extends EmailRow, Pick<NewEmail, 'requireTls' | 'mailFrom'> {
  readonly recipients: readonly RecipientRow[]
  readonly poolId: string
}

export interface EmailFilter {
  readonly accountId: string
  /** null: all workspaces of the account. */
  readonly workspaceId: string | null
  readonly mode: Mode | null
  readonly status: Status | null
  /** One envelope recipient, compared case-insensitively. */
  readonly to: string | null
  readonly tag: Tag | null
  readonly createdAfter: number | null
  readonly createdBefore: number | null
}

export type SearchFilter = EmailFilter & SearchFor
export type EmailSearch = Search<EmailFilter, EmailRow>

export type EmailScope = Pick<EmailFilter, 'accountId' | 'workspaceId' | 'mode'>

export interface LastWords {
  readonly emailId: string
  readonly lastResponse: string | null
  readonly reason: string | null
}

export interface Ledger {
  email(scope: EmailScope, id: string): Promise<EmailRecord | null>
  /** The stored content of an API mail as JSON text; null for SMTP mail or after retention. */
  content(emailId: string): Promise<string | null>
  emails(filter: EmailFilter, page: Page): Promise<Rows<EmailRow>>
  /** Of each of these mails that bounced or is deferred: what was last said of one such recipient. */
  lastWords(emailIds: readonly string[]): Promise<readonly LastWords[]>
  events(emailId: string, page: Page): Promise<Rows<EventRow>>
  /** What was kept of a report, octets as they were given; null when it is not kept, or no longer. */
  report(emailId: string, name: string): Promise<Uint8Array | null>
  /** The traceparent that came in with an email, or null. */
  trace(emailId: string): Promise<string | null>
  /** For a bounce: whose recipient is this, and what do we think of it? */
  recipient(recipientId: string): Promise<RecipientOwner | null>
  /** Emails by Message-ID (with brackets) or recipient address, newest first; for operators. */
  findEmails(text: string, limit: number): Promise<readonly EmailRow[]>
  /** Committed status changes, as they happen in this process; for tails, logs and pages. A hint, not a log. */
  onSettled(listener: (settled: readonly Settled[]) => void): () => void
}

export interface RecipientOwner {
  readonly recipientId: string
  readonly emailId: string
  readonly accountId: string
  readonly workspaceId: string
  readonly mode: Mode
  readonly address: string
  /** Whom the submitting client said it was for (RFC 3461), as received. */
  readonly orcpt: string | null
  readonly status: Status
  /** True once a message may have left for it: an attempt has ended, or is past its mark in the journal. */
  readonly tried: boolean
  readonly poolId: string
  readonly messageId: string
  readonly envid: string | null
  /** Its workspace was deleted: what is told of it is counted, and nothing is kept of what was said. */
  readonly isDeleted: boolean
  readonly createdAt: number
}
