/**
 * NAME      content - what was written in a mail, while it is kept
 * DESCRIPTION
 *   A mail that was composed here keeps what the client sent. One that came whole,
 *   over SMTP or as `raw`, is read from its octets when somebody asks, attachments
 *   included. After retention both are gone, and all is null. Reports of our own are
 *   not read: nobody wrote them.
 */

import type { AttachmentSummary } from '../lifecycle/facts.js'
import type { EmailRecord, Ledger, Queue } from '../store/port/mail.js'
import { nullWhenMissing } from '../store/port/upkeep.js'

export interface Content {
  readonly html: string | null
  readonly text: string | null
  readonly headers: Readonly<Record<string, string>> | null
  /** Absent where the record has them. */
  readonly attachments?: readonly AttachmentSummary[]
}

export const NO_CONTENT: Content = { html: null, text: null, headers: null }

type ContentStore = Pick<Ledger, 'content'> & Pick<Queue, 'body'>

const parse = async (raw: Uint8Array): Promise<Content> => {
  const { parseContent } = await import('../mail/parse.js')
  return parseContent(raw)
}

/** `read` may do the reading elsewhere: a large message takes a second. */
export const readContent = async (
  store: ContentStore,
  record: EmailRecord,
  read: (raw: Uint8Array) => Promise<Content> = parse,
): Promise<Content> => {
  const stored = await store.content(record.id)
  if (stored !== null) return JSON.parse(stored) as Content
  const raw = record.source === 'system' ? null : await store.body(record.id).catch(nullWhenMissing)
  return raw === null ? NO_CONTENT : read(raw)
}
