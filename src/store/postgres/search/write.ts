/**
 * NAME      write - what goes into the index of words, and what leaves it
 * DESCRIPTION
 *   The place that the index comes to is moved before its mails are added: verbs that erase mail or move it to another pool
 *   follow that or are followed by it, as does retention by the row of the place, so what is erased is not added afterwards.
 */
import type { IndexedMail } from '../../port/watch.js'
import { SUBMITTED_BY } from '../../sql/mails.js'
import { type Asking, all, run } from '../../sql/query.js'
import { indexedMail } from '../../sql/search/to-index.js'
import { type Owner, ownerTokens, TOKENS } from '../../sql/search/tokens.js'
import { lexemesOf } from './lexemes.js'
import { WORDS } from './words.js'

const OWNERS = `SELECT w.account_id AS account, e.workspace, e.pool, e.test, e.ord
  FROM emails e JOIN workspaces w ON w.n = e.workspace
  WHERE e.ord = ANY(CAST(? AS BIGINT[])) AND e.message_id <> ''`

const ADD = `INSERT INTO search_words (ord, words) SELECT ord, array_to_tsvector(words)
  FROM json_to_recordset(CAST(? AS JSON)) AS given (ord bigint, words text[]) ON CONFLICT (ord) DO NOTHING`

export function* addIndexed(mails: readonly IndexedMail[]): Asking<void> {
  const tokens = new Map(mails)
  const rows = (yield* all(OWNERS, [...tokens.keys()])) as unknown as readonly (Owner & { ord: number })[]
  const given = rows.map((row) => ({
    ord: row.ord,
    words: lexemesOf(row.ord, `${ownerTokens(row)} ${tokens.get(row.ord)}`),
  }))
  yield* run(ADD, JSON.stringify(given))
}

const FACTS = `SELECT e.ord, e.sender, e.subject, e.lists, ${SUBMITTED_BY} FROM emails e WHERE e.ord = ANY(CAST(? AS BIGINT[]))`

/** What happens to mails that may be in the index already, in the transaction in which it happens. */
export const unindex = {
  *remove(ords: readonly number[]): Asking<void> {
    yield* run('DELETE FROM search_words WHERE ord = ANY(CAST(? AS BIGINT[]))', ords)
  },
  /** They are there again, at the same places. */
  *restore(ords: readonly number[]): Asking<void> {
    const [rows, people] = [yield* all(FACTS, ords), yield* WORDS.recipientsAt(ords)]
    yield* addIndexed(
      rows.map((row) =>
        indexedMail(
          row,
          people.filter((one) => one.email_ord === row.ord),
        ),
      ),
    )
  },
  *move(ords: readonly number[], from: number, to: number): Asking<void> {
    if (from === to) return
    yield* run(
      `UPDATE search_words SET words = ts_delete(words, CAST(? AS TEXT)) || array_to_tsvector(ARRAY[CAST(? AS TEXT)])
       WHERE ord = ANY(CAST(? AS BIGINT[]))`,
      ...[TOKENS.pool(from), TOKENS.pool(to), ords],
    )
  },
}
