/**
 * NAME      table - rows of the port to columns and back
 * DESCRIPTION
 *   A table is described once, by the kind of each field; the SQL text and the
 *   two translations follow from it. Field names are camelCase in the port and
 *   snake_case in the database. The mail tables do not use this: there every
 *   microsecond and every column is counted by hand. `ord`, the place of a row in
 *   its list, is no field: whoever writes gives it.
 */
import type { Row } from './query.js'

/** Behind all that begins in the same way: `x >= name AND x <= name + LAST`. */
export const LAST = '\u{10FFFF}'

/** `plain` is text, number, octets or null as the database keeps it. */
type Kind = 'plain' | 'bool' | 'json'

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

const outward = (kind: Kind, value: unknown): unknown =>
  kind === 'bool' ? Number(value) : kind === 'json' ? JSON.stringify(value) : value

const inward = (kind: Kind, value: unknown): unknown =>
  kind === 'bool' ? value === 1 : kind === 'json' ? JSON.parse(String(value)) : value

/** `others` are columns that are not named as their fields. */
export const table = <T>(
  name: string,
  fields: Readonly<Record<keyof T & string, Kind>>,
  others: Partial<Readonly<Record<keyof T & string, string>>> = {},
): Table<T> => {
  const entries = Object.entries(fields) as [keyof T & string, Kind][]
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
