/**
 * NAME      holds - what must not leave now, how it is set free, and the age of mail without pauses
 * DESCRIPTION
 *   A hold covers the recipients to which each part of its scope that is not null applies, now and later. A
 *   held recipient has no due time, so nothing looks at it; it remembers when it would have been due. Free
 *   again, it keeps its place in the queue, and is as old as it was when it was held. Workspaces and pools
 *   are named by ids, or by whatever an engine has in their place.
 *   A pool is paused while it has upstreams and none of them is to get mail. `queuedAt` stays a time of the
 *   wall clock: a mail's age is reckoned when it is asked for, and `queuedAt` moves only where a mail comes
 *   out of a rest or into another pool. Pauses are newest first.
 */
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
