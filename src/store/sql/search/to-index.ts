/**
 * NAME      to-index - mail, as the index of words will have it
 */
import type { IndexedMail } from '../../port/watch.js'
import { type Asking, first, type Row } from '../query.js'
import { type Facts, tokensOf } from './tokens.js'

/** The last place that is in the index. */
export function* placeOfIndex(): Asking<number> {
  return Number((yield* first('SELECT place FROM search_state'))?.place ?? 0)
}

/** `row` has the columns of Facts, recipients have `address_lc`. */
export const indexedMail = (row: Row, recipients: readonly Row[]): IndexedMail => {
  const addresses = recipients.map(({ address_lc: address }) => address as string)
  return [row.ord as number, tokensOf({ ...(row as unknown as Facts), addresses })]
}

export const indexReads = {
  *notIndexedSince(): Asking<number | null> {
    const next = 'SELECT created_at FROM emails WHERE ord > ? ORDER BY ord LIMIT 1'
    return ((yield* first(next, yield* placeOfIndex()))?.created_at as number | undefined) ?? null
  },
}
