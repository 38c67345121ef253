/**
 * NAME      failures - who guesses too often
 * DESCRIPTION
 *   Failed authentications per client address in a fixed minute, in memory (an
 *   attacker who restarts us has other means). Over the limit, a guess is
 *   refused before any password work. A correct API key still passes: proving
 *   one is cheap, and a noisy neighbour behind the same address must not lock
 *   it out. IPv6 clients are counted by their /64, since one host owns as much.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { clientOf } from '../base/network.js'
import { secondsUntil, type WindowState } from './window.js'

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
