/**
 * NAME      limits - who guesses too often, and how many sends are left this minute
 *   A fixed minute per key, counted by the store: exact under concurrency, over both doors and across a restart. A
 *   refused send leaves the count as it was. Sending exactly at `reset` falls into the next window.
 *   Failed authentications per client address in a fixed minute, in memory (an attacker who restarts us has other
 *   means). Over the limit, a guess is refused before any password work. A correct API key still passes: proving one is
 *   cheap, and a noisy neighbour behind the same address must not lock it out. IPv6 clients are counted by their /64,
 *   since one host owns as much.
 */
import { LRUCache } from 'lru-cache'
import { andThen } from '../base/and-then.js'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { clientOf } from '../base/network.js'
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

interface Count {
  window: number
  failed: number
}

export interface Failures {
  /** What is left to this address, for the headers of an anonymous answer. */
  peek(ip: string): WindowState
  /** Throws rate_limit.auth_failures when this address is over its limit. */
  check(ip: string): void
  count(ip: string): void
}

/** `keyOf` says what of a name is counted; of addresses, the client. */
export const createFailures = (
  clock: Clock,
  limit: () => number,
  keyOf: (name: string) => string = clientOf,
): Failures => {
  // `max` would lay in the room for all of them at once
  const counts = new LRUCache<string, Count>({ maxSize: 100_000, sizeCalculation: () => 1 })
  const windowNow = () => Math.floor(clock.now() / 60_000)
  const failedBy = (ip: string): number => {
    const count = counts.get(keyOf(ip))
    return count !== undefined && count.window === windowNow() ? count.failed : 0
  }
  const peek = (ip: string): WindowState => {
    const failed = failedBy(ip)
    const most = limit()
    return {
      allowed: failed < most,
      limit: most,
      remaining: Math.max(0, most - failed),
      reset: (windowNow() + 1) * 60,
    }
  }
  return {
    peek,
    check(ip) {
      const state = peek(ip)
      if (state.allowed) return
      const retryAfter = secondsUntil(state.reset, clock.now())
      throw new Fault('rate_limit.auth_failures', {
        detail: `Too many failed authentications; retry in ${retryAfter}s`,
        retryAfter,
      })
    },
    count(ip) {
      counts.set(keyOf(ip), { window: windowNow(), failed: failedBy(ip) + 1 })
    },
  }
}
