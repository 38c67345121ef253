/**
 * NAME      reads - the log, page by page and from a place on
 * DESCRIPTION
 *   Everything of one answer is read in one snapshot, and whatever is committed
 *   later is newer than the mark that it gives: a reader that goes on from its mark
 *   sees each record once, in one order. How far back a mark may lie is a row of
 *   the database (`floor`); pages may go back as far as there are mails.
 */

import { Fault } from '../../../base/fault.js'
import type { EventRow } from '../../../lifecycle/facts.js'
import { type Page, type Rows, rowBeside } from '../../../lifecycle/page.js'
import type { Followed, LogFilter, LogRow, WholeLog } from '../../port/log.js'
import type { MailTables } from '../mails.js'
import { type Asking, together } from '../query.js'
import { kindOf } from './codec.js'
import { namedBy, placeOfFirst } from './event-id.js'
import { sourcesOf } from './filter.js'
import {
  above,
  BOTTOM,
  compare,
  type Mark,
  markOf,
  type Place,
  pageOfPlaces,
  type Reach,
  readMark,
  type Source,
  takeFrom,
} from './places.js'
import { Records } from './records.js'
import { firstSource, STORED_EVENTS, storedSource } from './sources.js'
import { timelinePage } from './timeline.js'

/** Between which places the log can be followed. */
export interface LogEnds {
  readonly oldest: Place
  /** Nothing comes in below it any more: nobody is told of what stands at it or above. */
  readonly newest: Place
}

const isOfMode = (column: string, mode: WholeLog['mode']): readonly string[] =>
  mode === undefined ? [] : [`${column} = ${mode === 'test' ? 1 : 0}`]

const storedOf = ({ types, mode }: WholeLog): Source => {
  const kinds = types === null ? [] : [`v.kind IN (${types.map(kindOf).join()})`]
  return storedSource({ from: 'events v', where: [...kinds, ...isOfMode('v.scope % 2', mode)], params: [] })
}

const firstsOf = ({ mode }: WholeLog): Source => {
  const where = ['r.email_ord = e.ord', ...isOfMode('e.test', mode)]
  return firstSource({ from: 'emails e CROSS JOIN recipients r', where, params: [] })
}

/** Of whoever. */
const ofWhoever = (filter: WholeLog): readonly Source[] =>
  filter.types === null ? [storedOf(filter), firstsOf(filter)] : [storedOf(filter)]

const FIRST_EVENTS = firstsOf({ types: null })

function* recordAt(source: Source, place: Place): Asking<LogRow | null> {
  const [found] = yield* source.take('newer', place, 1)
  return found === undefined || compare(found, place) !== 0 ? null : yield* new Records().told(found)
}

/** An event of an account, and where it stands. */
function* eventNamed(
  accountId: string,
  id: string,
): Asking<{ readonly row: LogRow; readonly place: Place } | null> {
  const named = namedBy(id)
  if (named === null) return null
  const place = { ord: named.ord, n: 0 }
  const stored = yield* recordAt(STORED_EVENTS, place)
  if (stored?.id === id) return stored.accountId === accountId ? { row: stored, place } : null
  const begins = yield* placeOfFirst(named.recipientId)
  if (begins === null) return null
  const begun = yield* recordAt(FIRST_EVENTS, begins)
  return begun?.id === id && begun.accountId === accountId ? { row: begun, place: begins } : null
}

function* loggedEvent(accountId: string, id: string): Asking<LogRow | null> {
  return (yield* eventNamed(accountId, id))?.row ?? null
}

function* anchorOf({ accountId }: LogFilter, { anchor, direction }: Page): Asking<Mark | null> {
  const id = rowBeside(anchor)
  if (id === null) return anchor === null ? null : readMark(anchor)
  const found = yield* eventNamed(accountId, id)
  if (found === null) throw new Fault('validation.cursor_invalid')
  return direction === 'older' ? found.place : above(found.place)
}

type Ends = () => Asking<LogEnds>

/** What comes after a place. */
function* followed(
  tables: MailTables,
  { oldest, newest }: LogEnds,
  filter: LogFilter | WholeLog,
  after: string | null,
  limit: number,
): Asking<Followed | 'gone'> {
  const from = after === null ? oldest : (readMark(after) ?? BOTTOM)
  if (compare(from, oldest) < 0) return 'gone'
  const sources = 'accountId' in filter ? yield* sourcesOf(tables, filter) : ofWhoever(filter)
  const found = yield* takeFrom(sources, 'newer', from, limit + 1, newest.ord - 1)
  const isEnd = found.length <= limit
  const places = found.slice(0, limit)
  const last = places.at(-1)
  const rows = yield* new Records().allTold(places)
  return { rows, mark: markOf(isEnd || last === undefined ? newest : above(last)), isEnd }
}

/** `ends` are those of the snapshot that is read. */
export const logReads = (tables: MailTables, ends: Ends) => {
  function* reach(): Asking<Reach> {
    return { end: (yield* ends()).newest, frontiers: tables.frontiers }
  }

  function* pageOf(filter: LogFilter, page: Page): Asking<Rows<LogRow>> {
    const anchor = yield* anchorOf(filter, page)
    const places = yield* pageOfPlaces(yield* sourcesOf(tables, filter), page, anchor, yield* reach())
    const rows = yield* new Records().allTold(places.rows)
    return { ...places, rows }
  }

  return {
    log: (filter: LogFilter, page: Page): Asking<Rows<LogRow>> => together(() => pageOf(filter, page)),

    *follow(filter: LogFilter | WholeLog, after: string | null, limit: number): Asking<Followed | 'gone'> {
      const mark = markOf((yield* ends()).newest)
      // nearly always, of those who follow a log at rest
      if (after === mark) return { rows: [], mark, isEnd: true }
      return yield* together(function* () {
        return yield* followed(tables, yield* ends(), filter, after, limit)
      })
    },

    *logEnds(): Asking<{ readonly oldest: string; readonly newest: string }> {
      const { oldest, newest } = yield* ends()
      return { oldest: markOf(oldest), newest: markOf(newest) }
    },

    loggedEvent,

    events: (emailId: string, page: Page): Asking<Rows<EventRow>> =>
      together(function* () {
        return yield* timelinePage(emailId, page, yield* reach())
      }),
  }
}
