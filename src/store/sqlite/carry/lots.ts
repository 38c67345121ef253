/**
 * NAME      lots - what leaves in one go, and how it ends
 * DESCRIPTION
 *   Marking walks over a scope in small steps, as every order does. Ending is one
 *   comparison of the lot's state and then steps over the recipients that are still
 *   with it: each leaves the index range that the next step reads, so that the
 *   same order, given again, does the rest.
 */
import { Fault } from '../../../base/fault.js'
import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import { observed } from '../../../lifecycle/observed.js'
import { isAway } from '../../../lifecycle/waiting/holds.js'
import { type LotRow, type LotState, MOVED } from '../../port/carry.js'
import type { QueueScope } from '../../port/operations.js'
import { mayLeave } from '../../rules/carry.js'
import { EMAIL_ID, OF_EMAIL } from '../../sql/mails/short.js'
import { type Cursor, walk } from '../../sql/operate/walk.js'
import type { Holdable, HoldRecipients } from '../operate/hold-recipient.js'
import type { Progress } from '../operate/orders.js'
import { MAIL } from '../read/tables.js'
import { LOTS } from '../schema/lots.js'
import type { WriteContext } from '../write/context.js'

const STEP = 500

export interface LotWrites {
  addLot(lot: LotRow): void
  markStep(id: string, scope: QueueScope, reason: string, now: number, cursor: Cursor | null): Progress
  /** Compare and set; answers the state after it. */
  turnLot(id: string, from: readonly LotState[], to: LotState): LotState | null
  /** Does what the state of an ended lot says to some of its recipients; how many, 0 when it is done. */
  lotStep(id: string, now: number): number
}

type Sibling = Holdable & { readonly boot: number | null; readonly held: string | null }

const moved = (recipientId: string, lot: string, now: number): Outcome =>
  observed({
    recipientId,
    seen: 'moved',
    at: now,
    source: 'operator',
    reason: MOVED,
    detail: { action: MOVED, lot },
  })

export const createLots = (
  context: WriteContext,
  holdRecipients: HoldRecipients,
  settle: (outcome: Outcome) => Settled | null,
): LotWrites => {
  const { db } = context
  const add = db.prepare(`${LOTS.insert} ON CONFLICT DO NOTHING`)
  const state = db.prepare<[string], LotState>('SELECT state FROM lots WHERE id = ?').pluck()
  const turn = db.prepare('UPDATE lots SET state = ? WHERE id = ?')
  const siblings = db.prepare<[string], Sibling>(
    `SELECT id, ${EMAIL_ID}, status, due_at, boot, held FROM recipients WHERE ${OF_EMAIL}`,
  )
  const away = db.prepare<[string], Sibling>(
    `SELECT id, ${EMAIL_ID}, status, due_at, boot, held FROM recipients WHERE held = ? LIMIT ${STEP}`,
  )

  const takeOut = (emailId: string, lot: string, reason: string, now: number): number => {
    const all = siblings.all(emailId)
    const leases = all.map(({ boot, held }) => ({ isLeased: boot !== null, held }))
    if (!mayLeave(leases, lot)) return 0
    const waiting = all.filter(({ due_at }) => due_at !== null)
    for (const one of waiting) holdRecipients.hold(one, { id: lot, reason }, now)
    return waiting.length
  }

  return {
    addLot: (lot) => {
      add.run(...LOTS.encode(lot), context.order.next())
    },

    markStep(id, scope, reason, now, cursor) {
      if (state.get(id) !== 'marking') throw new Fault('resource.conflict', { reason: 'lot_ended' })
      const { rows, next } = context.sql.ask(walk(MAIL.waiting, scope, ['waiting'], cursor, STEP))
      const ids = new Set(rows.map((row) => row.email_id))
      let changed = 0
      for (const emailId of ids) changed += takeOut(emailId, id, reason, now)
      return { changed, next }
    },

    turnLot(id, from, to) {
      const before = state.get(id) ?? null
      if (before === null || !from.includes(before)) return before
      turn.run(to, id)
      return to
    },

    lotStep(id, now) {
      const ended = state.get(id)
      if (ended !== 'taken_back' && ended !== 'forgotten') return 0
      const rows = away.all(id)
      for (const row of rows) {
        if (ended === 'forgotten' && settle(moved(row.id, id, now))?.applied) continue
        holdRecipients.free(row, {
          action: 'taken_back',
          did: 'released',
          reason: 'taken back',
          now,
          more: { lot: id },
        })
      }
      return rows.filter(({ held }) => isAway(held)).length
    },
  }
}
