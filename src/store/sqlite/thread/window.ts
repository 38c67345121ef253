/**
 * NAME      window - the rate count of the daemon
 * DESCRIPTION
 *   The daemon is the only one that grants sends, so it counts in memory and
 *   answers at once; what it granted is posted to the writer ahead of any later
 *   accept, and thus is on disk before the mail that it was granted for. A
 *   bucket seen for the first time starts from what the disk remembers.
 */
import type { WindowCount } from '../../port-tenants.js'

export interface Window {
  consume(bucket: string, window: number, n: number, limit: number): WindowCount
}

/** Buckets kept in memory; one that is forgotten starts from the disk again. */
const MAX_BUCKETS = 20_000

export const createWindow = (
  seed: (bucket: string, window: number) => number,
  persist: (bucket: string, window: number, n: number) => void,
): Window => {
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
      const before = counts.get(window) ?? 0
      const allowed = before + n <= limit
      const used = allowed ? before + n : before
      if (!allowed || n === 0) return { allowed, used }
      counts.set(window, used)
      persist(bucket, window, n)
      return { allowed, used }
    },
  }
}
