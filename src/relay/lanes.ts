/**
 * NAME      lanes - when each pool looks for due mail, and whose turn it is
 *   A lane is what one pool has leased and not begun. Pools that use the same upstreams take turns in their
 *   room by workspace, not by pool: the next mail is that of the workspace that was served the longest ago.
 *   Inside a pool its backlog turns by itself. What a pool may have at hand is its share of that room.
 *   While live mail is about, messages for the sandbox begin so far apart that they are under way for a part
 *   of the time only (base/give-way.ts), reckoned by how long the last ones took: a busy machine slows
 *   them down by itself.
 *   On a hint, when the next mail falls due, and every `poll` milliseconds as the backstop. Looks never
 *   overlap; hints that come during one lead to one more.
 */

import type { GiveWay } from '../base/give-way.js'
import type { Pool } from './pools.js'
import { Backlog, type RelayItem, type Throttles } from './throttles.js'

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
  readonly item: RelayItem
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
      lane = { backlog: new Backlog(), claiming: false, more: false, missed: false, begunAt: this.#tick() }
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

/** So many under way at once cost as much time as one. */
const TOGETHER = 8
/** One that takes longer waits for something: that is no work. */
const LONGEST_MS = 100

export class Pace {
  readonly #way: GiveWay
  readonly #tick: () => number
  /** The last ones, smoothed. */
  #took = 10
  #next = Number.NEGATIVE_INFINITY

  constructor(way: GiveWay, tick: () => number) {
    this.#way = way
    this.#tick = tick
  }

  /** Milliseconds until the next may begin. */
  get wait(): number {
    return this.#way.isLive ? Math.max(0, this.#next - this.#tick()) : 0
  }

  begun(): void {
    const rest = (this.#took + this.#way.restAfter(this.#took)) / TOGETHER
    this.#next = Math.max(this.#next, this.#tick()) + rest
  }

  ended(ms: number): void {
    this.#took += (Math.min(ms, LONGEST_MS) - this.#took) / TOGETHER
  }
}

interface DueTimerParts {
  /** Claims what is due. */
  readonly visit: () => Promise<void>
  readonly nextDue: () => Promise<number | null>
  readonly now: () => number
  readonly poll: number
  readonly onError: (error: Error) => void
}

export class DueTimer {
  readonly #parts: DueTimerParts
  #timer: NodeJS.Timeout | null = null
  #busy: Promise<void> | null = null
  #again = false
  #stopped = false

  constructor(parts: DueTimerParts) {
    this.#parts = parts
  }

  look(): void {
    if (this.#stopped) return
    if (this.#busy !== null) {
      this.#again = true
      return
    }
    this.#busy = this.#once()
      .catch(this.#parts.onError)
      .finally(() => {
        this.#busy = null
        if (!this.#again) return
        this.#again = false
        setImmediate(() => this.look())
      })
  }

  /** Looks although an earlier look has not come to an end, and perhaps never will. */
  restart(): void {
    this.#busy = null
    this.look()
  }

  /** Resolves when no look is under way. */
  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#busy
  }

  #later(wait: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (!this.#stopped) this.#timer = setTimeout(() => this.look(), wait)
  }

  async #once(): Promise<void> {
    const { visit, nextDue, now, poll } = this.#parts
    this.#later(poll)
    const due = await nextDue()
    if (due !== null && due <= now()) {
      await visit()
      return
    }
    if (due !== null && due - now() < poll) this.#later(Math.max(1, due - now()))
  }
}
