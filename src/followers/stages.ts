/**
 * NAME      stages - who follows the log
 */
import { createAlarms } from '../alarm/alarms.js'
import { systemClock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import type { Config } from '../config/config.js'
import { createStatistics } from '../statistics/follower.js'
import type { ReachedStore } from '../store/open.js'
import { createPosting } from '../webhook/posting.js'
import { createIndexing } from './indexing.js'

interface FollowerDeps {
  readonly store: ReachedStore
  readonly config: Config
  readonly pepper: Uint8Array
  readonly log: Log
}

const KNOWN_MS = 500

/** Whether there is anything new: each of them asks, and at rest one answer a second does for all. */
const knownEnds = ({ logEnds }: ReachedStore): ReachedStore['logEnds'] => {
  let known: { readonly at: number; readonly ends: ReturnType<typeof logEnds> } | null = null
  return () => {
    const at = systemClock.tick()
    if (known === null || at - known.at >= KNOWN_MS) known = { at, ends: logEnds() }
    return known.ends
  }
}

/** In the order of starting. */
export const followersOf = ({ store, config, pepper, log }: FollowerDeps): readonly Service[] => {
  const looking = { ...store, logEnds: knownEnds(store) }
  return [
    createStatistics({ store: looking, log }),
    createIndexing({ store: looking, log }),
    createAlarms({ store: looking, clock: systemClock, log }),
    createPosting({ store, config, pepper, log }),
  ]
}
