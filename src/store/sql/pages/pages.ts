/**
 * NAME      pages - keyset pages over rising places
 * DESCRIPTION
 *   A page is a range of places in one or more branches, each of them an index
 *   range in their order; branches are merged, so a list over many workspaces costs
 *   a seek for each and never a scan. One row more than the limit tells whether
 *   there is more ahead, one EXISTS tells of the side behind.
 *   All of it is read in one snapshot: between two, a row of one branch could be
 *   committed below a later one of another, and no page would ever show it.
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { Range } from '../order/days.js'
import { TOP } from '../order/ord.js'
import { type Asking, all, first, several, together } from '../query.js'
import { type Frontier, readSeen, type Seen, seenMark, seenNow, unseen } from './frontiers.js'
import { boundaryOf, type Ids, markOf } from './marks.js'

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

export interface List {
  readonly branches: readonly Branch[]
  /** Where its rows can stand, rising; all of them lie in these. */
  readonly ranges: readonly Range[]
  readonly ids: Ids
  /** How far several writers are that fill it side by side; null: rows come in above all that are there. */
  readonly frontiers?: (() => Asking<readonly Frontier[]>) | null
}

const EVERYWHERE: readonly Range[] = [{ from: 0, to: TOP }]

/** A list that is one branch of a table whose ids are its keys. */
export const listOf = (table: string, where: string, params: readonly unknown[]): List => ({
  branches: [{ from: table, ord: 'ord', key: 'id', where, params }],
  ranges: EVERYWHERE,
  ids: { from: `${table} WHERE true`, params: [], own: { from: `${table} WHERE ${where}`, params } },
})

export const listOfBranches = (branches: readonly Branch[], ids: Ids, ranges = EVERYWHERE): List => ({
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

function* countUpTo({ branches, ranges }: List, most: number): Asking<number> {
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

const NOTHING: Seen = { upTo: 0, behind: [] }

/** Without what was seen. */
const beyond = (seen: Seen, branch: Branch): Branch => {
  const more = unseen(seen, branch.ord)
  return more === null
    ? branch
    : { ...branch, where: `${branch.where} AND ${more.where}`, params: [...branch.params, ...more.params] }
}

/** Where rows begin that are newer than a page whose last one is below `top`; `isCut`: there may be more that are. */
function* newerMark({ frontiers }: List, seen: Seen, top: number, isCut: boolean): Asking<string> {
  if (frontiers == null) return markOf(top)
  return seenMark(seenNow(seen, yield* frontiers(), isCut ? top - 1 : TOP))
}

/** One page of places, newest first, and what surrounds it. */
function* pageOfPlaces(list: List, page: Page): Asking<Rows<Place>> {
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

function* rowsOf<T, K>(list: List, page: Page, find: (key: K) => Asking<T | null>): Asking<Rows<T>> {
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
export const pageOf = <T, K>(list: List, page: Page, find: (key: K) => Asking<T | null>): Asking<Rows<T>> =>
  together(() => rowsOf(list, page, find))
