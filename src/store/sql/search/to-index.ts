/**
 * NAME      to-index - the next mails, as the index of words will have them
 */
import { SUBMITTED_BY } from '../mails/lists.js'
import { type Asking, all, first, type Row } from '../query.js'
import { tokensOf } from './tokens.js'
import type { Words } from './words.js'

export type IndexedMail = readonly [ord: number, tokens: string]

export interface ToIndex {
  readonly from: number
  readonly to: number
  readonly mails: readonly IndexedMail[]
}

/** The last place that is in the index. */
export function* placeOfIndex(): Asking<number> {
  return Number((yield* first('SELECT place FROM search_state'))?.place ?? 0)
}

const FACTS = `SELECT e.ord, e.sender, e.subject, e.lists, ${SUBMITTED_BY} FROM emails e`
/** Of rows with these columns. */
function* tokensIn({ recipientsAt, together }: Words, rows: readonly Row[]): Asking<readonly IndexedMail[]> {
  const mails: IndexedMail[] = []
  for (let i = 0; i < rows.length; i += together) {
    const some = rows.slice(i, i + together)
    const recipients = yield* recipientsAt(some.map((row) => row.ord as number))
    for (const { ord, sender, subject, lists, submitted_by: by } of some) {
      const own = recipients.filter((one) => one.email_ord === ord)
      const addresses = own.map((one) => one.address_lc as string)
      const facts = { sender: sender as string, subject: subject as string, lists: lists as string }
      mails.push([ord as number, tokensOf({ ...facts, submitted_by: by as string | null, addresses })])
    }
  }
  return mails
}

export const indexReads = (words: Words) => ({
  *notIndexedSince(): Asking<number | null> {
    const next = 'SELECT created_at FROM emails WHERE ord > ? ORDER BY ord LIMIT 1'
    return ((yield* first(next, yield* placeOfIndex()))?.created_at as number | undefined) ?? null
  },

  *toIndex(limit: number): Asking<ToIndex> {
    const from = yield* placeOfIndex()
    const isSure = words.end === null ? '' : `AND e.ord <= (${words.end})`
    const next = `${FACTS} WHERE e.ord > ? ${isSure} ORDER BY e.ord LIMIT ? + 0`
    const mails = yield* tokensIn(words, yield* all(next, from, limit))
    return { from, to: mails.at(-1)?.[0] ?? from, mails }
  },

  /** Some that are there. */
  *mailsToIndex(ords: readonly number[]): Asking<readonly IndexedMail[]> {
    const rows: Row[] = []
    for (const ord of ords) rows.push(...(yield* all(`${FACTS} WHERE e.ord = ?`, ord)))
    return yield* tokensIn(words, rows)
  },
})
