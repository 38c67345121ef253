/**
 * NAME      reads - rows of statistics, some at a time
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
import { type Asking, all, first, type Row } from '../query.js'
import { LAST } from '../table.js'

export const MINUTE = 60_000
const PAGE = 1_000
const SEEKS = 500

/** Where a page ended: a moment, and the last row shown of it. */
type Place = readonly [at: number, workspace: number, value: string]

// a join would let the database begin with the workspaces
const textOf = (query: StatisticsQuery): string =>
  `SELECT s.workspace, (SELECT w.id FROM workspaces w WHERE w.n = s.workspace) AS id, s.value, s.counts FROM statistics s
   WHERE s.span = ? AND s.at = ? AND s.dimension = ? AND (s.workspace, s.test, s.value) > (?, ?, ?)
   AND s.test = ? ${query.workspaceId === null ? '' : 'AND s.workspace = ?'}
   ${query.accountId === null ? '' : 'AND EXISTS (SELECT 1 FROM workspaces w WHERE w.n = s.workspace AND w.account_id = ?)'}
   ${query.tagName === null ? '' : 'AND s.value >= ? AND s.value <= ?'}
   ORDER BY s.workspace, s.test, s.value LIMIT ${PAGE}`

/** The first moment of a span that is counted, from there on. */
export function* momentFrom(span: number, at: number): Asking<number | null> {
  const row = yield* first('SELECT min(at) AS at FROM statistics WHERE span = ? AND at >= ?', span, at)
  return (row?.at ?? null) as number | null
}

export function* numberOf(workspaceId: string): Asking<number | null> {
  return ((yield* first('SELECT n FROM workspaces WHERE id = ?', workspaceId))?.n ?? null) as number | null
}

const rowsAt = (query: StatisticsQuery, at: number, workspace: number | null, from: Place | null) => {
  const test = query.mode === 'test' ? 1 : 0
  const { accountId, tagName } = query
  const [, last, value] = from ?? [at, (workspace ?? -1) - 1, '']
  return all(
    textOf(query),
    ...[query.span, at, DIMENSIONS.indexOf(query.dimension), last, test, value, test],
    ...(workspace === null ? [] : [workspace]),
    ...(accountId === null ? [] : [accountId]),
    ...(tagName === null ? [] : [tagName, `${tagName}${TAG_SEPARATOR}${LAST}`]),
  )
}

const rowOf = ({ span, mode, dimension }: StatisticsQuery, at: number, row: Row): StatisticsRow => ({
  ...{ span, at: at * MINUTE, workspaceId: row.id as string, mode, dimension },
  ...{ value: row.value as string, counts: JSON.parse(row.counts as string) as number[] },
})

export const statisticsReads = {
  *statistics(query: StatisticsQuery, after: string | null): Asking<StatisticsPage> {
    const rows: StatisticsRow[] = []
    const { span, workspaceId } = query
    const workspace = workspaceId === null ? null : ((yield* numberOf(workspaceId)) ?? -1)
    let from = after === null ? null : (JSON.parse(after) as Place)
    let at = from?.[0] ?? (yield* momentFrom(span, Math.ceil(query.from / MINUTE / span) * span))
    for (let seeks = 0; at !== null && at * MINUTE < query.to; at += span) {
      if (rows.length >= PAGE || seeks++ >= SEEKS) return { rows, next: JSON.stringify([at, -1, '']) }
      const found = yield* rowsAt(query, at, workspace, from?.[1] === -1 ? null : from)
      from = null
      for (const row of found) rows.push(rowOf(query, at, row))
      const last = found.at(-1)
      if (found.length === PAGE && last !== undefined)
        return { rows, next: JSON.stringify([at, last.workspace, last.value]) }
    }
    return { rows, next: null }
  },
}
