/**
 * NAME      pages - pages of mails by the order in which they came
 *   A page is a range of places in one or more branches, each of them an index range in their order; branches are
 *   merged, so a list over many workspaces costs a seek for each and never a scan. One row more than the limit tells
 *   whether there is more ahead, one EXISTS tells of the side behind. All of it is read in one snapshot: between two,
 *   a row of one branch could be committed below a later one of another, and no page would ever show it.
 *   Writers commit side by side, so a row may come in below one that is there already. But each commits its own in the
 *   order of their places, and says with each commit how far it is: its frontier. So in one snapshot all rows of a
 *   writer up to its frontier are there, and none will follow. What a page has shown, or what stands behind it, is
 *   told by a place up to which it is so for all writers but some that are behind, and by the frontiers of these. A
 *   mark with it is `<the place right above>-<number of a writer>.<how far it is behind>,...`, in base 36 but for the
 *   place. Who joins later begins above the highest frontier, and of a writer that has left or died all rows are
 *   there.
 *   A number of 53 bits, given in the verb that stores the row: 41 bits of milliseconds since 2020 and 12 bits that
 *   count. Each is greater than every one before it, over commits, restarts and steps of the clock, so what is
 *   committed later always stands above. It looks like a time, and nothing reads a time out of it but the range of a
 *   filter below and the clock's check (sqlite/giver.ts).
 *   A mark is the place right above a boundary between two rows: older rows have lower places, newer rows this one or
 *   a higher. The row itself may be gone. Where several writers fill a list, a mark for newer rows says more (above).
 *   Lists go by the place, filters by time speak of created_at. For each day of places the largest difference in each
 *   direction is kept, so that a filter becomes ranges of places that never miss a row and are narrow on every day
 *   whose clock was right.
 */
import { Fault, orFault } from '../../base/fault.js'
import { type Page, type Rows, rowBeside } from '../../lifecycle/page.js'
import { type Asking, all, first, several, together } from './query.js'

export interface Frontier {
  readonly n: number
  readonly frontier: number
  /** Rows of it may follow. */
  readonly lives: boolean
}

/** Which rows are older than a boundary, or were seen. */
export interface SeenRows {
  readonly upTo: number
  /** By the number of a writer, in rising order. */
  readonly behind: readonly (readonly [n: number, upTo: number])[]
}

const MARK = /^(\d{1,16})(?:-((?:[\da-z]+\.[\da-z]+,?)+))?$/

export const seenMark = ({ upTo, behind }: SeenRows): string => {
  const some = behind.map(([n, own]) => `${n.toString(36)}.${(upTo - own).toString(36)}`).join()
  return some === '' ? String(upTo + 1) : `${upTo + 1}-${some}`
}

/** Null: no mark of places. */
export const readSeen = (text: string): SeenRows | null => {
  const [, place, some] = MARK.exec(text) ?? []
  if (place === undefined) return null
  const upTo = Number(place) - 1
  const behind = (some ?? '')
    .split(',')
    .filter((one) => one !== '')
    .map((one) => {
      const [n = '', by = ''] = one.split('.')
      return [Number.parseInt(n, 36), upTo - Number.parseInt(by, 36)] as const
    })
  return { upTo, behind }
}

/** All that has a lower place or this one was seen. */
const leastOf = ({ upTo, behind }: SeenRows): number => Math.min(upTo, ...behind.map(([, own]) => own))

/** What was seen before, and now up to `last` of what a snapshot with these frontiers had. */
export const seenNow = (before: SeenRows, frontiers: readonly Frontier[], last: number): SeenRows => {
  const known = new Map(before.behind)
  const highest = Math.max(0, ...frontiers.map(({ frontier }) => frontier))
  const upTo = Math.max(before.upTo, Math.min(highest, last))
  const behind = frontiers
    // of one that has left all rows are there, but a page may end below them
    .filter(({ lives, frontier }) => lives || frontier > last)
    .map(({ n, frontier }) => [n, Math.max(known.get(n) ?? before.upTo, Math.min(frontier, last))] as const)
    .filter(([, own]) => own < upTo)
    .sort(([a], [b]) => a - b)
  return { upTo, behind }
}

/** The writer of a place (postgres/writer.ts). */
const writerOf = (ord: string): string => `${ord} / 16 % 256`

/** A condition on places for what was not seen; null: all from the boundary on. */
export const unseen = ({ upTo, behind }: SeenRows, ord: string) =>
  behind.length === 0
    ? null
    : {
        where: `${ord} > CASE ${writerOf(ord)} ${behind.map(() => 'WHEN ? THEN CAST(? AS BIGINT)').join(' ')} ELSE CAST(? AS BIGINT) END`,
        params: [...behind.flat(), upTo],
      }

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

/** Where the rows are found by their ids that whoever reads the list may name. */
export interface Ids {
  /** The table, or what of it belongs to the list. */
  readonly from: string
  readonly params: readonly unknown[]
}

export const markOf = (boundary: number): string => String(boundary)

function* besideId({ from, params }: Ids, id: string, direction: Page['direction']): Asking<number> {
  const row = yield* first(`SELECT ord FROM ${from} AND id = ? LIMIT 1`, ...params, id)
  if (row === null) throw new Fault('validation.cursor_invalid')
  return (row.ord as number) + (direction === 'older' ? 0 : 1)
}

/** The boundary that a page starts from. */
export function* boundaryOf(ids: Ids, { anchor, direction }: Page): Asking<number> {
  if (anchor === null) return direction === 'older' ? TOP : 0
  const id = rowBeside(anchor)
  if (id !== null) return yield* besideId(ids, id, direction)
  const seen = orFault(readSeen(anchor), 'validation.cursor_invalid')
  return (direction === 'older' ? seen.upTo : leastOf(seen)) + 1
}

export interface Day {
  readonly day: number
  /** created_at was at most so many ms before the place. */
  readonly behind: number
  /** And at most so many after it. */
  readonly ahead: number
}

/** Places from `from` up to, and not with, `to`. */
export interface Range {
  readonly from: number
  readonly to: number
  /** All that stands in it was created within the times that were asked for, so that no row must be looked at. */
  readonly isSure?: boolean
}

export const ALL_DAYS = 'SELECT day, behind, ahead FROM email_days ORDER BY day'

/** The places of one day at which mail created between these times can stand; null when none can. */
export const rangeOf = (
  { day, behind, ahead }: Day,
  createdAfter: number | null,
  createdBefore: number | null,
): Range | null => {
  const from = createdAfter === null ? 0 : ordAt(createdAfter - ahead)
  const to = createdBefore === null ? Number.POSITIVE_INFINITY : ordAt(createdBefore + behind + 1)
  const range = { from: Math.max(from, dayStart(day)), to: Math.min(to, dayStart(day + 1)) }
  return range.from < range.to ? range : null
}

/** The same in parts: the middle is sure, at its edges the clock may have been wrong. */
const partsOf = (day: Day, createdAfter: number | null, createdBefore: number | null): readonly Range[] => {
  const range = rangeOf(day, createdAfter, createdBefore)
  if (range === null) return []
  const from = createdAfter === null ? 0 : ordAt(createdAfter + day.behind + 1)
  const to = createdBefore === null ? Number.POSITIVE_INFINITY : ordAt(createdBefore - day.ahead)
  const sure = { from: Math.max(from, range.from), to: Math.min(to, range.to), isSure: true }
  if (sure.from >= sure.to) return [range]
  const parts = [{ from: range.from, to: sure.from }, sure, { from: sure.to, to: range.to }]
  return parts.filter((part) => part.from < part.to)
}

/** Of all days, rising. Days without mail between two of them do not part a range. */
export const rangesOf = (
  days: readonly Day[],
  createdAfter: number | null,
  createdBefore: number | null,
): Range[] => {
  const ranges: Range[] = []
  let previous: Day | null = null
  for (const day of days) {
    for (const part of partsOf(day, createdAfter, createdBefore)) {
      const last = ranges.at(-1)
      const isNext =
        previous !== null && last?.to === dayStart(previous.day + 1) && part.from === dayStart(day.day)
      if (isNext && last?.isSure === part.isSure) ranges[ranges.length - 1] = { ...part, from: last.from }
      else ranges.push(part)
    }
    previous = day
  }
  return ranges
}

/** Part of a list whose rows an index holds in the order of their places. */
export interface Branch {
  readonly from: string
  /** The column of a row's place. */
  readonly ord: string
  /** The column of what finds the row, when that is not its place. */
  readonly key?: string
  readonly where: string
  readonly params: readonly unknown[]
  /** What a row in a range that is not sure must fulfil, too. */
  readonly unsure?: { readonly where: string; readonly params: readonly unknown[] }
  /** True when a place may come more than once. */
  readonly repeats?: boolean
}

export interface PagedList {
  readonly branches: readonly Branch[]
  /** Where its rows can stand, rising; all of them lie in these. */
  readonly ranges: readonly Range[]
  readonly ids: Ids
  /** How far several writers are that fill it side by side; null: rows come in above all that are there. */
  readonly frontiers?: (() => Asking<readonly Frontier[]>) | null
}

const EVERYWHERE: readonly Range[] = [{ from: 0, to: TOP }]

/** A list that is one branch of a table whose ids are its keys. */
export const listOf = (table: string, where: string, params: readonly unknown[]): PagedList => ({
  branches: [{ from: table, ord: 'ord', key: 'id', where, params }],
  ranges: EVERYWHERE,
  ids: { from: `${table} WHERE ${where}`, params },
})

export const listOfBranches = (branches: readonly Branch[], ids: Ids, ranges = EVERYWHERE): PagedList => ({
  branches,
  ranges,
  ids,
})

interface Place {
  readonly ord: number
  readonly key?: unknown
}

/** The rows of a branch in a range. An index that has the place and the rest answers of a sure one alone. */
const within = ({ from, where, params, ord, unsure }: Branch, range: Range) => {
  const more = range.isSure === true ? undefined : unsure
  return {
    text: `FROM ${from} WHERE ${where}${more === undefined ? '' : ` AND ${more.where}`} AND ${ord} >= ? AND ${ord} < ?`,
    params: [...params, ...(more?.params ?? []), range.from, range.to],
  }
}

const select = (branch: Branch): string =>
  `SELECT ${branch.repeats === true ? 'DISTINCT ' : ''}${branch.ord} AS ord${branch.key === undefined ? '' : `, ${branch.key} AS key`}`

/** The parts of the ranges that lie on one side of a boundary. */
const cut = (ranges: readonly Range[], side: 'older' | 'newer', boundary: number): Range[] =>
  ranges
    .map((range) =>
      side === 'older'
        ? { ...range, to: Math.min(range.to, boundary) }
        : { ...range, from: Math.max(range.from, boundary) },
    )
    .filter(({ from, to }) => from < to)

/** The rows of a branch nearest to where the page starts. */
function* placesOf(
  branch: Branch,
  ranges: readonly Range[],
  descending: boolean,
  limit: number,
): Asking<Place[]> {
  const order = `ORDER BY ${branch.ord} ${descending ? 'DESC' : 'ASC'} LIMIT ? + 0`
  const found: Place[] = []
  for (const range of descending ? [...ranges].reverse() : ranges) {
    if (found.length >= limit) break
    const { text, params } = within(branch, range)
    const rows = yield* all(`${select(branch)} ${text} ${order}`, ...params, limit - found.length)
    found.push(...(rows as unknown as Place[]))
  }
  return found
}

function* exists(branches: readonly Branch[], ranges: readonly Range[]): Asking<boolean> {
  for (const branch of branches) {
    for (const range of ranges) {
      const { text, params } = within(branch, range)
      if ((yield* first(`SELECT 1 AS found ${text} LIMIT 1`, ...params)) !== null) return true
    }
  }
  return false
}

function* countUpTo({ branches, ranges }: PagedList, most: number): Asking<number> {
  let total = 0
  for (const branch of branches) {
    for (const range of ranges) {
      if (total >= most) return total
      const { text, params } = within(branch, range)
      const counted = `SELECT count(*) AS n FROM (${select(branch)} ${text} LIMIT ? + 0) AS counted`
      total += Number((yield* first(counted, ...params, most - total))?.n ?? 0)
    }
  }
  return total
}

const NOTHING: SeenRows = { upTo: 0, behind: [] }

/** Without what was seen. */
const beyond = (seen: SeenRows, branch: Branch): Branch => {
  const more = unseen(seen, branch.ord)
  return more === null
    ? branch
    : { ...branch, where: `${branch.where} AND ${more.where}`, params: [...branch.params, ...more.params] }
}

/** Where rows begin that are newer than a page whose last one is below `top`; `isCut`: there may be more that are. */
function* newerMark({ frontiers }: PagedList, seen: SeenRows, top: number, isCut: boolean): Asking<string> {
  if (frontiers == null) return markOf(top)
  return seenMark(seenNow(seen, yield* frontiers(), isCut ? top - 1 : TOP))
}

/** One page of places, newest first, and what surrounds it. */
function* pageOfPlaces(list: PagedList, page: Page): Asking<Rows<Place>> {
  const { branches, ranges } = list
  const descending = page.direction === 'older'
  const boundary = yield* boundaryOf(list.ids, page)
  const seen = descending ? NOTHING : (readSeen(page.anchor ?? '') ?? { upTo: boundary - 1, behind: [] })
  const side = cut(ranges, page.direction, boundary)
  const merged: Place[] = []
  for (const branch of branches.map((one) => beyond(seen, one)))
    merged.push(...(yield* placesOf(branch, side, descending, page.limit + 1)))
  const sign = descending ? -1 : 1
  const sorted =
    branches.length > 1
      ? merged.sort((a, b) => sign * (a.ord - b.ord)).filter((one, i, all) => one.ord !== all[i - 1]?.ord)
      : merged
  const rows = sorted.slice(0, page.limit)
  if (!descending) rows.reverse()
  const older = rows.at(-1)?.ord ?? (boundary === TOP ? 0 : boundary)
  const top = rows[0] === undefined ? older : rows[0].ord + 1
  const more = sorted.length > page.limit
  const isNewest = descending && page.anchor === null
  return {
    rows,
    hasOlder: descending ? more : yield* exists(branches, cut(ranges, 'older', older)),
    hasNewer: descending ? !isNewest && (yield* exists(branches, cut(ranges, 'newer', top))) : more,
    older: markOf(older),
    newer: yield* newerMark(list, seen, top, descending ? !isNewest : more),
    total: page.countUpTo > 0 ? yield* countUpTo(list, page.countUpTo) : null,
  }
}

function* rowsOf<T, K>(list: PagedList, page: Page, find: (key: K) => Asking<T | null>): Asking<Rows<T>> {
  const places = yield* pageOfPlaces(list, page)
  const rows = yield* several(
    places.rows.map(
      ({ ord, key = ord }) =>
        () =>
          find(key as K),
    ),
  )
  return { ...places, rows: rows.filter((row) => row !== null) }
}

/** A page of whole rows: `find` fetches one by its key. */
export const pageOf = <T, K>(
  list: PagedList,
  page: Page,
  find: (key: K) => Asking<T | null>,
): Asking<Rows<T>> => together(() => rowsOf(list, page, find))
