/**
 * NAME      steps - verbs of the port that are several transactions
 */
import type { Store } from '../port/store.js'
import type { Keep } from '../port/upkeep.js'
import { inRounds, type Stepping, type Swept, stepsOf as stepsFrom, sweeping } from '../sql/steps.js'
import type { Calls } from './calls.js'

/** Its verbs are among those that can be called. */
const stepping = (current: () => Calls) => current as unknown as () => Stepping

export const stepsOf = (current: () => Calls) => stepsFrom(stepping(current))

/** Old mail, and when nothing of it is left all else. Bodies are rows here. */
const sweepStep = async (at: Calls, now: number, keep: Keep): Promise<Swept> => {
  const { removed, again } = await at.call('sweepMail', now, keep)
  const others = again ? 0 : await at.call('sweepOthers', now, keep)
  return { removed: removed + others, files: [], again: again || others > 0 }
}

export const sweepOf = (current: () => Calls): Store['sweep'] => {
  const sweep = sweeping(stepping(current), (now, keep) => sweepStep(current(), now, keep))
  return async (now, keep) => {
    const expired = keep.deadlines === false ? 0 : await inRounds(() => current().call('sweepOverdue', now))
    return expired + (await sweep(now, keep, async () => {}))
  }
}
