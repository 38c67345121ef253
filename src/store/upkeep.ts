/**
 * NAME      upkeep - housekeeping, once a minute
 * DESCRIPTION
 *   Retention, dead locks, orphans, deadlines of mail that others hold. A sweep
 *   that takes longer is not overtaken by the next one.
 */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import type { Upkeep } from './port.js'

const SWEEP_MS = 60_000

export interface UpkeepParts {
  readonly store: Pick<Upkeep, 'sweep'>
  /** Asked at each sweep, since it can be reloaded. */
  readonly retention: () => { readonly bodies: number; readonly emails: number }
  readonly log: Pick<Log, 'error'>
  readonly clock: Clock
}

export const createUpkeep = ({ store, retention, log, clock }: UpkeepParts): Service => {
  let timer: NodeJS.Timeout | null = null
  let isSweeping = false
  const sweep = async (): Promise<void> => {
    if (isSweeping) return
    isSweeping = true
    const { bodies, emails } = retention()
    try {
      await store.sweep(clock.now(), { bodiesMs: bodies, emailsMs: emails })
    } catch (error) {
      log.error({ error: (error as Error).message }, 'sweep failed')
    }
    isSweeping = false
  }
  return {
    name: 'upkeep',
    async start() {
      timer ??= setInterval(() => void sweep(), SWEEP_MS).unref()
    },
    async stop() {
      if (timer !== null) clearInterval(timer)
      timer = null
    },
  }
}
