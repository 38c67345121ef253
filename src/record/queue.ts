/**
 * NAME      queue - the queue, its holds and orders, incidents, and why something waits, as the public sees them
 * DESCRIPTION
 *   A scope has the same members in a request, in a hold and in the record of an order, so that what was
 *   read may be sent.
 *   Who may mend it, or must find who may, is told what there is to know and which command mends it; the
 *   owner of a workspace, in words that name nothing of others.
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
import type { KnownIncident } from '../store/port/watch.js'
import { incidentFacts } from '../store/rules/watch.js'

/** What stops more than one mail, until an operator mends it. */
const STOPPING = ['suspended', 'held', 'no_upstream', 'paused', 'login', 'upstreams_down'] as const

/** The first that is true is the one that is told. */
export const WAITING_REASONS = [...STOPPING, 'throttled', 'warmup', 'rate', 'backoff', 'scheduled'] as const
export type WaitingReason = (typeof WAITING_REASONS)[number]

/** The rest goes by itself. */
export const STOPPING_REASONS: readonly WaitingReason[] = STOPPING

export interface Waiting {
  readonly reason: WaitingReason
  /** Names the pool. */
  readonly plain: string
  /** The same for the owner of the workspace: a pool that is not the workspace's own has no name here. */
  readonly short: string
  readonly more: string | null
  /** The command that mends it, if one does. */
  readonly remedy: string | null
  readonly until: number | null
}

/** Of one mail: why each of its recipients waits, and the first of these reasons. */
export interface MailWaiting {
  readonly first: Waiting | null
  /** By recipient id; those that wait for nothing that we know are not there. */
  readonly recipients: ReadonlyMap<string, Waiting>
}

export type ShowWaiting = (waiting: Waiting | null) => {
  readonly reason: string
  readonly detail: string
  readonly until: string | null
} | null

const REMEDY = '; an operator runs: '

/** A reason as it is told in full, in its parts. */
export const partsOfWaiting = (detail: string): { readonly why: string; readonly remedy: string | null } => {
  const at = detail.lastIndexOf(REMEDY)
  if (at < 0) return { why: detail, remedy: null }
  return { why: detail.slice(0, at), remedy: detail.slice(at + REMEDY.length) }
}

/** What others said, an upstream's reply among it, is never taken for our own advice. */
const withoutRemedy = (text: string): string => text.replaceAll(REMEDY, ', an operator runs: ')

const shown = ({ reason, until }: Waiting, parts: readonly (string | null)[]) => ({
  reason,
  detail: parts.filter((part) => part !== null).join('; '),
  until: timeOrNull(until),
})

export const waitingInFull: ShowWaiting = (waiting) =>
  waiting &&
  shown(waiting, [
    waiting.plain,
    waiting.more && withoutRemedy(waiting.more),
    waiting.remedy && `${REMEDY.slice(2)}${waiting.remedy}`,
  ])

export const waitingInShort: ShowWaiting = (waiting) => waiting && shown(waiting, [waiting.short])

export type WaitingRecord = NonNullable<ReturnType<ShowWaiting>>

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

export const incident = (row: KnownIncident) => ({
  id: row.id,
  object: 'incident' as const,
  workspace_id: row.workspaceId,
  ...incidentFacts(row),
  pending: row.pending,
  decision: row.decision,
  created_at: toRfc3339(row.createdAt),
  decided_at: timeOrNull(row.decidedAt),
})

/** Why it was opened, in words. */
export const incidentText = (row: Pick<KnownIncident, 'addresses' | 'living' | 'outcomes'>): string =>
  row.living > 0
    ? `${row.addresses} addresses of ${row.outcomes} at the same time, of which ${row.living} took mail before`
    : `${row.addresses} addresses of ${row.outcomes} at the same time`

export type Incident = ReturnType<typeof incident>
