/**
 * NAME      clock - what time it is
 * DESCRIPTION
 *   Every stage asks here, so that a test can hold time still. `now` is wall
 *   time in epoch milliseconds and is only ever shown, stored or compared with
 *   stored times; `tick` never goes back and is what durations are made of.
 */
export interface Clock {
  /** Wall time, epoch milliseconds. */
  now(): number
  /** Monotonic milliseconds from an arbitrary origin. */
  tick(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  tick: () => performance.now(),
}

/** RFC 3339 in UTC with milliseconds, the only form of time on our wire. */
export const toRfc3339 = (epochMs: number): string => new Date(epochMs).toISOString()
