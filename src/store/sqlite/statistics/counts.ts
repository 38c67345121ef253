/**
 * NAME      counts - pairs of number and how often, as rows keep them
 */
export const decode = (text: string): number[] => JSON.parse(text) as number[]

/** Both together, in order of their numbers. */
export const added = (a: readonly number[], b: readonly number[]): number[] => {
  const sums = new Map<number, number>()
  for (const counts of [a, b])
    for (let i = 0; i < counts.length; i += 2) {
      const key = counts[i] as number
      sums.set(key, (sums.get(key) ?? 0) + (counts[i + 1] as number))
    }
  return [...sums].sort(([x], [y]) => x - y).flat()
}

/** How much a row stands for: all that it counts. */
export const busyOf = (counts: readonly number[]): number => {
  let sum = 0
  for (let i = 1; i < counts.length; i += 2) sum += counts[i] as number
  return sum
}
