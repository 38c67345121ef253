/**
 * NAME      health - how upstreams and pools are: what is known of each now, outages as events, and pools that stand still
 *   For people and their tools: breaker, ramp, connections, and when an upstream last took a message or failed. Plain
 *   values, told once a second; times are epoch ms.
 *   An upstream is told to be down when its breaker is found not closed, or when for a minute no login was let in or no
 *   token was to be had, though too few were tried to open it; up, when it has taken mail since and its breaker has
 *   stayed closed for a while. That while doubles with each outage within an hour, so an upstream that comes and goes is
 *   told to be down, and not to be up. What was told last is stored with the event: after a restart an outage goes on,
 *   although the breaker is as new, until the upstream takes mail.
 *   The watchdog looks now and then at the pools in which nothing has begun for a while although mail is due; without any
 *   upstream it does not wait to say so. Each such standstill is one line in the log that says why and what mends it, and
 *   a gauge for as long as it lasts: no member is up, or all their connections wait for answers. When neither is so at
 *   two looks in a row, the fault is ours, and the pool's loop is started anew. One look is not enough: mail that was
 *   imported or released into an idle pool has been due for long, and is about to begin.
 * NOTES
 *   The sandbox is ours and no upstream. One that was taken out of its pool while it was down is forgotten without an
 *   event: it will never be up.
 */
import { toRfc3339 } from '../base/clock.js'
import type { EventNotice } from '../store/port/log.js'
import type { KnownPool, Tenants } from '../store/port/tenants.js'
import type { Watch } from '../store/port/watch.js'
import type { Pool } from './pools.js'
import type { BreakerState } from './upstream.js'

interface LastError {
  readonly at: number
  /** connect, greeting, tls, auth, or how far a message had come. */
  readonly stage: string
  readonly message: string
}

export interface UpstreamHealth {
  readonly poolId: string
  readonly upstreamId: string
  readonly host: string
  readonly port: number
  readonly state: string
  readonly breaker: BreakerState
  readonly connections: number
  readonly idle: number
  /** Messages under way. */
  readonly underWay: number
  /** How many the breaker and its ramp allow at once, of those configured. */
  readonly limit: number
  /** Which of its limits is used up now. */
  readonly full: 'warmup' | 'rate' | 'connections' | null
  readonly lastSuccessAt: number | null
  readonly lastError: LastError | null
}

/** `epoch` is what the tick clock's zero is on the wall clock. */
export const healthOf = (pools: Iterable<Pool>, epoch: number): UpstreamHealth[] =>
  [...pools].flatMap((pool) =>
    pool.members.map(({ row, state, limit, open, idle, underWay, full, succeededAt, lastError }) => ({
      poolId: pool.row.id,
      upstreamId: row.id,
      host: row.host,
      port: row.port,
      state: row.state,
      breaker: state,
      connections: open,
      idle,
      underWay,
      limit,
      full,
      lastSuccessAt: succeededAt === null ? null : Math.round(epoch + succeededAt),
      lastError: lastError === null ? null : { ...lastError, at: Math.round(epoch + lastError.at) },
    })),
  )

const LOGIN_MS = 60_000
const STEADY_MS = 10_000
const LONGEST_STEADY_MS = 600_000
const REMEMBERED_MS = 3600_000

export interface OutagesParts {
  readonly store: Pick<Watch, 'outages' | 'noteOutage'> & Pick<Tenants, 'allPools'>
  readonly now: () => number
  /** Milliseconds that no clock that is set can move. */
  readonly tick: () => number
  readonly failed: (error: Error) => void
  /** How long an upstream must be well before it is told to be up; for tests. */
  readonly steady?: number
}

/** All pools that send through the upstream: its own, and those that follow it. */
const poolsOf = (pools: readonly KnownPool[], poolId: string): readonly string[] => [
  poolId,
  ...pools.filter(({ follows }) => follows === poolId).map(({ id }) => id),
]

/** It refused our login, or no token was to be had for it, and it has taken no mail since. */
const isShutOut = ({ lastError, lastSuccessAt }: UpstreamHealth): boolean =>
  lastError?.stage === 'auth' && lastError.at > (lastSuccessAt ?? 0)

export class Outages {
  readonly #parts: OutagesParts
  /** Those told to be down, and since when; null before they were read. */
  #down: Map<string, number> | null = null
  /** On the tick clock: since when those that are down look well. */
  readonly #wellSince = new Map<string, number>()
  /** On the tick clock: since when those shut us out that do. */
  readonly #shutOutSince = new Map<string, number>()
  /** On the tick clock: when each went down within the last hour. */
  readonly #falls = new Map<string, number[]>()
  #looking = false

  constructor(parts: OutagesParts) {
    this.#parts = parts
  }

  /** `upstreams`: all that the relay knows now. */
  async look(upstreams: readonly UpstreamHealth[]): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    try {
      await this.#compare(upstreams)
    } catch (error) {
      this.#parts.failed(error as Error)
    } finally {
      this.#looking = false
    }
  }

  async #compare(upstreams: readonly UpstreamHealth[]): Promise<void> {
    const { store } = this.#parts
    this.#down ??= new Map((await store.outages()).map(({ upstreamId, since }) => [upstreamId, since]))
    for (const one of upstreams) {
      const since = this.#down.get(one.upstreamId)
      if (since === undefined && this.#isDown(one)) await this.#fell(one, this.#down)
      else if (since !== undefined && this.#isSteady(one)) await this.#rose(one, since, this.#down)
    }
    const known = new Set(upstreams.map(({ upstreamId }) => upstreamId))
    for (const id of [...this.#down.keys()].filter((one) => !known.has(one))) {
      await store.noteOutage(id, null, null)
      this.#down.delete(id)
    }
  }

  #isDown(one: UpstreamHealth): boolean {
    const { tick } = this.#parts
    const { upstreamId } = one
    const shutOutSince = this.#shutOutSince.get(upstreamId) ?? tick()
    if (isShutOut(one)) this.#shutOutSince.set(upstreamId, shutOutSince)
    else this.#shutOutSince.delete(upstreamId)
    return one.breaker !== 'closed' || tick() - shutOutSince >= LOGIN_MS
  }

  async #fell(one: UpstreamHealth, down: Map<string, number>): Promise<void> {
    const { store, now, tick } = this.#parts
    const pools = await store.allPools()
    if (pools.find(({ id }) => id === one.poolId)?.kind !== 'relay') return
    const since = now()
    const why = one.lastError && { stage: one.lastError.stage, message: one.lastError.message }
    await store.noteOutage(one.upstreamId, since, this.#notice('upstream.down', one, pools, since, { why }))
    down.set(one.upstreamId, since)
    const falls = (this.#falls.get(one.upstreamId) ?? []).filter((at) => tick() - at < REMEMBERED_MS)
    this.#falls.set(one.upstreamId, [...falls, tick()])
  }

  /** A breaker that was open closes by a mail that was taken; one that is as new has to see one first. */
  #isSteady(one: UpstreamHealth): boolean {
    const { tick, steady = STEADY_MS } = this.#parts
    const { upstreamId, breaker, lastSuccessAt } = one
    const isWell = breaker === 'closed' && lastSuccessAt !== null && !isShutOut(one)
    const wellSince = this.#wellSince.get(upstreamId) ?? tick()
    if (isWell) this.#wellSince.set(upstreamId, wellSince)
    else this.#wellSince.delete(upstreamId)
    const times = (this.#falls.get(upstreamId) ?? []).filter((at) => tick() - at < REMEMBERED_MS).length
    const wanted = Math.min(steady * 2 ** Math.max(0, times - 1), Math.max(steady, LONGEST_STEADY_MS))
    return isWell && tick() - wellSince >= wanted
  }

  async #rose(one: UpstreamHealth, since: number, down: Map<string, number>): Promise<void> {
    const { store, now } = this.#parts
    const at = now()
    const more = { down_since: toRfc3339(since), seconds: Math.max(0, Math.round((at - since) / 1_000)) }
    const pools = await store.allPools()
    await store.noteOutage(one.upstreamId, null, this.#notice('upstream.up', one, pools, at, more))
    down.delete(one.upstreamId)
    this.#wellSince.delete(one.upstreamId)
  }

  #notice(
    type: 'upstream.down' | 'upstream.up',
    { upstreamId, poolId, host, port }: UpstreamHealth,
    pools: readonly KnownPool[],
    now: number,
    more: EventNotice['data'],
  ): EventNotice | null {
    const accountId = pools.find(({ id }) => id === poolId)?.accountId
    if (accountId === undefined) return null
    const data = { upstream_id: upstreamId, egress_pool_ids: poolsOf(pools, poolId), host, port, ...more }
    return { type, accountId, workspaceId: null, mode: 'live', now, data }
  }
}

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

export interface PoolProgress {
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
  #seen = new Map<string, PoolProgress>()
  /** Pools whose standstill the last look could not explain, and did not tell yet. */
  #suspects = new Set<string>()
  #looking = false

  constructor(parts: WatchdogParts) {
    this.#parts = parts
  }

  /** What it found when it last looked. */
  get pools(): readonly PoolProgress[] {
    return [...this.#seen.values()]
  }

  async look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    try {
      const before = this.#seen
      const seen = new Map<string, PoolProgress>()
      for (const pool of this.#parts.pools()) {
        const { stalled = null, restarts = 0 } = before.get(pool.row.id) ?? {}
        seen.set(pool.row.id, await this.#judge(pool, stalled, restarts))
      }
      this.#seen = seen
    } finally {
      this.#looking = false
    }
  }

  async #judge(pool: Pool, before: string | null, restarts: number): Promise<PoolProgress> {
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
