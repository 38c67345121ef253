/**
 * NAME      pool-health - whether the upstreams of a pool take mail, whatever was restarted since
 * DESCRIPTION
 *   What the relay tells now, and what the store keeps: an outage stands there until its upstream has taken mail again,
 *   and mail that waits says whether its last connection failed. So a dead server is as dead after a restart as before.
 */
import type { PoolHealth } from '../../record/queue-state.js'
import type { KnownPool } from '../../store/port/tenants.js'

/** What only the relay knows. */
export interface RelayView {
  /** By upstream id. */
  readonly upstreams: ReadonlyMap<
    string,
    {
      readonly breaker: string | null
      /** Which of its limits is used up now. */
      readonly full: 'rate' | 'connections' | null
      readonly lastSuccessAt: number | null
      readonly lastError: { readonly at?: number; readonly stage: string; readonly message: string } | null
    }
  >
  /** Recipient domains that have a slower pace in a pool now; `until` is the end of a pause. */
  readonly throttled: readonly {
    readonly poolId: string
    readonly domain: string
    readonly until: number
  }[]
  /** True when all mail goes to the sandbox, whatever its pool. */
  readonly captures: boolean
}

/** Of an upstream that was told to be down: since when. */
export type KnownOutages = ReadonlyMap<string, number>

export interface SeenOfPool {
  readonly view: RelayView | null
  readonly outages: KnownOutages
  /** When a connection last failed for mail that waits in it. */
  readonly refusedAt: number | null
}

type Live = NonNullable<ReturnType<RelayView['upstreams']['get']>>

const isDown = (live: Live | undefined, since: number | undefined): boolean => {
  if (live === undefined || live.breaker === null) return since !== undefined
  if (live.breaker === 'open') return true
  return since !== undefined && !(live.breaker === 'closed' && (live.lastSuccessAt ?? 0) >= since)
}

const WELL: PoolHealth = { state: 'ok', since: null, failing: [] }

/** `leader` is the pool whose upstreams it uses. */
export const poolHealth = (
  pool: Pick<KnownPool, 'kind'>,
  leader: Pick<KnownPool, 'kind' | 'upstreams'>,
  { view, outages, refusedAt }: SeenOfPool,
): PoolHealth => {
  if (pool.kind === 'sandbox' || leader.kind === 'sandbox' || view?.captures) return WELL
  if (leader.upstreams.length === 0) return { ...WELL, state: 'no_upstream' }
  const active = leader.upstreams.filter(({ state }) => state === 'active')
  if (active.length === 0) return { ...WELL, state: 'paused' }
  const seen = active.map((row) => {
    const live = view?.upstreams.get(row.id)
    return { row, live, since: outages.get(row.id), isDown: isDown(live, outages.get(row.id)) }
  })
  const isRefused = refusedAt !== null && seen.every(({ live }) => (live?.lastSuccessAt ?? 0) < refusedAt)
  const down = isRefused ? seen : seen.filter((one) => one.isDown)
  if (down.length === 0) return WELL
  const failing = down.map(({ row, live, since }) => ({
    name: `${row.host.includes(':') ? `[${row.host}]` : row.host}:${row.port}`,
    since: since ?? null,
    error: live?.lastError == null ? null : `${live.lastError.stage}: ${live.lastError.message}`,
  }))
  if (down.length < active.length) return { state: 'weak', since: null, failing }
  const known = failing.flatMap(({ since }) => since ?? [])
  // it was down from the moment on when the last of them fell
  const since = known.length < failing.length ? refusedAt : Math.max(...known)
  return { state: 'down', since, failing }
}
