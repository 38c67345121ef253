/**
 * NAME      span - how long ago, in few letters
 *   The pages say it when they are made, and a script goes on saying it while they stand: the same words.
 */
const STEPS = [
  [60_000, 1_000, 's'],
  [3_600_000, 60_000, 'min'],
  [86_400_000, 3_600_000, 'h'],
  [Number.POSITIVE_INFINITY, 86_400_000, 'd'],
] as const

/** `14 min`, `3 h`, `2 d`. */
export const spanWords = (ms: number): string => {
  const [, unit, word] = STEPS.find(([below]) => Math.abs(ms) < below) ?? STEPS[3]
  return `${Math.floor(Math.abs(ms) / unit)} ${word}`
}

/** `now`, `14 min ago`, `in 3 h`; `away` is positive for what has been. */
export const nearWords = (away: number): string => {
  if (Math.abs(away) < 1_000) return 'now'
  return away > 0 ? `${spanWords(away)} ago` : `in ${spanWords(away)}`
}
