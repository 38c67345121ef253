/**
 * NAME      queue - what waits: depths, pages and single answers
 *   Reads the two partial indexes of the queue and nothing else. The next due time costs a seek for each
 *   pair of pool and workspace; counting a deep queue goes in steps, so that it never holds up its thread.
 *     What waits, soonest first; then what is under way; then what is held. Each pool
 *     and workspace is an index range of its own, and the ranges are merged, so a
 *     page costs a few rows of each, however deep the queue is. Where a filter finds
 *     little (a domain), it is looked for in steps that let other work in between.
 *   NOTES
 *     Rows move while a list is read, so a mark is a place in the order and not a
 *     row; what moved past it is not seen, and nothing is seen twice on the way unless
 *     it moved ahead. `older` means onward, as in every list.
 *   The same walk as the orders take, with pauses for other work: what is shown is what would be changed.
 */

import { isAway, partOf, type QueuePart } from '../../lifecycle/orders.js'
import type { Page, Rows } from '../../lifecycle/page.js'
import type {
  CountedScope,
  HeldDepth,
  QueueAges,
  QueueCount,
  QueueEntry,
  QueueFilter,
  QueueGroup,
  QueueOwner,
  QueueState,
} from '../port/operations.js'
import type { QueueDepth } from '../port/upkeep.js'
import {
  FOUND,
  type FoundRecipient,
  isWithin,
  type NumberedScope,
  placeOf,
  queuedOf,
  type WalkCursor,
  waitingOf,
  walk,
} from './orders.js'
import { type Asking, all, first, pause } from './query.js'
import { type AgesOf, idOf, type Pair, pairsOf, queueAges, sandboxes, workspacesOf } from './schedule.js'

const DEPTH_STEP = 20_000

/** 0, which none has, when it is not there. */
function* numberOf(poolId: string): Asking<number> {
  return Number((yield* first('SELECT n FROM pools WHERE id = ?', poolId))?.n ?? 0)
}

function* ids([pool, workspace]: Pair): Asking<{ poolId: string; workspaceId: string }> {
  return { poolId: yield* idOf('pools', pool), workspaceId: yield* idOf('workspaces', workspace) }
}

/** Rows of a pair that fall due after `from` and by `to`, in steps that let other work in between. */
function* countDepth(waiting: string, pair: Pair, from: number, to: number): Asking<number> {
  const due = `FROM ${waiting} WHERE pool = ? AND workspace = ? AND due_at > ? AND due_at <= ?`
  let counted = 0
  let edge = from
  while (edge < to) {
    const row = yield* first(
      `SELECT due_at ${due} ORDER BY due_at LIMIT 1 OFFSET ${DEPTH_STEP}`,
      ...pair,
      edge,
      to,
    )
    const next = (row?.due_at as number | undefined) ?? to
    counted += Number((yield* first(`SELECT count(*) AS n ${due}`, ...pair, edge, next))?.n ?? 0)
    edge = next
    if (row !== null) yield* pause()
  }
  return counted
}

function* oldest(waiting: string, pair: Pair): Asking<number | null> {
  const row = yield* first(
    `SELECT due_at FROM ${waiting} WHERE pool = ? AND workspace = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 1`,
    ...pair,
  )
  return (row?.due_at ?? null) as number | null
}

function* depthOf(waiting: string, now: number, of?: QueueOwner): Asking<readonly QueueDepth[]> {
  const found = new Map<string, QueueDepth>()
  const wanted = of && (yield* workspacesOf(of))
  for (const pair of yield* pairsOf(waiting)) {
    if (wanted?.has(pair[1]) === false) continue
    found.set(pair.join(), {
      ...(yield* ids(pair)),
      due: yield* countDepth(waiting, pair, -1, now),
      leased: 0,
      waiting: yield* countDepth(waiting, pair, now, Number.MAX_SAFE_INTEGER),
      oldestDueAt: yield* oldest(waiting, pair),
    })
  }
  const leased = yield* all(
    `SELECT pool, workspace, count(*) AS n FROM ${waiting} WHERE boot IS NOT NULL GROUP BY pool, workspace`,
  )
  for (const row of leased) {
    const pair: Pair = [row.pool as number, row.workspace as number]
    if (wanted?.has(pair[1]) === false) continue
    const other = found.get(pair.join()) ?? { ...(yield* ids(pair)), due: 0, waiting: 0, oldestDueAt: null }
    found.set(pair.join(), { ...other, leased: row.n as number })
  }
  return [...found.values()]
}

/** When mail falls due. */
export const dueReads = (waiting: string) => ({
  *nextDue(poolIds?: readonly string[]): Asking<number | null> {
    const pools: number[] = []
    for (const id of poolIds ?? []) pools.push(yield* numberOf(id))
    let next: number | null = null
    for (const pair of yield* pairsOf(waiting, pools.length === 1 ? pools[0] : null)) {
      if (poolIds !== undefined && !pools.includes(pair[0])) continue
      const due = yield* oldest(waiting, pair)
      if (due !== null && (next === null || due < next)) next = due
    }
    return next
  },

  *duePools(now: number): Asking<readonly string[]> {
    const due = new Set<number>()
    for (const pair of yield* pairsOf(waiting)) {
      if (!due.has(pair[0]) && ((yield* oldest(waiting, pair)) ?? now + 1) <= now) due.add(pair[0])
    }
    const poolIds: string[] = []
    for (const n of due) poolIds.push(yield* idOf('pools', n))
    return poolIds
  },
})

export const depthReads = (waiting: string) => ({
  depth: (now: number, of?: QueueOwner): Asking<readonly QueueDepth[]> => depthOf(waiting, now, of),
})

const PARTS: readonly QueuePart[] = ['waiting', 'leased', 'held']
const PART_OF: Readonly<Record<QueueState, QueuePart>> = {
  waiting: 'waiting',
  under_way: 'leased',
  held: 'held',
}
const COLUMN = { waiting: 'due_at', leased: 'boot', held: 'held' } as const

/** Before or after the row of a key, whether or not it is there. */
interface Edge {
  readonly side: 'before' | 'after'
  readonly part: QueuePart
  readonly at: number | string
  readonly id: string
}

/** Behind everything. */
const END = 'end'

const atOf = (row: FoundRecipient, part: QueuePart): number | string => row[COLUMN[part]] ?? 0

const markOf = (row: FoundRecipient, side: Edge['side']): string => {
  const part = partOf(queuedOf(row)) ?? 'waiting'
  return JSON.stringify([side, part, atOf(row, part), row.id])
}

const edgeOf = (mark: string | null): Edge | null => {
  if (mark === null || mark === END) return null
  const [side, part, at, id] = JSON.parse(mark) as [Edge['side'], QueuePart, number | string, string]
  return { side, part, at, id }
}

/** Rows of a range, one after the other; null when there are no more. */
type Rising = () => Asking<FoundRecipient | null>
/** From an edge on, or from the end of the range. */
type Source = (edge: Edge | null, descending: boolean) => Rising

interface Range {
  readonly part: QueuePart
  readonly where: string
  readonly params: readonly number[]
}

/** Rows looked at before others have their turn. */
const TURN = 500

/** What is being listed. */
interface Listing {
  readonly place: NumberedScope
  readonly parts: readonly QueuePart[]
  /** Pools whose mail is not shown. */
  readonly without: ReadonlySet<number>
}

const isListed = ({ place, without }: Listing, row: FoundRecipient): boolean =>
  isWithin(place, row) && !without.has(row.pool)

const compare = (part: QueuePart, a: FoundRecipient, b: FoundRecipient): number => {
  const [x, y] = [atOf(a, part), atOf(b, part)]
  if (x !== y) return x < y ? -1 : 1
  return a.id < b.id ? -1 : 1
}

/** What comes first of several sources that each are in order. */
const merged = (part: QueuePart, sources: readonly Rising[], descending: boolean): Rising => {
  const sign = descending ? -1 : 1
  let heads: { row: FoundRecipient; readonly next: Rising }[] | null = null
  let first: { row: FoundRecipient; readonly next: Rising } | null = null
  return function* () {
    if (heads === null) {
      heads = []
      for (const next of sources) {
        const row = yield* next()
        if (row !== null) heads.push({ row, next })
      }
    } else if (first !== null) {
      const row = yield* first.next()
      if (row === null) heads.splice(heads.indexOf(first), 1)
      else first.row = row
    }
    if (heads.length === 0) return null
    first = heads.reduce((best, one) => (sign * compare(part, one.row, best.row) < 0 ? one : best))
    return first.row
  }
}

/** Rows of one range, so many at a time. */
const ofRange = (
  waiting: string,
  listing: Listing,
  { part, where, params }: Range,
  batch: number,
): Source => {
  const column = COLUMN[part]
  return (edge, descending) => {
    const way = descending ? 'DESC' : 'ASC'
    const order = `ORDER BY ${column} ${way}, id ${way} LIMIT ? + 0`
    const from = `SELECT ${FOUND} FROM ${waiting} WHERE ${where}`
    const own = edge?.part === part ? edge : null
    const beyond = (isWith: boolean): string =>
      `${from} AND (${column}, id) ${descending ? '<' : '>'}${isWith ? '=' : ''} (?, ?) ${order}`
    let rows: readonly FoundRecipient[] = []
    let at = 0
    let after: readonly [number | string, string] | null = own && [own.at, own.id]
    let text = own === null ? `${from} ${order}` : beyond((own.side === 'after') === descending)
    let isEnd = false
    let looked = 0
    return function* () {
      for (;;) {
        for (let row = rows[at]; row !== undefined; row = rows[at]) {
          at += 1
          if (isListed(listing, row)) return row
        }
        if (isEnd) return null
        if (looked >= TURN) {
          looked = 0
          yield* pause()
        }
        rows = (yield* all(text, ...params, ...(after ?? []), batch)) as unknown as FoundRecipient[]
        at = 0
        looked += rows.length
        isEnd = rows.length < batch
        const last = rows.at(-1)
        if (last !== undefined) after = [atOf(last, part), last.id]
        text = beyond(false)
      }
    }
  }
}

/** A mail has few recipients: they are looked at in memory. */
const ofEmail = (waiting: string, listing: Listing, part: QueuePart): Source => {
  return (edge, descending) => {
    const own = edge?.part === part ? edge : null
    const key = own && ({ [COLUMN[part]]: own.at, id: own.id } as unknown as FoundRecipient)
    const isBeyond = (row: FoundRecipient): boolean => {
      if (own === null) return true
      const isBehind =
        row.id === own.id ? own.side === 'before' : compare(part, row, key as FoundRecipient) > 0
      return isBehind !== descending
    }
    let left: FoundRecipient[] | null = null
    return function* () {
      left ??= (yield* waitingOf(waiting, listing.place.emailId ?? ''))
        .filter((row) => partOf(queuedOf(row)) === part && isListed(listing, row) && isBeyond(row))
        .sort((a, b) => (descending ? -1 : 1) * compare(part, a, b))
      return left.shift() ?? null
    }
  }
}

/** The index ranges of a part: one for each pair of pool and workspace that has rows there. */
function* rangesOf(waiting: string, listing: Listing, part: QueuePart): Asking<Range[]> {
  if (part === 'leased') return [{ part, where: 'boot IS NOT NULL', params: [] }]
  const { place, without } = listing
  const where = `pool = ? AND workspace = ? AND ${COLUMN[part]} IS NOT NULL`
  return (yield* pairsOf(waiting, place.poolId, COLUMN[part]))
    .filter(([pool, workspace]) => place.workspaces.has(workspace) && !without.has(pool))
    .map((params) => ({ part, where, params }))
}

function* sourcesOf(waiting: string, listing: Listing, part: QueuePart): Asking<readonly Source[]> {
  if (listing.place.emailId !== null) return [ofEmail(waiting, listing, part)]
  const ranges = yield* rangesOf(waiting, listing, part)
  return ranges.map((range) => ofRange(waiting, listing, range, ranges.length > 16 ? 4 : 64))
}

const rank = (part: QueuePart): number => PARTS.indexOf(part)

/** All rows from an edge on; null: from the beginning, or from the end when descending. */
const through = (waiting: string, listing: Listing, edge: Edge | null, descending: boolean): Rising => {
  const isAhead = (part: QueuePart): boolean =>
    edge === null || (descending ? rank(part) <= rank(edge.part) : rank(part) >= rank(edge.part))
  const parts = (descending ? [...listing.parts].reverse() : [...listing.parts]).filter(isAhead)
  let rows: Rising | null = null
  return function* () {
    for (;;) {
      const row = rows === null ? null : yield* rows()
      if (row !== null) return row
      const part = parts.shift()
      if (part === undefined) return null
      const sources = yield* sourcesOf(waiting, listing, part)
      rows = merged(
        part,
        sources.map((source) => source(edge, descending)),
        descending,
      )
    }
  }
}

/** At most `most` of them. */
function* take(rows: Rising, most: number): Asking<FoundRecipient[]> {
  const found: FoundRecipient[] = []
  while (found.length < most) {
    const row = yield* rows()
    if (row === null) break
    found.push(row)
  }
  return found
}

function* count(waiting: string, listing: Listing, most: number): Asking<number> {
  let total = 0
  for (const part of listing.parts) {
    const { domain, emailId } = listing.place
    if (part === 'leased' || domain !== null || emailId !== null) {
      const rows = through(waiting, { ...listing, parts: [part] }, null, false)
      while (total < most && (yield* rows()) !== null) total += 1
      continue
    }
    for (const { where, params } of yield* rangesOf(waiting, listing, part)) {
      if (total >= most) return total
      const some = `SELECT count(*) AS n FROM (SELECT 1 AS one FROM ${waiting} WHERE ${where} LIMIT ? + 0) AS counted`
      total += Number((yield* first(some, ...params, most - total))?.n ?? 0)
    }
  }
  return total
}

const EMPTY: Rows<never> = { rows: [], hasOlder: false, hasNewer: false, older: END, newer: END, total: 0 }

function* listingOf(filter: QueueFilter): Asking<Listing | null> {
  const place = yield* placeOf(filter)
  if (place === null) return null
  const parts = filter.state ? [PART_OF[filter.state]] : PARTS
  return { place, parts, without: filter.liveOnly ? yield* sandboxes(filter.accountId) : new Set() }
}

function* isAny(waiting: string, listing: Listing, mark: string, descending: boolean): Asking<boolean> {
  if (mark === END && !descending) return false
  return (yield* through(waiting, listing, edgeOf(mark), descending)()) !== null
}

export function* queuePage(waiting: string, filter: QueueFilter, page: Page): Asking<Rows<FoundRecipient>> {
  const listing = yield* listingOf(filter)
  if (listing === null) return { ...EMPTY, total: page.countUpTo > 0 ? 0 : null }
  const descending = page.direction === 'newer'
  const found =
    page.anchor === END && !descending
      ? []
      : yield* take(through(waiting, listing, edgeOf(page.anchor), descending), page.limit + 1)
  const more = found.length > page.limit
  const rows = found.slice(0, page.limit)
  if (descending) rows.reverse()
  const [first, last] = [rows[0], rows.at(-1)]
  // the first page that is the only one has been counted by being read
  const isAll = page.anchor === null && !descending && !more
  const older = last ? markOf(last, 'after') : (page.anchor ?? END)
  const newer = first ? markOf(first, 'before') : (page.anchor ?? END)
  return {
    rows,
    older,
    newer,
    hasOlder: descending ? yield* isAny(waiting, listing, older, false) : more,
    hasNewer: descending ? more : page.anchor !== null && (yield* isAny(waiting, listing, newer, true)),
    total:
      page.countUpTo === 0
        ? null
        : isAll
          ? Math.min(rows.length, page.countUpTo)
          : yield* count(waiting, listing, page.countUpTo),
  }
}

const STEP = 500
const ALL: readonly QueuePart[] = ['waiting', 'leased', 'held']

/** Numbers as ids; rows next to each other are mostly of one place. */
const idsOf = () => {
  const known = new Map<string, string>()
  return function* (table: 'pools' | 'workspaces', n: number): Asking<string> {
    const id = known.get(table + n) ?? (yield* idOf(table, n))
    known.set(table + n, id)
    return id
  }
}

function* entries(rows: readonly FoundRecipient[]): Asking<readonly QueueEntry[]> {
  const id = idsOf()
  const found: QueueEntry[] = []
  for (const row of rows) {
    found.push({
      recipientId: row.id,
      emailId: row.email_id,
      workspaceId: yield* id('workspaces', row.workspace),
      poolId: yield* id('pools', row.pool),
      address: row.address,
      status: row.status,
      attempts: row.attempts,
      dueAt: row.due_at,
      held: row.held,
      underWay: row.boot !== null,
      attempting: row.boot !== null && row.attempting !== null,
      lastResponse: row.last_response,
    })
  }
  return found
}

function* countOf(waiting: string, scope: CountedScope): Asking<QueueCount> {
  const count = { waiting: 0, held: 0, underWay: 0 }
  const hidden = scope.liveOnly ? yield* sandboxes(scope.accountId) : null
  for (let cursor: WalkCursor | null = null; ; ) {
    const { rows, next }: { rows: readonly FoundRecipient[]; next: WalkCursor | null } = yield* walk(
      waiting,
      scope,
      ALL,
      cursor,
      STEP,
    )
    for (const row of rows) {
      if (hidden?.has(row.pool) || (scope.movable && isAway(row.held))) continue
      if (row.boot !== null) count.underWay++
      else if (row.due_at !== null) count.waiting++
      else count.held++
    }
    if (next === null) return count
    cursor = next
    yield* pause()
  }
}

/** Those that answer at once. */
export const heldReads = (waiting: string) => ({
  *entriesOf(emailIds: readonly string[]): Asking<readonly QueueEntry[]> {
    const rows: FoundRecipient[] = []
    for (const id of emailIds) rows.push(...(yield* waitingOf(waiting, id)))
    return yield* entries(rows)
  },

  *heldDepth(of?: QueueOwner): Asking<readonly HeldDepth[]> {
    const wanted = of && (yield* workspacesOf(of))
    const depths: HeldDepth[] = []
    const rows = yield* all(
      `SELECT pool, workspace, held, count(*) AS n FROM ${waiting} WHERE held IS NOT NULL GROUP BY pool, workspace, held`,
    )
    for (const row of rows) {
      if (wanted?.has(row.workspace as number) === false) continue
      depths.push({
        poolId: yield* idOf('pools', row.pool as number),
        workspaceId: yield* idOf('workspaces', row.workspace as number),
        heldBy: row.held as string,
        held: row.n as number,
      })
    }
    return depths
  },
})

/** Those that look at much. */
export const queueReads = (waiting: string) => ({
  queueCount: (scope: CountedScope): Asking<QueueCount> => countOf(waiting, scope),

  *queueEntries(filter: QueueFilter, page: Page): Asking<Rows<QueueEntry>> {
    const found = yield* queuePage(waiting, filter, page)
    return { ...found, rows: yield* entries(found.rows) }
  },

  queueAges: (of: AgesOf, by: QueueGroup, most: number, now: number): Asking<QueueAges> =>
    queueAges(waiting, of, by, most, now),
})
