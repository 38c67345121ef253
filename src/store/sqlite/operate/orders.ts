/**
 * NAME      orders - what an operator does to the queue, a step at a time
 * DESCRIPTION
 *   Each step inspects some recipients and is one verb among others, so the writer
 *   goes on serving everybody else in between; lifecycle/waiting/orders.ts says what is done
 *   to each. When a lease ends its generation moves on, and the relay is told so when
 *   it asks to begin. An order is a row until its last step: what was cut off, the sweep finishes.
 * NOTES
 *   Steps may be taken twice, and by two processes: what was done is passed over.
 */

import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import { observed } from '../../../lifecycle/observed.js'
import {
  effectOf,
  mayHold,
  type OrderEffect,
  partsOf,
  type QueuePart,
} from '../../../lifecycle/waiting/orders.js'
import { moved } from '../../../lifecycle/waiting/pauses.js'
import type { HoldRow, QueueOrder, QueueScope } from '../../port/operations.js'
import { poolFor } from '../../port/tenants/routes.js'
import type { MovingMail } from '../../port/tenants/tenants.js'
import { insertInto } from '../../sql/insert.js'
import { HOLDS } from '../../sql/operate/holds.js'
import { type Cursor, type Found, queuedOf, type Step, walk as walkOver } from '../../sql/operate/walk.js'
import { MAIL } from '../read/tables.js'
import type { Unindex } from '../search/write.js'
import type { WriteContext } from '../write/context.js'
import type { HoldRecipients } from './hold-recipient.js'

const STEP = 100

export interface Progress {
  readonly changed: number
  readonly next: Cursor | null
}

/** An order is in its table from the commit that gives it to the one of its last step. */
export interface BegunOrder {
  readonly n: number
  readonly changed: 0
}

type Task = { readonly hold: HoldRow } | { readonly order: QueueOrder }

export interface OperationWrites {
  /** With the hold itself. */
  beginHold(hold: HoldRow): BegunOrder
  beginOrder(order: QueueOrder): BegunOrder
  /** Those that are not done; of one workspace, when that is named. */
  openOrders(workspaceId: string | null): readonly number[]
  orderStep(n: number, cursor: Cursor | null): Progress
}

export interface Orders extends OperationWrites {
  addHold(hold: HoldRow): void
  /** Puts to rest what waits of a hold that stands already. */
  beginHolding(hold: HoldRow): BegunOrder
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
  sandboxes: db.prepare<[], number>("SELECT n FROM pools WHERE kind = 'sandbox'").pluck(),
  setDue: db.prepare('UPDATE recipients SET due_at = ? WHERE id = ?'),
  move: db.prepare('UPDATE recipients SET pool = ?, queued_at = ? WHERE id = ?'),
  heldAt: db.prepare<[string], number | null>('SELECT held_at FROM recipients WHERE id = ?').pluck(),
  unlease: db.prepare(
    `UPDATE recipients SET boot = NULL, lease_until = NULL, lease_gen = lease_gen + 1,
       due_at = CASE WHEN status IN ('queued', 'deferred') THEN ? END WHERE id = ?`,
  ),
  ordOf: db.prepare<[string], number>('SELECT ord FROM emails WHERE id = ?').pluck(),
  moveEmail: db.prepare('UPDATE emails SET pool = ? WHERE id = ?'),
  begin: db.prepare('INSERT INTO queue_orders (given, workspace_id, task) VALUES (?, ?, ?)'),
  open: db
    .prepare<[string | null], number>(
      'SELECT n FROM queue_orders WHERE coalesce(? = workspace_id, true) ORDER BY n',
    )
    .pluck(),
  task: db.prepare<[number], { given: number; task: string }>(
    'SELECT given, task FROM queue_orders WHERE n = ?',
  ),
  done: db.prepare('DELETE FROM queue_orders WHERE n = ?'),
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

export const movingOrder = (workspaceId: string, { accountId, from, to, now }: MovingMail): QueueOrder => ({
  action: 'reroute',
  scope: { accountId, workspaceId, poolId: null, domain: null, emailId: null },
  to: null,
  routing: { from, to },
  reason: 'the workspace has another pool',
  now,
})

type Apply = (row: Found, order: QueueOrder, to: number) => boolean

const createMove = (
  context: WriteContext,
  sql: ReturnType<typeof prepare>,
  holdRecipients: HoldRecipients,
  unindex: Pick<Unindex, 'move'>,
): Apply => {
  const { names, pauses } = context
  return (row, { reason, now }, to) => {
    const at = row.held === null ? now : (sql.heldAt.get(row.id) ?? now)
    sql.move.run(to, moved(pauses.list(row.pool), pauses.list(to), row.queued_at, at), row.id)
    unindex.move(sql.ordOf.get(row.email_id) ?? 0, to)
    sql.moveEmail.run(to, row.email_id)
    const more = { from_pool: names.poolId(row.pool), to_pool: names.poolId(to) }
    holdRecipients.note(row, { action: 'rerouted', did: 'rerouted', reason, now, more })
    return true
  }
}

export const createOrders = (
  context: WriteContext,
  holdRecipients: HoldRecipients,
  settle: (outcome: Outcome) => Settled | null,
  unindex: Pick<Unindex, 'move'>,
): Orders => {
  const sql = prepare(context)
  const insertHold = insertInto(HOLDS, context.order)
  const walk = (scope: QueueScope, parts: readonly QueuePart[], cursor: Cursor | null, most: number): Step =>
    context.sql.ask(walkOver(MAIL.waiting, scope, parts, cursor, most))
  const move = createMove(context, sql, holdRecipients, unindex)

  /** Of what is held, the part that this hold keeps: it stands together in the order of the walk. */
  const keptBy = (scope: QueueScope, hold: string, cursor: Cursor | null): Step => {
    const from = cursor ?? { part: 'held' as const, pool: 0, workspace: 0, at: hold, id: '' }
    const { rows, next } = walk({ ...scope, emailId: null }, partsOf('release'), from, STEP)
    return { rows, next: next?.at === hold ? next : null }
  }

  const apply: Readonly<Record<Exclude<OrderEffect, 'hold'>, Apply>> = {
    free(row, { reason, now }) {
      holdRecipients.free(row, { action: 'released', did: 'released', reason, now })
      return true
    },
    due(row, { reason, now }) {
      sql.setDue.run(now, row.id)
      holdRecipients.note(row, { action: 'retried', did: 'retried', reason, now })
      return true
    },
    move,
    move_unleased(row, order, to) {
      sql.unlease.run(order.now, row.id)
      context.hot.drop(row.id)
      return move(row, order, to)
    },
    end: (row, order) =>
      settle((order.action === 'discard' ? discarded : purged)(row.id, order))?.applied ?? false,
  }

  const routeOf = ({ to, routing }: QueueOrder, { address }: Found) => {
    const pool = (id: string) => context.names.pool(id)
    return routing === undefined
      ? { from: null, to: pool(to ?? '') }
      : { from: pool(poolFor(routing.from, address)), to: pool(poolFor(routing.to, address)) }
  }

  const operate = (rows: readonly Found[], order: QueueOrder, given: number): number => {
    const sandboxes = new Set(sql.sandboxes.all())
    let changed = 0
    for (const row of rows) {
      const facts = {
        ...queuedOf(row),
        poolId: row.pool,
        isSandbox: sandboxes.has(row.pool),
        isNewer: row.email_ord > given,
        isHoldStanding: context.holds.has(row.held),
      }
      const route = order.action === 'reroute' ? routeOf(order, row) : undefined
      const { action, now, hold, liveOnly } = order
      const effect = effectOf(facts, {
        action,
        now,
        ...(hold !== undefined && { hold }),
        ...(liveOnly !== undefined && { liveOnly }),
        ...(route && { route }),
      })
      if (effect === null || effect === 'hold') continue
      if (apply[effect](row, order, route?.to ?? 0)) changed++
    }
    return changed
  }

  const holdStep = (hold: HoldRow, cursor: Cursor | null): Progress => {
    const { rows, next } = walk(hold, partsOf('hold'), cursor, STEP)
    const kept = context.holds.has(hold.id) ? rows.filter((row) => mayHold(queuedOf(row))) : []
    for (const row of kept) holdRecipients.hold(row, hold, hold.createdAt)
    return { changed: kept.length, next }
  }

  const operateStep = (order: QueueOrder, given: number, cursor: Cursor | null): Progress => {
    const { action, scope, hold = null } = order
    const { rows, next } =
      hold === null ? walk(scope, partsOf(action), cursor, STEP) : keptBy(scope, hold, cursor)
    const changed = operate(rows, order, given)
    if (changed > 0 && action !== 'purge' && action !== 'discard') context.effects.due = true
    return { changed, next }
  }

  const addHold = (hold: HoldRow): void => {
    context.sql.ask(insertHold(hold))
    context.holds.look()
  }

  const lift = ({ scope, hold = null }: QueueOrder): void => {
    const { accountId, workspaceId, poolId, domain, emailId } = scope
    if (hold === null) sql.liftHolds.run(accountId, workspaceId, poolId, domain, emailId)
    else sql.liftHold.run(accountId, hold)
    context.holds.look()
  }

  const begin = (task: Task, { workspaceId }: QueueScope): BegunOrder => {
    const { lastInsertRowid } = sql.begin.run(context.order.next(), workspaceId, JSON.stringify(task))
    return { n: Number(lastInsertRowid), changed: 0 }
  }

  return {
    addHold,
    beginHolding: (hold) => begin({ hold }, hold),
    beginHold(hold) {
      addHold(hold)
      return begin({ hold }, hold)
    },
    beginOrder(order) {
      if (order.action === 'release') lift(order)
      return begin({ order }, order.scope)
    },
    openOrders: (workspaceId) => sql.open.all(workspaceId),
    orderStep(n, cursor) {
      const row = sql.task.get(n)
      if (row === undefined) return { changed: 0, next: null }
      const task = JSON.parse(row.task) as Task
      const step = 'hold' in task ? holdStep(task.hold, cursor) : operateStep(task.order, row.given, cursor)
      if (step.next === null) sql.done.run(n)
      return step
    },
  }
}
