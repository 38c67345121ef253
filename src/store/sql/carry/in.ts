/**
 * NAME      in - a carried mail becomes one of ours
 * DESCRIPTION
 *   Its rows are stored under their ids, column by column as far as this schema
 *   has them. What was exported is due when it would have been due there; whoever
 *   is done stays as he is. A mail that left from here and comes back in the lot of
 *   another store takes the place of what was left of it; its timeline has both.
 *   Any other mail, and each event, gets a place of its own here.
 */
import type { Status } from '../../../mail/status.js'
import {
  type CarriedMail,
  type CarryResult,
  type CarryTarget,
  EXPORTED,
  type Fields,
} from '../../port/operations.js'
import { comesBack } from '../../rules/operations.js'
import type { Places } from '../insert.js'
import { type EventParts, eventCarrying } from '../log/carried.js'
import { kindOf } from '../log/codec.js'
import { timelineOf } from '../log/timeline.js'
import { readLists } from '../mails/lists.js'
import { shortAddress, shortMessageId } from '../mails/short.js'
import type { QueueWrites } from '../operate/queue-writes.js'
import { type Asking, all, first, run } from '../query.js'
import { isThere } from '../rows.js'
import { LOCAL } from './out.js'

interface CarryParts extends EventParts {
  readonly places: Places
  readonly queue: Pick<QueueWrites, 'recipients' | 'lockMails' | 'free'>
  /** Stores what of the fields this database has columns for; where the body is, is `body_apart`. */
  insert(table: 'emails' | 'recipients', fields: Fields): Asking<unknown>
  /** Its number. `size` of one that stands in a file already. */
  addBody(mail: CarriedMail, raw: Uint8Array, place: number, size: number | null): Asking<number>
  removeRecipients(place: number): Asking<unknown>
  /** The days' notes hear of a mail that is stored. */
  noteDay(place: number, createdAt: number): Asking<unknown>
  /** Before the mail is removed, and when it is there again. */
  unindex(place: number): Asking<unknown>
  index(place: number): Asking<unknown>
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

/** Those of the fields that a table has; what means something in the other database alone is left out. */
export const fieldsFor = (
  columns: ReadonlySet<string>,
  fields: Fields,
): readonly (readonly [string, Fields[string]])[] =>
  Object.entries(fields).filter(
    ([name]) => columns.has(name) && (PLACED.has(name) || !LOCAL.has(name)),
  ) as never

function* numberIn(table: 'workspaces' | 'pools', id: string): Asking<number> {
  const row = yield* first(`SELECT n FROM ${table} WHERE id = ?`, id)
  if (row === null) throw new Error(`no row ${id} in ${table}`)
  return row.n as number
}

const RELEASED = `SELECT v.more FROM emails e JOIN events v ON v.email = e.ord AND v.kind = ${kindOf('email.released')}
  WHERE e.id = ? AND v.more IS NOT NULL`

/** Whether it came with this lot before. */
function* cameWith(emailId: string, lot: string): Asking<boolean> {
  for (const { more } of yield* all(RELEASED, emailId)) {
    const [, , detail] = JSON.parse(more as string)
    if (detail !== 0 && detail?.action === 'imported' && detail.lot === lot) return true
  }
  return false
}

/** The file is another store's, was not taken before, and all that it wants sent has left from here. */
function* isBack(recipients: string, mail: CarriedMail, lot: string | null): Asking<boolean> {
  if (lot === null) return false
  if (yield* isThere("SELECT 1 FROM lots WHERE id = ? AND state <> 'imported'", lot)) return false
  if (yield* cameWith(mail.id, lot)) return false
  const found = new Map<string, { status: string; held: string | null; reason: string | null }>()
  for (const { id } of mail.recipients) {
    const row = yield* first(`SELECT status, held, reason FROM ${recipients} WHERE id = ?`, id)
    if (row !== null) found.set(String(id), row as never)
  }
  return comesBack(mail.recipients, (id) => found.get(id) ?? null)
}

function* bodyOf(emailId: string): Asking<number | null> {
  const text = 'SELECT b.n FROM emails e JOIN bodies b ON b.n = e.body AND b.email_id = e.id WHERE e.id = ?'
  return ((yield* first(text, emailId))?.n ?? null) as number | null
}

/** That of what was left of it, which is removed, or a new one. */
function* placeFor(parts: CarryParts, { id, email }: CarriedMail, left: number | null): Asking<number> {
  if (left !== null) {
    yield* parts.unindex(left)
    yield* parts.removeRecipients(left)
    yield* run('DELETE FROM emails WHERE id = ?', id)
    return left
  }
  const place = parts.places.next()
  yield* parts.noteDay(place, Number(email.created_at))
  return place
}

const TAG = 'INSERT INTO tags (workspace, name, value, email_ord) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'

/** The mail and its recipients. */
function* store(
  parts: CarryParts,
  mail: CarriedMail,
  to: CarryTarget,
  ord: number,
  body: number,
): Asking<void> {
  const workspace = yield* numberIn('workspaces', to.workspaceId)
  const pool = yield* numberIn('pools', to.poolId)
  const message = shortMessageId(mail.id, String(mail.email.message_id))
  yield* parts.insert('emails', { ...mail.email, ...message, ...{ ord, workspace, pool, body_apart: body } })
  for (const { name, value } of readLists(mail.email).tags) yield* run(TAG, workspace, name, value, ord)
  for (const one of mail.recipients) {
    const { written } = shortAddress(String(one.address))
    yield* parts.insert('recipients', { ...one, written, email_ord: ord, workspace, pool })
  }
}

export const carryWrites = (parts: CarryParts) => {
  const addEvents = eventCarrying(parts)
  return {
    *carryIn(
      mail: CarriedMail,
      to: CarryTarget,
      now: number,
      size: number | null = null,
    ): Asking<CarryResult> {
      const here = yield* first('SELECT ord FROM emails WHERE id = ?', mail.id)
      const left = (here?.ord ?? null) as number | null
      if (left !== null) yield* parts.queue.lockMails([left])
      if (left !== null && !(yield* isBack(parts.queue.recipients, mail, to.lot))) return 'known'
      const kept = yield* bodyOf(mail.id)
      const known = new Set((yield* timelineOf(mail.id)).map(({ event }) => event.id))
      const place = yield* placeFor(parts, mail, left)
      const { raw } = mail
      const body = kept ?? (raw === null ? 0 : yield* parts.addBody(mail, raw, place, size))
      yield* store(parts, mail, to, place, body)
      yield* parts.index(place)
      // events that both stores have are one
      yield* addEvents(
        place,
        mail.events.filter(({ id }) => !known.has(String(id))),
      )
      const freed = mail.recipients
        .filter(({ held }) => held === EXPORTED)
        .map(({ id, status }) => ({ id: String(id), email_id: mail.id, status: status as Status }))
      const why = {
        action: 'imported',
        did: 'released',
        reason: 'carried over from another store',
        now,
      } as const
      if (freed.length > 0)
        yield* parts.queue.free(freed, { ...why, ...(to.lot !== null && { more: { lot: to.lot } }) })
      return 'accepted'
    },
  }
}

export type CarryWrites = ReturnType<typeof carryWrites>
