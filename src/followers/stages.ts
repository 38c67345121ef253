/**
 * NAME      stages - who follows the log
 */
import { createAlarms } from '../alarm/alarms.js'
import { systemClock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import type { GiveWay } from '../base/time/give-way.js'
import type { Config } from '../config/config.js'
import { liveKeys } from '../keys/return-path.js'
import type { Rule } from '../mail/report/category.js'
import { createIntake } from '../outcome/intake.js'
import type { Recorded } from '../outcome/report.js'
import { logIncident } from '../outcome/suppress.js'
import { createReporter } from '../sandbox/reporter.js'
import { createStatistics } from '../statistics/follower.js'
import type { ReachedStore } from '../store/open.js'
import { createPosting } from '../webhook/posting.js'
import { createIndexing } from './indexing.js'

interface FollowerDeps {
  readonly store: ReachedStore
  readonly config: Config
  readonly pepper: Uint8Array
  readonly log: Log
  readonly capture: boolean
  readonly rules: () => readonly Rule[]
  readonly way: GiveWay
  /** What was made of a report of the sandbox; null of one that was given up. */
  readonly reported: (made: Recorded | null) => void
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

/** Reports of the sandbox are read, believed and settled as those of others are. */
const sandboxReports = async (deps: FollowerDeps, store: ReachedStore): Promise<Service> => {
  const { config, pepper, log, capture, rules, way, reported } = deps
  const { hostname, bounce, relay } = config
  const { keys, look: lookAtKeys } = await liveKeys(store, pepper)
  const clock = systemClock
  const { ingest } = createIntake(
    {
      ...{ store, keys, lookAtKeys, clock, rules },
      ...{ domain: bounce.domain, lifetime: relay.lifetime, begun: logIncident(log) },
    },
    (made) => {
      reported(made)
      const { kind, tier, emailId: email, recipientId: recipient, status, suppressed, did } = made
      log.info({ kind, tier, email, recipient, status, suppressed, did }, 'report')
    },
  )
  return createReporter({
    ...{ store, ingest, keys, hostname, bounceDomain: bounce.domain, clock, log },
    ...{ way, mode: capture ? null : 'test' },
    lost: () => reported(null),
  })
}

/** In the order of starting. */
export const followersOf = async (deps: FollowerDeps): Promise<readonly Service[]> => {
  const { store, config, pepper, log, way } = deps
  const looking = { ...store, logEnds: knownEnds(store) }
  return [
    // before anything is handed to the sandbox
    await sandboxReports(deps, store.cluster().isShared ? looking : store),
    createStatistics({ store: looking, log }),
    createIndexing({ store: looking, log }),
    createAlarms({ store: looking, clock: systemClock, log }),
    createPosting({ store, config, pepper, log, way }),
  ]
}
