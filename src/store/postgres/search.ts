/**
 * NAME      search - the index of words: what goes into it, what leaves it, how it is searched
 *   The place that the index comes to is moved before its mails are added: verbs that erase mail or move it to another pool
 *   follow that or are followed by it, as does retention by the row of the place, so what is erased is not added afterwards.
 */
import type { IndexedMail } from '../port/watch.js'
import { COMPLAINED } from '../sql/log/events.js'
import { EMAIL, SUBMITTED_BY } from '../sql/mails.js'
import { ordAt, TOP, timeOf } from '../sql/pages.js'
import { type Asking, all, first, type Row, run } from '../sql/query.js'
import {
  type Direction,
  type Expression,
  indexedMail,
  type Lead,
  type Owner,
  offered,
  ownerTokens,
  TOKENS,
  type Tokens,
  type WordIndex,
  way,
} from '../sql/search/tokens.js'

// Tokens as the index of words has them. A lexeme has at most 2,046 octets, and all of a mail a megabyte. A longer
// token is cut, and of what is beyond all measure the last are left out. Each mail also has a lexeme for the span of
// time that its place is in, of several lengths: by these a search looks at a part of the index only, whatever words
// it looks for.

const LONGEST = 500
const MOST = 250_000

/** How long the spans are, as powers of two of milliseconds: from 16 s to 12 days. */
const LENGTHS = [14, 18, 22, 26, 30].map((bits) => ordAt(timeOf(0) + 2 ** bits))

export const WIDEST = LENGTHS.length

const cut = (token: string): string =>
  token.length <= LONGEST ? token : token.slice(0, LONGEST).replace(/[\ud800-\udbff]$/, '')

const spanName = (level: number, n: number): string => `z${level}:${n.toString(36)}`

/** The span of a level that has a place; beyond the widest, all places. */
export const spanAt = (ord: number, level: number) => {
  const length = LENGTHS[level] ?? TOP
  const n = Math.floor(ord / length)
  return { from: n * length, to: (n + 1) * length, name: spanName(level, n) }
}

export const lexemesOf = (ord: number, tokens: string): readonly string[] => {
  const lexemes = LENGTHS.map((_, level) => spanAt(ord, level).name)
  let length = 0
  for (const token of tokens.split(' ')) {
    const lexeme = cut(token)
    length += lexeme.length
    if (length > MOST) break
    lexemes.push(lexeme)
  }
  return lexemes
}

const textOf = (sought: Tokens): string => {
  if (typeof sought === 'string') return `'${cut(sought)}'`
  return 'all' in sought
    ? `(${sought.all.map(textOf).join(' & ')})`
    : `(${sought.any.map(textOf).join(' | ')})`
}

/** What a tsquery is read from. Tokens have no quotes in them. */
const queryOf = ({ wanted, unwanted }: Expression): string =>
  [textOf({ all: wanted }), ...unwanted.map((one) => `!${textOf(one)}`)].join(' & ')

// The index of words, as it is searched. What many mails have is found in no order, so a look goes over a span of
// time: a short one at first, and longer ones while that takes no time. `ord + 0` keeps the planner from going over
// all mails in their order.

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

export const WORDS: WordIndex = {
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
