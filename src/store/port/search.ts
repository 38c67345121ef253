/**
 * NAME      search - the store's verbs about finding mail by a query
 * DESCRIPTION
 *   An index of words and addresses is built behind the mail, in the order in which
 *   it was accepted, and whoever searches is shown the mail up to where the index
 *   is: what comes into it later stands above every mark that was given out.
 * NOTES
 *   A page costs 500 ms of work at most. It may hold fewer rows than asked for then,
 *   even none, and yet say that there are older ones: the next one goes on from
 *   where it stopped, and it tells how far it looked. What is erased is removed of the index with it; what is old, up to
 *   a week later, and until then no answer has it.
 */

import type { Page, Rows } from '../../lifecycle/page.js'
import type { Query, Term } from '../../mail/query.js'

/** What is looked for, beside the filters of a list. */
export interface SearchFor {
  readonly query: Query
  /** False: the caller does not see subjects, and does not find by them. */
  readonly subjects: boolean
}

export interface Found<Row> extends Rows<Row> {
  /** Of the first page: terms, negated ones too, whose key, pool, tag or reason there is not. */
  readonly unknown: readonly Term[]
  /** Where looking ended before the page was full: when the mail there was accepted. null where it did not. */
  readonly searchedTo: number | null
}

/** Of mails as a list has them. */
export interface Search<Filter, Row> {
  /** When the oldest mail was accepted that is not in the index yet; null when all are. */
  notIndexedSince(): Promise<number | null>
  /** As `emails`, of mail in the index. The count is null where it would take too long. */
  searchEmails(filter: Filter & SearchFor, page: Page): Promise<Found<Row>>
}
