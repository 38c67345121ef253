/**
 * NAME      words - the index of words, as it is searched
 * DESCRIPTION
 *   What many mails have is found in no order, so a look goes over a span of time: a short one at first, and longer ones
 *   while that takes no time. `ord + 0` keeps the planner from going over all mails in their order.
 */
import { COMPLAINED } from '../../sql/log/codec.js'
import { EMAIL } from '../../sql/mails.js'
import { type Asking, all, first, type Row } from '../../sql/query.js'
import { type Direction, type Lead, offered, way } from '../../sql/search/leads.js'
import type { Expression, Words } from '../../sql/search/words.js'
import { queryOf, spanAt, WIDEST } from './lexemes.js'

const QUICK_MS = 10
const SLOW_MS = 60

const look = (direction: Direction): string =>
  `SELECT ord FROM search_words WHERE words @@ CAST(? AS tsquery) AND ord + 0 >= ? AND ord + 0 < ?
   ORDER BY ord + 0 ${way(direction)} LIMIT ?`

const lead = (expression: Expression): Lead => {
  const query = queryOf(expression)
  let level = 0
  return {
    *take(direction, range, limit) {
      const began = performance.now()
      const span = spanAt(direction === 'older' ? range.to - 1 : range.from, level)
      const looked = { from: Math.max(range.from, span.from), to: Math.min(range.to, span.to) }
      const text = level === WIDEST ? query : `${query} & '${span.name}'`
      const rows = yield* all(look(direction), text, looked.from, looked.to, limit)
      const ms = performance.now() - began
      if (ms < QUICK_MS) level = Math.min(level + 1, WIDEST)
      else if (ms > SLOW_MS) level = Math.max(level - 1, 0)
      const ords = rows.map(({ ord }) => ord as number)
      return offered(direction, range, looked, ords, limit)
    },
  }
}

function* hasMail(tokens: readonly string[]): Asking<boolean> {
  const query = queryOf({ wanted: tokens, unwanted: [] })
  const text = 'SELECT 1 AS found FROM search_words WHERE words @@ CAST(? AS tsquery) LIMIT 1'
  return (yield* first(text, query)) !== null
}

const each =
  (text: string) =>
  (ords: readonly number[]): Asking<readonly Row[]> =>
    all(text, ords)

export const WORDS: Words = {
  lead,
  hasMail,
  mailsAt: each(`${EMAIL} WHERE e.ord = ANY(CAST(? AS BIGINT[]))`),
  recipientsAt: each(
    `SELECT r.email_ord, r.address_lc, r.status, r.reason, q.held FROM recipient_rows r
     LEFT JOIN queue q ON q.recipient_id = r.id WHERE r.email_ord = ANY(CAST(? AS BIGINT[]))`,
  ),
  complainedAt: each(
    `SELECT email AS email_ord FROM events WHERE email = ANY(CAST(? AS BIGINT[])) AND kind = ${COMPLAINED} AND flags & 1 = 1`,
  ),
  together: 25,
  held: 'queue',
  asideMs: 30,
}
