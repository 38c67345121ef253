/**
 * NAME      record - a mail and its events, as /v1 answers them
 */
export interface Waiting {
  readonly reason: string
  readonly detail: string
  readonly until: string | null
}

export interface Recipient {
  readonly address: string
  readonly kind: 'to' | 'cc' | 'bcc'
  readonly status: string
  readonly attempts: number
  readonly last_response: string | null
  readonly reason?: string
  readonly updated_at: string
  readonly waiting: Waiting | null
}

export interface Tag {
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
  readonly waiting: Waiting | null
  /** What was last said of a recipient that bounced or is deferred. */
  readonly last_response?: string | null
  readonly reason?: string
}

export interface Email extends EmailRow {
  readonly recipients: readonly Recipient[]
}

export interface EventRow {
  readonly id: string
  readonly type: string
  readonly recipient: string | null
  readonly source: string
  readonly occurred_at: string
  readonly smtp: {
    readonly code: number
    readonly enhanced: string | null
    readonly text: string
  } | null
  readonly mta: {
    readonly pool_id: string
    readonly host: string | null
    readonly upstream_id?: string
  } | null
  readonly attempt: number | null
  readonly change: boolean
  readonly applied: boolean
  readonly reason?: string
  readonly detail?: Readonly<Record<string, string | number | boolean | null>>
}

/** What the reader calls a mail without a subject. */
export const subjectOf = (row: Pick<EmailRow, 'subject'>): string =>
  row.subject === null ? '(subject hidden)' : row.subject.trim() === '' ? '(no subject)' : row.subject
