/**
 * NAME      warmup - how the warm-ups of upstreams stand
 * DESCRIPTION
 *   Read in the store, where all daemons count, so every door of every daemon tells the same.
 */
import { isSpent, type WarmupState, warmupState } from '../lifecycle/warmup.js'
import type { PoolRow, UpstreamRow } from '../store/port/tenants.js'
import type { Warmups } from '../store/port/watch.js'
import type { RelayView } from './pool.js'
import { upstreamText } from './upstream.js'

/** By upstream id; the store is asked only where one of them warms up. */
export const warmupsOf = async (
  store: Pick<Warmups, 'warmupDays'>,
  upstreams: readonly UpstreamRow[],
  now: number,
): Promise<ReadonlyMap<string, WarmupState>> => {
  const warming = upstreams.flatMap(({ id, warmup }) => (warmup == null ? [] : [{ id, warmup }]))
  if (warming.length === 0) return new Map()
  const days = await store.warmupDays()
  return new Map(
    warming.map(({ id, warmup }) => {
      const own = days.filter((day) => day.id === warmup.id)
      return [id, warmupState(warmup, own, now)]
    }),
  )
}

/** The members whose warm-up mail of the pool waits for; null while another one may take it. */
export const spentIn = (
  { upstreams }: Pick<PoolRow, 'upstreams'>,
  warmups: ReadonlyMap<string, WarmupState>,
  view: RelayView | null,
) => {
  const active = upstreams.filter(({ state }) => state === 'active')
  const spent = active.flatMap((row) => {
    const state = warmups.get(row.id)
    return state !== undefined && isSpent(state) ? [{ ...state, name: upstreamText(row), id: row.id }] : []
  })
  const others = active.filter(({ id }) => !spent.some((one) => one.id === id))
  const isAll = others.every(({ id }) => view?.upstreams.get(id)?.breaker === 'open')
  return spent.length > 0 && isAll ? spent : null
}
