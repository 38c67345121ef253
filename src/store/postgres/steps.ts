/**
 * NAME      steps - verbs of the port that are several transactions
 */
import { type Stepping, stepsOf as stepsFrom } from '../sql/steps.js'
import type { Calls } from './calls.js'

/** Its verbs are among those that can be called. */
export const stepsOf = (current: () => Calls) => stepsFrom(current as unknown as () => Stepping)
