/**
 * NAME      reads - the log, page by page and from a place on
 * DESCRIPTION
 *   Everything of one answer is read in one snapshot, and whatever is committed
 *   later stands above the mark that it gives: a reader that goes on from its mark
 *   sees each record once, in one order. How far back a mark may lie is a row of
 *   the database (`floor`); pages may go back as far as there are mails.
 */

import type { EventRow } from '../../../lifecycle/event.js'
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { Fields } from '../../port/carry.js'
import type { Followed, LogFilter, LogRow, WholeLog } from '../../port/log.js'
import { TOP } from '../../sql/order/ord.js'
import { boundaryOf } from '../../sql/pages/marks.js'
import type { Statements } from '../read/statements.js'
import { toFields } from './carried.js'
import { kindOf } from './codec.js'
import { namedBy } from './event-id.js'
import { sourcesOf } from './filter.js'
import {
  above,
  BOTTOM,
  compare,
  markOf,
  type Place,
  pageOfPlaces,
  readMark,
  type Source,
  takeFrom,
} from './places.js'
import { createRecords } from './records.js'
import { firstSource, storedSource } from './sources.js'

const ALL = 1_000_000

const isThere = <T>(row: T | null): row is T & NonNullable<T> => row !== null

/** All of it, of whoever: for those who follow the whole log. */
const wholeLog = (sql: Statements): readonly [Source, Source] => [
  storedSource(sql, { from: 'events v', where: [], params: [] }),
  firstSource(sql, {
    from: 'emails e CROSS JOIN recipients r ON r.email_ord = e.ord',
    where: [],
    params: [],
  }),
]

/** Some types of what is stored, of whoever. */
const someTypes = (sql: Statements, { types }: WholeLog): readonly Source[] => [
  storedSource(sql, { from: 'events v', where: [`v.kind IN (${types.map(kindOf).join()})`], params: [] }),
]

/** Records of one mail, also those of its history. */
const mailSources = (sql: Statements, ord: number) => [
  storedSource(sql, { from: 'events v', where: ['v.email = ?'], params: [ord] }),
  firstSource(sql, {
    from: 'emails e CROSS JOIN recipients r ON r.email_ord = e.ord',
    where: ['e.ord = ?'],
    params: [ord],
  }),
]

/** All of a mail's timeline, oldest first. */
const timelineOf = (sql: Statements, emailId: string): readonly { place: Place; event: EventRow }[] => {
  const ord = sql('SELECT ord FROM emails WHERE id = ?').get(emailId)?.ord as number | undefined
  if (ord === undefined) return []
  const records = createRecords(sql)
  return takeFrom(mailSources(sql, ord), 'newer', BOTTOM, ALL).flatMap((place) => {
    const event = records.event(place, ord)
    return event === null ? [] : [{ place, event }]
  })
}

export const createTimelineIds =
  (sql: Statements) =>
  (emailId: string): ReadonlySet<string> =>
    new Set(timelineOf(sql, emailId).map(({ event }) => event.id))

export const createTimelineFields =
  (sql: Statements) =>
  (emailId: string): readonly Fields[] =>
    timelineOf(sql, emailId).map(({ place, event }) => {
      const dedupe =
        place.n > 0 ? null : sql('SELECT dedupe FROM events WHERE ord = ?').get(place.ord)?.dedupe
      return toFields(event, (dedupe ?? null) as string | null)
    })

export const createLogReads = (sql: Statements) => {
  const state = (): { readonly since: number; readonly floor: number; readonly last: number } =>
    sql('SELECT s.since, s.floor, o.last FROM log_state s, order_state o').get() as never

  const ends = (): { readonly oldest: Place; readonly newest: Place } => {
    const { floor, last } = state()
    return { oldest: { ord: floor, n: 0 }, newest: { ord: Math.max(last + 1, floor), n: 0 } }
  }

  const pageOf = (filter: LogFilter, page: Page): Rows<LogRow> => {
    const anchor = page.anchor === null ? null : readMark(page.anchor)
    const places = pageOfPlaces(sourcesOf(sql, filter), page, anchor)
    const records = createRecords(sql)
    const top = page.direction === 'older' && anchor === null ? markOf(ends().newest) : places.newer
    return { ...places, newer: top, rows: places.rows.map(records.told).filter(isThere) }
  }

  /** All that comes after a place. */
  const whole = (only: WholeLog | null, from: Place, limit: number): Followed => {
    const { newest } = ends()
    const places = takeFrom(only === null ? wholeLog(sql) : someTypes(sql, only), 'newer', from, limit)
    const records = createRecords(sql)
    const rows = places.map(records.told).filter(isThere)
    const last = places.at(-1)
    const isEnd = places.length < limit
    return { rows, mark: markOf(isEnd || last === undefined ? newest : above(last)), isEnd }
  }

  const some = (filter: LogFilter, from: Place, limit: number): Followed => {
    const { newest } = ends()
    const places = takeFrom(sourcesOf(sql, filter), 'newer', from, limit + 1)
    const isEnd = places.length <= limit
    const taken = places.slice(0, limit)
    const rows = taken.map(createRecords(sql).told).filter(isThere)
    const last = taken.at(-1)
    return { rows, mark: markOf(isEnd || last === undefined ? newest : above(last)), isEnd }
  }

  return {
    log: (filter: LogFilter, page: Page): Rows<LogRow> => pageOf(filter, page),

    follow: (filter: LogFilter | WholeLog | null, after: string | null, limit: number): Followed | 'gone' => {
      const { oldest } = ends()
      const from = after === null ? oldest : (readMark(after) ?? BOTTOM)
      if (compare(from, oldest) < 0) return 'gone'
      const isWhole = filter === null || !('accountId' in filter)
      return isWhole ? whole(filter, from, limit) : some(filter, from, limit)
    },

    logEnds(): { readonly oldest: string; readonly newest: string } {
      const { oldest, newest } = ends()
      return { oldest: markOf(oldest), newest: markOf(newest) }
    },

    loggedEvent(accountId: string, id: string): LogRow | null {
      const named = namedBy(id)
      if (named === null) return null
      const records = createRecords(sql)
      const at = (source: Source, place: Place): LogRow | null => {
        const [found] = source.take('newer', place, 1)
        return found === undefined || compare(found, place) !== 0 ? null : records.told(found)
      }
      const [events, firsts] = wholeLog(sql)
      const stored = at(events, { ord: named.ord, n: 0 })
      if (stored?.id === id) return stored.accountId === accountId ? stored : null
      const row = sql('SELECT email_ord, first FROM recipients WHERE id = ? AND first > 0').get(
        named.recipientId,
      )
      if (row === undefined) return null
      const first = at(firsts, { ord: row.email_ord as number, n: row.first as number })
      return first?.id === id && first.accountId === accountId ? first : null
    },

    events: (emailId: string, page: Page): Rows<EventRow> => {
      const ord = sql('SELECT ord FROM emails WHERE id = ?').get(emailId)?.ord as number | undefined
      const ids = { from: 'events WHERE email = ?', params: [ord] }
      const anchor = page.anchor === null ? null : (readMark(page.anchor) ?? boundary(sql, ids, page))
      const places = pageOfPlaces(ord === undefined ? [] : mailSources(sql, ord), page, anchor)
      const records = createRecords(sql)
      return { ...places, rows: places.rows.map((place) => records.event(place, ord ?? 0)).filter(isThere) }
    },
  }
}

/** Of a cursor that holds an id, as Postern 0.1 made them. */
const boundary = (
  sql: Statements,
  ids: { readonly from: string; readonly params: readonly unknown[] },
  page: Page,
): Place => {
  const ord = sql.ask(boundaryOf(ids, page))
  return { ord: Math.min(ord, TOP), n: 0 }
}
