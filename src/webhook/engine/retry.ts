/**
 * NAME      retry - when a post is tried again, and when no more
 * DESCRIPTION
 *   At once, then after the waits of the list, each up to a tenth shorter so that
 *   what failed together does not come back together. An event is given up 76 hours
 *   after it was stored, or when the list is at its end. An endpoint may ask for more
 *   time, a day at most.
 */
const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3600_000]
export const DAY = 24 * HOUR

/** After the first failed try, the second, and so on. */
const WAITS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]

export const LIFE_MS = 76 * HOUR
export const LONGEST_WAIT_MS = DAY

/** The wait after so many failed tries; the last one repeats. `asked` are seconds of a Retry-After. */
export const waitAfter = (failed: number, asked: number | null, random: () => number): number => {
  const wait = WAITS[Math.min(failed, WAITS.length) - 1] ?? DAY
  return Math.max(Math.round(wait * (0.9 + 0.1 * random())), Math.min((asked ?? 0) * SECOND, DAY))
}

/**
 * The time of the next try, or null: given up. `from` is when its life began. While the clock can not be
 * believed nothing is given up for its age.
 */
export const nextTry = (
  {
    attempts,
    from,
    asked,
  }: { readonly attempts: number; readonly from: number; readonly asked: number | null },
  now: number,
  isSteady: boolean,
  random: () => number,
): number | null => {
  const at = now + waitAfter(attempts, asked, random)
  if (!isSteady) return at
  return attempts > WAITS.length || at > from + LIFE_MS ? null : at
}
