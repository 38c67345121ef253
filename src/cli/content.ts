/**
 * NAME      content - what was written in a mail, while it is kept
 * DESCRIPTION
 *   API mail keeps what the client sent; SMTP mail is read from its bytes when
 *   somebody asks. After retention both are gone, and all is null.
 */
import { type Content, NO_CONTENT } from '../http/render.js'
import type { EmailRecord, Ledger, Queue } from '../store/port.js'
import { nullWhenMissing } from '../store/port-upkeep.js'

export const readContent = async (
  store: Pick<Ledger, 'content'> & Pick<Queue, 'body'>,
  record: EmailRecord,
): Promise<Content> => {
  const stored = await store.content(record.id)
  if (stored !== null) return JSON.parse(stored) as Content
  const raw = record.source === 'smtp' ? await store.body(record.id).catch(nullWhenMissing) : null
  if (raw === null) return NO_CONTENT
  const { parseContent } = await import('../mail/parse.js')
  return parseContent(raw)
}
