/**
 * NAME      report - what a mail that came back says
 * DESCRIPTION
 *   The reading of one bounce, delay notice, delivery report, complaint or
 *   auto-reply, as a value. It says only what the mail says: whom to believe,
 *   and whose group is ours, is for outcome/ to decide.
 *   `action` is null in a complaint (RFC 5965), which tells nothing of
 *   delivery, and where the report gives one that nobody knows. `class` is null unless the recipient failed.
 */
import type { Category, Fault, Severity } from './category.js'

export type ReportKind = 'bounce' | 'delay' | 'delivered' | 'arf' | 'autoreply' | 'none'

/** The words of RFC 3464 §2.3.3. */
export const ACTIONS = ['delivered', 'relayed', 'expanded', 'delayed', 'failed'] as const
export type Action = (typeof ACTIONS)[number]

/** Where the reading came from, most trustworthy first. */
type ReportSource = 'status-part' | 'raw' | 'header' | 'text' | 'feedback-part'

export interface ReportRecipient {
  /**
   * Whom the group is about, and whom `class` judges: Original-Recipient, else Final-Recipient, else
   * from the text; but Final-Recipient where one Original-Recipient was expanded to several.
   */
  readonly address: string | null
  readonly finalRecipient: string | null
  readonly originalRecipient: string | null
  readonly action: Action | null
  /** What the report gave as Action, when that is no word of RFC 3464: then `action` is null. */
  readonly unknownAction?: string
  /** `5.1.1`; null when the report gives no enhanced code. */
  readonly status: string | null
  /** The remote server's words, on one line, cut to a bounded length. */
  readonly diagnostic: string | null
  /** The basic SMTP code inside the diagnostic, when there is one. */
  readonly code: number | null
  readonly remoteMta: string | null
  readonly class: Severity | null
  readonly category: Category | null
  readonly fault: Fault | null
}

/** A group that says nothing: of a report that names nobody, and what a complaint leaves open. */
export const UNSAID: ReportRecipient = {
  address: null,
  finalRecipient: null,
  originalRecipient: null,
  action: null,
  status: null,
  diagnostic: null,
  code: null,
  remoteMta: null,
  class: null,
  category: null,
  fault: null,
}

export interface Report {
  readonly kind: ReportKind
  /** RFC 5965 Feedback-Type in lower case; only when kind is `arf`. */
  readonly feedbackType?: string
  readonly source: ReportSource | null
  readonly reportingMta: string | null
  /** Message-ID of the report itself. */
  readonly messageId: string | null
  /** Original-Envelope-Id, xtext decoded. */
  readonly envid: string | null
  /** Message-ID of the mail the report is about. */
  readonly originalMessageId: string | null
  /** Values of X-Postern-Ref in the returned headers of the top multipart, never from deeper. */
  readonly refs: readonly string[]
  /** Envelope senders named by the returned headers or the status part; never the report's own To. */
  readonly returnPathHints: readonly string[]
  readonly recipients: readonly ReportRecipient[]
}

/** Failed outweighs delayed, delayed outweighs success. */
export const kindOf = (recipients: readonly { readonly action: Action | null }[]): ReportKind => {
  if (recipients.some((one) => one.action === 'failed')) return 'bounce'
  if (recipients.some((one) => one.action === 'delayed')) return 'delay'
  return recipients.some((one) => one.action !== null) ? 'delivered' : 'none'
}
