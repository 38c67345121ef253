/**
 * NAME      insert - stores a row with its place in its list
 */
import { type Asking, run } from './query.js'
import type { Table } from './table.js'

/** Gives each row that is stored its place. */
export interface Places {
  next(): number
}

/** Stores a row, and gives it its place. */
export const insertInto =
  <T>(table: Table<T>, places: Places) =>
  (row: T): Asking<number> =>
    run(table.insert, ...table.encode(row), places.next())

/** The same, unless there is a row like it: whether it was stored. */
export const insertNew = <T>(table: Table<T>, places: Places) =>
  function* (row: T): Asking<boolean> {
    return (yield* run(`${table.insert} ON CONFLICT DO NOTHING`, ...table.encode(row), places.next())) > 0
  }

/** As many rows go into one statement. */
export const MANY = 100

/** Values for a statement about MANY, of fewer: the last one is repeated. */
export const many = <T>(values: readonly T[]): readonly T[] =>
  Array.from({ length: MANY }, (_, i) => values[Math.min(i, values.length - 1)] as T)

/** The marks of one row as often. */
export const manyMarks = (row: string): string => Array.from({ length: MANY }, () => row).join(', ')
