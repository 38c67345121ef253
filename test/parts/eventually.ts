/**
 * Waiting for what comes about by itself: the one loop of its kind in the tests,
 * and it ends. A condition that throws is a fault of its own and is told at once.
 * That something does NOT happen is never shown by waiting: let something later
 * happen first (a second mail, a newer pool), then look.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** What the condition gave that is neither false nor empty. */
export type Found<T> = Exclude<T, undefined | null | false | 0 | ''>

export interface Patience {
  /** Long enough for a machine that does much else meanwhile. */
  readonly ms?: number
  readonly every?: number
  /** While this changes there is hope, and time begins anew. */
  readonly moves?: () => unknown
  /** What there is instead, for the reader of the failure. */
  readonly seen?: () => unknown
}

/** Resolves with what the condition gives as soon as that is something; rejects with `what` when time is up. */
export const eventually = async <T>(
  what: string,
  condition: () => T | Promise<T>,
  { ms = 60_000, every = 20, moves, seen }: Patience = {},
): Promise<Found<T>> => {
  let last = moves?.()
  for (let end = performance.now() + ms; ; await sleep(every)) {
    const found = await condition()
    if (found) return found as Found<T>
    const now = moves?.()
    if (now !== last) end = performance.now() + ms
    last = now
    if (performance.now() > end) {
      const instead = seen === undefined ? '' : `; instead: ${JSON.stringify(await seen(), null, 1)}`
      throw new Error(`not within ${ms} ms: ${what}${instead}`)
    }
  }
}
