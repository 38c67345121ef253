/**
 * NAME      statistics - statistics written, read and erased
 *   One seek for each moment of the span; a page ends after about a thousand rows or seeks, wherever that is.
 *   Values of tags and recipient domains go; how many there were stays in the rows that have neither. Some hundreds of
 *   moments in one step.
 */
import {
  DIMENSIONS,
  type Dimension,
  KEPT,
  SPANS,
  type StatisticsPage,
  type StatisticsQuery,
  type StatisticsRow,
  TAG_SEPARATOR,
} from '../port/watch.js'
import { added, busyOf, crowdedOut, mayCrowd, PERSONAL, ROOM, restOf, spansOf } from '../rules/watch.js'
import { type Asking, all, first, type Row, run } from './query.js'
import { LAST } from './table.js'

const MINUTE = 60_000
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
function* momentFrom(span: number, at: number): Asking<number | null> {
  const row = yield* first('SELECT min(at) AS at FROM statistics WHERE span = ? AND at >= ?', span, at)
  return (row?.at ?? null) as number | null
}

function* numberOf(workspaceId: string): Asking<number | null> {
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

const HOUR = 60
const decode = (text: unknown): number[] => JSON.parse(String(text)) as number[]

export const KEY = 'span, at, dimension, workspace, test, value'
const GROUP = 'span = ? AND at = ? AND dimension = ? AND workspace = ? AND test = ?'

type Key = readonly [
  span: number,
  at: number,
  dimension: number,
  workspace: number,
  test: number,
  value: string,
]

interface Counted {
  readonly key: Key
  readonly counts: readonly number[]
}

/** Rows by their keys; what comes twice is added. */
type Sums = Map<string, Counted>

const nameOf = ([a, b, c, d, e, f]: readonly unknown[]): string => `${a} ${b} ${c} ${d} ${e} ${f}`

const gather = (sums: Sums, key: Key, counts: readonly number[]): void => {
  const name = nameOf(key)
  const known = sums.get(name)
  sums.set(name, { key, counts: known === undefined ? counts : added(known.counts, counts) })
}

type Moment = readonly [span: number, at: number]
type Group = readonly [dimension: number, workspace: number, test: number]

/** Many rows at once, as each database finds and writes them. Where it is far each statement is a wait for all that follows. */
export interface StatisticsTable {
  /** Those that are there, with their counts. */
  find(keys: readonly Key[]): Asking<readonly Row[]>
  put(rows: readonly (readonly [...Key, counts: string])[]): Asking<unknown>
  /** Answers with `span`, `at`, `value` and `counts` of those that were there. */
  drop(moments: readonly Moment[], group: Group, values: readonly string[]): Asking<readonly Row[]>
}

/** Adds to rows, or makes them; those that are new. */
function* addAll(table: StatisticsTable, sums: Sums): Asking<readonly Key[]> {
  if (sums.size === 0) return []
  const made: Key[] = []
  const before = new Map<string, unknown>()
  for (const row of yield* table.find([...sums.values()].map(({ key }) => key)))
    before.set(nameOf([row.span, row.at, row.dimension, row.workspace, row.test, row.value]), row.counts)
  const rows = [...sums].map(([name, { key, counts }]) => {
    const known = before.get(name)
    if (known === undefined) made.push(key)
    return [...key, JSON.stringify(known === undefined ? counts : added(decode(known), counts))] as const
  })
  yield* table.put(rows)
  return made
}

/** An hour of one dimension of a workspace and mode. */
type Hour = readonly [at: number, ...Group]

/** At which a dimension is counted in an hour. */
const momentsOf = (name: Dimension, hour: number): readonly Moment[] =>
  spansOf(name).flatMap((span) =>
    Array.from({ length: HOUR / span }, (_, i) => [span, hour + i * span] as const),
  )

/** Takes the least busy values of an hour together, where there are too many. */
function* makeRoom(table: StatisticsTable, [at, ...group]: Hour): Asking<void> {
  const name = DIMENSIONS[group[0]] as Dimension
  // one name of a tag may be full long before all of them are
  const counted = yield* first(`SELECT count(*) AS n FROM statistics WHERE ${GROUP}`, HOUR, at, ...group)
  if (Number(counted?.n) <= ROOM[name].each) return
  const found = yield* all(`SELECT value, counts FROM statistics WHERE ${GROUP}`, HOUR, at, ...group)
  const values = found.map((row) => ({ value: String(row.value), busy: busyOf(decode(row.counts)) }))
  const gone = crowdedOut(name, values)
  const rest: Sums = new Map()
  if (gone.length === 0) return
  for (const row of yield* table.drop(momentsOf(name, at), group, gone)) {
    const key = [row.span as number, row.at as number, ...group, restOf(name, String(row.value))] as const
    gather(rest, key, decode(row.counts))
  }
  yield* addAll(table, rest)
}

export const adding = (table: StatisticsTable) =>
  function* (rows: readonly StatisticsRow[]): Asking<void> {
    const numbers = new Map<string, number>()
    const sums: Sums = new Map()
    for (const { span, at, workspaceId, mode, dimension, value, counts } of rows) {
      const workspace = numbers.get(workspaceId) ?? (yield* numberOf(workspaceId))
      if (workspace === null) throw new Error(`no workspace ${workspaceId}`)
      numbers.set(workspaceId, workspace)
      const test = mode === 'test' ? 1 : 0
      gather(sums, [span, at / MINUTE, DIMENSIONS.indexOf(dimension), workspace, test, value], counts)
    }
    const fuller = new Map<string, Hour>()
    for (const [span, ...hour] of yield* addAll(table, sums)) {
      const [at, dimension, workspace, test] = hour
      if (!mayCrowd({ span, dimension: DIMENSIONS[dimension] as Dimension })) continue
      fuller.set(`${at} ${dimension} ${workspace} ${test}`, [at, dimension, workspace, test])
    }
    for (const hour of fuller.values()) yield* makeRoom(table, hour)
  }

/** Removes the oldest moment of each span that is beyond its time; how many rows. */
export function* sweepStatistics(now: number): Asking<number> {
  let removed = 0
  for (const span of SPANS) {
    const at = yield* momentFrom(span, 0)
    if (at !== null && at * MINUTE < now - KEPT[span])
      removed += yield* run('DELETE FROM statistics WHERE span = ? AND at = ?', span, at)
  }
  return removed
}

const STEP = 300

const WALKED = SPANS.filter((span) => PERSONAL.some((dimension) => spansOf(dimension).includes(span)))

const DROP = `DELETE FROM statistics WHERE span = ? AND at = ?
  AND dimension IN (${PERSONAL.map((dimension) => DIMENSIONS.indexOf(dimension)).join(', ')}) AND workspace = ?`

/** How far a walk has come. */
export interface Walked {
  readonly span: number
  readonly at: number
}

export const UNWALKED: Walked = { span: 0, at: 0 }

/** Erases from there on; where the next step goes on, or null at the end. */
export function* eraseCounted(workspace: number, { span, at }: Walked): Asking<Walked | null> {
  let next = at
  for (let i = span, n = 0; ; n++) {
    const minutes = WALKED[i]
    if (minutes === undefined) return null
    if (n === STEP) return { span: i, at: next }
    const found = yield* momentFrom(minutes, next)
    if (found !== null) yield* run(DROP, minutes, found, workspace)
    else i++
    next = found === null ? 0 : found + 1
  }
}
