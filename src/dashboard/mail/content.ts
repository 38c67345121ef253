/**
 * NAME      content - what was written in a mail, read from its octets
 * DESCRIPTION
 *   One request for the source serves every tab. Texts are bounded: a page shows the beginning, and the file has the rest.
 */
import { AskError, type Problem } from '../ask.js'
import type { Visit } from '../visit.js'
import { contentOf, type Leaf, leavesOf, type ReadText, textOf } from './mime-parts.js'

/** Of one text in a page. */
export const MOST_SHOWN = 256 * 1024
/** Of the HTML in a preview. */
export const MOST_HTML = 1024 * 1024

export interface MailContent {
  readonly raw: Buffer
  readonly html: Leaf | null
  readonly text: Leaf | null
  readonly attachments: readonly Leaf[]
}

const contentFrom = (raw: Buffer): MailContent => ({ raw, ...contentOf(leavesOf(raw)) })

/** What /v1 refuses (the body is gone, the role sees none) comes back as its problem. */
export const askContent = async (visit: Visit, id: string): Promise<MailContent | Problem> => {
  const answer = await visit.fetch('GET', `/v1/emails/${encodeURIComponent(id)}/source`)
  if (answer.status >= 400) return JSON.parse(answer.bytes.toString('utf8')) as Problem
  return contentFrom(answer.bytes)
}

/** For routes that have nothing else to show. */
export const demandContent = async (visit: Visit, id: string): Promise<MailContent> => {
  const content = await askContent(visit, id)
  if ('code' in content) throw new AskError(content)
  return content
}

export const readPart = ({ raw }: MailContent, leaf: Leaf | null, most = MOST_SHOWN): ReadText =>
  leaf === null ? { text: '', isCut: false } : textOf(raw, leaf, most)
