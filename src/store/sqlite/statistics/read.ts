/**
 * NAME      read - rows of statistics, some at a time
 * DESCRIPTION
 *   One seek for each moment of the span; a page ends after about a thousand rows
 *   or seeks, wherever that is.
 */
import {
  DIMENSIONS,
  type StatisticsPage,
  type StatisticsQuery,
  type StatisticsRow,
  TAG_SEPARATOR,
} from '../../port/statistics.js'
import type { Statements } from '../read/statements.js'

const MINUTE = 60_000
const PAGE = 1_000
const SEEKS = 500

/** Where a page ended: a moment, and the last row shown of it. */
type Place = readonly [at: number, workspace: number, value: string]

/** The last value of a tag's name, and every value that there is. */
const LAST = '\u{10FFFF}'

const textOf = (query: StatisticsQuery): string =>
  `SELECT s.workspace, w.id, s.value, s.counts FROM statistics s CROSS JOIN workspaces w ON w.n = s.workspace
   WHERE s.span = ? AND s.at = ? AND s.dimension = ? AND (s.workspace, s.test, s.value) > (?, ?, ?)
   AND s.test = ? ${query.workspaceId === null ? '' : 'AND s.workspace = ?'}
   ${query.accountId === null ? '' : 'AND w.account_id = ?'} ${query.tagName === null ? '' : 'AND s.value >= ? AND s.value <= ?'}
   ORDER BY s.workspace, s.test, s.value LIMIT ${PAGE}`

export const createStatisticsReads = (sql: Statements) => {
  const firstAfter = (span: number, at: number): number | null =>
    (sql('SELECT min(at) AS at FROM statistics WHERE span = ? AND at >= ?').get(span, at)?.at as
      | number
      | null
      | undefined) ?? null

  const rowsAt = (query: StatisticsQuery, at: number, workspace: number | null, from: Place | null) => {
    const test = query.mode === 'test' ? 1 : 0
    const dimension = DIMENSIONS.indexOf(query.dimension)
    const { accountId, tagName } = query
    const [, last, value] = from ?? [at, -1, '']
    return sql(textOf(query)).all(
      ...[query.span, at, dimension, from === null ? (workspace ?? -1) - 1 : last, test, value, test],
      ...(workspace === null ? [] : [workspace]),
      ...(accountId === null ? [] : [accountId]),
      ...(tagName === null ? [] : [tagName, `${tagName}${TAG_SEPARATOR}${LAST}`]),
    )
  }

  const numberOf = (id: string): number =>
    (sql('SELECT n FROM workspaces WHERE id = ?').get(id)?.n as number | undefined) ?? -1

  const page = (query: StatisticsQuery, after: string | null): StatisticsPage => {
    const rows: StatisticsRow[] = []
    const { span, mode, dimension } = query
    const workspace = query.workspaceId === null ? null : numberOf(query.workspaceId)
    let from = after === null ? null : (JSON.parse(after) as Place)
    let at = from?.[0] ?? firstAfter(span, Math.ceil(query.from / MINUTE / span) * span)
    for (let seeks = 0; at !== null && at * MINUTE < query.to; at += span) {
      if (rows.length >= PAGE || seeks++ >= SEEKS) return { rows, next: JSON.stringify([at, -1, '']) }
      const found = rowsAt(query, at, workspace, from?.[1] === -1 ? null : from)
      from = null
      for (const row of found)
        rows.push({
          span,
          at: at * MINUTE,
          workspaceId: row.id as string,
          mode,
          dimension,
          value: row.value as string,
          counts: JSON.parse(row.counts as string) as number[],
        })
      const last = found.at(-1)
      if (found.length === PAGE && last !== undefined)
        return { rows, next: JSON.stringify([at, last.workspace, last.value]) }
    }
    return { rows, next: null }
  }

  return {
    statistics: page,
    statisticsPlace: (): string | null =>
      (sql('SELECT mark FROM statistics_place').get()?.mark as string | null | undefined) ?? null,
  }
}
