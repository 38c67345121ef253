/**
 * NAME      reading - the log read once, for several
 */
import { compare, readMark } from '../../../src/lifecycle/page.js'
import { type Added, type AlarmTurn, READERS, type Reading } from '../../../src/store/port/watch.js'
import type { Log } from '../log.js'
import type { Plain } from '../plain.js'
import type { State } from '../state.js'

interface Parts extends Pick<Log, 'logEnds' | 'follow'> {
  addStatistics(rows: Added<'statistics'>['rows']): void
  addAlarmCounts(counted: Added<'alarms'>): readonly AlarmTurn[]
}

const placeOf = (mark: string) => readMark(mark) ?? { ord: 0 }

export const createReading = (
  { marks, mails }: State,
  { logEnds, follow, addStatistics, addAlarmCounts }: Parts,
): Plain<Reading> => {
  const readPlaces = () => ({
    statistics: marks.get('statistics'),
    alarms: marks.get('alarms'),
    search: marks.get('search') ?? '1',
    sandbox: marks.get('sandbox'),
  })
  return {
    readPlaces,
    readLog(of, after, until, limit) {
      const { newest } = logEnds()
      const end = until === null || compare(placeOf(newest), placeOf(until)) < 0 ? newest : until
      const isBefore = (place: ReturnType<typeof placeOf>, mark: string) => compare(place, placeOf(mark)) < 0
      const found = mails.all().filter((one) => !isBefore(one, after) && isBefore(one, end))
      const mark = found[limit] === undefined ? end : String(found[limit].ord)
      const all = of === 'mails' ? { rows: [] } : follow({ types: null }, after, Number.MAX_SAFE_INTEGER)
      if (all === 'gone') return all
      const here = of === 'log' ? [] : found.slice(0, limit)
      return {
        rows: all.rows.filter((row) => compare(placeOf(row.mark), placeOf(mark)) <= 0),
        mails: here.map(({ ord }) => [ord, ''] as const),
        ...{ mark: isBefore(placeOf(mark), after) ? after : mark, isEnd: mark === end },
      }
    },
    keepRead(read) {
      const places = readPlaces()
      if (READERS.some((one) => read[one] !== undefined && read[one].from !== places[one])) return null
      for (const one of READERS) if (read[one] !== undefined) marks.put(one, read.to)
      if (read.statistics !== undefined) addStatistics(read.statistics.rows)
      return read.alarms === undefined ? [] : addAlarmCounts(read.alarms)
    },
  }
}
