/**
 * NAME      to-index - the next mails, as the index of words will have them
 */
import { SUBMITTED_BY } from '../mails/lists.js'
import { type Asking, all, first } from '../query.js'
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

const NEXT = `SELECT e.ord, e.sender, e.subject, e.lists, ${SUBMITTED_BY} FROM emails e
  WHERE e.ord > ? AND e.ord < ? ORDER BY e.ord LIMIT ? + 0`

export const indexReads = ({ end, recipientsAt, together }: Words) => ({
  *notIndexedSince(): Asking<number | null> {
    const next = 'SELECT created_at FROM emails WHERE ord > ? ORDER BY ord LIMIT 1'
    return ((yield* first(next, yield* placeOfIndex()))?.created_at as number | undefined) ?? null
  },

  *toIndex(limit: number): Asking<ToIndex> {
    const from = yield* placeOfIndex()
    const rows = yield* all(NEXT, from, end === null ? Number.MAX_SAFE_INTEGER : yield* end(), limit)
    const mails: IndexedMail[] = []
    for (let i = 0; i < rows.length; i += together) {
      const some = rows.slice(i, i + together)
      const recipients = yield* recipientsAt(some.map((row) => row.ord as number))
      for (const row of some) {
        const own = recipients.filter((one) => one.email_ord === row.ord)
        const facts = {
          sender: row.sender as string,
          subject: row.subject as string,
          lists: row.lists as string,
          submitted_by: row.submitted_by as string | null,
        }
        const addresses = own.map((one) => one.address_lc as string)
        mails.push([row.ord as number, tokensOf({ ...facts, addresses })])
      }
    }
    return { from, to: mails.at(-1)?.[0] ?? from, mails }
  },
})
