/**
 * NAME      record - a mail and its events, as /v1 answers them
 */
import type { WaitingRecord } from '../../record/waiting.js'
export interface Recipient {
  readonly address: string
  readonly kind: 'to' | 'cc' | 'bcc'
  readonly status: string
  readonly attempts: number
  readonly last_response: string | null
  readonly reason?: string
  readonly updated_at: string
  readonly waiting: WaitingRecord | null
}

interface Tag {
  readonly name: string
  readonly value: string
}

export interface EmailRow {
  readonly id: string
  readonly status: string
  readonly workspace_id: string
  readonly mode: 'live' | 'test'
  readonly source: 'api' | 'smtp' | 'system'
  readonly from: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly reply_to: readonly string[]
  /** Null for those who may not see it. */
  readonly subject: string | null
  readonly tags: readonly Tag[]
  readonly message_id: string
  readonly scheduled_at: string | null
  readonly resent_from?: string
  readonly created_at: string
  readonly updated_at: string
  readonly counts: Readonly<Record<string, number>>
  readonly waiting: WaitingRecord | null
  /** What was last said of a recipient that bounced or is deferred. */
  readonly last_response?: string | null
  readonly reason?: string
}

export interface Email extends EmailRow {
  readonly recipients: readonly Recipient[]
}

/** What the reader calls a mail without a subject. */
export const subjectOf = (row: Pick<EmailRow, 'subject'>): string =>
  row.subject === null ? '(subject hidden)' : row.subject.trim() === '' ? '(no subject)' : row.subject
