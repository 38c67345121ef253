/**
 * NAME      sources - where the records of a log are found
 * DESCRIPTION
 *   Each source is one index range: stored events of one scope and type, of one
 *   mail or of one address, and first events of the mails of one workspace. A page
 *   costs a few seeks for each, whatever lies between.
 */

import type { Range } from '../../sql/order/days.js'
import { TOP } from '../../sql/order/ord.js'
import type { Row } from '../connect.js'
import type { Statements } from '../read/statements.js'
import type { Found, Source } from './places.js'

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

const sourceOf = (
  sql: Statements,
  { from, where, params }: Part,
  { ord, n, rest, join }: Columns,
  ranges: readonly Range[],
): Source => {
  const number = n ?? '0'
  const order = (way: string): string => `${ord} ${way}${n === null ? '' : `, ${n} ${way}`}`
  const conditions = [...where, `${ord} >= ? AND ${ord} < ?`].join(' AND ')
  const text = `SELECT ${ord} AS ord, ${number} AS n, ${rest} FROM ${from}${join} WHERE ${conditions}`
  const older = `${text} AND (${ord} < ? OR ${number} < ?) ORDER BY ${order('DESC')} LIMIT ? + 0`
  const newer = `${text} AND (${ord} > ? OR ${number} >= ?) ORDER BY ${order('ASC')} LIMIT ? + 0`
  const counted = `SELECT count(*) AS n FROM (SELECT 1 FROM ${from} WHERE ${conditions} LIMIT ? + 0)`
  return {
    take(direction, boundary, limit, last = TOP) {
      const found: Found[] = []
      const isOlder = direction === 'older'
      for (const range of isOlder ? [...ranges].reverse() : ranges) {
        if (found.length >= limit) break
        // only in the mail of the boundary itself do the numbers part what is older from what is newer
        const low = isOlder ? range.from : Math.max(range.from, boundary.ord)
        const high = Math.min(range.to, (isOlder ? boundary.ord : last) + 1)
        if (low >= high) continue
        const bounds = [low, high, boundary.ord, boundary.n, limit - found.length]
        for (const row of sql(isOlder ? older : newer).all(...params, ...bounds)) found.push(toFound(row))
      }
      return found
    },
    count(limit) {
      let total = 0
      for (const { from: low, to: high } of ranges) {
        if (total >= limit) break
        total += Number(sql(counted).get(...params, low, high, limit - total)?.n)
      }
      return total
    },
  }
}

/** Stored events; `from` names their table `v`. */
export const storedSource = (sql: Statements, part: Part, ranges = EVERYWHERE): Source =>
  sourceOf(sql, part, STORED, ranges)

const firstOf = (sql: Statements, part: Part, ranges: readonly Range[], columns: Columns): Source =>
  sourceOf(sql, { ...part, where: [...part.where, 'r.first > 0'] }, columns, ranges)

/** First events; `from` names the mails `e` and their recipients `r`. */
export const firstSource = (sql: Statements, part: Part, ranges = EVERYWHERE): Source =>
  firstOf(sql, part, ranges, FIRST)

/** First events in the order of recipients: those of one address are in the order of their mails. */
export const addressedSource = (sql: Statements, part: Part, ranges = EVERYWHERE): Source =>
  firstOf(sql, part, ranges, { ...FIRST, ord: 'r.email_ord' })
