/**
 * NAME      carry - mail that leaves for another store, and mail that comes from one
 *   A recipient that has left has the id of its lot in `held`. Marking walks over a scope in small steps, as every
 *   order does. Ending is one comparison of the lot's state and then steps over the recipients that are still with it:
 *   each leaves the index range that the next step reads, so that the same order, given again, does the rest.
 *   A mail travels in the form of Postern 0.1, since the other store may be an older one: named fields, events with
 *   types and sources in words, first events among them.
 *   Its rows are stored under their ids, column by column as far as this schema has them. What was exported is due
 *   when it would have been due there; whoever is done stays as he is. A mail that left from here and comes back in
 *   the lot of another store takes the place of what was left of it; its timeline has both. Any other mail, and each
 *   event, gets a place of its own here.
 */
import { Fault } from '../../base/fault.js'
import { type EventRow, type Outcome, observed } from '../../lifecycle/facts.js'
import { isAway } from '../../lifecycle/orders.js'
import type { Status } from '../../mail/status.js'
import {
  type CarriedFields,
  type CarriedMail,
  type CarryResult,
  type CarryTarget,
  EXPORTED,
  LOT_ROW,
  type LotRow,
  type LotState,
  MOVED,
  type QueueScope,
} from '../port/operations.js'
import { comesBack, mayLeave } from '../rules/operations.js'
import { type EventParts, eventCarrying, kindOf } from './log/events.js'
import { timelineOf } from './log/reads.js'
import {
  BESIDE_LISTS,
  EMAIL_ID,
  type MailTables,
  OF_EMAIL,
  readLists,
  shortAddress,
  shortMessageId,
} from './mails.js'
import { type Holdable, type Progress, type QueueWrites, type WalkCursor, walk } from './orders.js'
import { type Asking, all, first, type Row, run } from './query.js'
import { insertNew, isThere, type Places, table } from './table.js'

export const LOTS = table<LotRow>('lots', LOT_ROW)

const STEP = 500

type Sibling = Holdable & { readonly boot: number | null; readonly held: string | null }

const SIBLING = `id, ${EMAIL_ID}, status, due_at, boot, held`

const moved = (recipientId: string, lot: string, now: number): Outcome =>
  observed({
    recipientId,
    seen: 'moved',
    at: now,
    source: 'operator',
    reason: MOVED,
    detail: { action: MOVED, lot },
  })

function* stateOf(id: string): Asking<LotState | null> {
  return ((yield* first('SELECT state FROM lots WHERE id = ?', id))?.state ?? null) as LotState | null
}

/** Of one mail; how many recipients. */
function* takeOut(
  queue: QueueWrites,
  emailId: string,
  lot: string,
  reason: string,
  now: number,
): Asking<number> {
  // whoever waits no more stands in nobody's way
  const siblings = (yield* all(
    `SELECT ${SIBLING} FROM ${queue.waiting} WHERE ${OF_EMAIL}`,
    emailId,
  )) as unknown as readonly Sibling[]
  const leases = siblings.map(({ boot, held }) => ({ isLeased: boot !== null, held }))
  if (!mayLeave(leases, lot)) return 0
  const waiting = siblings.filter(({ due_at }) => due_at !== null)
  if (waiting.length > 0) yield* queue.hold(waiting, { id: lot, reason }, now)
  return waiting.length
}

/** Does what the state of an ended lot says to some of its recipients; how many, 0 when it is done. */
function* step(queue: QueueWrites, id: string, now: number): Asking<number> {
  const ended = yield* stateOf(id)
  if (ended !== 'taken_back' && ended !== 'forgotten') return 0
  const text = `SELECT ${SIBLING} FROM ${queue.waiting} WHERE held = ? LIMIT ${STEP}`
  const rows = (yield* all(text, id)) as unknown as readonly Sibling[]
  const note = {
    action: 'taken_back',
    did: 'released',
    reason: 'taken back',
    now,
    more: { lot: id },
  } as const
  const applied = ended === 'forgotten' ? yield* queue.settle(rows.map((row) => moved(row.id, id, now))) : []
  const left = rows.filter((_, i) => applied[i] !== true)
  if (left.length > 0) yield* queue.free(left, note)
  return rows.filter(({ held }) => isAway(held)).length
}

export const lotWrites = (places: Places, queue: QueueWrites) => {
  const insert = insertNew(LOTS, places)
  return {
    *addLot(lot: LotRow): Asking<void> {
      yield* insert(lot)
    },

    *markStep(
      id: string,
      scope: QueueScope,
      reason: string,
      now: number,
      cursor: WalkCursor | null,
    ): Asking<Progress> {
      if ((yield* stateOf(id)) !== 'marking') throw new Fault('resource.conflict', { reason: 'lot_ended' })
      const { rows, next } = yield* walk(queue.waiting, scope, ['waiting'], cursor, STEP)
      yield* queue.lockMails([...new Set(rows.map((row) => row.email_ord))])
      let changed = 0
      for (const emailId of new Set(rows.map((row) => row.email_id)))
        changed += yield* takeOut(queue, emailId, id, reason, now)
      return { changed, next }
    },

    /** Compare and set; answers the state after it. */
    *turnLot(id: string, from: readonly LotState[], to: LotState): Asking<LotState | null> {
      const before = yield* stateOf(id)
      if (before === null || !from.includes(before)) return before
      yield* run('UPDATE lots SET state = ? WHERE id = ?', to, id)
      return to
    },

    lotStep: (id: string, now: number): Asking<number> => step(queue, id, now),
  }
}

export type LotWrites = ReturnType<typeof lotWrites>

/** What means something here alone. */
const LOCAL: ReadonlySet<string> = new Set([
  'ord',
  'email_ord',
  'workspace',
  'pool',
  'body',
  'boot',
  'lease_until',
  'attempt_upstream',
  'first',
  // made of the fields that are carried
  'message',
  'message_host',
  'written',
  'body_apart',
  'submitter',
  'only_address',
  'submitted_by',
])

const fieldsOf = (row: Row): CarriedFields =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !LOCAL.has(name))) as CarriedFields

/** An older store expects all of the lists. */
const emailOf = (row: Row): CarriedFields => ({ ...fieldsOf(row), lists: JSON.stringify(readLists(row)) })

const recipientOf = (row: Row): CarriedFields => {
  const fields = fieldsOf(row)
  return isAway((fields.held ?? null) as string | null) ? { ...fields, held: EXPORTED } : fields
}

const moreOf = ({ reply, mta, detail }: EventRow): string | null =>
  reply === null && mta === null && detail === null ? null : JSON.stringify({ reply, mta, detail })

const toFields = (event: EventRow, dedupe: string | null): CarriedFields => ({
  email_id: event.emailId,
  id: event.id,
  type: event.type,
  recipient_id: event.recipientId,
  source: event.source,
  occurred_at: event.occurredAt,
  created_at: event.createdAt,
  attempt: event.attempt,
  applied: event.applied ? 1 : 0,
  reason: event.reason,
  dedupe,
  more: moreOf(event),
})

function* timelineFields(emailId: string): Asking<readonly CarriedFields[]> {
  const events: CarriedFields[] = []
  for (const { place, event } of yield* timelineOf(emailId)) {
    const row = place.n > 0 ? null : yield* first('SELECT dedupe FROM events WHERE ord = ?', place.ord)
    events.push(toFields(event, (row?.dedupe ?? null) as string | null))
  }
  return events
}

/** But for its body. */
function* carried(recipients: string, emailId: string): Asking<Omit<CarriedMail, 'raw'> | null> {
  const email = yield* first(`SELECT e.*, ${BESIDE_LISTS} FROM emails e WHERE e.id = ?`, emailId)
  if (email === null) return null
  const content = yield* first('SELECT content FROM bodies WHERE n = ? AND email_id = ?', email.body, emailId)
  const rows = yield* all(`SELECT *, ${EMAIL_ID} FROM ${recipients} WHERE ${OF_EMAIL} ORDER BY id`, emailId)
  const workspace = yield* first('SELECT slug FROM workspaces WHERE n = ?', email.workspace)
  const pool = yield* first('SELECT name FROM pools WHERE n = ?', email.pool)
  return {
    id: emailId,
    workspace: workspace?.slug as string,
    pool: pool?.name as string,
    email: emailOf(email),
    recipients: rows.map(recipientOf),
    events: yield* timelineFields(emailId),
    content: (content?.content ?? null) as string | null,
  }
}

export const carryReads = ({ recipients, waiting }: MailTables) => ({
  *lots(accountId: string): Asking<readonly (LotRow & { readonly recipients: number })[]> {
    const lots: (LotRow & { readonly recipients: number })[] = []
    for (const row of yield* all(
      `SELECT ${LOTS.columns} FROM lots WHERE account_id = ? ORDER BY ord DESC`,
      accountId,
    )) {
      const kept = yield* first(`SELECT count(*) AS n FROM ${waiting} WHERE held = ?`, row.id)
      lots.push({ ...LOTS.decode(row), recipients: Number(kept?.n) })
    }
    return lots
  },

  *lot(accountId: string, id: string): Asking<LotRow | null> {
    const row = yield* first(
      `SELECT ${LOTS.columns} FROM lots WHERE account_id = ? AND id = ?`,
      accountId,
      id,
    )
    return row === null ? null : LOTS.decode(row)
  },

  *exported(
    lot: string,
    after: string,
  ): Asking<{ readonly ids: readonly string[]; readonly next: string | null }> {
    const rows = yield* all(
      `SELECT id, ${EMAIL_ID} FROM ${waiting} WHERE held = ? AND id > ? ORDER BY id LIMIT ? + 0`,
      ...[lot, after, STEP],
    )
    const ids = new Set(rows.map((row) => row.email_id as string))
    return { ids: [...ids], next: (rows.at(-1)?.id ?? null) as string | null }
  },

  carried: (emailId: string): Asking<Omit<CarriedMail, 'raw'> | null> => carried(recipients, emailId),

  *knownEmails(ids: readonly string[]): Asking<readonly string[]> {
    const known: string[] = []
    for (const id of ids) {
      if ((yield* first('SELECT 1 AS found FROM emails WHERE id = ?', id)) !== null) known.push(id)
    }
    return known
  },
})

interface CarryParts extends EventParts {
  readonly places: Places
  readonly queue: Pick<QueueWrites, 'recipients' | 'lockMails' | 'free'>
  /** Stores what of the fields this database has columns for; where the body is, is `body_apart`. */
  insert(table: 'emails' | 'recipients', fields: CarriedFields): Asking<unknown>
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
  fields: CarriedFields,
): readonly (readonly [string, CarriedFields[string]])[] =>
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
