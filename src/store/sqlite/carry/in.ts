/**
 * NAME      in - mail that comes from another store, into these tables
 */
import type { Fields } from '../../port/operations.js'
import { carryWrites, fieldsFor } from '../../sql/carry.js'
import type { QueueWrites } from '../../sql/orders.js'
import { type Asking, all, atOnce, first, run } from '../../sql/query.js'
import type { Unindex } from '../search/write.js'
import type { NoteDay } from '../write/accept.js'
import type { WriteContext } from '../write/context.js'
import { createNumbers } from '../write/events.js'

const BODY = `INSERT INTO bodies (n, email_id, created_at, content, raw, beside) VALUES (?, ?, ?, ?, ?, ?)
  RETURNING n`

const createInsert = () => {
  const known = new Map<string, ReadonlySet<string>>()
  return function* (table: 'emails' | 'recipients', fields: Fields): Asking<void> {
    let columns = known.get(table)
    if (columns === undefined) {
      const rows = yield* all('SELECT name FROM pragma_table_info(?)', table)
      columns = new Set(rows.map((row) => row.name as string))
      known.set(table, columns)
    }
    const given = fieldsFor(columns, fields)
    const names = given.map(([name]) => name)
    const marks = names.map(() => '?').join(', ')
    const values = given.map(([, value]) => value)
    yield* run(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`, ...values)
  }
}

export const createCarryIn = (
  context: WriteContext,
  queue: QueueWrites,
  noteDay: NoteDay,
  unindex: Pick<Unindex, 'remove' | 'restore'>,
) => {
  const numbers = createNumbers(context)
  return carryWrites({
    ...{ places: context.order, queue, insert: createInsert() },
    numbers: () => atOnce(() => numbers),
    *addBody({ id, email, content }, raw, place, size) {
      const row = yield* first(BODY, place, id, email.created_at, content, raw, size === null ? 0 : 1)
      return row?.n as number
    },
    removeRecipients: (place) => run('DELETE FROM recipients WHERE email_ord = ?', place),
    noteDay: (place, createdAt) => atOnce(() => noteDay(place, createdAt)),
    unindex: (place) => atOnce(() => unindex.remove(place)),
    index: (place) => atOnce(() => unindex.restore(place)),
  })
}
