/**
 * NAME      trouble - a failure that lasts, told without a flood
 * DESCRIPTION
 *   What is tried each second fails each second. Its first failure is told, then at most one a minute, and at the end how
 *   long it lasted.
 */
import { systemClock } from '../clock.js'
import type { Log } from '../log.js'

const AGAIN_MS = 60_000

export interface Telling {
  failed(error: Error): void
  /** It works again, so much later. */
  over(lastedMs: number): void
}

interface Trouble {
  failed(error: Error): void
  succeeded(): void
}

export const createTrouble = ({ failed, over }: Telling, tick = systemClock.tick): Trouble => {
  let began: number | null = null
  let told = 0
  return {
    failed(error) {
      const now = tick()
      if (began !== null && now - told < AGAIN_MS) return
      began ??= now
      told = now
      failed(error)
    },
    succeeded() {
      if (began === null) return
      over(tick() - began)
      began = null
    },
  }
}

/** Its end as a line of the log; `what` is the line of its beginning. */
export const overIn =
  (log: Pick<Log, 'info'>, what: string): Telling['over'] =>
  (lastedMs) =>
    log.info({ after: what, lasted_s: Math.round(lastedMs / 1000) }, 'works again')
