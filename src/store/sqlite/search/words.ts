/**
 * NAME      words - the index of words, as it is searched
 */
import { COMPLAINED } from '../../sql/log/codec.js'
import { EMAIL } from '../../sql/mails.js'
import { type Range, TOP } from '../../sql/pages.js'
import { type Asking, all, first, type Row } from '../../sql/query.js'
import { type Direction, type Lead, offered, way } from '../../sql/search/leads.js'
import type { Expression, Sought, Words } from '../../sql/search/words.js'
import { partsBegin, partsIn } from './parts.js'

/** Spans of a thousand mails each that the first look into the index goes over; more, while that takes no time. */
const SPANS = 128
const MOST_SPANS = 1e9
const QUICK_MS = 4
const FASTER = 4

const textOf = (sought: Sought): string => {
  if (typeof sought === 'string') return `"${sought}"`
  return 'all' in sought
    ? `(${sought.all.map(textOf).join(' AND ')})`
    : `(${sought.any.map(textOf).join(' OR ')})`
}

const matchOf = ({ wanted, unwanted }: Expression): string =>
  [textOf({ all: wanted }), ...unwanted.map(textOf)].join(' NOT ')

/** The part of a range that is looked at in one go. */
function* bounded(direction: Direction, { from, to }: Range, spans: number): Asking<Range> {
  const isOlder = direction === 'older'
  const row = yield* first(
    `SELECT first FROM search_spans WHERE first ${isOlder ? '< ?' : '> ?'} ORDER BY first ${way(direction)} LIMIT 1 OFFSET ? + 0`,
    isOlder ? to : from,
    spans,
  )
  const edge = row?.first as number | undefined
  if (edge === undefined) return { from, to }
  return isOlder ? { from: Math.max(from, edge), to } : { from, to: Math.min(to, edge) }
}

/** Mails whose tokens are as the expression says, and those that are in no part of the index. */
function* look(match: string, direction: Direction, { from, to }: Range, limit: number): Asking<number[]> {
  const begin = yield* partsBegin()
  const looks = (yield* partsIn({ from, to }, direction)).map((part) => ({
    text: `SELECT rowid AS ord FROM ${part} WHERE ${part} MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid ${way(direction)} LIMIT ? + 0`,
    params: [match, from, to],
  }))
  const rest = {
    text: `SELECT ord FROM emails WHERE ord >= ? AND ord < ? ORDER BY ord ${way(direction)} LIMIT ? + 0`,
    params: [from, Math.min(to, begin)],
  }
  if (from < begin) looks.splice(direction === 'older' ? looks.length : 0, 0, rest as (typeof looks)[number])
  const ords: number[] = []
  for (const { text, params } of looks)
    if (ords.length < limit)
      for (const { ord } of yield* all(text, ...params, limit - ords.length)) ords.push(ord as number)
  return ords
}

export const indexLead = (expression: Expression): Lead => {
  const match = matchOf(expression)
  let spans = SPANS
  return {
    *take(direction, range, limit) {
      const began = performance.now()
      const looked = yield* bounded(direction, range, spans)
      const ords = yield* look(match, direction, looked, limit)
      if (performance.now() - began < QUICK_MS) spans = Math.min(spans * FASTER, MOST_SPANS)
      return offered(direction, range, looked, ords, limit)
    },
  }
}

function* hasMail(tokens: readonly string[]): Asking<boolean> {
  const match = matchOf({ wanted: tokens, unwanted: [] })
  for (const part of yield* partsIn({ from: 0, to: TOP }, 'older'))
    if ((yield* first(`SELECT 1 FROM ${part} WHERE ${part} MATCH ? LIMIT 1`, match)) !== null) return true
  return false
}

const each = (text: string) =>
  function* (ords: readonly number[]): Asking<readonly Row[]> {
    const rows: Row[] = []
    for (const ord of ords) rows.push(...(yield* all(text, ord)))
    return rows
  }

export const WORDS: Words = {
  lead: indexLead,
  hasMail,
  mailsAt: each(`${EMAIL} WHERE e.ord = ?`),
  recipientsAt: each(
    'SELECT email_ord, address_lc, status, reason, held FROM recipients WHERE email_ord = ?',
  ),
  complainedAt: each(
    `SELECT email AS email_ord FROM events WHERE email = ? AND kind = ${COMPLAINED} AND flags & 1 = 1`,
  ),
  together: 1,
  held: 'recipients',
  asideMs: 8,
}
