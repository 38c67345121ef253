/**
 * NAME      skew - how far ids and wall time ever parted
 * DESCRIPTION
 *   Lists are ordered by id, time filters speak of created_at. Both come from
 *   the same clock, but ids never go back when the clock does. The largest
 *   difference in each direction is kept, so that a time filter can become an id
 *   range that is narrow on a healthy clock and still never misses a row.
 */
import { toBase32 } from '../../base/id.js'
import type { Desk } from './write/desk.js'

export interface Skew {
  readonly ahead: number
  readonly behind: number
}

export const NO_SKEW: Skew = { ahead: 0, behind: 0 }

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const VALUE = new Map([...ALPHABET].map((char, i) => [char.charCodeAt(0), i]))
const PREFIX = 'em_'.length
const TIME_CHARS = 10
const MAX = 2 ** 47

/** The lowest id that a mail born at this time can have, and lower than any later one. */
export const firstIdAt = (at: number): string => {
  const ms = Math.max(0, Math.min(at, 2 ** 48 - 1))
  return `em_${toBase32(Uint8Array.from([40, 32, 24, 16, 8, 0], (shift) => Math.floor(ms / 2 ** shift) & 255))}`
}

/** The time inside an id; NaN when it has none. */
const timeOf = (id: string): number => {
  let ms = 0
  for (let i = PREFIX; i < PREFIX + TIME_CHARS; i++) {
    ms = ms * 32 + (VALUE.get(id.charCodeAt(i)) ?? Number.NaN)
  }
  return ms
}

/** Rounded up to a power of two, so that a drifting clock does not write at every mail. */
const roundUp = (ms: number): number => (ms < MAX ? 2 ** Math.ceil(Math.log2(ms + 1)) : MAX)

/** Keeps the skew of what is accepted; nearly always two comparisons. */
export const createSkew = ({ db, onRollback }: Desk): ((id: string, createdAt: number) => void) => {
  const read = db.prepare<[], Skew>('SELECT ahead, behind FROM skew')
  const write = db.prepare('UPDATE skew SET ahead = max(ahead, ?), behind = max(behind, ?)')
  let known: Skew = read.get() ?? NO_SKEW
  onRollback(() => {
    known = read.get() ?? NO_SKEW
  })
  return (id, createdAt) => {
    const lead = timeOf(id) - createdAt
    if (lead < known.ahead && -lead < known.behind) return
    const ahead = Number.isNaN(lead) ? MAX : roundUp(Math.max(lead, 0))
    const behind = Number.isNaN(lead) ? MAX : roundUp(Math.max(-lead, 0))
    write.run(ahead, behind)
    known = read.get() ?? known
  }
}
