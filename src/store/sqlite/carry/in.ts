/**
 * NAME      in - a carried mail becomes one of ours
 * DESCRIPTION
 *   Its rows are stored under their ids, column by column as far as this schema
 *   has them. What was exported is due when it would have been due there; whoever
 *   is done stays as he is.
 */
import type { CarriedMail, CarryResult, Fields } from '../../port-carry.js'
import { EXPORTED } from '../../port-carry.js'
import type { Parking } from '../operate/park.js'
import type { Desk } from '../write/desk.js'

export interface CarryWrites {
  /** `size` of a body that stands in a file already; `raw` is empty then. */
  carryIn(
    mail: CarriedMail,
    to: { readonly workspaceId: string; readonly poolId: string },
    now: number,
    size: number | null,
  ): CarryResult
}

type Table = 'emails' | 'recipients' | 'events'

const createInsert = ({ db }: Desk) => {
  const columns = new Map<Table, ReadonlySet<string>>()
  const known = (table: Table): ReadonlySet<string> => {
    let names = columns.get(table)
    if (names === undefined) {
      names = new Set(
        db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table),
      )
      columns.set(table, names)
    }
    return names
  }
  return (table: Table, fields: Fields): void => {
    const names = Object.keys(fields).filter((name) => known(table).has(name))
    const marks = names.map(() => '?').join(', ')
    db.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`).run(
      names.map((name) => fields[name]),
    )
  }
}

export const createCarryIn = (desk: Desk, parking: Parking): CarryWrites['carryIn'] => {
  const { db, names } = desk
  const insert = createInsert(desk)
  const isKnown = db.prepare<[string], number>('SELECT 1 FROM emails WHERE id = ?').pluck()
  const body = db.prepare(
    'INSERT INTO bodies (email_id, created_at, content, raw, beside) VALUES (?, ?, ?, ?, ?)',
  )
  const tag = db.prepare('INSERT OR IGNORE INTO tags (workspace, name, value, email_id) VALUES (?, ?, ?, ?)')

  const addTags = (workspace: number, email: Fields): void => {
    const { tags = [] } = JSON.parse(String(email.lists)) as { tags?: { name: string; value: string }[] }
    for (const { name, value } of tags) tag.run(workspace, name, value, email.id)
  }

  return (mail, to, now, size) => {
    if (isKnown.get(mail.id) !== undefined) return 'known'
    const workspace = names.workspace(to.workspaceId)
    const pool = names.pool(to.poolId)
    const { raw } = mail
    const n =
      raw === null
        ? 0
        : body.run(mail.id, mail.email.created_at, mail.content, raw, size === null ? 0 : 1).lastInsertRowid
    insert('emails', { ...mail.email, workspace, pool, body: Number(n) })
    addTags(workspace, mail.email)
    for (const one of mail.recipients) insert('recipients', { ...one, workspace, pool })
    for (const event of mail.events) insert('events', event)
    for (const { id, held, status } of mail.recipients) {
      if (held !== EXPORTED) continue
      const row = { id: String(id), email_id: mail.id, status: status as never }
      parking.free(row, { action: 'imported', reason: 'carried over from another store', now })
    }
    return 'accepted'
  }
}
