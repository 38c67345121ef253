/**
 * NAME      pages - keyset pages over rising ids
 * DESCRIPTION
 *   A page is a range of ids in one or more strands, each of them an index range
 *   in id order; strands are merged, so a list over many workspaces costs a seek
 *   for each and never a scan. One row more than the limit tells whether there
 *   is more ahead, one EXISTS tells of the side behind (API.md, section 3.1).
 */
import type { Page, Rows } from '../../page.js'
import type { Statements } from './statements.js'

/** Part of a list whose rows an index holds in id order. */
export interface Strand {
  readonly from: string
  /** The id column, as written in this strand's SQL. */
  readonly id: string
  readonly where: string
  readonly params: readonly unknown[]
  /** True when an id may come more than once. */
  readonly repeats?: boolean
}

const select = (strand: Strand): string =>
  `SELECT ${strand.repeats === true ? 'DISTINCT ' : ''}${strand.id} AS id`

interface Side {
  readonly operator: '<' | '<=' | '>' | '>='
  readonly anchor: string
}

const sideSql = (strand: Strand, side: Side | null): string =>
  side === null ? strand.where : `${strand.where} AND ${strand.id} ${side.operator} ?`

const sideParams = (strand: Strand, side: Side | null): unknown[] =>
  side === null ? [...strand.params] : [...strand.params, side.anchor]

const idsOf = (
  sql: Statements,
  strand: Strand,
  side: Side | null,
  descending: boolean,
  limit: number,
): string[] =>
  sql(
    `${select(strand)} FROM ${strand.from} WHERE ${sideSql(strand, side)}
     ORDER BY ${strand.id} ${descending ? 'DESC' : 'ASC'} LIMIT ?`,
  )
    .all(...sideParams(strand, side), limit)
    .map((row) => row.id as string)

const exists = (sql: Statements, strands: readonly Strand[], side: Side | null): boolean =>
  side !== null &&
  strands.some(
    (strand) =>
      sql(`SELECT 1 AS found FROM ${strand.from} WHERE ${sideSql(strand, side)} LIMIT 1`).get(
        ...sideParams(strand, side),
      ) !== undefined,
  )

const countUpTo = (sql: Statements, strands: readonly Strand[], most: number): number => {
  let total = 0
  for (const strand of strands) {
    if (total >= most) break
    const row = sql(
      `SELECT count(*) AS n FROM (${select(strand)} FROM ${strand.from} WHERE ${strand.where} LIMIT ?)`,
    ).get(...strand.params, most - total)
    total += Number(row?.n ?? 0)
  }
  return total
}

/** What lies behind the page: beyond its nearest row, or on the far side of the anchor when it is empty. */
const behind = (page: Page, nearest: string | undefined): Side | null => {
  const older = page.direction === 'older'
  if (page.anchor === null) return null
  if (nearest !== undefined) return { operator: older ? '>' : '<', anchor: nearest }
  const strict = page.inclusive ? '' : '='
  return { operator: `${older ? '>' : '<'}${strict}`, anchor: page.anchor }
}

const ahead = (page: Page): Side | null => {
  if (page.anchor === null) return null
  const inclusive = page.inclusive ? '=' : ''
  return { operator: `${page.direction === 'older' ? '<' : '>'}${inclusive}`, anchor: page.anchor }
}

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** One page of ids, newest first, and what surrounds it. */
const pageOfIds = (sql: Statements, strands: readonly Strand[], page: Page): Rows<string> => {
  const descending = page.direction === 'older'
  const merged = strands.flatMap((strand) => idsOf(sql, strand, ahead(page), descending, page.limit + 1))
  const sorted = strands.length > 1 ? [...new Set(merged)].sort(byCodeUnit) : merged
  if (strands.length > 1 && descending) sorted.reverse()
  const rows = sorted.slice(0, page.limit)
  const more = sorted.length > page.limit
  const rest = exists(sql, strands, behind(page, rows[0]))
  if (!descending) rows.reverse()
  return {
    rows,
    hasOlder: descending ? more : rest,
    hasNewer: descending ? rest : more,
    total: page.countUpTo > 0 ? countUpTo(sql, strands, page.countUpTo) : null,
  }
}

/** A page of whole rows: `find` fetches one by its id. */
export const pageOf = <T>(
  sql: Statements,
  strands: readonly Strand[],
  page: Page,
  find: (id: string) => T | null,
): Rows<T> => {
  const ids = pageOfIds(sql, strands, page)
  return { ...ids, rows: ids.rows.map(find).filter((row): row is T & NonNullable<T> => row !== null) }
}
