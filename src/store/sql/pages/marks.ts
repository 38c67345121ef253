/**
 * NAME      marks - where a page begins, as its caller keeps it
 * DESCRIPTION
 *   A mark is the place right above a boundary between two rows: older rows have
 *   lower places, newer rows this one or a higher. Cursors of 0.1.0 hold the id of
 *   a row, with `=` before it when that row is to be shown as well; such an id is
 *   looked up among the rows that were carried over, which stand in the order of
 *   their ids. The row itself may be gone. Where several writers fill a list, a mark for newer rows says more (frontiers.ts).
 */

import { Fault } from '../../../base/fault.js'
import { type Page, rowBeside } from '../../../lifecycle/page.js'
import { TOP } from '../order/ord.js'
import { type Asking, first } from '../query.js'
import { leastOf, readSeen } from './frontiers.js'

/** Where the rows of a list are found by their ids. */
export interface Ids {
  /** The table, or what of it belongs to the list. */
  readonly from: string
  readonly params: readonly unknown[]
  /** What whoever reads the list may name; unsaid, all that is said above. */
  readonly own?: Ids
}

export const markOf = (boundary: number): string => String(boundary)

function* carriedOver(ids: Ids, mark: string, direction: Page['direction']): Asking<number> {
  const isShown = mark.startsWith('=')
  const id = isShown ? mark.slice(1) : mark
  const row = yield* first(
    `SELECT id, ord FROM ${ids.from} AND id <= ? AND ord <= (SELECT carried FROM order_state) ORDER BY id DESC LIMIT 1`,
    ...ids.params,
    id,
  )
  if (row === null) return 0
  const ord = row.ord as number
  return row.id === id && (direction === 'older') !== isShown ? ord : ord + 1
}

function* besideId({ own, ...all }: Ids, id: string, direction: Page['direction']): Asking<number> {
  const { from, params } = own ?? all
  const row = yield* first(`SELECT ord FROM ${from} AND id = ? LIMIT 1`, ...params, id)
  if (row === null) throw new Fault('validation.cursor_invalid')
  return (row.ord as number) + (direction === 'older' ? 0 : 1)
}

/** The boundary that a page starts from. */
export function* boundaryOf(ids: Ids, { anchor, direction }: Page): Asking<number> {
  if (anchor === null) return direction === 'older' ? TOP : 0
  const id = rowBeside(anchor)
  if (id !== null) return yield* besideId(ids, id, direction)
  const seen = readSeen(anchor)
  if (seen === null) return yield* carriedOver(ids, anchor, direction)
  return (direction === 'older' ? seen.upTo : leastOf(seen)) + 1
}
