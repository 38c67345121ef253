/**
 * NAME      steps - verbs of the port that are several transactions
 */
import type { Store } from '../port/store.js'
import type { Keep } from '../port/upkeep.js'
import { type Stepping, type Swept, stepsOf as stepsFrom, sweeping } from '../sql/steps.js'
import type { Calls } from './calls.js'

/** Its verbs are among those that can be called. */
export const stepsOf = (current: () => Calls) => stepsFrom(current as unknown as () => Stepping)

/** A step of a sweep: old mail, and when nothing of it is left all else. Bodies are rows here. */
const sweepStep = async (at: Calls, now: number, keep: Keep): Promise<Swept> => {
  const { removed, again } = await at.call('sweepMail', now, keep)
  const others = again ? 0 : await at.call('sweepOthers', now, keep)
  return { removed: removed + others, files: [], again: again || others > 0 }
}

const sweepingWith = (at: Calls): Stepping => {
  const others = at as unknown as Stepping
  const call = (name: string, ...args: readonly unknown[]) =>
    name === 'sweepStep'
      ? sweepStep(at, ...(args as [number, Keep]))
      : (others.call as (...args: readonly unknown[]) => unknown)(name, ...args)
  return { ...others, call: call as Stepping['call'] }
}

export const sweepOf = (current: () => Calls): Store['sweep'] => {
  const sweep = sweeping(() => sweepingWith(current()))
  return async (now, keep) => {
    let expired = 0
    if (keep.deadlines !== false)
      for (let n = -1; n !== 0; expired += Math.max(0, n)) n = await current().call('sweepOverdue', now)
    return expired + (await sweep(now, keep, async () => {}))
  }
}
