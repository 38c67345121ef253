/**
 * NAME      orders - what an operator does to the queue, a step at a time
 * DESCRIPTION
 *   Each step inspects some recipients and is one verb among others, so the writer
 *   goes on serving everybody else in between; lifecycle/orders.ts says what is done
 *   to each. When a lease ends its generation moves on, and the relay is told so when
 *   it asks to begin. An order is a row until its last step: what was cut off, the sweep finishes.
 * NOTES
 *   Steps may be taken twice, and by two processes: what was done is passed over.
 */
import { observed } from '../../../lifecycle/facts.js'
import { effectOf, mayHold, type OrderEffect, partsOf } from '../../../lifecycle/orders.js'
import type { HoldRow, QueueOrder, QueueScope } from '../../port/operations.js'
import { type MovingMail, poolFor, type WorkspaceChange, type Written } from '../../port/tenants.js'
import { insertInto, type Places } from '../insert.js'
import { type Asking, all, first, run } from '../query.js'
import { idOf } from './depth.js'
import { HOLDS } from './holds.js'
import type { QueueWrites, StandingHolds } from './queue-writes.js'
import { type Cursor, type Found, queuedOf, type Step, walk } from './walk.js'

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

const movingOrder = (workspaceId: string, { accountId, from, to, now }: MovingMail): QueueOrder => ({
  action: 'reroute',
  scope: { accountId, workspaceId, poolId: null, domain: null, emailId: null },
  to: null,
  routing: { from, to },
  reason: 'the workspace has another pool',
  now,
})

const ended = (recipientId: string, { action, reason, now }: QueueOrder) => {
  const it = { recipientId, at: now, source: 'operator' } as const
  return action === 'discard'
    ? observed({
        ...it,
        seen: 'discarded',
        reason: 'workspace_deleted',
        detail: { action: 'workspace_deleted', note: reason },
      })
    : observed({ ...it, seen: 'purged', reason, detail: { action: 'purged' } })
}

/** What an order does to a recipient, and to which pool it goes. */
type Deed = readonly [effect: OrderEffect, to: number]

function* move(queue: QueueWrites, rows: readonly Found[], order: QueueOrder, to: number): Asking<void> {
  const { reason, now } = order
  yield* queue.move(rows, to, now)
  const to_pool = yield* idOf('pools', to)
  for (const from of new Set(rows.map(({ pool }) => pool))) {
    const more = { from_pool: yield* idOf('pools', from), to_pool }
    const those = rows.filter(({ pool }) => pool === from)
    yield* queue.note(those, { action: 'rerouted', did: 'rerouted', reason, now, more })
  }
}

/** How many it changed. */
function* apply(
  queue: QueueWrites,
  [effect, to]: Deed,
  rows: readonly Found[],
  order: QueueOrder,
): Asking<number> {
  const { reason, now } = order
  switch (effect) {
    case 'hold':
      return 0
    case 'free':
      yield* queue.free(rows, { action: 'released', did: 'released', reason, now })
      break
    case 'due':
      yield* queue.due(rows, now)
      yield* queue.note(rows, { action: 'retried', did: 'retried', reason, now })
      break
    case 'move_unleased':
      yield* queue.unlease(rows, now)
      yield* move(queue, rows, order, to)
      break
    case 'move':
      yield* move(queue, rows, order, to)
      break
    case 'end':
      return (yield* queue.settle(rows.map(({ id }) => ended(id, order)))).filter(Boolean).length
  }
  return rows.length
}

/** The numbers of pools, each read once; one that is gone fails. */
const poolNumbers = () => {
  const known = new Map<string, number>()
  return function* (id: string): Asking<number> {
    const n = known.get(id) ?? (yield* first('SELECT n FROM pools WHERE id = ?', id))?.n
    if (n === undefined) throw new Error(`no row ${id} in pools`)
    known.set(id, n as number)
    return n as number
  }
}

/** Where an order sends a recipient, and whence. */
const routing = ({ action, to, routing }: QueueOrder) => {
  const pool = poolNumbers()
  return function* ({
    address,
  }: Found): Asking<{ readonly from: number | null; readonly to: number } | null> {
    if (action !== 'reroute') return null
    if (routing === undefined) return { from: null, to: yield* pool(to ?? '') }
    const from = yield* pool(poolFor(routing.from, address))
    return { from, to: yield* pool(poolFor(routing.to, address)) }
  }
}

const SANDBOXES = "SELECT n FROM pools WHERE kind = 'sandbox'"

function* operate(
  queue: QueueWrites,
  holds: StandingHolds,
  found: readonly Found[],
  order: QueueOrder,
  given: number,
): Asking<number> {
  if (found.length === 0) return 0
  const rows = yield* queue.locked(found)
  const sandboxes = new Set((yield* all(SANDBOXES)).map((row) => row.n as number))
  const standing = yield* holds.among([...new Set(rows.flatMap(({ held }) => held ?? []))])
  const routeOf = routing(order)
  const { action, now, hold, liveOnly } = order
  const deeds = new Map<string, { readonly deed: Deed; readonly rows: Found[] }>()
  for (const row of rows) {
    const facts = {
      ...queuedOf(row),
      poolId: row.pool,
      isSandbox: sandboxes.has(row.pool),
      isNewer: row.email_ord > given,
      isHoldStanding: row.held !== null && standing.has(row.held),
    }
    const route = yield* routeOf(row)
    const effect = effectOf(facts, {
      action,
      now,
      ...(hold !== undefined && { hold }),
      ...(liveOnly !== undefined && { liveOnly }),
      ...(route !== null && { route }),
    })
    if (effect === null) continue
    const deed: Deed = [effect, route?.to ?? 0]
    const like = deeds.get(deed.join())
    if (like === undefined) deeds.set(deed.join(), { deed, rows: [row] })
    else like.rows.push(row)
  }
  let changed = 0
  for (const one of deeds.values()) changed += yield* apply(queue, one.deed, one.rows, order)
  return changed
}

/** Of what is held, the part that this hold keeps: it stands together in the order of the walk. */
function* keptBy(waiting: string, scope: QueueScope, hold: string, cursor: Cursor | null): Asking<Step> {
  const from = cursor ?? { part: 'held' as const, pool: 0, workspace: 0, at: hold, id: '' }
  const { rows, next } = yield* walk(waiting, { ...scope, emailId: null }, partsOf('release'), from, STEP)
  return { rows, next: next?.at === hold ? next : null }
}

function* holdStep(
  queue: QueueWrites,
  holds: StandingHolds,
  hold: HoldRow,
  cursor: Cursor | null,
): Asking<Progress> {
  const { rows, next } = yield* walk(queue.waiting, hold, partsOf('hold'), cursor, STEP)
  const isStanding = (yield* holds.among([hold.id])).has(hold.id)
  const kept = isStanding ? (yield* queue.locked(rows)).filter((row) => mayHold(queuedOf(row))) : []
  if (kept.length > 0) yield* queue.hold(kept, hold, hold.createdAt)
  return { changed: kept.length, next }
}

function* operateStep(
  queue: QueueWrites,
  holds: StandingHolds,
  order: QueueOrder,
  given: number,
  cursor: Cursor | null,
): Asking<Progress> {
  const { action, scope, hold = null } = order
  const { rows, next } =
    hold === null
      ? yield* walk(queue.waiting, scope, partsOf(action), cursor, STEP)
      : yield* keptBy(queue.waiting, scope, hold, cursor)
  return { changed: yield* operate(queue, holds, rows, order, given), next }
}

function* lift({ scope, hold = null }: QueueOrder): Asking<void> {
  const { accountId, workspaceId, poolId, domain, emailId } = scope
  if (hold !== null) yield* run('DELETE FROM holds WHERE account_id = ? AND id = ?', accountId, hold)
  else
    yield* run(
      `DELETE FROM holds WHERE account_id = ? AND workspace_id IS NOT DISTINCT FROM ? AND pool_id IS NOT DISTINCT FROM ?
         AND domain IS NOT DISTINCT FROM ? AND email_id IS NOT DISTINCT FROM ?`,
      ...[accountId, workspaceId, poolId, domain, emailId],
    )
}

/** Its number is a place, which no other order gets: whoever still works on one that is done finds nothing. */
const beginning = (places: Places) =>
  function* (task: Task, { workspaceId }: QueueScope): Asking<BegunOrder> {
    const n = places.next()
    const values = [n, n, workspaceId, JSON.stringify(task)]
    yield* run('INSERT INTO queue_orders (n, given, workspace_id, task) VALUES (?, ?, ?, ?)', ...values)
    return { n, changed: 0 }
  }

export const orderWrites = (places: Places, queue: QueueWrites, holds: StandingHolds) => {
  const insertHold = insertInto(HOLDS, places)
  const begin = beginning(places)

  function* addHold(hold: HoldRow): Asking<void> {
    yield* insertHold(hold)
    yield* holds.look()
  }

  return {
    addHold,
    /** Puts to rest what waits of a hold that stands already. */
    beginHolding: (hold: HoldRow): Asking<BegunOrder> => begin({ hold }, hold),
    /** With the hold itself. */
    *beginHold(hold: HoldRow): Asking<BegunOrder> {
      yield* addHold(hold)
      return yield* begin({ hold }, hold)
    },
    *beginOrder(order: QueueOrder): Asking<BegunOrder> {
      if (order.action === 'release') {
        yield* lift(order)
        yield* holds.look()
      }
      return yield* begin({ order }, order.scope)
    },
    /** Those that are not done; of one workspace, when that is named. */
    *openOrders(workspaceId: string | null): Asking<readonly number[]> {
      const rows = yield* all(
        'SELECT n FROM queue_orders WHERE coalesce(? = workspace_id, true) ORDER BY n',
        workspaceId,
      )
      return rows.map((row) => row.n as number)
    },
    *orderStep(n: number, cursor: Cursor | null): Asking<Progress> {
      const row = yield* first('SELECT given, task FROM queue_orders WHERE n = ?', n)
      if (row === null) return { changed: 0, next: null }
      const task = JSON.parse(row.task as string) as Task
      const step =
        'hold' in task
          ? yield* holdStep(queue, holds, task.hold, cursor)
          : yield* operateStep(queue, holds, task.order, row.given as number, cursor)
      if (step.next === null) yield* run('DELETE FROM queue_orders WHERE n = ?', n)
      return step
    },
  }
}

export type OrderWrites = Omit<ReturnType<typeof orderWrites>, 'addHold' | 'beginHolding'>

export type UpdateWorkspace = (id: string, change: WorkspaceChange) => Asking<Written>

/** Moving mail is an order that has begun. */
export const updateMoving = (update: UpdateWorkspace, begin: OrderWrites['beginOrder']) =>
  function* (id: string, change: WorkspaceChange, moving?: MovingMail): Asking<Written> {
    const written = yield* update(id, change)
    if (written === 'done' && moving !== undefined) yield* begin(movingOrder(id, moving))
    return written
  }
