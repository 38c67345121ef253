/**
 * NAME      clock - what time it is
 *   Every stage asks here, so that a test can hold time still. `now` is wall time in epoch milliseconds and is only
 *   ever shown, stored or compared with stored times; `tick` never goes back and is what durations are made of.
 *   Somebody may set the wall clock while we run. A steady clock sees that at the next `now`: the two clocks have
 *   parted by more than STEP_MS.
 */
export interface Clock {
  /** Wall time, epoch milliseconds. */
  now(): number
  /** Monotonic milliseconds from an arbitrary origin. */
  tick(): number
}

/** A time, and when it was, on the tick clock. */
interface Known {
  readonly at: number
  readonly tick: number
}

let followed: Known | null = null

/** From now on the wall time of this thread is what somebody else says; null: its own again. */
export const followTime = (time: Known | null): void => {
  followed = time
}

export const systemClock: Clock = {
  now: () => (followed === null ? Date.now() : Math.round(followed.at + performance.now() - followed.tick)),
  tick: () => performance.now(),
}

/** Less than this is a clock that is being corrected, not one that was set. */
export const STEP_MS = 5_000

export interface SteadyClock extends Clock {
  /** When the wall clock was last seen to be set, on the tick clock; the start when it never was. */
  steadySince(): number
  readonly steps: number
}

/** `stepped` is told by how much, before the new time is given to anybody. */
export const steadyClock = (clock: Clock, stepped: (by: number) => void = () => {}): SteadyClock => {
  let offset = clock.now() - clock.tick()
  let since = clock.tick()
  let steps = 0
  const now = (): number => {
    const wall = clock.now()
    const tick = clock.tick()
    const by = Math.round(wall - tick - offset)
    if (Math.abs(by) <= STEP_MS) return wall
    offset = wall - tick
    since = tick
    steps++
    stepped(by)
    return wall
  }
  return {
    now,
    tick: () => clock.tick(),
    steadySince() {
      now()
      return since
    },
    get steps() {
      return steps
    },
  }
}

/** RFC 3339 in UTC with milliseconds, the only form of time on our wire. */
export const toRfc3339 = (epochMs: number): string => new Date(epochMs).toISOString()

export const timeOrNull = (at: number | null): string | null => (at === null ? null : toRfc3339(at))
