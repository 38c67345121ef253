/**
 * NAME      queue-pages - the queue as a list, a page at a time
 * DESCRIPTION
 *   What waits, soonest first; then what is under way; then what is held. Each pool
 *   and workspace is an index range of its own, and the ranges are merged, so a
 *   page costs a few rows of each, however deep the queue is. Where a filter finds
 *   little (a domain), it is looked for in steps that let other work in between.
 * NOTES
 *   Rows move while a list is read, so a mark is a place in the order and not a
 *   row; what moved past it is not seen, and nothing is seen twice on the way unless
 *   it moved ahead. `older` means onward, as in every list.
 */
import { setImmediate } from 'node:timers/promises'
import type { Page, Rows } from '../../../lifecycle/page.js'
import { partOf, type QueuePart } from '../../../lifecycle/waiting/orders.js'
import type { QueueFilter, QueueState } from '../../port/operations.js'
import type { Statements } from '../read/statements.js'
import { FOUND, type Found, isWithin, type Place, placeOf, queuedOf, waitingOf } from './walk.js'

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

const atOf = (row: Found, part: QueuePart): number | string => row[COLUMN[part]] ?? 0

const markOf = (row: Found, side: Edge['side']): string => {
  const part = partOf(queuedOf(row)) ?? 'waiting'
  return JSON.stringify([side, part, atOf(row, part), row.id])
}

const edgeOf = (mark: string | null): Edge | null => {
  if (mark === null || mark === END) return null
  const [side, part, at, id] = JSON.parse(mark) as [Edge['side'], QueuePart, number | string, string]
  return { side, part, at, id }
}

type Rising = AsyncGenerator<Found, void, void>
/** Rows of one range from an edge on, or from its end. */
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
  readonly place: Place
  readonly parts: readonly QueuePart[]
  /** Pools whose mail is not shown. */
  readonly without: ReadonlySet<number>
}

const isListed = ({ place, without }: Listing, row: Found): boolean =>
  isWithin(place, row) && !without.has(row.pool)

const compare = (part: QueuePart, a: Found, b: Found): number => {
  const [x, y] = [atOf(a, part), atOf(b, part)]
  if (x !== y) return x < y ? -1 : 1
  return a.id < b.id ? -1 : 1
}

/** What comes first of several sources that each are in order. */
async function* merge(part: QueuePart, sources: readonly Rising[], descending: boolean): Rising {
  const heads: { row: Found; readonly source: Rising }[] = []
  for (const source of sources) {
    const { value } = await source.next()
    if (value) heads.push({ row: value, source })
  }
  const sign = descending ? -1 : 1
  while (heads.length > 0) {
    const first = heads.reduce((best, one) => (sign * compare(part, one.row, best.row) < 0 ? one : best))
    yield first.row
    const { value } = await first.source.next()
    if (value) first.row = value
    else heads.splice(heads.indexOf(first), 1)
  }
}

/** The pairs of pool and workspace that have rows in a range of the queue. */
function* pairs(sql: Statements, { place, without }: Listing, column: string): Generator<readonly number[]> {
  const some = `SELECT pool, workspace FROM recipients WHERE ${column} IS NOT NULL AND`
  let pair =
    place.poolId === null ? null : sql(`${some} pool = ? ORDER BY workspace LIMIT 1`).get(place.poolId)
  pair ??= place.poolId === null ? sql(`${some} pool > ? ORDER BY pool, workspace LIMIT 1`).get(0) : null
  while (pair) {
    const [pool, workspace] = [pair.pool as number, pair.workspace as number]
    if (place.workspaces.has(workspace) && !without.has(pool)) yield [pool, workspace]
    pair =
      sql(`${some} pool = ? AND workspace > ? ORDER BY workspace LIMIT 1`).get(pool, workspace) ??
      (place.poolId === null ? sql(`${some} pool > ? ORDER BY pool, workspace LIMIT 1`).get(pool) : null)
  }
}

const createSources = (sql: Statements) => {
  let looked = 0
  const pause = async (rows: number): Promise<void> => {
    looked += rows
    if (looked < TURN) return
    looked = 0
    await setImmediate()
  }

  const ofRange = (listing: Listing, { part, where, params }: Range, batch: number): Source =>
    async function* (edge, descending) {
      const column = COLUMN[part]
      const way = descending ? 'DESC' : 'ASC'
      const order = `ORDER BY ${column} ${way}, id ${way} LIMIT ? + 0`
      const from = `SELECT ${FOUND} FROM recipients WHERE ${where}`
      const own = edge?.part === part ? edge : null
      let rows = (own === null
        ? sql(`${from} ${order}`).all(...params, batch)
        : sql(
            `${from} AND (${column}, id) ${descending ? '<' : '>'}${(own.side === 'after') === descending ? '=' : ''} (?, ?) ${order}`,
          ).all(...params, own.at, own.id, batch)) as unknown as Found[]
      for (;;) {
        for (const row of rows) if (isListed(listing, row)) yield row
        const last = rows.at(-1)
        if (last === undefined || rows.length < batch) return
        await pause(rows.length)
        rows = sql(`${from} AND (${column}, id) ${descending ? '<' : '>'} (?, ?) ${order}`).all(
          ...params,
          atOf(last, part),
          last.id,
          batch,
        ) as unknown as Found[]
      }
    }

  /** A mail has few recipients: they are looked at in memory. */
  const ofEmail = (listing: Listing, part: QueuePart): Source =>
    async function* (edge, descending) {
      const own = edge?.part === part ? edge : null
      const key = own && ({ [COLUMN[part]]: own.at, id: own.id } as unknown as Found)
      const rows = waitingOf(sql, listing.place.emailId ?? '')
        .filter((row) => partOf(queuedOf(row)) === part && isListed(listing, row))
        .sort((a, b) => compare(part, a, b))
      for (const row of descending ? rows.reverse() : rows) {
        const behind =
          own && (row.id === own.id ? own.side === 'before' : compare(part, row, key as Found) > 0)
        if (behind === null || behind !== descending) yield row
      }
    }

  const rangesOf = (listing: Listing, part: QueuePart): Range[] => {
    if (part === 'leased') return [{ part, where: 'boot IS NOT NULL', params: [] }]
    const where = `pool = ? AND workspace = ? AND ${COLUMN[part]} IS NOT NULL`
    return [...pairs(sql, listing, COLUMN[part])].map((params) => ({ part, where, params }))
  }

  const sourcesOf = (listing: Listing, part: QueuePart): readonly Source[] => {
    if (listing.place.emailId !== null) return [ofEmail(listing, part)]
    const ranges = rangesOf(listing, part)
    return ranges.map((range) => ofRange(listing, range, ranges.length > 16 ? 4 : 64))
  }

  /** All rows from an edge on; null: from the beginning, or from the end when descending. */
  async function* through(listing: Listing, edge: Edge | null, descending: boolean): Rising {
    const parts = descending ? [...listing.parts].reverse() : listing.parts
    const rank = (part: QueuePart) => (descending ? -1 : 1) * PARTS.indexOf(part)
    for (const part of parts) {
      if (edge !== null && rank(part) < rank(edge.part)) continue
      const sources = sourcesOf(listing, part).map((source) => source(edge, descending))
      yield* merge(part, sources, descending)
    }
  }

  const count = async (listing: Listing, most: number): Promise<number> => {
    let total = 0
    for (const part of listing.parts) {
      if (total >= most) return total
      const { domain, emailId } = listing.place
      if (part === 'leased' || domain !== null || emailId !== null) {
        for await (const _ of through({ ...listing, parts: [part] }, null, false))
          if (++total >= most) return total
        continue
      }
      for (const { where, params } of rangesOf(listing, part)) {
        if (total >= most) return total
        const some = `SELECT count(*) AS n FROM (SELECT 1 FROM recipients WHERE ${where} LIMIT ? + 0)`
        total += Number(sql(some).get(...params, most - total)?.n ?? 0)
      }
    }
    return total
  }

  return { through, count }
}

const EMPTY: Rows<never> = { rows: [], hasOlder: false, hasNewer: false, older: END, newer: END, total: 0 }

/** The pools of an account whose mail API keys do not see. */
export const sandboxes = (sql: Statements, accountId: string): ReadonlySet<number> =>
  new Set(
    sql("SELECT n FROM pools WHERE account_id = ? AND kind = 'sandbox'")
      .all(accountId)
      .map((row) => row.n as number),
  )

export const createQueuePages = (sql: Statements) => {
  const { through, count } = createSources(sql)

  const listingOf = (filter: QueueFilter): Listing | null => {
    const place = placeOf(sql, filter)
    if (place === null) return null
    const parts = filter.state ? [PART_OF[filter.state]] : PARTS
    return { place, parts, without: filter.liveOnly ? sandboxes(sql, filter.accountId) : new Set() }
  }

  const isAny = async (listing: Listing, mark: string, descending: boolean): Promise<boolean> => {
    if (mark === END && !descending) return false
    for await (const _ of through(listing, edgeOf(mark), descending)) return true
    return false
  }

  return async (filter: QueueFilter, page: Page): Promise<Rows<Found>> => {
    const listing = listingOf(filter)
    if (listing === null) return { ...EMPTY, total: page.countUpTo > 0 ? 0 : null }
    const descending = page.direction === 'newer'
    const found: Found[] = []
    if (page.anchor !== END || descending) {
      for await (const row of through(listing, edgeOf(page.anchor), descending)) {
        found.push(row)
        if (found.length > page.limit) break
      }
    }
    const more = found.length > page.limit
    const rows = found.slice(0, page.limit)
    if (descending) rows.reverse()
    const [first, last] = [rows[0], rows.at(-1)]
    const counted = async () =>
      // the first page that is the only one has been counted by being read
      page.anchor === null && !descending && !more
        ? Math.min(rows.length, page.countUpTo)
        : await count(listing, page.countUpTo)
    const older = last ? markOf(last, 'after') : (page.anchor ?? END)
    const newer = first ? markOf(first, 'before') : (page.anchor ?? END)
    return {
      rows,
      older,
      newer,
      hasOlder: descending ? await isAny(listing, older, false) : more,
      hasNewer: descending ? more : page.anchor !== null && (await isAny(listing, newer, true)),
      total: page.countUpTo > 0 ? await counted() : null,
    }
  }
}
