/**
 * NAME      upkeep - housekeeping, once a minute
 *   Retention, dead locks, orphans, deadlines of mail that others hold. A sweep
 *   that takes longer is not overtaken by the next one.
 *   What is swept is gone, so a clock that has just been set is not believed: for an
 *   hour after a step nothing is swept, and no deadline is met before the longest
 *   retry wait is over, after a start either. It also tells when rows do not follow a
 *   clock that is far ahead, and when they do again.
 *   A sweep that is under way when it stops is cut off by the end of the store, and goes on after the next start: that is
 *   no failure.
 */
import { type Clock, steadyClock } from '../base/clock.js'
import { OutageError } from '../base/fault.js'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import { CLOCK_AHEAD_MS, type Upkeep } from './port/upkeep.js'

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
    readonly domain_reports: number
  }
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>
  readonly clock: Clock
  /** The waits between attempts, in milliseconds. */
  readonly retry: readonly number[]
}

/** Tells when rows do not follow the clock, and when they do again. */
const leadTold = (store: UpkeepParts['store'], log: UpkeepParts['log'], clock: Clock) => {
  let isAhead = false
  return async (): Promise<void> => {
    const lead = await store.clockLead(clock.now())
    if (isAhead === lead > CLOCK_AHEAD_MS) return
    isAhead = !isAhead
    const fields = { event: 'clock_ahead', seconds: Math.round(lead / 1000) }
    if (isAhead)
      log.warn(fields, 'the clock is ahead: lists follow it in an hour, or by postern clock confirm')
    else log.info(fields, 'lists follow the clock again')
  }
}

export const createUpkeep = ({ store, retention, log, retry, ...parts }: UpkeepParts): Service => {
  const clock = steadyClock(parts.clock)
  let timer: NodeJS.Timeout | null = null
  let isSweeping = false
  let isStopped = false
  const failed = (error: Error): void => {
    if (!isStopped || !(error instanceof OutageError)) log.error({ error: error.message }, 'sweep failed')
  }
  const tellLead = leadTold(store, log, parts.clock)
  const look = async (): Promise<void> => {
    await tellLead().catch(failed)
    if (!isStopped) await sweep()
  }
  const sweep = async (): Promise<void> => {
    const steady = clock.tick() - clock.steadySince()
    if (isSweeping || (clock.steps > 0 && steady < REST_MS)) return
    isSweeping = true
    const deadlines = steady >= Math.max(...retry)
    const { bodies, emails, log: kept, reports, domain_reports } = retention()
    try {
      await store.sweep(clock.now(), {
        bodiesMs: bodies,
        emailsMs: emails,
        logMs: Math.min(kept, emails),
        reportsMs: reports,
        domainReportsMs: domain_reports,
        deadlines,
      })
    } catch (error) {
      failed(error as Error)
    }
    isSweeping = false
  }
  return {
    name: 'upkeep',
    async start() {
      isStopped = false
      await tellLead()
      timer ??= setInterval(() => void look(), SWEEP_MS).unref()
    },
    async stop() {
      isStopped = true
      if (timer !== null) clearInterval(timer)
      timer = null
    },
  }
}
