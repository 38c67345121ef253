/**
 * NAME      load-counts - how the writer is doing, for whoever looks
 *   Counts in memory that the threads share: the writer adds to them after each commit, and reading them disturbs
 *   nobody. A look may fall between two additions and be one batch behind itself.
 */
import type { Distribution, WriterLoad } from './port/upkeep.js'

const VERBS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000]
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Bounds, the rest, and the sum. */
const lengthOf = (bounds: readonly number[]): number => bounds.length + 2

export const createLoadCounts = (): SharedArrayBuffer =>
  new SharedArrayBuffer((lengthOf(VERBS) + lengthOf(SECONDS)) * Float64Array.BYTES_PER_ELEMENT)

const partsOf = (loadCounts: SharedArrayBuffer): readonly [Float64Array, Float64Array] => {
  const all = new Float64Array(loadCounts)
  return [all.subarray(0, lengthOf(VERBS)), all.subarray(lengthOf(VERBS))]
}

const observe = (counts: Float64Array, bounds: readonly number[], value: number): void => {
  let at = 0
  while (at < bounds.length && value > (bounds[at] as number)) at++
  counts[at] = (counts[at] as number) + 1
  counts[bounds.length + 1] = (counts[bounds.length + 1] as number) + value
}

/** The writer's side: so many verbs were committed, and the commit took so long. */
export const createBeat = (loadCounts: SharedArrayBuffer): ((verbs: number, commitMs: number) => void) => {
  const [verbCounts, commitCounts] = partsOf(loadCounts)
  return (verbs, commitMs) => {
    observe(verbCounts, VERBS, verbs)
    observe(commitCounts, SECONDS, commitMs / 1000)
  }
}

const distribution = (counts: Float64Array, bounds: readonly number[]): Distribution => ({
  bounds,
  counts: [...counts.subarray(0, bounds.length + 1)],
  sum: counts[bounds.length + 1] as number,
})

export const readPulse = (loadCounts: SharedArrayBuffer): WriterLoad => {
  const [verbCounts, commitCounts] = partsOf(loadCounts)
  return {
    verbsPerCommit: distribution(verbCounts, VERBS),
    commitSeconds: distribution(commitCounts, SECONDS),
  }
}
