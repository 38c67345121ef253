/**
 * NAME      walk - over the queue, a step at a time
 * DESCRIPTION
 *   Three parts make up the queue: what waits (by pool, workspace and due
 *   time), what is held, and what is leased. Each is an index range, so a step
 *   costs what it inspects and nothing of what was before. A cursor names the
 *   last row seen; rows that an order changes fall behind it or leave the part.
 *   An email is looked up by itself, in one step.
 */
import { covers, type Scope } from '../../../lifecycle/holds.js'
import { partOf, type Queued, type QueuePart } from '../../../lifecycle/orders.js'
import type { Status } from '../../../mail/status.js'
import type { QueueScope } from '../../port/operations.js'
import { EMAIL_ID, OF_EMAIL } from '../mails/short.js'
import { type Asking, all, first } from '../query.js'
import { workspacesOf } from './depth.js'
import { nextPair, type Pair } from './pairs.js'

export interface Found {
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

export interface Cursor {
  readonly part: QueuePart
  readonly pool: number
  readonly workspace: number
  /** Due time, boot, or id of the hold. */
  readonly at: number | string
  readonly id: string
}

export interface Step {
  readonly rows: readonly Found[]
  /** null: the walk is over. */
  readonly next: Cursor | null
}

/** A scope in the numbers of this database. */
export interface Place extends Scope<number> {
  readonly workspaces: ReadonlySet<number>
}

/** Null when nothing can be there. */
export function* placeOf(scope: QueueScope): Asking<Place | null> {
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

export const isWithin = (place: Place, { workspace, pool, email_id, address_lc }: Found): boolean =>
  place.workspaces.has(workspace) &&
  covers(place, {
    accountId: place.accountId,
    workspaceId: workspace,
    poolId: pool,
    emailId: email_id,
    address: address_lc,
  })

export const queuedOf = ({ status, due_at, held, boot, attempting }: Found): Queued => ({
  status,
  dueAt: due_at,
  held,
  isLeased: boot !== null,
  isAttempting: attempting !== null,
})

/** What waits of one mail, whoever's it is. */
export function* waitingOf(waiting: string, emailId: string): Asking<readonly Found[]> {
  const rows = yield* all(`SELECT ${FOUND} FROM ${waiting} WHERE ${OF_EMAIL}`, emailId)
  return (rows as unknown as Found[]).filter((row) => partOf(queuedOf(row)) !== null)
}

/** Some rows, and where the next ones follow. */
type Rows = readonly [rows: readonly Found[], next: Cursor | null]

function* nextIn(waiting: string, { poolId, workspaces }: Place, after: Pair): Asking<Pair | null> {
  let pair: Pair | null = after
  do pair = yield* nextPair(waiting, pair, poolId)
  while (pair !== null && !workspaces.has(pair[1]))
  return pair
}

function* due(waiting: string, place: Place, cursor: Cursor | null, limit: number): Asking<Rows> {
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
    )) as unknown as Found[]
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
  cursor: Cursor | null,
  limit: number,
): Asking<Rows> {
  const column = part === 'held' ? 'held' : 'boot'
  const rows = (yield* all(
    `SELECT ${FOUND} FROM ${waiting} WHERE ${column} IS NOT NULL AND (${column}, id) > (?, ?)
     ORDER BY ${column}, id LIMIT ? + 0`,
    cursor?.at ?? (part === 'held' ? '' : -1),
    cursor?.id ?? '',
    limit,
  )) as unknown as Found[]
  const last = rows.at(-1)
  if (last === undefined) return [[], null]
  return [rows, { part, pool: 0, workspace: 0, at: last[column] as number | string, id: last.id }]
}

function* oneEmail(waiting: string, place: Place, parts: readonly QueuePart[]): Asking<Step> {
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
  cursor: Cursor | null,
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
