/**
 * NAME      page - pages of the model's lists
 * DESCRIPTION
 *   A list by `ord` has marks above its rows. The queue stands soonest first, then what is under way, then what is
 *   held; a mark of it is a place in that order and not a row, since rows move while they are read.
 */
import { Fault } from '../../src/base/fault.js'
import { compare, type Page, type Place, type Rows, readMark, rowBeside } from '../../src/lifecycle/page.js'

const TOP: Place = { ord: Number.MAX_SAFE_INTEGER }
const BOTTOM: Place = { ord: 0 }
export const markOf = ({ ord, n = 0 }: Place): string => (n === 0 ? String(ord) : `${ord}.${n}`)
export const above = ({ ord, n = 0 }: Place): Place => ({ ord, n: n + 1 })

/** Where a page begins. */
const anchorOf = <Found extends Place>(
  all: readonly Found[],
  { anchor, direction }: Page,
  isNamed: (found: Found, id: string) => boolean,
): Place | null => {
  if (anchor === null) return null
  const id = rowBeside(anchor)
  if (id === null) return readMark(anchor) ?? BOTTOM
  const named = all.filter((one) => isNamed(one, id))
  const row = direction === 'older' ? named[0] : named.at(-1)
  if (row === undefined) throw new Fault('validation.cursor_invalid')
  return direction === 'older' ? row : above(row)
}

const hasId = (found: Place & { readonly row?: { readonly id?: string } }, id: string): boolean =>
  found.row?.id === id

/** `found`: all rows of the list. */
export const pageOf = <Found extends Place, Row>(
  found: readonly Found[],
  page: Page,
  tell: (found: Found) => Row,
  isNamed: (found: Found, id: string) => boolean = hasId,
): Rows<Row> => {
  const { direction, limit, countUpTo } = page
  const all = [...found].sort(compare)
  const isOlder = direction === 'older'
  const anchor = anchorOf(all, page, isNamed)
  const boundary = anchor ?? (isOlder ? TOP : BOTTOM)
  const below = all.filter((one) => compare(one, boundary) < 0)
  const here = isOlder ? below.slice(-limit) : all.slice(below.length, below.length + limit)
  const first = here[0] === undefined ? null : all.indexOf(here[0])
  const older = here[0] ?? (anchor === null ? BOTTOM : boundary)
  const last = here.at(-1)
  const newer = last === undefined ? older : above(last)
  const end = first === null ? below.length : first + here.length
  return {
    rows: [...here].reverse().map(tell),
    hasOlder: (first ?? below.length) > 0,
    hasNewer: page.anchor === null && isOlder ? false : end < all.length,
    older: markOf(older),
    newer: markOf(newer),
    total: countUpTo > 0 ? Math.min(all.length, countUpTo) : null,
  }
}

/** Of a row: its part, when it is due (or who has it), and its id. */
export type Key = readonly [part: number, at: number | string, id: string]

/** Behind everything. */
const END = 'end'

const compareKeys = (a: Key, b: Key): number => {
  for (const [i, one] of a.entries()) {
    const other = b[i] as typeof one
    if (one !== other) return one < other ? -1 : 1
  }
  return 0
}

/** `all`: every row of the list, in any order. */
export const pageOfQueue = <Row>(all: readonly Row[], page: Page, keyOf: (row: Row) => Key): Rows<Row> => {
  const rows = [...all].sort((a, b) => compareKeys(keyOf(a), keyOf(b)))
  const isBack = page.direction === 'newer'
  const edgeOf = (mark: string): number => {
    if (mark === END) return rows.length
    const [side, ...key] = JSON.parse(mark) as ['before' | 'after', ...Key]
    return rows.filter((row) => compareKeys(keyOf(row), key) < (side === 'after' ? 1 : 0)).length
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
