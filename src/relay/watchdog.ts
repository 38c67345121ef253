/**
 * NAME      watchdog - a pool that has mail and does nothing
 * DESCRIPTION
 *   Looks now and then at the pools in which nothing has begun for a while although mail is due; without any
 *   upstream it does not wait to say so. Each such standstill is one line in the log that says why and what
 *   mends it, and a gauge for as long as it lasts: no member is up, or all their connections wait for
 *   answers. When neither is so at two looks in a row, the fault is ours, and the pool's loop is started
 *   anew. One look is not enough: mail that was imported or released into an idle pool has been due for
 *   long, and is about to begin.
 */
import type { Pool } from './pools.js'

interface WatchdogParts {
  readonly pools: () => Iterable<Pool>
  readonly nextDue: (poolIds: readonly string[]) => Promise<number | null>
  readonly now: () => number
  readonly tick: () => number
  /** When something last began in a pool, on the tick clock. */
  readonly begunAt: (poolId: string) => number
  /** Mails at hand that have not begun. */
  readonly waiting: (poolId: string) => number
  readonly restart: (pool: Pool) => void
  readonly log: (
    level: 'info' | 'error',
    fact: string,
    fields: Readonly<Record<string, string | number>>,
  ) => void
  /** For how long nothing may begin, in milliseconds. */
  readonly patience: number
}

export interface PoolHealth {
  readonly poolId: string
  /** Why nothing begins although mail is due; null when all is well. */
  readonly stalled: string | null
  readonly restarts: number
}

/** Why it is stalled: it has nobody to give its mail to. */
export const NO_UPSTREAM = 'no upstream'
/** Nobody is to blame but ourselves. */
const UNKNOWN = 'unknown'

/** The command that mends it, where one does; `name` is that of the pool whose members are used. */
const remedyOf = (why: string, name: string): { readonly remedy?: string } => {
  if (why === NO_UPSTREAM) return { remedy: `postern pool update ${name} --upstream URL` }
  return why === 'no upstream is up' ? { remedy: `postern upstream test ${name}` } : {}
}

export class Watchdog {
  readonly #parts: WatchdogParts
  #seen = new Map<string, PoolHealth>()
  /** Pools whose standstill the last look could not explain, and did not tell yet. */
  #suspects = new Set<string>()
  #looking = false

  constructor(parts: WatchdogParts) {
    this.#parts = parts
  }

  /** What it found when it last looked. */
  get pools(): readonly PoolHealth[] {
    return [...this.#seen.values()]
  }

  async look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    try {
      const before = this.#seen
      const seen = new Map<string, PoolHealth>()
      for (const pool of this.#parts.pools()) {
        const { stalled = null, restarts = 0 } = before.get(pool.row.id) ?? {}
        seen.set(pool.row.id, await this.#judge(pool, stalled, restarts))
      }
      this.#seen = seen
    } finally {
      this.#looking = false
    }
  }

  async #judge(pool: Pool, before: string | null, restarts: number): Promise<PoolHealth> {
    const { tick, begunAt, restart, log } = this.#parts
    const poolId = pool.row.id
    const quiet = tick() - begunAt(poolId)
    const patience = pool.upstreams.length === 0 ? 0 : this.#parts.patience
    const looks = !pool.isElsewhere && !pool.isResting && (patience === 0 || quiet > patience)
    const found = looks && (await this.#hasMail(poolId, patience)) ? this.#why(pool) : null
    const stalled = found === UNKNOWN && this.#isNew(poolId) ? null : found
    if (found !== UNKNOWN) this.#suspects.delete(poolId)
    const name = pool.row.name
    const said = { pool: poolId, pool_name: name, why: stalled ?? '', quiet_s: Math.round(quiet / 1_000) }
    if (stalled === UNKNOWN) {
      log('error', 'pool stands still', said)
      restart(pool)
      return { poolId, stalled, restarts: restarts + 1 }
    }
    if (stalled !== null && stalled !== before) {
      log('error', 'pool stands still', { ...said, ...remedyOf(stalled, pool.leader.row.name) })
    } else if (stalled === null && before !== null)
      log('info', 'pool moves again', { pool: poolId, pool_name: name })
    return { poolId, stalled, restarts }
  }

  #isNew(suspect: string): boolean {
    const isNew = !this.#suspects.has(suspect)
    this.#suspects.add(suspect)
    return isNew
  }

  async #hasMail(poolId: string, patience: number): Promise<boolean> {
    const { nextDue, now, waiting } = this.#parts
    if (waiting(poolId) > 0) return true
    const due = await nextDue([poolId])
    return due !== null && due <= now() - patience
  }

  #why(pool: Pool): string {
    if (!pool.isUp) return pool.upstreams.length === 0 ? NO_UPSTREAM : 'no upstream is up'
    return pool.choose(() => 0) === 'busy' ? 'all connections wait' : UNKNOWN
  }
}
