/**
 * NAME      pauses - the age of a mail, in which the pauses of its pool do not count
 * DESCRIPTION
 *   A pool is paused while it has upstreams and none of them is to get mail. `queuedAt`
 *   stays a time of the wall clock: a mail's age is reckoned when it is asked for, and `queuedAt`
 *   moves only where a mail comes out of a rest or into another pool. Pauses are newest first.
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
