/**
 * NAME      orders - what may be done to recipients that wait, in each state
 * DESCRIPTION
 *   One table. What is past the journal is on the wire and is left alone; only its next attempt can go
 *   elsewhere. A lease that has not come so far ends when its recipient moves or ends. An appointment is
 *   held only when its time has come, so that the recipients of a mail leave `scheduled` together. What has
 *   left with a lot ends only with its workspace.
 */
import type { OrderKind, Status } from '../mail/status.js'
import { isAway } from './holds.js'

/** `discard`: its workspace was deleted. */
export type OrderAction = 'hold' | 'release' | 'retry' | 'reroute' | 'purge' | 'discard'

/** What is told of one in the log. */
export interface Note {
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
  reroute: {
    waiting: 'move',
    scheduled: 'move',
    held: 'move',
    leased: 'move_unleased',
    attempting: 'move',
  },
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
