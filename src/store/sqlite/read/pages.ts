/**
 * NAME      pages - keyset pages of rows that are found at once
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import { type List, pageOf as pageOfAny } from '../../sql/pages/pages.js'
import type { Statements } from './statements.js'

/** A page of whole rows: `find` fetches one by its key. */
export const pageOf = <T, K>(sql: Statements, list: List, page: Page, find: (key: K) => T | null): Rows<T> =>
  sql.ask(
    // biome-ignore lint/correctness/useYield: it asks for nothing more
    pageOfAny(list, page, function* (key: K) {
      return find(key)
    }),
  )
