/**
 * NAME      window - the rate count of the daemon
 * DESCRIPTION
 *   The daemon is the only one that grants sends, so it counts in memory and
 *   answers at once. What it granted is gathered, and travels to the writer with
 *   the next accept, in the same commit as the mail that it was granted for: a
 *   commit of its own would cost each mail an fsync. Grants that no mail follows
 *   are written within a second. A bucket seen for the first time starts from
 *   what the disk remembers.
 */

import { countSends, type WindowCount } from '../../../lifecycle/accept.js'
import type { Used } from '../../sql/suppressions.js'

export interface Window {
  consume(bucket: string, window: number, n: number, limit: number): WindowCount
  /** Hands over what was granted since the last time; to be called ahead of each accept. */
  flush(): void
}

/** Buckets kept in memory; one that is forgotten starts from the disk again. */
const MAX_BUCKETS = 20_000
const GATHER_MS = 1000

export const createWindow = (
  seed: (bucket: string, window: number) => number,
  persist: (used: readonly Used[]) => void,
): Window => {
  let granted = new Map<string, [bucket: string, window: number, n: number]>()
  let timer: NodeJS.Timeout | null = null

  const flush = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (granted.size === 0) return
    const used = [...granted.values()]
    granted = new Map()
    persist(used)
  }

  const grant = (bucket: string, window: number, n: number): void => {
    const place = `${window} ${bucket}`
    const before = granted.get(place)
    if (before === undefined) granted.set(place, [bucket, window, n])
    else before[2] += n
    timer ??= setTimeout(flush, GATHER_MS).unref()
  }

  /** Per bucket its last two windows: calls may straddle the turn of the minute. */
  const buckets = new Map<string, Map<number, number>>()

  const countsOf = (bucket: string, window: number): Map<number, number> => {
    let counts = buckets.get(bucket)
    if (counts === undefined) {
      counts = new Map()
      buckets.set(bucket, counts)
      const eldest = buckets.size > MAX_BUCKETS ? buckets.keys().next().value : undefined
      if (eldest !== undefined) buckets.delete(eldest)
    }
    if (!counts.has(window)) {
      counts.set(window, seed(bucket, window))
      if (counts.size > 2) counts.delete(Math.min(...counts.keys()))
    }
    return counts
  }

  return {
    consume(bucket, window, n, limit) {
      const counts = countsOf(bucket, window)
      const count = countSends(counts.get(window) ?? 0, n, limit)
      if (count.allowed && n > 0) {
        counts.set(window, count.used)
        grant(bucket, window, n)
      }
      return count
    },
    flush,
  }
}
