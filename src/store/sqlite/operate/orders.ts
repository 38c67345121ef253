/**
 * NAME      orders - what an operator does to the queue, a step at a time
 * DESCRIPTION
 *   Each step inspects a few hundred recipients and is one verb among others, so
 *   the writer goes on serving everybody else in between. What is past the
 *   journal (attempting) is on the wire and is left alone; only its next attempt
 *   can be rerouted. A lease that has not come so far can be purged or rerouted: its
 *   generation moves on, and the relay is told so when it asks to begin.
 */

import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import { observed } from '../../observed.js'
import { isAway } from '../../port/carry.js'
import type { HoldRow, QueueOrder, QueueScope } from '../../port/operations.js'
import { poolFor } from '../../port/tenants/routes.js'
import { inserter } from '../order/insert.js'
import { createStatements } from '../read/statements.js'
import { HOLDS } from '../schema/operations.js'
import type { Unindex } from '../search/write.js'
import type { WriteContext } from '../write/context.js'
import type { HoldRecipients } from './hold-recipient.js'
import { type Cursor, createWalk, type Found, type QueuePart, type Step } from './walk.js'

const STEP = 100

export interface Progress {
  readonly changed: number
  readonly next: Cursor | null
}

export interface OperationWrites {
  addHold(hold: HoldRow): void
  holdStep(hold: HoldRow, cursor: Cursor | null): Progress
  operateStep(order: QueueOrder, cursor: Cursor | null): Progress
}

const PARTS: Readonly<Record<QueueOrder['action'], readonly QueuePart[]>> = {
  release: ['held'],
  retry: ['waiting'],
  reroute: ['waiting', 'held', 'leased'],
  purge: ['waiting', 'held', 'leased'],
  discard: ['waiting', 'held', 'leased'],
}

const purged = (recipientId: string, { reason, now }: QueueOrder): Outcome =>
  observed({
    recipientId,
    seen: 'purged',
    at: now,
    source: 'operator',
    reason,
    detail: { action: 'purged' },
  })

const prepare = ({ db }: WriteContext) => ({
  liftHolds: db.prepare(
    `DELETE FROM holds WHERE account_id = ? AND workspace_id IS ? AND pool_id IS ? AND domain IS ? AND email_id IS ?`,
  ),
  liftHold: db.prepare('DELETE FROM holds WHERE account_id = ? AND id = ?'),
  isHold: db
    .prepare<[string], number>(
      `WITH one (id) AS (SELECT ?) SELECT 1 FROM one WHERE id IN (SELECT id FROM holds)
         OR id IN (SELECT id FROM workspaces WHERE suspended_at IS NOT NULL)`,
    )
    .pluck(),
  sandbox: db.prepare<[number], number>("SELECT 1 FROM pools WHERE n = ? AND kind = 'sandbox'").pluck(),
  now: db.prepare('UPDATE recipients SET due_at = ? WHERE id = ?'),
  move: db.prepare('UPDATE recipients SET pool = ?, queued_at = ? WHERE id = ?'),
  heldAt: db.prepare<[string], number | null>('SELECT held_at FROM recipients WHERE id = ?').pluck(),
  unlease: db.prepare(
    `UPDATE recipients SET boot = NULL, lease_until = NULL, lease_gen = lease_gen + 1,
       due_at = CASE WHEN status IN ('queued', 'deferred') THEN ? END WHERE id = ?`,
  ),
  ordOf: db.prepare<[string], number>('SELECT ord FROM emails WHERE id = ?').pluck(),
  moveEmail: db.prepare('UPDATE emails SET pool = ? WHERE id = ?'),
})

const discarded = (recipientId: string, { reason, now }: QueueOrder): Outcome =>
  observed({
    recipientId,
    seen: 'discarded',
    at: now,
    source: 'operator',
    reason: 'workspace_deleted',
    detail: { action: 'workspace_deleted', note: reason },
  })

type Apply = (row: Found, order: QueueOrder) => boolean

export const createOrders = (
  context: WriteContext,
  holdRecipients: HoldRecipients,
  settle: (outcome: Outcome) => Settled | null,
  unindex: Pick<Unindex, 'move'>,
): OperationWrites => {
  const sql = prepare(context)
  const addHold = inserter(context, HOLDS)
  const walk = createWalk(createStatements(context.db))

  /** Of what is held, the part that this hold keeps: it stands together in the order of the walk. */
  const keptBy = (scope: QueueScope, hold: string, cursor: Cursor | null): Step => {
    const from = cursor ?? { part: 'held' as const, pool: 0, workspace: 0, at: hold, id: '' }
    const { rows, next } = walk({ ...scope, emailId: null }, PARTS.release, from, STEP)
    return { rows, next: next?.at === hold ? next : null }
  }

  const apply: Readonly<Record<QueueOrder['action'], Apply>> = {
    release(row, { reason, now, hold = null }) {
      if (hold !== null && row.held !== hold) return false
      if (isAway(row.held) || (row.held !== null && sql.isHold.get(row.held) !== undefined)) return false
      holdRecipients.free(row, { action: 'released', did: 'released', reason, now })
      return true
    },
    retry(row, { reason, now }) {
      if (row.status === 'scheduled' || (row.due_at ?? 0) <= now) return false
      sql.now.run(now, row.id)
      holdRecipients.note(row, { action: 'retried', did: 'retried', reason, now })
      return true
    },
    reroute(row, { to: named, routing, reason, now }) {
      // an operator may have sent it elsewhere: there it stays
      if (routing && row.pool !== context.names.pool(poolFor(routing.from, row.address))) return false
      const to = routing ? poolFor(routing.to, row.address) : (named ?? '')
      const target = context.names.pool(to)
      if (row.pool === target || isAway(row.held) || sql.sandbox.get(row.pool) !== undefined) return false
      const at = row.held === null ? now : (sql.heldAt.get(row.id) ?? now)
      sql.move.run(target, context.pauses.moved(row.pool, target, row.queued_at, at), row.id)
      unindex.move(sql.ordOf.get(row.email_id) ?? 0, target)
      sql.moveEmail.run(target, row.email_id)
      if (row.boot !== null && row.attempting === null) {
        sql.unlease.run(now, row.id)
        context.hot.drop(row.id)
      }
      const more = { from_pool: context.names.poolId(row.pool), to_pool: to }
      holdRecipients.note(row, { action: 'rerouted', did: 'rerouted', reason, now, more })
      return true
    },
    discard: (row, order) => row.attempting === null && (settle(discarded(row.id, order))?.applied ?? false),
    purge: (row, order) =>
      row.attempting === null && !isAway(row.held) && (settle(purged(row.id, order))?.applied ?? false),
  }

  return {
    addHold(hold) {
      addHold(hold)
      context.holds.look()
    },

    holdStep(hold, cursor) {
      const { rows, next } = walk(hold, ['waiting'], cursor, STEP)
      // an appointment is kept until its time: its recipients leave `scheduled` together
      const resting = rows.filter(({ status }) => status !== 'scheduled')
      for (const row of resting) holdRecipients.hold(row, hold, hold.createdAt)
      return { changed: resting.length, next }
    },

    operateStep(order, cursor) {
      const { action, scope, hold = null } = order
      if (action === 'release' && cursor === null) {
        const { accountId, workspaceId, poolId, domain, emailId } = scope
        if (hold === null) sql.liftHolds.run(accountId, workspaceId, poolId, domain, emailId)
        else sql.liftHold.run(accountId, hold)
        context.holds.look()
      }
      const { rows, next } =
        hold === null ? walk(scope, PARTS[action], cursor, STEP) : keptBy(scope, hold, cursor)
      const isHidden = (row: Found) => order.liveOnly === true && sql.sandbox.get(row.pool) !== undefined
      const changed = rows.filter((row) => !isHidden(row) && apply[action](row, order)).length
      if (changed > 0 && action !== 'purge' && action !== 'discard') context.effects.due = true
      return { changed, next }
    },
  }
}
