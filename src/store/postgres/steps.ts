/**
 * NAME      steps - verbs of the port that are several transactions
 */
import type { Store } from '../port/store.js'
import { type Stepping, stepsOf as stepsFrom, sweeping } from '../sql/steps.js'
import type { Calls } from './calls.js'

/** Its verbs are among those that can be called. */
export const stepsOf = (current: () => Calls) => stepsFrom(current as unknown as () => Stepping)

/** Bodies are rows here. */
export const sweepOf = (current: () => Calls): Store['sweep'] => {
  const sweep = sweeping(current as unknown as () => Stepping)
  return (now, keep) => sweep(now, keep, async () => {})
}
