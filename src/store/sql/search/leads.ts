/**
 * NAME      leads - where mails come from that may be what is looked for
 * DESCRIPTION
 *   A lead offers places in their order, some at a time: from the index of words,
 *   from an index of the tables, or from a list that is known already. It may offer
 *   too many, and never leaves one out.
 */
import type { Range } from '../pages.js'
import { type Asking, all, atOnce, together } from '../query.js'

export type Direction = 'older' | 'newer'

interface Offered {
  /** In the direction asked for. */
  readonly ords: readonly number[]
  /** What is left of the range. */
  readonly rest: Range
}

export interface Lead {
  take(direction: Direction, range: Range, limit: number): Asking<Offered>
}

const NOTHING_LEFT: Range = { from: 0, to: 0 }

/** What is left behind the last of them. */
const beyond = (direction: Direction, { from, to }: Range, last: number): Range =>
  direction === 'older' ? { from, to: last } : { from: last + 1, to }

export const way = (direction: Direction): string => (direction === 'older' ? 'DESC' : 'ASC')

/** What a look into the nearest part of a range answers, `limit` places at most. */
export const offered = (
  direction: Direction,
  range: Range,
  looked: Range,
  ords: readonly number[],
  limit: number,
): Offered => {
  if (ords.length === limit) return { ords, rest: beyond(direction, range, ords.at(-1) as number) }
  return {
    ords,
    rest: direction === 'older' ? { from: range.from, to: looked.from } : { from: looked.to, to: range.to },
  }
}

/** A range of an index of the tables. */
export interface IndexRange {
  readonly from: string
  readonly ord: string
  readonly where: string
  readonly params: readonly unknown[]
}

function* ordsIn(
  ranges: readonly IndexRange[],
  direction: Direction,
  { from, to }: Range,
  limit: number,
): Asking<number[]> {
  const found: number[] = []
  for (const { from: table, ord, where, params } of ranges) {
    const rows = yield* all(
      `SELECT DISTINCT ${ord} AS ord FROM ${table} WHERE ${where} AND ${ord} >= ? AND ${ord} < ? ORDER BY ${ord} ${way(direction)} LIMIT ? + 0`,
      ...[...params, from, to, limit],
    )
    for (const row of rows) found.push(row.ord as number)
  }
  return found
}

/** Rows of some ranges together: in one snapshot, since a mail that goes from one to another must be seen in one of them. */
export const tableLead = (ranges: readonly IndexRange[]): Lead => ({
  *take(direction, { from, to }, limit) {
    const sign = direction === 'older' ? -1 : 1
    const found = yield* together(() => ordsIn(ranges, direction, { from, to }, limit))
    const ords = found.sort((a, b) => sign * (a - b)).filter((ord, i, all) => ord !== all[i - 1])
    const taken = ords.slice(0, limit)
    const last = taken.at(-1)
    const isAll = ords.length < limit || last === undefined
    return { ords: taken, rest: isAll ? NOTHING_LEFT : beyond(direction, { from, to }, last) }
  },
})

/** Places that are known, in any order. */
export const listLead = (ords: readonly number[]): Lead => ({
  take: (direction, { from, to }) =>
    atOnce(() => {
      const sign = direction === 'older' ? -1 : 1
      const within = ords.filter((ord) => ord >= from && ord < to)
      return { ords: [...new Set(within)].sort((a, b) => sign * (a - b)), rest: NOTHING_LEFT }
    }),
})

/** Places that are known beside what a lead has; no further than it has come. */
export const withList = (lead: Lead, known: readonly number[]): Lead => ({
  *take(direction, range, limit) {
    const { ords, rest } = yield* lead.take(direction, range, limit)
    const isOlder = direction === 'older'
    const isAll = rest.from >= rest.to
    const from = isAll || !isOlder ? range.from : rest.to
    const to = isAll || isOlder ? range.to : rest.from
    const more = known.filter((ord) => ord >= from && ord < to)
    return { ords: [...new Set([...ords, ...more])].sort((a, b) => (isOlder ? b - a : a - b)), rest }
  },
})
