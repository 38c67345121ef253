/**
 * NAME      backoff - when to try again
 * DESCRIPTION
 *   Full jitter over a configured list of ceilings: the n-th retry waits between
 *   nothing and the n-th ceiling, and the last ceiling repeats. Spreading retries matters
 *   more than spacing them: a thousand mails deferred in one second must not
 *   come back in one second. A peer's own "try again in N seconds" is a floor.
 */
export const retryDelayMs = (
  attempt: number,
  ceilingsMs: readonly number[],
  random: () => number = Math.random,
  floorMs = 0,
): number => {
  const ceiling = ceilingsMs[Math.min(attempt, ceilingsMs.length) - 1] ?? 60_000
  return Math.round(Math.max(floorMs, random() * ceiling))
}
