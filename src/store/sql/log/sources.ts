/**
 * NAME      sources - where the records of a log are found
 * DESCRIPTION
 *   Each source is one index range: stored events of one scope and type, of one
 *   mail or of one address, and first events of the mails of one workspace. A page
 *   costs a few seeks for each, whatever lies between.
 */

import { type Range, TOP, unseen } from '../pages.js'
import { type Asking, all, first, type Row } from '../query.js'
import type { Found, Mark, Shown, Source } from './places.js'

/** SQL after FROM, with its values. */
export interface Part {
  readonly from: string
  readonly where: readonly string[]
  readonly params: readonly unknown[]
}

const EVERYWHERE: readonly Range[] = [{ from: 0, to: TOP }]

/** What a kind of source reads: its order, and the columns that its records are made of. */
interface Columns {
  readonly ord: string
  /** null: always 0. */
  readonly n: string | null
  readonly rest: string
  /** Joined to what is found, for columns that no condition needs. */
  readonly join: string
}

/** The address comes from the recipient's row, so that no event holds a copy of it. */
const STORED: Columns = {
  ord: 'v.ord',
  n: null,
  rest: 'v.email, v.scope, v.kind, v.flags, v.recipient, v.occurred_at, v.late, v.attempt, v.reason, v.more, v.id, a.address, a.first',
  join: ' LEFT JOIN recipients a ON a.id = v.recipient',
}
const FIRST: Columns = { ord: 'e.ord', n: 'r.first', rest: 'r.id AS recipient, r.address', join: '' }

const toFound = (row: Row): Found => ({ ord: row.ord as number, n: row.n as number, row })

interface Condition {
  readonly text: string
  readonly params: readonly unknown[]
}

const unshown = (ord: string, number: string, { seen, n }: Shown): Condition => {
  const others = unseen(seen, ord)
  return {
    text: `${others === null ? '' : ` AND ${others.where}`} AND (${ord} <> ? OR ${number} >= ?)`,
    params: [...(others?.params ?? []), seen.upTo + 1, n],
  }
}

/** One index range in pieces, with its texts. */
interface Reading {
  readonly params: readonly unknown[]
  readonly ranges: readonly Range[]
  readonly older: string
  /** Up to where what was shown is left out, and in which order it then comes. */
  readonly newer: string
  readonly rising: string
  unshown(shown: Shown): Condition
  readonly counted: string
}

function* take(
  { params, ranges, older, newer, rising, unshown }: Reading,
  isOlder: boolean,
  boundary: Mark,
  limit: number,
  last: number,
): Asking<readonly Found[]> {
  const found: Found[] = []
  const more = isOlder || boundary.shown === undefined ? null : unshown(boundary.shown)
  const text = isOlder ? older : `${newer}${more?.text ?? ''} ${rising}`
  for (const range of isOlder ? [...ranges].reverse() : ranges) {
    if (found.length >= limit) break
    // only in the mail of the boundary itself do the numbers part what is older from what is newer
    const low = isOlder ? range.from : Math.max(range.from, boundary.ord)
    const high = Math.min(range.to, (isOlder ? boundary.ord : last) + 1)
    if (low >= high) continue
    const bounds = [low, high, boundary.ord, boundary.n, ...(more?.params ?? []), limit - found.length]
    for (const row of yield* all(text, ...params, ...bounds)) found.push(toFound(row))
  }
  return found
}

function* count({ params, ranges, counted }: Reading, limit: number): Asking<number> {
  let total = 0
  for (const { from: low, to: high } of ranges) {
    if (total >= limit) break
    total += Number((yield* first(counted, ...params, low, high, limit - total))?.n)
  }
  return total
}

const sourceOf = (
  { from, where, params }: Part,
  { ord, n, rest, join }: Columns,
  ranges: readonly Range[],
): Source => {
  const number = n ?? '0'
  const order = (way: string): string => `${ord} ${way}${n === null ? '' : `, ${n} ${way}`}`
  const conditions = [...where, `${ord} >= ? AND ${ord} < ?`].join(' AND ')
  const text = `SELECT ${ord} AS ord, ${number} AS n, ${rest} FROM ${from}${join} WHERE ${conditions}`
  const reading: Reading = {
    params,
    ranges,
    older: `${text} AND (${ord} < ? OR ${number} < ?) ORDER BY ${order('DESC')} LIMIT ? + 0`,
    newer: `${text} AND (${ord} > ? OR ${number} >= ?)`,
    rising: `ORDER BY ${order('ASC')} LIMIT ? + 0`,
    unshown: (shown) => unshown(ord, number, shown),
    counted: `SELECT count(*) AS n FROM (SELECT 1 AS one FROM ${from} WHERE ${conditions} LIMIT ? + 0) AS counted`,
  }
  return {
    take: (direction, boundary, limit, last = TOP) =>
      take(reading, direction === 'older', boundary, limit, last),
    count: (limit) => count(reading, limit),
  }
}

/** Stored events; `from` names their table `v`. */
export const storedSource = (part: Part, ranges = EVERYWHERE): Source => sourceOf(part, STORED, ranges)

/** All of them. */
export const STORED_EVENTS: Source = storedSource({ from: 'events v', where: [], params: [] })

const firstOf = (part: Part, ranges: readonly Range[], columns: Columns): Source =>
  sourceOf({ ...part, where: [...part.where, 'r.first > 0'] }, columns, ranges)

/** First events; `from` names the mails `e` and their recipients `r`. */
export const firstSource = (part: Part, ranges = EVERYWHERE): Source => firstOf(part, ranges, FIRST)

/** First events in the order of recipients: those of one address are in the order of their mails. */
export const addressedSource = (part: Part, ranges = EVERYWHERE): Source =>
  firstOf(part, ranges, { ...FIRST, ord: 'r.email_ord' })
