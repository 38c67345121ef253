/**
 * NAME      stages - who follows the log
 */
import type { Clock } from '../base/clock.js'
import type { GiveWay } from '../base/give-way.js'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import type { Config } from '../config/config.js'
import { liveKeys } from '../keys/return-path.js'
import type { Rule } from '../mail/report/category.js'
import { createIntake, type Recorded } from '../outcome/report.js'
import { logIncident } from '../outcome/suppress.js'
import { createReporter, type ReporterParts } from '../sandbox/reporter.js'
import type { ReachedStore } from '../store/open.js'
import { createPosting } from '../webhook/webhooks.js'
import { createReader } from './reader.js'

interface FollowerDeps {
  readonly store: ReachedStore
  readonly config: Config
  readonly pepper: Uint8Array
  readonly clock: Clock
  readonly log: Log
  readonly capture: boolean
  readonly rules: () => readonly Rule[]
  readonly way: GiveWay
  /** What was made of a report of the sandbox; null of one that was given up. */
  readonly reported: (made: Recorded | null) => void
  /** How soon the sandbox sees what it took, and how long its `later` is; unsaid, as people see it best. */
  readonly sandbox?: Pick<ReporterParts, 'look' | 'pace'>
}

/** How often the sandbox looks into a database that is far, at rest. */
const FAR_MS = 500

/** Reports of the sandbox are read, believed and settled as those of others are. */
const sandboxReports = async (deps: FollowerDeps): Promise<Service> => {
  const { store, config, pepper, clock, log, capture, rules, way, reported } = deps
  const { hostname, bounce, relay } = config
  const { keys, look: lookAtKeys } = await liveKeys(store, pepper)
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
    ...(store.cluster().isShared && { look: FAR_MS }),
    ...deps.sandbox,
  })
}

/** In the order of starting. */
export const followersOf = async (deps: FollowerDeps): Promise<readonly Service[]> => {
  const { store, config, pepper, clock, log, way } = deps
  return [
    // before anything is handed to the sandbox
    await sandboxReports(deps),
    createReader({ store, clock, log, way }),
    createPosting({ store, config, pepper, clock, log, way }),
  ]
}
