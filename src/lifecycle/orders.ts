/**
 * NAME      orders - what may be done to mail that waits: holds, and what an operator orders, in each state
 *   A hold covers the recipients to which each part of its scope that is not null applies, now and later. A held
 *   recipient has no due time, so nothing looks at it; it remembers when it would have been due. Free again, it keeps
 *   its place in the queue, and is as old as it was when it was held. Workspaces and pools are named by ids, or by
 *   whatever an engine has in their place.
 *   A pool is paused while it has upstreams and none of them is to get mail. `queuedAt` stays a time of the wall clock:
 *   a mail's age is reckoned when it is asked for, and `queuedAt` moves only where a mail comes out of a rest or into
 *   another pool. Pauses are newest first.
 *   Orders are one table. What is past the journal is on the wire and is left alone; only its next attempt can go
 *   elsewhere. A lease that has not come so far ends when its recipient moves or ends. An appointment is held only when
 *   its time has come, so that the recipients of a mail leave `scheduled` together. What has left with a lot ends only
 *   with its workspace.
 */
import type { OrderKind, Status } from '../mail/status.js'

export type Pause = readonly [from: number, to: number | null]

export const isPaused = (upstreams: readonly { readonly state: string }[]): boolean =>
  upstreams.length > 0 && upstreams.every(({ state }) => state !== 'active')

/** How much of the time from `from` to `until` was no pause. */
const between = (pauses: readonly Pause[], from: number, until: number): number =>
  pauses.reduce(
    (age, [start, end]) => age - Math.max(0, Math.min(end ?? until, until) - Math.max(start, from)),
    until - from,
  )

/** Since when a mail waits that is `age` old at `now`. */
const since = (pauses: readonly Pause[], age: number, now: number): number => {
  let at = now
  let left = age
  for (const [start, end] of pauses) {
    const free = at - Math.min(end ?? now, at)
    if (free >= left) break
    left -= free
    at = Math.min(at, start)
  }
  return at - left
}

/** Since when a mail would wait if nothing had been paused, and when the last pause of it ended. */
export const waitsSince = (
  pauses: readonly Pause[],
  queuedAt: number,
  now: number,
): readonly [queuedAt: number, resumedAt: number | null] => {
  if (pauses.length === 0) return [queuedAt, null]
  const last = pauses[0]?.[1] ?? null
  return [now - between(pauses, queuedAt, now), last !== null && last > queuedAt ? last : null]
}

/** `queuedAt` of a mail that rested from `heldAt` until `now`. */
export const rested = (pauses: readonly Pause[], queuedAt: number, heldAt: number, now: number): number =>
  since(pauses, Math.max(0, between(pauses, queuedAt, Math.min(heldAt, now))), now)

/** `queuedAt` of a mail that is as old at `at` in another pool. */
export const moved = (from: readonly Pause[], to: readonly Pause[], queuedAt: number, at: number): number =>
  since(to, between(from, queuedAt, at), at)

/** Which recipients are meant: those to which every part that is not null applies. */
export interface Scope<Id = string> {
  readonly accountId: string
  readonly workspaceId: Id | null
  readonly poolId: Id | null
  /** Recipient domain, lower case, in A-labels. */
  readonly domain: string | null
  readonly emailId: string | null
}

/** Whose a recipient is, and where it goes. */
export interface Owned<Id = string> {
  readonly accountId: string
  readonly workspaceId: Id
  readonly poolId: Id
  readonly emailId: string
  /** Lower case. */
  readonly address: string
}

export const covers = <Id>(scope: Scope<Id>, one: Owned<Id>): boolean =>
  (scope.workspaceId === null || scope.workspaceId === one.workspaceId) &&
  (scope.poolId === null || scope.poolId === one.poolId) &&
  (scope.emailId === null || scope.emailId === one.emailId) &&
  (scope.domain === null || one.address.endsWith(`@${scope.domain}`)) &&
  scope.accountId === one.accountId

/** In `held` of a recipient that has left with a lot: nobody but the lot sets it free. */
export const isAway = (held: string | null): held is string => held?.startsWith('lot_') ?? false

interface Held {
  readonly held: string | null
  readonly heldAt: number | null
  readonly heldDue: number | null
  readonly dueAt: number | null
}

export const holdBack = (dueAt: number | null, holdId: string, now: number): Held => ({
  held: holdId,
  heldAt: now,
  heldDue: dueAt,
  dueAt: null,
})

export interface Freed extends Held {
  readonly queuedAt: number
}

/** `pauses` are those of its pool. */
export const setFree = (
  one: Pick<Freed, 'heldAt' | 'heldDue' | 'queuedAt'>,
  pauses: readonly Pause[],
  now: number,
): Freed => ({
  held: null,
  heldAt: now,
  heldDue: null,
  dueAt: one.heldDue ?? now,
  queuedAt: one.heldAt === null ? one.queuedAt : rested(pauses, one.queuedAt, one.heldAt, now),
})

/** `discard`: its workspace was deleted. */
export type OrderAction = 'hold' | 'release' | 'retry' | 'reroute' | 'purge' | 'discard'

/** What is told of one in the log. */
export interface OrderNote {
  /** What was ordered; also what an order did to the mail, where that has the same name. */
  readonly action: string
  readonly did: OrderKind
  readonly reason: string
  readonly now: number
  readonly more?: Readonly<Record<string, string>>
}

/** Each is an index range of its own. */
export type QueuePart = 'waiting' | 'held' | 'leased'

export interface Queued {
  readonly status: Status
  readonly dueAt: number | null
  readonly held: string | null
  readonly isLeased: boolean
  /** Its message may be on the wire. */
  readonly isAttempting: boolean
}

export type QueuedState = 'waiting' | 'scheduled' | 'held' | 'away' | 'leased' | 'attempting'

/** Null for what is not in the queue. */
export const stateOf = ({ status, dueAt, held, isLeased, isAttempting }: Queued): QueuedState | null => {
  if (isLeased) return isAttempting ? 'attempting' : 'leased'
  if (held !== null) return isAway(held) ? 'away' : 'held'
  if (dueAt === null) return null
  return status === 'scheduled' ? 'scheduled' : 'waiting'
}

const PART_OF: Readonly<Record<QueuedState, QueuePart>> = {
  waiting: 'waiting',
  scheduled: 'waiting',
  held: 'held',
  away: 'held',
  leased: 'leased',
  attempting: 'leased',
}

export const partOf = (one: Queued): QueuePart | null => {
  const state = stateOf(one)
  return state === null ? null : PART_OF[state]
}

/** `move_unleased`: its lease ends with it. */
export type OrderEffect = 'hold' | 'free' | 'due' | 'move' | 'move_unleased' | 'end'

const EFFECTS: Readonly<Record<OrderAction, Partial<Record<QueuedState, OrderEffect>>>> = {
  hold: { waiting: 'hold' },
  release: { held: 'free' },
  retry: { waiting: 'due' },
  reroute: { waiting: 'move', scheduled: 'move', held: 'move', leased: 'move_unleased', attempting: 'move' },
  purge: { waiting: 'end', scheduled: 'end', held: 'end', leased: 'end' },
  discard: { waiting: 'end', scheduled: 'end', held: 'end', away: 'end', leased: 'end' },
}

/** An appointment is held only when its time has come. */
export const mayHold = (one: Queued): boolean => {
  const state = stateOf(one)
  return state !== null && EFFECTS.hold[state] === 'hold'
}

/** The parts of the queue that an order goes over. */
export const partsOf = (action: OrderAction): readonly QueuePart[] => [
  ...new Set((Object.keys(EFFECTS[action]) as QueuedState[]).map((state) => PART_OF[state])),
]

export interface OrderFacts<Id> extends Queued {
  readonly poolId: Id
  /** Its pool is the sandbox. */
  readonly isSandbox: boolean
  /** Its mail came after the order was given. */
  readonly isNewer: boolean
  /** What is in `held` still holds. */
  readonly isHoldStanding: boolean
}

export interface OrderTerms<Id> {
  readonly action: OrderAction
  readonly now: number
  /** Only with `release`: what this hold keeps. */
  readonly hold?: string | null
  /** What is for the sandbox is left alone. */
  readonly liveOnly?: boolean
  /** Only with `reroute`; `from` where only what waits there is meant. */
  readonly route?: { readonly from: Id | null; readonly to: Id }
}

/** What an order does to one recipient; null: nothing. */
export const effectOf = <Id>(one: OrderFacts<Id>, terms: OrderTerms<Id>): OrderEffect | null => {
  const { action, now, hold = null, liveOnly = false, route } = terms
  const state = stateOf(one)
  const effect = state === null ? undefined : EFFECTS[action][state]
  if (effect === undefined || (liveOnly && one.isSandbox)) return null
  // an order that was cut off is finished later, and must not end what nobody spoke of
  if (action === 'purge' && one.isNewer) return null
  if (effect === 'free') return (hold === null || hold === one.held) && !one.isHoldStanding ? effect : null
  if (effect === 'due') return (one.dueAt ?? 0) > now ? effect : null
  if (effect !== 'move' && effect !== 'move_unleased') return effect
  // an operator may have sent it elsewhere: there it stays; and test mail stays in its sandbox
  const isMeant = route !== undefined && (route.from === null || route.from === one.poolId)
  return isMeant && route.to !== one.poolId && !one.isSandbox ? effect : null
}
