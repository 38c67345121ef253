/**
 * NAME      lots - what leaves in one go, and how it ends
 * DESCRIPTION
 *   A recipient that has left has the id of its lot in `held`. Marking walks over a scope in
 *   small steps, as every order does. Ending is one comparison of the lot's state and then
 *   steps over the recipients that are still with it: each leaves the index range that the
 *   next step reads, so that the same order, given again, does the rest.
 */
import { Fault } from '../../../base/fault.js'
import { type Outcome, observed } from '../../../lifecycle/facts.js'
import { isAway } from '../../../lifecycle/holds.js'
import { type LotRow, type LotState, MOVED, type QueueScope } from '../../port/operations.js'
import { mayLeave } from '../../rules/operations.js'
import { insertNew, type Places } from '../insert.js'
import { EMAIL_ID, OF_EMAIL } from '../mails/short.js'
import type { Progress } from '../operate/orders.js'
import type { Holdable, QueueWrites } from '../operate/queue-writes.js'
import { type Cursor, walk } from '../operate/walk.js'
import { type Asking, all, first, run } from '../query.js'
import { table } from '../table.js'

export const LOTS = table<LotRow>('lots', {
  id: 'plain',
  accountId: 'plain',
  file: 'plain',
  state: 'plain',
  createdAt: 'plain',
})

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
      cursor: Cursor | null,
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
