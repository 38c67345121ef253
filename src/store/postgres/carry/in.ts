/**
 * NAME      in - mail that comes from another store, into these tables
 * DESCRIPTION
 *   A recipient is a row of the record, and one of the queue while it waits or is held.
 */
import type { Fields } from '../../port/operations.js'
import { carryWrites, fieldsFor } from '../../sql/carry.js'
import { shortAddress } from '../../sql/mails.js'
import type { QueueWrites } from '../../sql/orders.js'
import { type Asking, all, run } from '../../sql/query.js'
import type { Places } from '../../sql/table.js'
import { createDays } from '../accept/days.js'
import { unindex } from '../search/write.js'
import { numbersFor } from '../settle/numbers.js'

const COLUMNS = `SELECT column_name FROM information_schema.columns
  WHERE table_schema = current_schema() AND table_name = ? AND is_generated = 'NEVER'`

function* insertInto(table: 'emails' | 'recipient_rows', fields: Fields, own: Fields): Asking<void> {
  const columns = new Set((yield* all(COLUMNS, table)).map((row) => row.column_name as string))
  const given = { ...Object.fromEntries(fieldsFor(columns, fields)), ...own }
  const names = Object.keys(given)
  const marks = names.map(() => '?').join(', ')
  yield* run(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`, ...Object.values(given))
}

const WAIT = `INSERT INTO queue (recipient_id, email_ord, workspace, pool, gen, due_at, held, held_at, held_due)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

function* insertRecipient(fields: Fields): Asking<void> {
  const { id = '', email_ord, workspace, pool, lease_gen = 0, due_at = null, held = null } = fields
  const { address_lc } = shortAddress(String(fields.address))
  yield* insertInto('recipient_rows', fields, { address_lc, last_gen: lease_gen, first: 0 })
  if (due_at === null && held === null) return
  const rest = [held, fields.held_at ?? null, fields.held_due ?? null]
  yield* run(WAIT, id, email_ord, workspace, pool, lease_gen, due_at, ...rest)
}

const NOTE_DAY = `INSERT INTO email_days AS d (day, behind, ahead) VALUES (?, ?, ?)
  ON CONFLICT (day) DO UPDATE SET behind = greatest(d.behind, excluded.behind), ahead = greatest(d.ahead, excluded.ahead)`

export const carryVerbs = (places: Places, queue: QueueWrites) =>
  carryWrites({
    ...{ places, queue, numbers: numbersFor },
    insert: (table, fields) =>
      table === 'recipients'
        ? insertRecipient(fields)
        : insertInto('emails', fields, { body: fields.body_apart ?? 0 }),
    *addBody({ id, email, content }, raw, place) {
      const text = 'INSERT INTO bodies (n, email_id, created_at, content, raw) VALUES (?, ?, ?, ?, ?)'
      yield* run(text, place, id, email.created_at, content, Buffer.from(raw))
      return place
    },
    *removeRecipients(place) {
      yield* run('DELETE FROM queue WHERE email_ord = ?', place)
      yield* run('DELETE FROM recipient_rows WHERE email_ord = ?', place)
    },
    *noteDay(ord, created_at) {
      for (const { day, behind, ahead } of createDays().beyond([{ ord, created_at }]))
        yield* run(NOTE_DAY, day, behind, ahead)
    },
    unindex: (place) => unindex.remove([place]),
    index: (place) => unindex.restore([place]),
  })
