/**
 * NAME      orders - what may be done to recipients that wait, in sets of rows
 *   A recipient is a row of the record, and one of the queue while it waits or is held.
 *   Some statements for all rows of a step. Mail under way is written by other daemons at the same time, so
 *   a step locks first what it is about to decide on, mails in the order of their places, and looks again.
 */

import type { Outcome, Settled } from '../../lifecycle/facts.js'
import { type Freed, holdBack, moved, type OrderNote, setFree } from '../../lifecycle/orders.js'
import type { CarriedFields } from '../port/operations.js'
import { carryWrites, fieldsFor, lotWrites } from '../sql/carry.js'
import { eraseWrites } from '../sql/erase.js'
import { flagsOf, kindOf, NO_NUMBERS, NOTHING, packMore } from '../sql/log/events.js'
import { shortAddress } from '../sql/mails.js'
import {
  FOUND,
  type FoundRecipient,
  type Freeable,
  orderWrites,
  type QueueWrites,
  type StandingHolds,
  suspendWrites,
  type UpdateWorkspace,
  updateMoving,
} from '../sql/orders.js'
import { type Asking, all, Memory, run } from '../sql/query.js'
import { pausesOf } from '../sql/schedule.js'
import { createSuppressionEvents } from '../sql/suppressions.js'
import type { Places } from '../sql/table.js'
import { createDays } from './accept.js'
import { numbersFor } from './events.js'
import { MAIL } from './mails.js'
import { unindex } from './search.js'
import { createAddNotice } from './tenants.js'
import type { PostgresWriter } from './writer.js'

const COLUMNS = `SELECT column_name FROM information_schema.columns
  WHERE table_schema = current_schema() AND table_name = ? AND is_generated = 'NEVER'`

function* insertInto(
  table: 'emails' | 'recipient_rows',
  fields: CarriedFields,
  own: CarriedFields,
): Asking<void> {
  const columns = new Set((yield* all(COLUMNS, table)).map((row) => row.column_name as string))
  const given = { ...Object.fromEntries(fieldsFor(columns, fields)), ...own }
  const names = Object.keys(given)
  const marks = names.map(() => '?').join(', ')
  yield* run(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`, ...Object.values(given))
}

const WAIT = `INSERT INTO queue (recipient_id, email_ord, workspace, pool, gen, due_at, held, held_at, held_due)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

function* insertRecipient(fields: CarriedFields): Asking<void> {
  const { id = '', email_ord, workspace, pool, lease_gen = 0, due_at = null, held = null } = fields
  const { address_lc } = shortAddress(String(fields.address))
  yield* insertInto('recipient_rows', fields, { address_lc, last_gen: lease_gen, first: 0 })
  if (due_at === null && held === null) return
  const rest = [held, fields.held_at ?? null, fields.held_due ?? null]
  yield* run(WAIT, id, email_ord, workspace, pool, lease_gen, due_at, ...rest)
}

const NOTE_DAY = `INSERT INTO email_days AS d (day, behind, ahead) VALUES (?, ?, ?)
  ON CONFLICT (day) DO UPDATE SET behind = greatest(d.behind, excluded.behind), ahead = greatest(d.ahead, excluded.ahead)`

const carryVerbs = (places: Places, queue: QueueWrites) =>
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

const standingHolds: StandingHolds = {
  *among(ids) {
    if (ids.length === 0) return new Set()
    const text = `SELECT id FROM holds WHERE id = ANY(CAST(? AS TEXT[]))
      UNION ALL SELECT id FROM workspaces WHERE suspended_at IS NOT NULL AND id = ANY(CAST(? AS TEXT[]))`
    return new Set((yield* all(text, ids, ids)).map((row) => row.id as string))
  },
  *look() {},
}

const idsOf = (rows: readonly { readonly id: string }[]): readonly string[] => rows.map(({ id }) => id)

const LOCK_MAILS = 'SELECT ord FROM emails WHERE ord = ANY(CAST(? AS BIGINT[])) ORDER BY ord FOR UPDATE'
const LOCK_QUEUE = `SELECT recipient_id FROM queue WHERE email_ord = ANY(CAST(? AS BIGINT[]))
  ORDER BY email_ord, recipient_id FOR UPDATE`
const LOCK = `SELECT recipient_id FROM queue q JOIN recipient_rows r ON r.id = q.recipient_id
  WHERE q.recipient_id = ANY(CAST(? AS TEXT[])) ORDER BY q.email_ord, q.recipient_id FOR UPDATE`
const LOOK = `SELECT ${FOUND} FROM ${MAIL.waiting} WHERE id = ANY(CAST(? AS TEXT[])) ORDER BY email_ord, id`

function* lockMails(places: readonly number[]): Asking<void> {
  yield* run(LOCK_MAILS, places)
  yield* run(LOCK_QUEUE, places)
}

const NOTE = `INSERT INTO events (ord, email, scope, kind, flags, recipient, occurred_at, late, reason, more)
  SELECT g.ord, e.ord, e.workspace * 2 + e.test, CAST(? AS BIGINT), CAST(? AS BIGINT), g.id, CAST(? AS BIGINT), 0,
    CAST(? AS TEXT), CAST(? AS TEXT)
  FROM json_to_recordset(CAST(? AS JSON)) AS g (ord bigint, id text, email text) JOIN emails e ON e.id = g.email`

const noting = (places: Places) =>
  function* (rows: readonly Freeable[], { action, did, reason, now, more }: OrderNote): Asking<void> {
    const given = rows.map(({ id, email_id }) => ({ ord: places.next(), id, email: email_id }))
    const packed = packMore({ ...NOTHING, detail: { action, ...more } }, NO_NUMBERS)
    const flags = flagsOf('operator', true, false)
    yield* run(NOTE, kindOf(`email.${did}`), flags, now, reason, packed, JSON.stringify(given))
  }

const PUT = `WITH given AS (
  SELECT g.* FROM json_to_recordset(CAST(? AS JSON)) AS g (id text, held text, held_at bigint, held_due bigint,
    due_at bigint, queued_at bigint)),
queued AS (
  UPDATE recipient_rows r SET queued_at = g.queued_at FROM given g
  WHERE r.id = g.id AND r.queued_at <> g.queued_at)
UPDATE queue q SET held = g.held, held_at = g.held_at, held_due = g.held_due, due_at = g.due_at
  FROM given g WHERE q.recipient_id = g.id`

type Put = Pick<Freed, 'held' | 'heldAt' | 'heldDue' | 'dueAt'> & {
  readonly id: string
  readonly queuedAt?: number
}

const put = (rows: readonly Put[]): Asking<number> => {
  const given = rows.map(({ id, held, heldAt, heldDue, dueAt, queuedAt }) => ({
    ...{ id, held, held_at: heldAt, held_due: heldDue, due_at: dueAt, queued_at: queuedAt },
  }))
  return run(PUT, JSON.stringify(given))
}

interface Resting extends Pick<Freed, 'heldAt' | 'heldDue' | 'queuedAt'>, Freeable {
  readonly pool: number
}

const RESTING = `SELECT q.recipient_id AS id, q.pool, q.held_at AS "heldAt", q.held_due AS "heldDue",
    r.queued_at AS "queuedAt" FROM queue q JOIN recipient_rows r ON r.id = q.recipient_id
  WHERE q.recipient_id = ANY(CAST(? AS TEXT[])) AND q.held IS NOT NULL
  ORDER BY q.email_ord, q.recipient_id FOR UPDATE`

const freeing = (note: QueueWrites['note']) =>
  function* (rows: readonly Freeable[], why: OrderNote): Asking<number> {
    const resting = new Map<string, Resting>()
    for (const row of (yield* all(RESTING, idsOf(rows))) as unknown as readonly Resting[])
      resting.set(row.id, row)
    const pauses = new Memory(pausesOf)
    const freed: Put[] = []
    for (const row of resting.values())
      freed.push({ ...setFree(row, yield* pauses.of(row.pool), why.now), id: row.id })
    if (freed.length === 0) return 0
    yield* put(freed)
    yield* note(
      rows.filter(({ id }) => resting.has(id)),
      why,
    )
    return freed.length
  }

const MOVE = `WITH given AS (
  SELECT g.* FROM json_to_recordset(CAST(? AS JSON)) AS g (id text, email bigint, queued_at bigint)),
target AS (SELECT CAST(? AS BIGINT) AS pool),
mails AS (
  UPDATE emails e SET pool = t.pool FROM (SELECT DISTINCT email FROM given) g, target t WHERE e.ord = g.email),
people AS (
  UPDATE recipient_rows r SET pool = t.pool, queued_at = g.queued_at FROM given g, target t WHERE r.id = g.id)
UPDATE queue q SET pool = t.pool FROM given g, target t WHERE q.recipient_id = g.id`

const POOLS =
  'SELECT pool, json_agg(ord) AS ords FROM emails WHERE ord = ANY(CAST(? AS BIGINT[])) GROUP BY pool'
const HELD_AT =
  'SELECT recipient_id AS id, held_at FROM queue WHERE recipient_id = ANY(CAST(? AS TEXT[])) AND held IS NOT NULL'

function* move(rows: readonly FoundRecipient[], to: number, now: number): Asking<void> {
  const pauses = new Memory(pausesOf)
  const heldAt = new Map<unknown, unknown>()
  for (const { id, held_at } of yield* all(HELD_AT, idsOf(rows))) heldAt.set(id, held_at)
  const given: object[] = []
  for (const { id, email_ord: email, pool, queued_at } of rows) {
    const at = (heldAt.get(id) ?? now) as number
    given.push({ id, email, queued_at: moved(yield* pauses.of(pool), yield* pauses.of(to), queued_at, at) })
  }
  const mails = [...new Set(rows.map(({ email_ord }) => email_ord))]
  for (const { pool, ords } of yield* all(POOLS, mails))
    yield* unindex.move(ords as readonly number[], pool as number, to)
  yield* run(MOVE, JSON.stringify(given), to)
}

/** Due again where sending still makes sense; what is not has no place in the queue. */
const UNLEASE = `WITH over AS (
  DELETE FROM queue q USING recipient_rows r
  WHERE q.recipient_id = ANY(CAST(? AS TEXT[])) AND r.id = q.recipient_id AND r.status NOT IN ('queued', 'deferred')
  RETURNING q.recipient_id, q.gen),
kept AS (UPDATE recipient_rows r SET last_gen = o.gen + 1 FROM over o WHERE r.id = o.recipient_id)
UPDATE queue q SET boot = NULL, lease_until = NULL, gen = q.gen + 1, due_at = CAST(? AS BIGINT) FROM recipient_rows r
WHERE q.recipient_id = ANY(CAST(? AS TEXT[])) AND r.id = q.recipient_id AND r.status IN ('queued', 'deferred')`

export const createQueueWrites = (
  { places, effects }: { readonly places: Places; readonly effects: { due: boolean } },
  settleAll: (outcomes: readonly Outcome[]) => Asking<readonly (Settled | null)[]>,
): QueueWrites => {
  const note = noting(places)
  const free = freeing(note)
  return {
    ...{ recipients: MAIL.recipients, waiting: MAIL.waiting, lockMails, note },
    *free(rows, why) {
      if ((yield* free(rows, why)) > 0) effects.due = true
    },
    *move(rows, to, now) {
      yield* move(rows, to, now)
      effects.due = true
    },
    *locked(rows) {
      const mails = [...new Set(rows.map(({ email_ord }) => email_ord))]
      yield* run(LOCK_MAILS, mails)
      yield* run(LOCK, idsOf(rows))
      return (yield* all(LOOK, idsOf(rows))) as unknown as readonly FoundRecipient[]
    },
    *hold(rows, { id, reason }, now) {
      yield* put(rows.map((one) => ({ ...holdBack(one.due_at, id, now), id: one.id })))
      yield* note(rows, { action: 'held', did: 'held', reason, now, more: { hold: id } })
    },
    *due(rows, at) {
      yield* run('UPDATE queue SET due_at = ? WHERE recipient_id = ANY(CAST(? AS TEXT[]))', at, idsOf(rows))
      effects.due = true
    },
    *unlease(rows, now) {
      const ids = idsOf(rows)
      yield* run(UNLEASE, ids, now, ids)
    },
    *settle(outcomes) {
      return (yield* settleAll(outcomes)).map((settled) => settled?.applied ?? false)
    },
  }
}

/** `updateWorkspace` without the mail of the workspace. */
export const orderVerbs = (
  writer: Pick<PostgresWriter, 'places' | 'effects'>,
  updateWorkspace: UpdateWorkspace,
  settleAll: (outcomes: readonly Outcome[]) => Asking<readonly (Settled | null)[]>,
) => {
  const { places } = writer
  const queue = createQueueWrites(writer, settleAll)
  const { addHold: _, beginHolding, ...orders } = orderWrites(places, queue, standingHolds)
  return {
    ...orders,
    ...suspendWrites(queue, standingHolds, beginHolding),
    ...lotWrites(places, queue),
    ...carryVerbs(places, queue),
    ...eraseWrites({
      ...{ places, holds: standingHolds, tell: createSuppressionEvents(createAddNotice(places)) },
      ...{ recipients: 'recipient_rows', lockMails: queue.lockMails },
      *dropBody(body) {
        yield* run('DELETE FROM bodies WHERE n = ?', body)
        return false
      },
      unindex: (place) => unindex.remove([place]),
    }),
    updateWorkspace: updateMoving(updateWorkspace, orders.beginOrder),
  }
}
