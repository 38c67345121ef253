/**
 * NAME      holds - what must not leave now, and how it is set free
 * DESCRIPTION
 *   A hold covers the recipients to which each part of its scope that is not null applies, now and
 *   later. A held recipient has no due time, so nothing looks at it; it remembers when it would have
 *   been due. Free again, it keeps its place in the queue, and is as old as it was when it was held.
 *   Workspaces and pools are named by ids, or by whatever an engine has in their place.
 */
import { type Pause, rested } from './pauses.js'

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
