/**
 * NAME      queue-list - what waits, as a list
 * DESCRIPTION
 *   Soonest first, then what is under way, then what is held. A mark is a place in that
 *   order and not a row, since rows move while they are read.
 */
import type { Page, Rows } from '../page.js'

/** Of a row: its part, when it is due (or who has it), and its id. */
export type Key = readonly [part: number, at: number | string, id: string]

/** Behind everything. */
const END = 'end'

const compare = (a: Key, b: Key): number => {
  for (const [i, one] of a.entries()) {
    const other = b[i] as typeof one
    if (one !== other) return one < other ? -1 : 1
  }
  return 0
}

/** `all`: every row of the list, in any order. */
export const pageOfQueue = <Row>(all: readonly Row[], page: Page, keyOf: (row: Row) => Key): Rows<Row> => {
  const rows = [...all].sort((a, b) => compare(keyOf(a), keyOf(b)))
  const isBack = page.direction === 'newer'
  const edgeOf = (mark: string): number => {
    if (mark === END) return rows.length
    const [side, ...key] = JSON.parse(mark) as ['before' | 'after', ...Key]
    return rows.filter((row) => compare(keyOf(row), key) < (side === 'after' ? 1 : 0)).length
  }
  const edge = page.anchor === null ? (isBack ? rows.length : 0) : edgeOf(page.anchor)
  const [from, to] = isBack ? [Math.max(0, edge - page.limit), edge] : [edge, edge + page.limit]
  const here = rows.slice(from, to)
  const [first, last] = [here[0], here.at(-1)]
  const markOf = (side: 'before' | 'after', row: Row | undefined): string =>
    row === undefined ? (page.anchor ?? END) : JSON.stringify([side, ...keyOf(row)])
  return {
    rows: here,
    older: markOf('after', last),
    newer: markOf('before', first),
    hasOlder: to < rows.length,
    hasNewer: (isBack || page.anchor !== null) && from > 0,
    total: page.countUpTo > 0 ? Math.min(rows.length, page.countUpTo) : null,
  }
}
