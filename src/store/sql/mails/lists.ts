/**
 * NAME      lists - the addresses, tags and attachments of a mail, as JSON
 * DESCRIPTION
 *   One column of its row. A list that is empty is not in it, as most are; nor is
 *   what other rows say: `to` is 1 when it is the address of the only recipient, and
 *   who submitted the mail is a number. Rows from before this was so say each of them.
 */
import type { NewEmail } from '../../../lifecycle/facts.js'

type Lists = Pick<NewEmail, 'to' | 'cc' | 'bcc' | 'replyTo' | 'tags' | 'attachments'>
type Rare = Pick<NewEmail, 'resentFrom' | 'submittedBy' | 'trace'>

const EMPTY: Lists = { to: [], cc: [], bcc: [], replyTo: [], tags: [], attachments: [] }
const NAMES = Object.keys(EMPTY) as (keyof Lists)[]

/** What is left of a mail that was erased. */
export const NO_LISTS = '{}'

const TO_ONE = 1
/** What such lists begin with. */
const BEGINS = JSON.stringify({ to: TO_ONE }).slice(0, -1)

/** In a SELECT of emails `e`: what readLists() wants beside the column itself. */
export const SUBMITTED_BY = '(SELECT s.id FROM submitters s WHERE s.n = e.submitter) AS submitted_by'
export const BESIDE_LISTS = `CASE WHEN substr(e.lists, 1, ${BEGINS.length}) = '${BEGINS}' THEN
  (SELECT o.address FROM recipients o WHERE o.email_ord = e.ord) END AS only_address, ${SUBMITTED_BY}`

const isToOne = ({ to, recipients }: NewEmail): boolean => {
  const [only] = recipients
  return recipients.length === 1 && only?.kind === 'to' && to.length === 1 && to[0] === only.address
}

export const packLists = (mail: NewEmail): string => {
  const packed: Record<string, unknown> = isToOne(mail) ? { to: TO_ONE } : {}
  for (const name of NAMES) if (mail[name].length > 0) packed[name] ??= mail[name]
  if (mail.ignoreSuppressions === true) packed.insists = true
  if (mail.trace != null) packed.trace = mail.trace
  if (mail.resentFrom != null) packed.resentFrom = mail.resentFrom
  return JSON.stringify(packed)
}

interface ListsRow {
  readonly lists?: unknown
  readonly only_address?: unknown
  readonly submitted_by?: unknown
}

export const readLists = ({ lists, only_address: only, submitted_by: by }: ListsRow): Lists & Rare => {
  const read = { ...EMPTY, ...JSON.parse(String(lists)) }
  if (read.to === TO_ONE) read.to = only == null ? [] : [only]
  if (by != null) read.submittedBy = by
  return read
}
