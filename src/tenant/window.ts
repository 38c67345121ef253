/**
 * NAME      window - how many sends are left this minute
 * DESCRIPTION
 *   A fixed minute per key, counted by the store: exact under concurrency, over
 *   both doors and across a restart. A refused send leaves the count as it was.
 *   Sending exactly at `reset` falls into the next window.
 */
import { andThen } from '../base/and-then.js'
import { Fault } from '../base/fault.js'
import type { Principal, TenantDeps } from './principal.js'

const MINUTE = 60

export interface WindowState {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Unix seconds at which the next window opens. */
  readonly reset: number
}

/** Counts n sends if all of them fit; n = 0 only looks. */
export const consumeWindow = (
  { store, clock }: TenantDeps,
  principal: Principal,
  n: number,
): WindowState | Promise<WindowState> => {
  const window = Math.floor(clock.now() / 1000 / MINUTE)
  const limit = principal.limitPerMinute
  return andThen(store.consume(principal.id, window, n, limit), ({ allowed, used }) => ({
    ...{ allowed, limit },
    remaining: Math.max(0, limit - used),
    reset: (window + 1) * MINUTE,
  }))
}

/** Whole seconds until `reset`, never too early and at least one. */
export const secondsUntil = (reset: number, nowMs: number): number =>
  Math.max(1, Math.ceil(reset - nowMs / 1000))

/** The Fault for a send beyond the window, with the seconds to wait. */
export const windowExceeded = (state: WindowState, nowMs: number): Fault => {
  const retryAfter = secondsUntil(state.reset, nowMs)
  return new Fault('rate_limit.exceeded', {
    detail: `${state.limit} sends per minute are allowed; retry in ${retryAfter}s`,
    retryAfter,
  })
}
