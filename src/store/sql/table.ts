/**
 * NAME      table - a table said once: its columns, rows, encoders and inserts
 *   A table is described once, by its fields in the port; the SQL text and the two translations follow from
 *   them. Field names are camelCase in the port and snake_case in the database. The mail tables do not use
 *   this: there every microsecond and every column is counted by hand. `ord`, the place of a row in its
 *   list, is no field: whoever writes gives it.
 *   Texts are made once, where a verb is put together: making one costs more than most reads.
 */

import type { Page, Rows } from '../../lifecycle/page.js'
import type { Field, FieldKind } from '../port/row.js'
import { listOf, pageOf } from './pages.js'
import { type Asking, all, first, type Row, run } from './query.js'

/** Behind all that begins in the same way: `x >= name AND x <= name + LAST`. */
export const LAST = '\u{10FFFF}'

export interface Table<T> {
  readonly name: string
  /** Column list for SELECT. */
  readonly columns: string
  /** Its last value is the place of the row. */
  readonly insert: string
  encode(row: T): unknown[]
  decode(row: Row): T
  /** SET clause and values for a part of a row; undefined fields are left alone. */
  change(part: Partial<T>): { readonly set: string; readonly values: unknown[] }
}

const toColumn = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const outward = (kind: FieldKind, value: unknown): unknown =>
  kind === 'bool' ? Number(value) : kind === 'json' ? JSON.stringify(value) : value

const inward = (kind: FieldKind, value: unknown): unknown =>
  kind === 'bool' ? value === 1 : kind === 'json' ? JSON.parse(String(value)) : value

/** `others` are columns that are not named as their fields. */
export const table = <T>(
  name: string,
  fields: { readonly [Name in keyof T]: Field<T[Name]> },
  others: Partial<Readonly<Record<keyof T & string, string>>> = {},
): Table<T> => {
  const entries = Object.entries<Field<unknown>>(fields).map(
    ([field, { kind }]) => [field as keyof T & string, kind] as const,
  )
  const columnOf = (field: keyof T & string): string => others[field] ?? toColumn(field)
  const columns = entries.map(([field]) => columnOf(field))
  const read = entries.map(([field, kind]) => ({ field, kind, column: columnOf(field) }))
  return {
    name,
    columns: columns.join(', '),
    insert: `INSERT INTO ${name} (${columns.join(', ')}, ord) VALUES (${columns.map(() => '?').join(', ')}, ?)`,
    encode: (row) => entries.map(([field, kind]) => outward(kind, row[field])),
    decode: (row) => {
      const found: Record<string, unknown> = {}
      for (const { field, kind, column } of read) found[field] = inward(kind, row[column])
      return found as T
    },
    change: (part) => {
      const changed = entries.filter(([field]) => part[field] !== undefined)
      return {
        set: changed.map(([field]) => `${columnOf(field)} = ?`).join(', '),
        values: changed.map(([field, kind]) => outward(kind, part[field])),
      }
    },
  }
}

export type Readable<T> = Pick<Table<T>, 'name' | 'columns' | 'decode'>

const select = <T>({ columns, name }: Readable<T>, where: string): string =>
  `SELECT ${columns} FROM ${name} WHERE ${where}`

/** All rows that the clause finds. */
export const allOf = <T>(table: Readable<T>, where: string) => {
  const text = select(table, where)
  return function* (...values: readonly unknown[]): Asking<readonly T[]> {
    return (yield* all(text, ...values)).map(table.decode)
  }
}

/** The first of them. */
export const oneOf = <T>(table: Readable<T>, where: string) => {
  const text = `${select(table, where)} LIMIT 1`
  return function* (...values: readonly unknown[]): Asking<T | null> {
    const row = yield* first(text, ...values)
    return row === null ? null : table.decode(row)
  }
}

/** A page of them; rows have ids. */
export const pagesOf = <T>(table: Readable<T>) => {
  const byId = oneOf(table, 'id = ?')
  return (where: string, values: readonly unknown[], page: Page): Asking<Rows<T>> =>
    pageOf(listOf(table.name, where, values), page, (id: string) => byId(id))
}

/** Whether a statement finds anything. */
export function* isThere(text: string, ...values: readonly unknown[]): Asking<boolean> {
  return (yield* first(text, ...values)) !== null
}

/** Changes what is given of rows; how many there were, 0 when nothing is given. */
export function* change<T>(
  table: Table<T>,
  part: Partial<T>,
  where: string,
  ...values: readonly unknown[]
): Asking<number> {
  const { set, values: given } = table.change(part)
  return given.length === 0
    ? 0
    : yield* run(`UPDATE ${table.name} SET ${set} WHERE ${where}`, ...given, ...values)
}

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
