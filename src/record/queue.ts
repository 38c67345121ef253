/**
 * NAME      queue - the queue, its holds and what was ordered, as the public sees them
 * DESCRIPTION
 *   A scope has the same members in a request, in a hold and in the record of an
 *   order, so that what was read may be sent.
 */
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import {
  AGE_NAMES,
  type HoldRow,
  type QueueAge,
  type QueueCount,
  type QueueEntry,
  type QueueScope,
} from '../store/port/operations.js'
import type { QueueDepth } from '../store/port/upkeep.js'
import type { ShowWaiting, Waiting } from './waiting.js'

const scope = ({ workspaceId, poolId, domain, emailId }: QueueScope) => ({
  workspace_id: workspaceId,
  egress_pool_id: poolId,
  domain,
  email_id: emailId,
})

/** How much of a workspace waits in a pool. */
export type Depth = QueueDepth & { readonly held: number }

export const depth = (row: Depth, waiting: Waiting | null, show: ShowWaiting) => ({
  egress_pool_id: row.poolId,
  workspace_id: row.workspaceId,
  due: row.due,
  leased: row.leased,
  waiting: row.waiting,
  held: row.held,
  oldest_due_at: timeOrNull(row.oldestDueAt),
  waiting_for: show(waiting),
})

export const entry = (row: QueueEntry, waiting: Waiting | null, show: ShowWaiting) => ({
  email_id: row.emailId,
  workspace_id: row.workspaceId,
  egress_pool_id: row.poolId,
  address: row.address,
  status: row.status,
  attempts: row.attempts,
  due_at: timeOrNull(row.dueAt),
  held: row.held,
  under_way: row.underWay,
  last_response: row.lastResponse,
  waiting: show(waiting),
})

/** A recipient domain that has a slower pace in a pool now, and the reply that asked for it; times are epoch ms. */
interface Throttle {
  readonly poolId: string
  readonly domain: string
  readonly until: number
  readonly since: number
  readonly atOnce: number
  readonly rule: string
  readonly said: string
}

export const throttle = (row: Throttle, now: number) => ({
  egress_pool_id: row.poolId,
  domain: row.domain,
  at_once: row.atOnce,
  until: row.until > now ? toRfc3339(row.until) : null,
  since: toRfc3339(row.since),
  rule: row.rule,
  last_response: row.said,
})

/** What waits of one pool, workspace or recipient domain, by how long ago it was accepted. */
export const queueAge = (row: QueueAge) => ({
  key: row.key,
  recipients: row.recipients,
  ages: Object.fromEntries(row.ages.map((n, i) => [AGE_NAMES[i] ?? '', n])),
  oldest_at: toRfc3339(row.oldestAt),
  next_due_at: timeOrNull(row.nextDueAt),
  last_response: row.lastResponse,
})

/** `forOperator` false hides what an operator wrote. */
export const hold = (row: HoldRow, forOperator = true) => ({
  id: row.id,
  object: 'hold' as const,
  ...scope(row),
  reason: forOperator || row.owner === 'workspace' ? row.reason : null,
  owner: row.owner,
  created_at: toRfc3339(row.createdAt),
})

const matched = ({ waiting, held, underWay }: QueueCount) => ({ waiting, held, under_way: underWay })

/** A hold that was put there now, and what it met. */
export const placedHold = (row: HoldRow, count: QueueCount, changed: number) => ({
  ...hold(row),
  matched: matched(count),
  changed,
})

interface OrderDone {
  readonly action: 'hold' | 'release' | 'retry' | 'reroute' | 'purge'
  readonly scope: QueueScope
  /** The pool of a reroute. */
  readonly to: string | null
  readonly count: QueueCount
  readonly changed: number
  readonly dryRun: boolean
}

/** What an order met, and what it changed. */
export const order = (done: OrderDone) => ({
  action: done.action,
  ...scope(done.scope),
  to: done.to,
  matched: matched(done.count),
  changed: done.changed,
  dry_run: done.dryRun,
})

export type Hold = ReturnType<typeof hold>
export type Entry = ReturnType<typeof entry>
export type PoolDepth = ReturnType<typeof depth>
export type Age = ReturnType<typeof queueAge>
export type SlowDomain = ReturnType<typeof throttle>
