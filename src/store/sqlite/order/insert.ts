/**
 * NAME      insert - storing a row of who is who
 */
import type { Table } from '../schema/record.js'
import type { Desk } from '../write/desk.js'

/** Stores a row, and gives it its place. */
export const inserter = <T>(
  { db, order }: Pick<Desk, 'db' | 'order'>,
  table: Table<T>,
): ((row: T) => unknown) => {
  const insert = db.prepare(table.insert)
  return (row) => insert.run(...table.encode(row), order.next())
}
