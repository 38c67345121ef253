/**
 * NAME      place - where rows of a list stand, and what a page of them is
 * DESCRIPTION
 *   A mark is the place right above a row: its `ord`, and the number of a
 *   recipient for the first events, which share the place of their mail.
 */
import { Fault } from '../base/fault.js'
import { type Page, type Rows, rowBeside } from './page.js'

interface Place {
  readonly ord: number
  readonly n?: number
}

const TOP: Place = { ord: Number.MAX_SAFE_INTEGER }
const BOTTOM: Place = { ord: 0 }
const MARK = /^(\d{1,16})(?:\.(\d{1,6}))?$/

export const markOf = ({ ord, n = 0 }: Place): string => (n === 0 ? String(ord) : `${ord}.${n}`)
export const above = ({ ord, n = 0 }: Place): Place => ({ ord, n: n + 1 })
export const compare = (a: Place, b: Place): number => a.ord - b.ord || (a.n ?? 0) - (b.n ?? 0)

export const readMark = (text: string): Place | null => {
  const found = MARK.exec(text)
  return found === null ? null : { ord: Number(found[1]), n: Number(found[2] ?? 0) }
}

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
