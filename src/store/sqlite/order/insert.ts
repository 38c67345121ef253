/**
 * NAME      insert - storing a row of who is who
 */
import type { Written } from '../../port/tenants/tenants.js'
import type { Table } from '../../sql/table.js'
import type { WriteContext } from '../write/context.js'

/** Stores a row, and gives it its place. */
export const inserter = <T>(
  { db, order }: Pick<WriteContext, 'db' | 'order'>,
  table: Table<T>,
): ((row: T) => unknown) => {
  const insert = db.prepare(table.insert)
  return (row) => insert.run(...table.encode(row), order.next())
}

const UNIQUE = new Set(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY'])

/** Runs one statement; a broken UNIQUE is the answer `not_unique`. */
export const unlessTaken = (run: () => unknown): Written => {
  try {
    run()
    return 'done'
  } catch (error) {
    if (UNIQUE.has((error as { code?: string }).code ?? '')) return 'not_unique'
    throw error
  }
}
