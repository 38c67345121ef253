/**
 * NAME      reporter - sends the reports of a mail, in their order and time
 * DESCRIPTION
 *   Leaves out what NOTIFY did not ask for. A report that the bounce door does
 *   not take for now (4xx, or nobody there) is tried again a few times; one that
 *   it refuses is logged and dropped. Nothing is sent after stop().
 */
import { type Clock, systemClock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import { randomText } from '../base/secret.js'
import { type Address, dispatch } from './dispatch.js'
import { type Received, writeReport } from './report.js'
import type { Report, Step } from './simulation.js'

interface ReporterOptions {
  readonly hostname: string
  readonly bounceAddress: () => Address
  readonly log: Log
  readonly clock?: Clock
}

interface Reporter {
  after(ms: number, act: () => void): void
  play(mail: Received, steps: readonly Step[]): void
  stop(): void
}

/** A real server takes a moment to report, and by then our own 250 is on disk: people see sent before delivered. */
const SOON_MS = 100
/** Milliseconds between tries. */
const RETRY = [50, 200, 1000, 3000, 10_000]
/** RFC 3461 section 4.1 leaves the default to the MTA. */
const DEFAULT_NOTIFY = ['FAILURE', 'DELAY']
/** What NOTIFY must hold for a report; others are not DSNs and ignore it. */
const WANTS: Partial<Record<Report['kind'], string>> = {
  delivered: 'SUCCESS',
  relayed: 'SUCCESS',
  delayed: 'DELAY',
  failed: 'FAILURE',
}

const isWanted = ({ kind }: Report, { notify }: Received): boolean => {
  const word = WANTS[kind]
  return word === undefined || (notify ?? DEFAULT_NOTIFY).includes(word)
}

/** Timers that end together. */
const createTimers = () => {
  const timers = new Set<NodeJS.Timeout>()
  return {
    after(ms: number, act: () => void): void {
      const timer = setTimeout(() => {
        timers.delete(timer)
        act()
      }, ms)
      timers.add(timer)
    },
    end(): void {
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    },
  }
}

export const createReporter = (options: ReporterOptions, pace: number): Reporter => {
  const { hostname, bounceAddress, log, clock = systemClock } = options
  const timers = createTimers()
  let stopped = false
  const wait = (ms: number): Promise<void> => new Promise((resolve) => timers.after(ms, resolve))

  const send = async (to: string, raw: Buffer): Promise<void> => {
    for (const pause of [...RETRY, null]) {
      const reply = await Promise.resolve()
        .then(() => dispatch(bounceAddress(), hostname, to, raw))
        .catch(String)
      if (reply.startsWith('2') || stopped) return
      if (reply.startsWith('5') || pause === null) {
        log.warn({ event: 'sandbox_report_lost', reply })
        return
      }
      await wait(pause)
    }
  }

  const play = async (mail: Received, steps: readonly Step[]): Promise<void> => {
    for (const { when, report } of steps) {
      if (!isWanted(report, mail)) continue
      await wait(when === 'later' ? pace : Math.min(pace, SOON_MS))
      if (stopped) return
      const parts = { hostname, boundary: randomText(24), now: clock.now() }
      await send(mail.sender, writeReport(report, mail, parts))
    }
  }

  return {
    after: (ms, act) => {
      if (ms === 0) act()
      else timers.after(ms, act)
    },
    play(mail, steps) {
      if (mail.sender === '') return
      play(mail, steps).catch((error: unknown) => log.error({ event: 'sandbox_failed', err: error }))
    },
    stop() {
      stopped = true
      timers.end()
    },
  }
}
