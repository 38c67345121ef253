/**
 * NAME      places - the places that one writer gives
 * DESCRIPTION
 *   As sql/order/ord.ts has it, with the number of the writer in the upper 8 of the bits that count: no two writers
 *   give the same place, and each gives rising ones. When 16 are given in a millisecond the next one begins.
 */
import { ordAt } from '../../sql/pages.js'

const COUNT = 16
const MS = 4096

/** The first place of this writer that is above `last` and not before `now`. */
export const placeAfter = (last: number, now: number, writer: number): number => {
  const own = writer * COUNT
  const current = ordAt(now) + own
  if (current > last) return current
  const ms = Math.floor(last / MS) * MS
  const bits = last - ms
  if (bits < own) return ms + own
  return bits < own + COUNT - 1 ? last + 1 : ms + MS + own
}

export const writerOf = (ord: number): number => Math.floor((ord % MS) / COUNT)
