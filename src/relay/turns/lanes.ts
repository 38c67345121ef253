/**
 * NAME      lanes - where each pool stands with its mail, and whose turn it is
 * DESCRIPTION
 *   A lane is what one pool has leased and not begun. Pools that use the same
 *   upstreams take turns in their room by workspace, not by pool: the next mail
 *   is that of the workspace that was served the longest ago. Inside a pool its
 *   backlog turns by itself. What a pool may have at hand is its share of that room.
 */
import { Backlog, type Item } from '../backlog.js'
import type { Pool } from '../pools.js'
import type { Throttles } from '../throttle/throttles.js'

const MOST_AT_HAND = 256

export interface Lane {
  readonly backlog: Backlog
  claiming: boolean
  /** The last claim was filled: there is more. */
  more: boolean
  /** A look came while there was no room, or during a claim. */
  missed: boolean
  /** When a mail last began, on the tick clock. */
  begunAt: number
}

interface Next {
  readonly pool: Pool
  readonly item: Item
}

export class Lanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #throttles: Pick<Throttles, 'next' | 'holds'>
  readonly #tick: () => number
  /** By workspace: its place in the order of what was served. */
  readonly #served = new Map<string, number>()
  #count = 0

  constructor(throttles: Pick<Throttles, 'next' | 'holds'>, tick: () => number) {
    this.#throttles = throttles
    this.#tick = tick
  }

  of(poolId: string): Lane {
    let lane = this.#lanes.get(poolId)
    if (lane === undefined) {
      lane = {
        backlog: new Backlog(),
        claiming: false,
        more: false,
        missed: false,
        begunAt: this.#tick(),
      }
      this.#lanes.set(poolId, lane)
    }
    return lane
  }

  all(): IterableIterator<[string, Lane]> {
    return this.#lanes.entries()
  }

  /** True when this is still where the pool stands. */
  isOf(poolId: string, lane: Lane): boolean {
    return this.#lanes.get(poolId) === lane
  }

  drop(poolId: string): void {
    this.#lanes.delete(poolId)
  }

  hasMail(poolId: string): boolean {
    const lane = this.#lanes.get(poolId)
    return (lane !== undefined && lane.backlog.size > 0) || this.#throttles.holds(poolId)
  }

  /** How many mails are at hand. */
  get size(): number {
    return [...this.#lanes.values()].reduce((sum, { backlog }) => sum + backlog.size, 0)
  }

  /** How many of the pools that use this one's upstreams have mail at hand, itself counted. */
  #busy(pool: Pool): number {
    let busy = 1
    for (const { row } of pool.sharing) {
      if (row.id !== pool.row.id && (this.#lanes.get(row.id)?.backlog.size ?? 0) > 0) busy++
    }
    return busy
  }

  /** How many more a claim may bring. */
  room(pool: Pool): number {
    const most = Math.ceil(Math.min(2 * pool.capacity, MOST_AT_HAND) / this.#busy(pool))
    const free = most - this.of(pool.row.id).backlog.size
    // recipients that may go together come together
    return free > 0 && pool.isShared ? MOST_AT_HAND : free
  }

  /** The pools with these upstreams that left mail in the store, and have room for it now. */
  hungry(pool: Pool): Pool[] {
    return pool.sharing.filter((one) => {
      const lane = this.#lanes.get(one.row.id)
      if (lane === undefined || !(lane.more || lane.missed)) return false
      return lane.backlog.size < Math.ceil(pool.capacity / this.#busy(one))
    })
  }

  /** The next mail that may begin in one of the pools with these upstreams. */
  next(pool: Pool): Next | null {
    const nothing = new Set<Pool>()
    for (;;) {
      let first: Pool | null = null
      let earliest = Number.POSITIVE_INFINITY
      for (const one of pool.sharing) {
        if (nothing.has(one) || !this.hasMail(one.row.id)) continue
        const served = this.#served.get(this.of(one.row.id).backlog.first ?? one.row.id) ?? 0
        if (served >= earliest) continue
        first = one
        earliest = served
      }
      if (first === null) return null
      const item = this.#throttles.next(first.row.id, this.of(first.row.id).backlog)
      if (item !== null) {
        this.#served.set(item.claimed.workspaceId, ++this.#count)
        this.#served.set(first.row.id, this.#count)
        return { pool: first, item }
      }
      nothing.add(first)
    }
  }
}
