/**
 * NAME      statistics - many rows of statistics, found and written some at a time
 */
import { type Asking, all, type Row, run } from '../../sql/query.js'
import { KEY, type StatisticsTable } from '../../sql/statistics.js'

/** A statement for some rows takes less time than one for each. */
const AT_ONCE = 40

const times = (n: number, text: string): string => new Array(n).fill(text).join(', ')

/** For so many rows, made once. */
const textsOf = (make: (n: number) => string) => {
  const texts: string[] = []
  return (n: number): string => {
    texts[n] ??= make(n)
    return texts[n]
  }
}

const findText = textsOf(
  (n) => `SELECT * FROM statistics WHERE (${KEY}) IN (VALUES ${times(n, '(?, ?, ?, ?, ?, ?)')})`,
)
const putText = textsOf(
  (n) => `INSERT INTO statistics (${KEY}, counts) VALUES ${times(n, '(?, ?, ?, ?, ?, ?, ?)')}
   ON CONFLICT (${KEY}) DO UPDATE SET counts = excluded.counts`,
)
const dropText = textsOf(
  (n) => `DELETE FROM statistics WHERE span = ? AND at = ? AND dimension = ? AND workspace = ? AND test = ?
   AND value IN (${times(n, '?')}) RETURNING span, at, value, counts`,
)

function* inParts<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < rows.length; i += AT_ONCE) yield rows.slice(i, i + AT_ONCE)
}

export const STATISTICS: StatisticsTable = {
  *find(keys): Asking<readonly Row[]> {
    const found: Row[] = []
    for (const some of inParts(keys)) found.push(...(yield* all(findText(some.length), ...some.flat())))
    return found
  },
  *put(rows): Asking<void> {
    for (const some of inParts(rows)) yield* run(putText(some.length), ...some.flat())
  },
  *drop(moments, group, values): Asking<readonly Row[]> {
    const gone: Row[] = []
    for (const moment of moments)
      for (const some of inParts(values))
        gone.push(...(yield* all(dropText(some.length), ...moment, ...group, ...some)))
    return gone
  },
}
