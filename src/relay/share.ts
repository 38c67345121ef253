/**
 * NAME      share - the part of what an upstream allows that this daemon may use
 * DESCRIPTION
 *     Several daemons give mail to the same upstreams, and all of their connections together stay within its limit. The relays
 *     that serve a pool share it in the order of their writers: each its whole part, the first ones one more.
 *     Nobody asks the others. That the sum never passes the limit follows from three rules: a part is gone by no longer
 *     than a newcomer waits (store/postgres/cluster.ts), whoever joins makes no part greater, and whoever goes
 *     has let go of its own before: a process that ends has no sockets.
 *   BUGS
 *     A mail that is on its way when a newcomer takes its part ends as it began, so for as long as that takes there may be
 *     more connections than the limit. Whoever was stopped where it stood lets go of nothing: no timer of its own runs, and its
 *     sockets stay open until it goes on or the upstream ends them, while the others have its part after the takeover.
 *   If it was stopped in the seconds in which a newcomer waits, it also keeps what it had to let go of, and the limit is
 *   passed before the takeover as well.
 */
import { ALONE, type ClusterView } from '../store/port/cluster.js'
import type { PoolRow } from '../store/port/tenants.js'

export interface Share {
  /** From 0. */
  readonly rank: number
  /** Among how many. */
  readonly count: number
}

export const WHOLE: Share = { rank: 0, count: 1 }

/** Of a number of connections; without a share none. */
export const partOf = (most: number, share: Share | null): number =>
  share === null ? 0 : Math.floor(most / share.count) + (share.rank < most % share.count ? 1 : 0)

type Named = Pick<PoolRow, 'id' | 'name' | 'kind'>

/** Whether a relay with these pools, by name or id, carries the mail of this one. */
export const serves = (pools: readonly string[] | null, { id, name }: Named): boolean =>
  pools === null || pools.includes(name) || pools.includes(id)

const inView = ({ relays, self }: ClusterView, pool: Named): Share | null => {
  const among = relays.filter(({ pools }) => serves(pools, pool))
  const rank = among.findIndex(({ n }) => n === self)
  return rank < 0 ? null : { rank, count: among.length }
}

/** Of one pool, as it is now; null: nothing is to be begun here. */
export const shareOf = (view: ClusterView, pool: Named, tick: number): Share | null => {
  if (view === ALONE) return WHOLE
  if (tick < view.from || tick >= view.until) return null
  // the sandbox is within each daemon
  return pool.kind === 'sandbox' ? WHOLE : inView(view, pool)
}
