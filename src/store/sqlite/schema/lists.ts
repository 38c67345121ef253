/**
 * NAME      lists - the addresses, tags and attachments of a mail, as JSON
 * DESCRIPTION
 *   One column of its row. A list that is empty is not in it, as most are; rows
 *   from before this was so name each of them.
 */
import type { NewEmail } from '../../../lifecycle/facts.js'

type Lists = Pick<NewEmail, 'to' | 'cc' | 'bcc' | 'replyTo' | 'tags' | 'attachments'>
type Rare = Pick<NewEmail, 'resentFrom' | 'submittedBy' | 'trace'>

const EMPTY: Lists = { to: [], cc: [], bcc: [], replyTo: [], tags: [], attachments: [] }
const NAMES = Object.keys(EMPTY) as (keyof Lists)[]

/** What is left of a mail that was erased. */
export const NO_LISTS = '{}'

export const packLists = (mail: NewEmail): string => {
  const packed: Record<string, unknown> = {}
  for (const name of NAMES) if (mail[name].length > 0) packed[name] = mail[name]
  if (mail.ignoreSuppressions === true) packed.insists = true
  if (mail.trace != null) packed.trace = mail.trace
  if (mail.resentFrom != null) packed.resentFrom = mail.resentFrom
  if (mail.submittedBy != null) packed.submittedBy = mail.submittedBy
  return JSON.stringify(packed)
}

export const readLists = (text: unknown): Lists & Rare => ({
  ...EMPTY,
  ...(JSON.parse(String(text)) as Partial<Lists> & Rare),
})
