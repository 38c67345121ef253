/**
 * NAME      reading - the log read once, for all who keep something of it
 *   Mails, their recipients and stored events are three ranges of places, and each is read in one statement: to seek
 *   what belongs to each record costs several times as much. A part has whole mails only, one at least.
 */
import {
  type Added,
  type AlarmTurn,
  type IndexedMail,
  type LogPart,
  READERS,
  type Reading,
  type ReadOf,
  type ReadPlaces,
} from '../port/watch.js'
import {
  BOTTOM,
  compare,
  type LogPlace,
  lower,
  MAILS_BY_PLACE,
  markOf,
  type PlacedRow,
  Records,
  readMark,
  STORED_EVENTS,
} from './log/places.js'
import type { LogEnds } from './log/reads.js'
import { type Asked, type Asking, all, first, type Row, run, together } from './query.js'
import { indexedMail } from './search/tokens.js'

const MAILS = `${MAILS_BY_PLACE} WHERE e.ord >= ? AND e.ord < ? ORDER BY e.ord LIMIT ? + 0`
const RECIPIENTS = `SELECT r.email_ord AS ord, r.first AS n, r.id AS recipient, r.address, r.address_lc
  FROM recipients r WHERE r.email_ord >= ? AND r.email_ord < ? ORDER BY r.email_ord, r.first`

/** Where the mails of a part end: those that have so many recipients together. */
const endOfMails = (mails: readonly Row[], limit: number, end: LogPlace): LogPlace => {
  let recipients = 0
  for (const [i, { ord, total }] of mails.entries()) {
    recipients += total as number
    if (i > 0 && (i >= limit || recipients > limit)) return { ord: ord as number, n: 0 }
  }
  return end
}

const rangeBelow = ({ ord, n }: LogPlace): number => (n > 0 ? ord + 1 : ord)

function* readPart(of: ReadOf, from: LogPlace, end: LogPlace, limit: number): Asking<LogPart> {
  const found = yield* all(MAILS, from.ord, rangeBelow(end), limit + 1)
  let to = endOfMails(found, limit, end)
  const events = of === 'mails' ? [] : yield* STORED_EVENTS.take('newer', from, limit + 1, rangeBelow(to) - 1)
  if (events.length > limit) to = { ord: (events[limit] as PlacedRow).ord, n: 0 }
  const isHere = (place: LogPlace): boolean => compare(place, from) >= 0 && compare(place, to) < 0
  const mails = found.filter(({ ord }) => compare({ ord: ord as number, n: 0 }, to) < 0)
  const recipients = yield* all(RECIPIENTS, from.ord, rangeBelow(to))
  const ofMails = new Map<unknown, Row[]>(mails.map(({ ord }) => [ord, []]))
  const firsts: PlacedRow[] = []
  for (const row of recipients) {
    ofMails.get(row.ord)?.push(row)
    const place = { ord: row.ord as number, n: row.n as number }
    if (place.n > 0 && isHere(place)) firsts.push({ ...place, row })
  }
  const records = new Records()
  const indexed: IndexedMail[] = []
  for (const row of mails) {
    const own = ofMails.get(row.ord) as Row[]
    if (of !== 'mails') records.know(row, own)
    if (of !== 'log' && isHere({ ord: row.ord as number, n: 0 })) indexed.push(indexedMail(row, own))
  }
  const places = of === 'mails' ? [] : [...events.filter(isHere), ...firsts].sort(compare)
  return {
    rows: yield* records.allTold(places),
    mails: indexed,
    mark: markOf(to),
    isEnd: compare(to, end) === 0,
  }
}

/** `ends` are those of the snapshot that is read. */
export const readingReads = (ends: () => Asking<LogEnds>) => ({
  readPlaces,

  readLog(of: ReadOf, after: string, until: string | null, limit: number): Asking<LogPart | 'gone'> {
    return together(function* () {
      const { oldest, newest } = yield* ends()
      const from = readMark(after) ?? BOTTOM
      const end = until === null ? newest : lower(newest, readMark(until) ?? BOTTOM)
      if (of !== 'mails' && compare(from, oldest) < 0) return 'gone'
      if (compare(from, end) >= 0) return { rows: [], mails: [], mark: after, isEnd: true }
      return yield* readPart(of, from, end, limit)
    })
  },
})

/** Each has one row, or none. */
const TABLES = { statistics: 'statistics_place', alarms: 'alarm_mark', sandbox: 'sandbox_place' } as const
const PLACES = `SELECT ${Object.entries(TABLES).map(([one, table]) => `(SELECT mark FROM ${table}) AS ${one}`)},
  (SELECT place FROM search_state) AS place`

function* readPlaces(): Asking<ReadPlaces> {
  const { place, ...places } = (yield* first(PLACES)) as Row
  const search = markOf({ ord: Number(place ?? 0) + 1, n: 0 })
  return { ...(places as Omit<ReadPlaces, 'search'>), search }
}

/** They write in the transaction that runs. */
interface ReadingParts {
  addStatistics(rows: Added<'statistics'>['rows']): Asking<unknown>
  addAlarmCounts(counted: Added<'alarms'>): Asking<readonly AlarmTurn[]>
  addIndexed(mails: readonly IndexedMail[]): Asking<unknown>
}

export const readingWrites = (parts: ReadingParts): Asked<Pick<Reading, 'keepRead'>> => ({
  *keepRead(read) {
    const { to, statistics, alarms, search } = read
    const places = yield* readPlaces()
    if (READERS.some((one) => read[one] !== undefined && read[one].from !== places[one])) return null
    for (const [one, table] of Object.entries(TABLES))
      if (
        read[one as keyof typeof TABLES] !== undefined &&
        (yield* run(`UPDATE ${table} SET mark = ?`, to)) === 0
      )
        yield* run(`INSERT INTO ${table} (mark) VALUES (?)`, to)
    if (statistics !== undefined) yield* parts.addStatistics(statistics.rows)
    const turns = alarms === undefined ? [] : yield* parts.addAlarmCounts(alarms)
    if (search === undefined) return turns
    yield* run('UPDATE search_state SET place = ?', rangeBelow(readMark(to) ?? BOTTOM) - 1)
    // last: where SQLite undoes the making of such a table within a transaction, it makes none by that name again
    yield* parts.addIndexed(search.mails)
    return turns
  },
})
