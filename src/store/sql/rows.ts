/**
 * NAME      rows - the rows of a table: found, listed, changed
 * DESCRIPTION
 *   Texts are made once, where a verb is put together: making one costs more than most reads.
 */
import type { Page, Rows } from '../../lifecycle/page.js'
import { listOf, pageOf } from './pages/pages.js'
import { type Asking, all, first, run } from './query.js'
import type { Table } from './table.js'

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
