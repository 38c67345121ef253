/**
 * NAME      write - adding to statistics, and letting old rows go
 * DESCRIPTION
 *   Rows and place are one verb, and it compares before it sets: a caller that
 *   never learned that its verb was done finds another place, and adds nothing.
 */

import { DIMENSIONS, type Dimension, KEPT, SPANS, type Span, type Statistics } from '../../port/statistics.js'
import type { Writes } from '../../port/verbs.js'
import { added, busyOf, crowdedOut, mayCrowd, ROOM, restOf, spansOf } from '../../rules/busiest.js'
import type { Db } from '../connect.js'
import type { WriteContext } from '../write/context.js'

const MINUTE = 60_000
const HOUR = 60

const decode = (text: string): number[] => JSON.parse(text) as number[]

/** span, at, dimension, workspace, test, value */
type Key = [number, number, number, number, number, string]

const KEY = 'span = ? AND at = ? AND dimension = ? AND workspace = ? AND test = ? AND value = ?'
const GROUP = 'span = ? AND at = ? AND dimension = ? AND workspace = ? AND test = ?'

const prepare = (db: Db) => ({
  place: db.prepare<[], string | null>('SELECT mark FROM statistics_place').pluck(),
  move: db.prepare('UPDATE statistics_place SET mark = ?'),
  find: db.prepare<Key, string>(`SELECT counts FROM statistics WHERE ${KEY}`).pluck(),
  drop: db.prepare(`DELETE FROM statistics WHERE ${KEY}`),
  count: db
    .prepare<[number, number, number, number, number], number>(
      `SELECT count(*) FROM statistics WHERE ${GROUP}`,
    )
    .pluck(),
  group: db.prepare<[number, number, number, number, number], { value: string; counts: string }>(
    `SELECT value, counts FROM statistics WHERE ${GROUP}`,
  ),
})

type Statements = ReturnType<typeof prepare>

type Add = (key: Key, counts: readonly number[]) => boolean

/** Adds to a row, or makes it; true when it is new. */
const createAdd = (db: Db): Add => {
  let isNew = true
  // one statement finds and writes the row, at half the price of two
  db.function('add_counts', { deterministic: true }, (a: unknown, b: unknown) => {
    isNew = false
    return JSON.stringify(added(decode(a as string), decode(b as string)))
  })
  const insert = db.prepare(
    `INSERT INTO statistics (span, at, dimension, workspace, test, value, counts) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET counts = add_counts(counts, excluded.counts)`,
  )
  return (key, counts) => {
    isNew = true
    insert.run(...key, JSON.stringify(counts))
    return isNew
  }
}

/** An hour of one dimension of a workspace and mode. */
interface Hour {
  readonly at: number
  readonly dimension: number
  readonly workspace: number
  readonly test: number
}

/** Takes the least busy values of an hour together, where there are too many. */
const makeRoom = (sql: Statements, add: Add, { at, dimension, workspace, test }: Hour): void => {
  const name = DIMENSIONS[dimension] as Dimension
  // one name of a tag may be full long before all of them are
  if ((sql.count.get(HOUR, at, dimension, workspace, test) ?? 0) <= ROOM[name].each) return
  const values = sql.group
    .all(HOUR, at, dimension, workspace, test)
    .map(({ value, counts }) => ({ value, busy: busyOf(decode(counts)) }))
  const gone = crowdedOut(name, values)
  if (gone.length === 0) return
  for (const span of spansOf(name))
    for (let start = at; start < at + HOUR; start += span)
      for (const value of gone) {
        const key: Key = [span, start, dimension, workspace, test, value]
        const counts = sql.find.get(...key)
        if (counts === undefined) continue
        sql.drop.run(...key)
        add([span, start, dimension, workspace, test, restOf(name, value)], decode(counts))
      }
}

export const createStatisticsWrites = ({
  db,
  names,
}: Pick<WriteContext, 'db' | 'names'>): Writes<Statistics> => {
  const sql = prepare(db)
  const add = createAdd(db)
  return {
    addStatistics(from, to, rows) {
      if ((sql.place.get() ?? null) !== from) return false
      const fuller = new Map<string, Hour>()
      for (const row of rows) {
        const at = row.at / MINUTE
        const dimension = DIMENSIONS.indexOf(row.dimension)
        const workspace = names.workspace(row.workspaceId)
        const test = row.mode === 'test' ? 1 : 0
        const isNew = add([row.span, at, dimension, workspace, test, row.value], row.counts)
        if (!isNew || !mayCrowd(row)) continue
        fuller.set(`${at} ${dimension} ${workspace} ${test}`, { at, dimension, workspace, test })
      }
      for (const hour of fuller.values()) makeRoom(sql, add, hour)
      sql.move.run(to)
      return true
    },
  }
}

/** Removes the oldest moment of each span that is beyond its time; how many rows. */
export const createStatisticsSweep = (db: Db) => {
  const oldest = db.prepare<[Span], number | null>('SELECT min(at) FROM statistics WHERE span = ?').pluck()
  const drop = db.prepare('DELETE FROM statistics WHERE span = ? AND at = ?')
  return (now: number): number => {
    let removed = 0
    for (const span of SPANS) {
      const at = oldest.get(span)
      if (at != null && at * MINUTE < now - KEPT[span]) removed += drop.run(span, at).changes
    }
    return removed
  }
}
