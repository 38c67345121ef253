/**
 * NAME      ord - the place of a row among all rows
 * DESCRIPTION
 *   A number of 53 bits, given in the verb that stores the row: 41 bits of
 *   milliseconds since 2020 and 12 bits that count. Each is greater than every
 *   one before it, over commits, restarts and steps of the clock, so what is
 *   committed later always stands above. It looks like a time, and nothing reads
 *   a time out of it but the range of a filter (days.ts) and the clock's check
 *   (giver.ts).
 */
const EPOCH = Date.UTC(2020, 0, 1)
const COUNTER = 4096
const LAST_MS = 2 ** 41 - 1
const DAY_MS = 86_400_000

/** Above every place. */
export const TOP = Number.MAX_SAFE_INTEGER

/** The lowest place of this time. */
export const ordAt = (at: number): number => Math.max(0, Math.min(at - EPOCH, LAST_MS)) * COUNTER

/** About when a row with this place was stored, epoch milliseconds. */
export const timeOf = (ord: number): number => EPOCH + Math.floor(ord / COUNTER)

/** The number of its day since 2020. */
export const dayOf = (ord: number): number => Math.floor(ord / COUNTER / DAY_MS)

/** The first place of a day. */
export const dayStart = (day: number): number => day * DAY_MS * COUNTER

/** The next place after `last`: the clock's, when that is ahead. */
export const after = (last: number, now: number): number => Math.max(last + 1, ordAt(now))
