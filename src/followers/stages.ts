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

/** In the order of starting. */
export const followersOf = ({ store, config, pepper, log }: FollowerDeps): readonly Service[] => [
  createStatistics({ store, log }),
  createIndexing({ store, log }),
  createAlarms({ store, clock: systemClock, log }),
  createPosting({ store, config, pepper, log }),
]
