/** What a fault is, and what most of them ask afterwards. Each says in words what was not as it must be. */
import { inWords, type Writer } from './daemon.js'
import type { Fleet } from './fleet.js'

export interface Fault {
  readonly name: string
  readonly says: string
  /** In each run only the first time, unless it is asked for by name. */
  readonly isOnce?: boolean
  /** Connections that rest in a stopped daemon count at the upstream beside those of its heirs (takeover.ts looks at them). */
  readonly leavesIdle?: boolean
  readonly run: (fleet: Fleet) => Promise<readonly string[]>
}

/** Nobody is taken over for an outage. */
export const unmoved = (before: readonly Writer[], fleet: Fleet): string[] => {
  const now = fleet.writers()
  return inWords(before) === inWords(now) ? [] : [`writers ${inWords(before)} became ${inWords(now)}`]
}

export const running = (fleet: Fleet): string[] =>
  fleet.daemons.flatMap(({ name, end }) => (end === undefined ? [] : [`daemon ${name} ended with ${end}`]))

/** While the database breaks, no daemon ends and none is taken over. */
export const survived =
  (breaks: (fleet: Fleet) => Promise<void>): Fault['run'] =>
  async (fleet) => {
    const before = fleet.writers()
    await breaks(fleet)
    await fleet.flows()
    return [...unmoved(before, fleet), ...running(fleet)]
  }
