/**
 * NAME      in - a carried mail becomes one of ours
 * DESCRIPTION
 *   Its rows are stored under their ids, column by column as far as this schema
 *   has them. What was exported is due when it would have been due there; whoever
 *   is done stays as he is. A mail that left from here and comes back in the lot of
 *   another store takes the place of what was left of it; its timeline has both.
 *   Any other mail, and each event, gets a place of its own here.
 */

import type { Fields } from '../../port/carry.js'
import { type CarriedMail, type CarryResult, type CarryTarget, EXPORTED } from '../../port/carry.js'
import { comesBack } from '../../rules/carry.js'
import { LOCAL } from '../../sql/carry/out.js'
import { kindOf } from '../../sql/log/codec.js'
import { timelineOf } from '../../sql/log/timeline.js'
import { readLists } from '../../sql/mails/lists.js'
import { shortAddress, shortMessageId } from '../../sql/mails/short.js'
import { createAddCarried } from '../log/carried.js'
import type { HoldRecipients } from '../operate/hold-recipient.js'
import type { NoteDay } from '../order/day-notes.js'
import type { Unindex } from '../search/write.js'
import type { WriteContext } from '../write/context.js'

export interface CarryWrites {
  /** `size` of a body that stands in a file already; `raw` is empty then. */
  carryIn(mail: CarriedMail, to: CarryTarget, now: number, size: number | null): CarryResult
}

/** Given here, whatever the file says. */
const PLACED: ReadonlySet<string> = new Set([
  'ord',
  'email_ord',
  'workspace',
  'pool',
  'body_apart',
  'message',
  'message_host',
  'written',
])

type Table = 'emails' | 'recipients'

const createInsert = ({ db }: WriteContext) => {
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
    const names = Object.keys(fields).filter(
      (name) => known(table).has(name) && (PLACED.has(name) || !LOCAL.has(name)),
    )
    const marks = names.map(() => '?').join(', ')
    db.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`).run(
      names.map((name) => fields[name]),
    )
  }
}

/** What is here of a mail that is known. */
const createHere = ({ db }: WriteContext, unindex: Pick<Unindex, 'remove'>) => {
  const isKnown = db.prepare<[string], number>('SELECT 1 FROM emails WHERE id = ?').pluck()
  const isOwnLot = db
    .prepare<[string], number>("SELECT 1 FROM lots WHERE id = ? AND state <> 'imported'")
    .pluck()
  const recipient = db.prepare<[string], { status: string; held: string | null; reason: string | null }>(
    'SELECT status, held, reason FROM recipients WHERE id = ?',
  )
  const cameWith = db
    .prepare<[string, string], number>(
      `SELECT 1 FROM emails e JOIN events v ON v.email = e.ord AND v.kind = ${kindOf('email.released')}
         AND v.more ->> '$[2].action' = 'imported' AND v.more ->> '$[2].lot' = ? WHERE e.id = ?`,
    )
    .pluck()
  const bodyOf = db
    .prepare<[string], number>(
      'SELECT b.n FROM emails e JOIN bodies b ON b.n = e.body AND b.email_id = e.id WHERE e.id = ?',
    )
    .pluck()
  const removeRecipients = db.prepare('DELETE FROM recipients WHERE email_ord = ?')
  const ordOf = db.prepare<[string], number>('SELECT ord FROM emails WHERE id = ?').pluck()
  const remove = db.prepare('DELETE FROM emails WHERE ord = ?')
  return {
    isKnown: (id: string): boolean => isKnown.get(id) !== undefined,
    /** The file is another store's, was not taken before, and all that it wants sent has left from here. */
    comesBack: ({ id, recipients }: CarriedMail, lot: string | null): boolean =>
      lot !== null &&
      isOwnLot.get(lot) === undefined &&
      cameWith.get(lot, id) === undefined &&
      comesBack(recipients, (one) => recipient.get(one) ?? null),
    bodyOf: (id: string): number | undefined => bodyOf.get(id),
    /** Its place. */
    remove: (id: string): number | undefined => {
      const ord = ordOf.get(id)
      if (ord === undefined) return undefined
      unindex.remove(ord)
      removeRecipients.run(ord)
      remove.run(ord)
      return ord
    },
  }
}

export const createCarryIn = (
  context: WriteContext,
  holdRecipients: HoldRecipients,
  noteDay: NoteDay,
  unindex: Pick<Unindex, 'remove' | 'restore'>,
): CarryWrites['carryIn'] => {
  const { db, names, order } = context
  const insert = createInsert(context)
  const addCarried = createAddCarried(context)
  const here = createHere(context, unindex)
  const body = db.prepare(
    'INSERT INTO bodies (n, email_id, created_at, content, raw, beside) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const tag = db.prepare('INSERT OR IGNORE INTO tags (workspace, name, value, email_ord) VALUES (?, ?, ?, ?)')

  const addTags = (workspace: number, ord: number, email: Fields): void => {
    for (const { name, value } of readLists(email).tags) tag.run(workspace, name, value, ord)
  }

  /** Its number; 0 when it is gone. */
  const addBody = ({ id, email, content, raw }: CarriedMail, ord: number, size: number | null): number =>
    raw === null
      ? 0
      : Number(body.run(ord, id, email.created_at, content, raw, size === null ? 0 : 1).lastInsertRowid)

  /** That of what was left of it, which is removed, or a new one. */
  const placeOf = ({ id, email }: CarriedMail): number => {
    const left = here.remove(id)
    if (left !== undefined) return left
    const ord = order.next()
    noteDay(ord, Number(email.created_at))
    return ord
  }

  return (mail, to, now, size) => {
    if (here.isKnown(mail.id)) {
      if (!here.comesBack(mail, to.lot)) return 'known'
    }
    const workspace = names.workspace(to.workspaceId)
    const pool = names.pool(to.poolId)
    const kept = here.bodyOf(mail.id)
    const known = new Set(context.sql.ask(timelineOf(mail.id)).map(({ event }) => event.id))
    const ord = placeOf(mail)
    insert('emails', {
      ...mail.email,
      ...shortMessageId(mail.id, String(mail.email.message_id)),
      ...{ ord, workspace, pool, body_apart: kept ?? addBody(mail, ord, size) },
    })
    addTags(workspace, ord, mail.email)
    for (const one of mail.recipients) {
      const { written } = shortAddress(String(one.address))
      insert('recipients', { ...one, written, email_ord: ord, workspace, pool })
    }
    unindex.restore(ord)
    // events that both stores have are one
    addCarried(
      ord,
      mail.events.filter(({ id }) => !known.has(String(id))),
    )
    const more = to.lot === null ? {} : { lot: to.lot }
    for (const { id, held, status } of mail.recipients) {
      if (held !== EXPORTED) continue
      const row = { id: String(id), email_id: mail.id, status: status as never }
      holdRecipients.free(row, {
        action: 'imported',
        did: 'released',
        reason: 'carried over from another store',
        now,
        more,
      })
    }
    return 'accepted'
  }
}
