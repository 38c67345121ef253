/**
 * NAME      leads - where mails come from that may be what is looked for
 * DESCRIPTION
 *   A lead offers places in their order, some at a time: from the index of words,
 *   from an index of the tables, or from a list that is known already. It may offer
 *   too many, and never leaves one out.
 */
import type { Range } from '../../sql/order/days.js'
import type { Statements } from '../read/statements.js'
import { partsBegin, partsIn } from './parts.js'

export type Direction = 'older' | 'newer'

export interface Offered {
  /** In the direction asked for. */
  readonly ords: readonly number[]
  /** What is left of the range. */
  readonly rest: Range
}

export interface Lead {
  take(direction: Direction, range: Range, limit: number): Offered
}

const NOTHING_LEFT: Range = { from: 0, to: 0 }

/** What is left behind the last of them. */
const beyond = (direction: Direction, { from, to }: Range, last: number): Range =>
  direction === 'older' ? { from, to: last } : { from: last + 1, to }

const way = (direction: Direction): string => (direction === 'older' ? 'DESC' : 'ASC')

/** Spans of a thousand mails each that the first look into the index goes over; more, while that takes no time. */
const SPANS = 128
const MOST_SPANS = 1e9
const QUICK_MS = 4
const FASTER = 4

/** Mails whose tokens are as the expression says, and those that are in no part of the index. */
export const indexLead = (sql: Statements, expression: string): Lead => {
  const find = (direction: Direction, part: string): string =>
    `SELECT rowid AS ord FROM ${part} WHERE ${part} MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid ${way(direction)} LIMIT ? + 0`
  const loose = (direction: Direction): string =>
    `SELECT ord FROM emails WHERE ord >= ? AND ord < ? ORDER BY ord ${way(direction)} LIMIT ? + 0`
  let spans = SPANS
  /** The part of a range that is looked at in one go. */
  const bounded = (direction: Direction, { from, to }: Range): Range => {
    const isOlder = direction === 'older'
    const edge = sql(
      `SELECT first FROM search_spans WHERE first ${isOlder ? '< ?' : '> ?'} ORDER BY first ${way(direction)} LIMIT 1 OFFSET ? + 0`,
    ).get(isOlder ? to : from, spans)?.first as number | undefined
    if (edge === undefined) return { from, to }
    return isOlder ? { from: Math.max(from, edge), to } : { from, to: Math.min(to, edge) }
  }
  const look = (direction: Direction, { from, to }: Range, limit: number): readonly number[] => {
    const begin = partsBegin(sql)
    const looks = partsIn(sql, { from, to }, direction).map((part) => ({
      text: find(direction, part),
      params: [expression, from, to],
    }))
    const rest = { text: loose(direction), params: [from, Math.min(to, begin)] }
    if (from < begin) looks.splice(direction === 'older' ? looks.length : 0, 0, rest)
    const ords: number[] = []
    for (const { text, params } of looks)
      if (ords.length < limit)
        for (const { ord } of sql(text).all(...params, limit - ords.length)) ords.push(ord as number)
    return ords
  }
  return {
    take(direction, range, limit) {
      const began = performance.now()
      const looked = bounded(direction, range)
      const ords = look(direction, looked, limit)
      if (performance.now() - began < QUICK_MS) spans = Math.min(spans * FASTER, MOST_SPANS)
      if (ords.length === limit) return { ords, rest: beyond(direction, range, ords.at(-1) as number) }
      const rest =
        direction === 'older' ? { from: range.from, to: looked.from } : { from: looked.to, to: range.to }
      return { ords, rest }
    },
  }
}

/** A range of an index of the tables. */
export interface IndexRange {
  readonly from: string
  readonly ord: string
  readonly where: string
  readonly params: readonly unknown[]
}

/** Rows of some ranges together. */
export const tableLead = (sql: Statements, ranges: readonly IndexRange[]): Lead => ({
  take(direction, { from, to }, limit) {
    const sign = direction === 'older' ? -1 : 1
    const ords = ranges
      .flatMap(({ from: table, ord, where, params }) =>
        sql(
          `SELECT DISTINCT ${ord} AS ord FROM ${table} WHERE ${where} AND ${ord} >= ? AND ${ord} < ? ORDER BY ${ord} ${way(direction)} LIMIT ? + 0`,
        )
          .all(...params, from, to, limit)
          .map((row) => row.ord as number),
      )
      .sort((a, b) => sign * (a - b))
      .filter((ord, i, all) => ord !== all[i - 1])
    const taken = ords.slice(0, limit)
    const last = taken.at(-1)
    const isAll = ords.length < limit || last === undefined
    return { ords: taken, rest: isAll ? NOTHING_LEFT : beyond(direction, { from, to }, last) }
  },
})

/** Places that are known, in any order. */
export const listLead = (ords: readonly number[]): Lead => ({
  take(direction, { from, to }) {
    const sign = direction === 'older' ? -1 : 1
    const within = ords.filter((ord) => ord >= from && ord < to)
    return { ords: [...new Set(within)].sort((a, b) => sign * (a - b)), rest: NOTHING_LEFT }
  },
})

/** Places that are known beside what a lead has; no further than it has come. */
export const withList = (lead: Lead, known: readonly number[]): Lead => ({
  take(direction, range, limit) {
    const { ords, rest } = lead.take(direction, range, limit)
    const isOlder = direction === 'older'
    const isAll = rest.from >= rest.to
    const from = isAll || !isOlder ? range.from : rest.to
    const to = isAll || isOlder ? range.to : rest.from
    const more = known.filter((ord) => ord >= from && ord < to)
    return { ords: [...new Set([...ords, ...more])].sort((a, b) => (isOlder ? b - a : a - b)), rest }
  },
})
