/**
 * NAME      orders - orders to recipients that wait, step by step; holding, freeing and suspending
 *     Each step inspects some recipients and is one verb among others, so the writer
 *     goes on serving everybody else in between; lifecycle/orders.ts says what is done
 *     to each. When a lease ends its generation moves on, and the relay is told so when
 *     it asks to begin. An order is a row until its last step: what was cut off, the sweep finishes.
 *   NOTES
 *     Steps may be taken twice, and by two processes: what was done is passed over.
 *   The pairs of pool and workspace with mail that is due some time, by skipping from one to the next: a
 *   seek for each, however deep the queue is.
 *   Three parts make up the queue: what waits (by pool, workspace and due time), what is held, and what is
 *   leased. Each is an index range, so a step costs what it inspects and nothing of what was before. A
 *   cursor names the last row seen; rows that an order changes fall behind it or leave the part. An email is
 *   looked up by itself, in one step.
 *   Those that stand are they and the workspaces that are suspended. Wherever mail could leave they are
 *   asked. From the commit that suspends it nothing of a workspace is leased or begun: it is among the holds
 *   that stand. Resumed, each mail is due when it would have been, and what it has of its lifetime is what
 *   it had when it came to rest. A resume that was cut off is finished by the sweep.
 */
import { type Outcome, observed } from '../../lifecycle/facts.js'
import {
  covers,
  effectOf,
  mayHold,
  type OrderEffect,
  type OrderNote,
  partOf,
  partsOf,
  type Queued,
  type QueuePart,
  type Scope,
} from '../../lifecycle/orders.js'
import type { Page, Rows } from '../../lifecycle/page.js'
import type { Status } from '../../mail/status.js'
import type { HoldRow, QueueOrder, QueueScope } from '../port/operations.js'
import { plain } from '../port/row.js'
import { type MovingMail, poolFor, type WorkspaceChange, type Written } from '../port/tenants.js'
import { EMAIL_ID, type MailTables, OF_EMAIL } from './mails.js'
import { listOf, pageOf } from './pages.js'
import { type Asking, all, first, run } from './query.js'
import { idOf, nextPair, type Pair, workspacesOf } from './schedule.js'
import { insertInto, type Places, table } from './table.js'

export const HOLDS = table<HoldRow>('holds', {
  id: plain(),
  accountId: plain(),
  workspaceId: plain(),
  poolId: plain(),
  domain: plain(),
  emailId: plain(),
  reason: plain(),
  owner: plain(),
  createdAt: plain(),
})

/** By the numbers of this database. */
export interface StandingHold extends Scope<number> {
  readonly id: string
  readonly reason: string
}

/** Where a recipient stands, as far as holds care. */
export interface RecipientStanding {
  readonly workspace: number
  readonly pool: number
  readonly email_id: string
  /** Lower case. */
  readonly address_lc: string
}

export const STANDING_HOLDS = `SELECT id, account_id AS "accountId", n AS "workspaceId", NULL AS "poolId", NULL AS domain,
    NULL AS "emailId", coalesce(suspended_reason, 'the workspace is suspended') AS reason
  FROM workspaces WHERE suspended_at IS NOT NULL
  UNION ALL SELECT * FROM (SELECT h.id, h.account_id, w.n AS workspace, p.n AS pool, h.domain, h.email_id, h.reason FROM holds h
    LEFT JOIN workspaces w ON w.id = h.workspace_id LEFT JOIN pools p ON p.id = h.pool_id ORDER BY h.ord) AS s`

/** The first that keeps this recipient, of an account, or null. */
export const holdOver = (
  standing: readonly StandingHold[],
  accountId: string,
  { workspace, pool, email_id: emailId, address_lc: address }: RecipientStanding,
): StandingHold | null => {
  const one = { accountId, workspaceId: workspace, poolId: pool, emailId, address }
  return standing.find((hold) => covers(hold, one)) ?? null
}

export const holdReads = {
  *holds(accountId: string): Asking<readonly HoldRow[]> {
    const rows = yield* all(`SELECT ${HOLDS.columns} FROM holds WHERE account_id = ? ORDER BY ord`, accountId)
    return rows.map(HOLDS.decode)
  },

  listHolds(accountId: string, page: Page, workspaceId: string | null = null): Asking<Rows<HoldRow>> {
    const list =
      workspaceId === null
        ? listOf('holds', 'account_id = ?', [accountId])
        : listOf('holds', 'account_id = ? AND workspace_id = ?', [accountId, workspaceId])
    return pageOf(list, page, function* (id: string) {
      const row = yield* first(`SELECT ${HOLDS.columns} FROM holds WHERE id = ?`, id)
      return row === null ? null : HOLDS.decode(row)
    })
  },
}

export interface Holdable {
  readonly id: string
  readonly email_id: string
  readonly status: Status
  readonly due_at: number | null
}

export type Freeable = Omit<Holdable, 'due_at'>

export interface QueueWrites extends Pick<MailTables, 'recipients' | 'waiting'> {
  /** The same as they are now; nobody else is at them until the verb is done. Those that wait no more are gone. */
  locked(rows: readonly FoundRecipient[]): Asking<readonly FoundRecipient[]>
  /** Nobody else is at what waits of these mails until the verb is done. */
  lockMails(places: readonly number[]): Asking<void>
  hold(
    rows: readonly Holdable[],
    hold: { readonly id: string; readonly reason: string },
    now: number,
  ): Asking<void>
  free(rows: readonly Freeable[], note: OrderNote): Asking<void>
  /** An event of the operator that changes no status. */
  note(rows: readonly Freeable[], note: OrderNote): Asking<void>
  /** They are due at this time. */
  due(rows: readonly Freeable[], at: number): Asking<void>
  /** To another pool, of this number, with their mails. */
  move(rows: readonly FoundRecipient[], to: number, now: number): Asking<void>
  /** Ends their leases. */
  unlease(rows: readonly Freeable[], now: number): Asking<void>
  /** Whether each was applied. */
  settle(outcomes: readonly Outcome[]): Asking<readonly boolean[]>
}

/** The holds that stand, and the suspended workspaces, as the writer knows them. */
export interface StandingHolds {
  /** Which of these stand. */
  among(ids: readonly string[]): Asking<ReadonlySet<string>>
  /** They were changed. */
  look(): Asking<void>
}

const SUSPENDED = 'the workspace is suspended'

const holdOf = (accountId: string, id: string, reason: string | null, now: number): HoldRow => ({
  ...{ accountId, workspaceId: id, poolId: null, domain: null, emailId: null },
  ...{ id, reason: reason ?? SUSPENDED, owner: 'operator', createdAt: now },
})

/** `beginHolding` puts to rest what waits of it. */
export const suspendWrites = (
  queue: QueueWrites,
  holds: StandingHolds,
  beginHolding: (hold: HoldRow) => Asking<BegunOrder>,
) => ({
  *suspendWorkspace(id: string, reason: string | null, now: number): Asking<BegunOrder> {
    yield* run(
      'UPDATE workspaces SET suspended_at = coalesce(suspended_at, ?), suspended_reason = ? WHERE id = ?',
      ...[now, reason, id],
    )
    yield* holds.look()
    const row = yield* first('SELECT account_id FROM workspaces WHERE id = ?', id)
    return yield* beginHolding(holdOf((row?.account_id ?? '') as string, id, reason, now))
  },

  *resumeWorkspace(id: string, now: number): Asking<void> {
    yield* run(
      `INSERT INTO resumes (workspace_id, suspended_at, resumed_at)
       SELECT id, suspended_at, CAST(? AS BIGINT) FROM workspaces WHERE id = ? AND suspended_at IS NOT NULL
       ON CONFLICT (workspace_id) DO UPDATE SET suspended_at = excluded.suspended_at, resumed_at = excluded.resumed_at`,
      ...[now, id],
    )
    yield* run(
      'UPDATE workspaces SET suspended_at = NULL, suspended_reason = NULL WHERE id = ? AND deleted_at IS NULL',
      id,
    )
    yield* holds.look()
  },

  /** Sets some of its mail free; how many recipients, 0 when it is done. */
  *resumeStep(id: string, now: number): Asking<number> {
    const rows = (yield* all(
      `SELECT id, ${EMAIL_ID}, status FROM ${queue.waiting} WHERE held = ? LIMIT ${STEP}`,
      id,
    )) as unknown as readonly Freeable[]
    const reason = 'the workspace is no longer suspended'
    if (rows.length > 0) yield* queue.free(rows, { action: 'resumed', did: 'released', reason, now })
    if (rows.length === 0) yield* run('DELETE FROM resumes WHERE workspace_id = ?', id)
    return rows.length
  },

  /** Whose mail is still to be set free. */
  *resuming(): Asking<readonly string[]> {
    return (yield* all('SELECT workspace_id FROM resumes')).map((row) => row.workspace_id as string)
  },
})

export type SuspendWrites = ReturnType<typeof suspendWrites>

export interface FoundRecipient {
  readonly id: string
  readonly email_id: string
  readonly email_ord: number
  readonly workspace: number
  readonly pool: number
  readonly status: Status
  readonly attempts: number
  readonly queued_at: number
  readonly due_at: number | null
  readonly boot: number | null
  readonly attempting: number | null
  readonly held: string | null
  readonly address: string
  readonly address_lc: string
  readonly last_response: string | null
}

export const FOUND = `id, ${EMAIL_ID}, email_ord, workspace, pool, status, attempts, queued_at, due_at, boot, attempting, held,
  address, address_lc, last_response`

export interface WalkCursor {
  readonly part: QueuePart
  readonly pool: number
  readonly workspace: number
  /** Due time, boot, or id of the hold. */
  readonly at: number | string
  readonly id: string
}

interface Step {
  readonly rows: readonly FoundRecipient[]
  /** null: the walk is over. */
  readonly next: WalkCursor | null
}

/** A scope in the numbers of this database. */
export interface NumberedScope extends Scope<number> {
  readonly workspaces: ReadonlySet<number>
}

/** Null when nothing can be there. */
export function* placeOf(scope: QueueScope): Asking<NumberedScope | null> {
  const { accountId, workspaceId, poolId, domain, emailId } = scope
  const workspaces = yield* workspacesOf(scope)
  const pool =
    poolId === null
      ? null
      : yield* first('SELECT n FROM pools WHERE account_id = ? AND id = ?', accountId, poolId)
  if ((poolId !== null && pool === null) || workspaces.size === 0) return null
  const [only = null] = workspaceId === null ? [] : workspaces
  return {
    accountId,
    workspaceId: only,
    poolId: pool === null ? null : (pool.n as number),
    domain,
    emailId,
    workspaces,
  }
}

export const isWithin = (
  place: NumberedScope,
  { workspace, pool, email_id, address_lc }: FoundRecipient,
): boolean =>
  place.workspaces.has(workspace) &&
  covers(place, {
    accountId: place.accountId,
    workspaceId: workspace,
    poolId: pool,
    emailId: email_id,
    address: address_lc,
  })

export const queuedOf = ({ status, due_at, held, boot, attempting }: FoundRecipient): Queued => ({
  status,
  dueAt: due_at,
  held,
  isLeased: boot !== null,
  isAttempting: attempting !== null,
})

/** What waits of one mail, whoever's it is. */
export function* waitingOf(waiting: string, emailId: string): Asking<readonly FoundRecipient[]> {
  const rows = yield* all(`SELECT ${FOUND} FROM ${waiting} WHERE ${OF_EMAIL}`, emailId)
  return (rows as unknown as FoundRecipient[]).filter((row) => partOf(queuedOf(row)) !== null)
}

/** Some rows, and where the next ones follow. */
type FoundRows = readonly [rows: readonly FoundRecipient[], next: WalkCursor | null]

function* nextIn(waiting: string, { poolId, workspaces }: NumberedScope, after: Pair): Asking<Pair | null> {
  let pair: Pair | null = after
  do pair = yield* nextPair(waiting, pair, poolId)
  while (pair !== null && !workspaces.has(pair[1]))
  return pair
}

function* due(
  waiting: string,
  place: NumberedScope,
  cursor: WalkCursor | null,
  limit: number,
): Asking<FoundRows> {
  let pair: Pair | null =
    cursor === null ? yield* nextIn(waiting, place, [place.poolId ?? 0, 0]) : [cursor.pool, cursor.workspace]
  let at: readonly [number | string, string] = cursor === null ? [-1, ''] : [cursor.at, cursor.id]
  while (pair !== null) {
    const rows = (yield* all(
      `SELECT ${FOUND} FROM ${waiting} WHERE pool = ? AND workspace = ? AND due_at IS NOT NULL
       AND (due_at, id) > (?, ?) ORDER BY due_at, id LIMIT ? + 0`,
      ...pair,
      ...at,
      limit,
    )) as unknown as FoundRecipient[]
    const last = rows.at(-1)
    if (last !== undefined) {
      const [pool, workspace] = pair
      return [rows, { part: 'waiting', pool, workspace, at: last.due_at as number, id: last.id }]
    }
    pair = yield* nextIn(waiting, place, pair)
    at = [-1, '']
  }
  return [[], null]
}

function* marked(
  waiting: string,
  part: 'held' | 'leased',
  cursor: WalkCursor | null,
  limit: number,
): Asking<FoundRows> {
  const column = part === 'held' ? 'held' : 'boot'
  const rows = (yield* all(
    `SELECT ${FOUND} FROM ${waiting} WHERE ${column} IS NOT NULL AND (${column}, id) > (?, ?)
     ORDER BY ${column}, id LIMIT ? + 0`,
    cursor?.at ?? (part === 'held' ? '' : -1),
    cursor?.id ?? '',
    limit,
  )) as unknown as FoundRecipient[]
  const last = rows.at(-1)
  if (last === undefined) return [[], null]
  return [rows, { part, pool: 0, workspace: 0, at: last[column] as number | string, id: last.id }]
}

function* oneEmail(waiting: string, place: NumberedScope, parts: readonly QueuePart[]): Asking<Step> {
  const here = (yield* waitingOf(waiting, place.emailId ?? '')).filter(
    (row) => parts.includes(partOf(queuedOf(row)) as QueuePart) && isWithin(place, row),
  )
  return { rows: here, next: null }
}

/** The next rows of a scope: at most `limit` are inspected, those that match are given. */
export function* walk(
  waiting: string,
  scope: QueueScope,
  parts: readonly QueuePart[],
  cursor: WalkCursor | null,
  limit: number,
): Asking<Step> {
  const place = yield* placeOf(scope)
  if (place === null) return { rows: [], next: null }
  if (place.emailId !== null) return yield* oneEmail(waiting, place, parts)
  let from = cursor
  for (const part of parts.slice(cursor === null ? 0 : parts.indexOf(cursor.part))) {
    const [rows, next] =
      part === 'waiting' ? yield* due(waiting, place, from, limit) : yield* marked(waiting, part, from, limit)
    if (next !== null) return { rows: rows.filter((row) => isWithin(place, row)), next }
    from = null
  }
  return { rows: [], next: null }
}

const STEP = 100

export interface Progress {
  readonly changed: number
  readonly next: WalkCursor | null
}

/** An order is in its table from the commit that gives it to the one of its last step. */
interface BegunOrder {
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

function* move(
  queue: QueueWrites,
  rows: readonly FoundRecipient[],
  order: QueueOrder,
  to: number,
): Asking<void> {
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
  rows: readonly FoundRecipient[],
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
  }: FoundRecipient): Asking<{ readonly from: number | null; readonly to: number } | null> {
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
  found: readonly FoundRecipient[],
  order: QueueOrder,
  given: number,
): Asking<number> {
  if (found.length === 0) return 0
  const rows = yield* queue.locked(found)
  const sandboxes = new Set((yield* all(SANDBOXES)).map((row) => row.n as number))
  const standing = yield* holds.among([...new Set(rows.flatMap(({ held }) => held ?? []))])
  const routeOf = routing(order)
  const { action, now, hold, liveOnly } = order
  const deeds = new Map<string, { readonly deed: Deed; readonly rows: FoundRecipient[] }>()
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
function* keptBy(waiting: string, scope: QueueScope, hold: string, cursor: WalkCursor | null): Asking<Step> {
  const from = cursor ?? { part: 'held' as const, pool: 0, workspace: 0, at: hold, id: '' }
  const { rows, next } = yield* walk(waiting, { ...scope, emailId: null }, partsOf('release'), from, STEP)
  return { rows, next: next?.at === hold ? next : null }
}

function* holdStep(
  queue: QueueWrites,
  holds: StandingHolds,
  hold: HoldRow,
  cursor: WalkCursor | null,
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
  cursor: WalkCursor | null,
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
    *orderStep(n: number, cursor: WalkCursor | null): Asking<Progress> {
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
