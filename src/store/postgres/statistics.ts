/**
 * NAME      statistics - many rows of statistics, found and written in one statement each
 *   As arrays, so that a statement is prepared once, whatever the number of rows is.
 */
import { type Asking, all, type Row, run } from '../sql/query.js'
import { KEY, type StatisticsTable } from '../sql/statistics.js'

const KEYS = `${new Array(5).fill('CAST(? AS BIGINT[])').join(', ')}, CAST(? AS TEXT[])`

const FIND = `SELECT s.* FROM unnest(${KEYS}) AS g (${KEY}) JOIN statistics s USING (${KEY})`
const PUT = `INSERT INTO statistics (${KEY}, counts) SELECT * FROM unnest(${KEYS}, CAST(? AS TEXT[]))
  ON CONFLICT (${KEY}) DO UPDATE SET counts = excluded.counts`
const DROP = `DELETE FROM statistics s USING unnest(CAST(? AS BIGINT[]), CAST(? AS BIGINT[])) AS m (span, at)
  WHERE s.span = m.span AND s.at = m.at AND s.dimension = ? AND s.workspace = ? AND s.test = ?
    AND s.value = ANY (CAST(? AS TEXT[])) RETURNING s.span, s.at, s.value, s.counts`

/** One array for each of so many columns. */
const columnsOf = (n: number, rows: readonly (readonly unknown[])[]): unknown[][] =>
  Array.from({ length: n }, (_, i) => rows.map((row) => row[i]))

export const STATISTICS: StatisticsTable = {
  find: (keys): Asking<readonly Row[]> => all(FIND, ...columnsOf(6, keys)),
  put: (rows): Asking<unknown> => run(PUT, ...columnsOf(7, rows)),
  drop: (moments, group, values): Asking<readonly Row[]> =>
    all(DROP, ...columnsOf(2, moments), ...group, values),
}
