/**
 * NAME      upkeep - housekeeping, once a minute
 * DESCRIPTION
 *   Retention, dead locks, orphans, deadlines of mail that others hold. A sweep
 *   that takes longer is not overtaken by the next one.
 *   What is swept is gone, so a clock that has just been set is not believed: for an
 *   hour after a step nothing is swept, and no deadline is met before the longest
 *   retry wait is over, after a start either. It also tells when rows do not follow a
 *   clock that is far ahead, and when they do again.
 */
import { type Clock, steadyClock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import type { Upkeep } from './port/upkeep.js'
import { CLOCK_AHEAD_MS } from './port/upkeep.js'

const SWEEP_MS = 60_000
const REST_MS = 3_600_000

interface UpkeepParts {
  readonly store: Pick<Upkeep, 'sweep' | 'clockLead'>
  /** Asked at each sweep, since it can be reloaded. */
  readonly retention: () => {
    readonly bodies: number
    readonly emails: number
    readonly log: number
    readonly reports: number
  }
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>
  readonly clock: Clock
  /** The waits between attempts, in milliseconds. */
  readonly retry: readonly number[]
}

export const createUpkeep = ({ store, retention, log, retry, ...parts }: UpkeepParts): Service => {
  const clock = steadyClock(parts.clock)
  let timer: NodeJS.Timeout | null = null
  let isSweeping = false
  let isAhead = false
  const tellLead = async (): Promise<void> => {
    const lead = await store.clockLead(parts.clock.now())
    if (isAhead === lead > CLOCK_AHEAD_MS) return
    isAhead = !isAhead
    const fields = { event: 'clock_ahead', seconds: Math.round(lead / 1000) }
    if (isAhead)
      log.warn(fields, 'the clock is ahead: lists follow it in an hour, or by postern clock confirm')
    else log.info(fields, 'lists follow the clock again')
  }
  const look = async (): Promise<void> => {
    await tellLead().catch((error: Error) => log.error({ error: error.message }, 'sweep failed'))
    await sweep()
  }
  const sweep = async (): Promise<void> => {
    const steady = clock.tick() - clock.steadySince()
    if (isSweeping || (clock.steps > 0 && steady < REST_MS)) return
    isSweeping = true
    const deadlines = steady >= Math.max(...retry)
    const { bodies, emails, log: kept, reports } = retention()
    try {
      await store.sweep(clock.now(), {
        bodiesMs: bodies,
        emailsMs: emails,
        logMs: Math.min(kept, emails),
        reportsMs: reports,
        deadlines,
      })
    } catch (error) {
      log.error({ error: (error as Error).message }, 'sweep failed')
    }
    isSweeping = false
  }
  return {
    name: 'upkeep',
    async start() {
      await tellLead()
      timer ??= setInterval(() => void look(), SWEEP_MS).unref()
    },
    async stop() {
      if (timer !== null) clearInterval(timer)
      timer = null
    },
  }
}
