/**
 * NAME      places - pages over what is stored and what is made
 * DESCRIPTION
 *   The log is merged from two kinds of sources: stored events, each at a place of
 *   its own, and first events, which stand at the place of their mail in the order
 *   of their recipients' numbers. So a place is two numbers, and a mark is the place
 *   right above it: all lower ones are older. Where several writers fill the log, newer pages end below what is on its
 *   way, and older ones do not: the mark for what is newer than such a page also says what it has shown
 *   (pages/frontiers.ts), `<place>_<n>_<seen>`.
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { MailTables } from '../mails.js'
import { readSeen, type Seen, seenMark, seenNow, TOP } from '../pages.js'
import { type Asking, type Row, several } from '../query.js'

export interface Place {
  readonly ord: number
  /** The number of a recipient in its mail; 0 of a stored event. */
  readonly n: number
}

/** A place to go on from. */
export interface Mark extends Place {
  readonly shown?: Shown | undefined
}

/** What was shown or stands behind it, though it is newer; of the mail right above it, the numbers below `n` as well. */
export interface Shown {
  readonly seen: Seen
  readonly n: number
}

/** A place, with the row that was found there. */
export interface Found extends Place {
  readonly row: Row
}

type Direction = Page['direction']

/** Where some of the records are found. */
export interface Source {
  /** The nearest of them on one side of a boundary, the nearest first; of newer ones none beyond `last`. */
  take(direction: Direction, boundary: Mark, limit: number, last?: number): Asking<readonly Found[]>
  count(limit: number): Asking<number>
}

const MARK = /^(\d{1,16})(?:\.(\d{1,6}))?(?:_(\d{1,6})_(\d.*))?$/

export const markOf = ({ ord, n, shown }: Mark): string =>
  `${ord}${n === 0 ? '' : `.${n}`}${shown === undefined ? '' : `_${shown.n}_${seenMark(shown.seen)}`}`

/** Null: no mark of the log. */
export const readMark = (text: string): Mark | null => {
  const found = MARK.exec(text)
  if (found === null) return null
  const place = { ord: Number(found[1]), n: Number(found[2] ?? 0) }
  if (found[4] === undefined) return place
  const seen = readSeen(found[4])
  return seen && { ...place, shown: { seen, n: Number(found[3]) } }
}

export const compare = (a: Place, b: Place): number => a.ord - b.ord || a.n - b.n

/** The lowest boundary that has this place below it. */
export const above = ({ ord, n }: Place): Place => ({ ord, n: n + 1 })

export const BOTTOM: Place = { ord: 0, n: 0 }
const HIGHEST: Place = { ord: TOP, n: 0 }

interface Wanted {
  readonly direction: Direction
  readonly boundary: Mark
  readonly limit: number
  last: number | undefined
}

function* takeOne(source: Source, wanted: Wanted): Asking<readonly Found[]> {
  const { direction, boundary, limit, last } = wanted
  const some = yield* source.take(direction, boundary, limit, last)
  // where one source fills the page, no later place of another one is on it
  if (direction === 'newer' && some.length >= limit) wanted.last = some.at(-1)?.ord
  return some
}

/** The nearest of all sources; of newer ones none beyond `end`. */
export function* takeFrom(
  sources: readonly Source[],
  direction: Direction,
  boundary: Mark,
  limit: number,
  end?: number,
): Asking<Found[]> {
  const wanted: Wanted = { direction, boundary, limit, last: end }
  const found = (yield* several(sources.map((source) => () => takeOne(source, wanted)))).flat()
  const sign = direction === 'older' ? -1 : 1
  return found.sort((a, b) => sign * compare(a, b)).slice(0, limit)
}

function* countUpTo(sources: readonly Source[], most: number): Asking<number> {
  let total = 0
  for (const source of sources) {
    if (total >= most) break
    total += yield* source.count(most - total)
  }
  return total
}

function* isAny(sources: readonly Source[], side: Direction, from: Place): Asking<boolean> {
  return (yield* takeFrom(sources, side, from, 1)).length > 0
}

export const lower = (a: Place, b: Place): Place => (compare(a, b) < 0 ? a : b)

/** How far the log is: nothing comes in below `end`. */
export interface Reach {
  readonly end: Place
  readonly frontiers: MailTables['frontiers']
}

/** Where what is newer than a page begins that was read back from right below `top`; null: from the very top. */
function* afterOlder(top: Place | null, { end, frontiers }: Reach): Asking<Mark> {
  if (top !== null && compare(top, end) <= 0) return top
  if (frontiers === null) return end
  const n = top?.n ?? 0
  const seen = seenNow({ upTo: 0, behind: [] }, yield* frontiers(), top === null ? TOP : top.ord - 1)
  return seen.behind.length === 0 && n === 0 ? end : { ...end, shown: { seen, n } }
}

/** Beyond all that was shown a mark is a place and nothing else. */
const goingOn = (place: Place, shown: Shown | undefined): Mark =>
  shown === undefined || place.ord > shown.seen.upTo + 1 ? place : { ...place, shown }

/**
 * A page of places, newest first; `anchor` is what the page's anchor means. Newer pages go no further than the end: what is
 * told beyond it would be told again.
 */
export function* pageOfPlaces(
  sources: readonly Source[],
  page: Page,
  anchor: Mark | null,
  reach: Reach,
): Asking<Rows<Found>> {
  const { direction } = page
  const { end } = reach
  const boundary: Mark = anchor ?? (direction === 'older' ? HIGHEST : BOTTOM)
  const last = direction === 'newer' ? end.ord - 1 : undefined
  const found = yield* takeFrom(sources, direction, boundary, page.limit + 1, last)
  const more = found.length > page.limit
  const rows = found.slice(0, page.limit)
  if (direction === 'newer') rows.reverse()
  const older = rows.at(-1) ?? (anchor === null ? BOTTOM : boundary)
  const newer = rows[0] === undefined ? older : above(rows[0])
  return {
    rows,
    hasOlder: direction === 'older' ? more : yield* isAny(sources, 'older', older),
    hasNewer: direction === 'newer' ? more : anchor !== null && (yield* isAny(sources, 'newer', newer)),
    older: markOf({ ord: older.ord, n: older.n }),
    newer: markOf(
      direction === 'older'
        ? yield* afterOlder(anchor === null ? null : newer, reach)
        : goingOn(lower(newer, end), boundary.shown),
    ),
    total: page.countUpTo > 0 ? yield* countUpTo(sources, page.countUpTo) : null,
  }
}
