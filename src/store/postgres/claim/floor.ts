/**
 * NAME      floor - from which due time on one looks for what is due
 * DESCRIPTION
 *   While somebody holds an old snapshot (a dump, a report, a replication slot), rows that left the queue stay in its
 *   index, and each look walks over all that were due before. When a look takes long and the database counts many dead
 *   rows, the least due time of each pool is read, and looks begin there. That reading walks over all of them: it is
 *   repeated beside the looks, for a small part of the time. What falls due earlier than the floor meanwhile (the clock of
 *   another daemon, a hold that ends) is found after the next of it, within ten seconds. As long as looks are quick there
 *   is no floor.
 */
import { type Clock, systemClock } from '../../../base/clock.js'

/** A look that takes so long walks over much, or the machine is busy. */
const SLOW_MS = 5
/** So many dead rows are more than a busy queue leaves between two rounds of autovacuum. */
const MANY = 5000
/** What reading the floor took is a twentieth of what it is kept for. */
const KEPT = 20
const [LEAST_KEPT_MS, MOST_KEPT_MS] = [1000, 10_000]
/** Clocks differ, and what was accepted a moment ago may not be committed. */
const BEFORE_MS = 5000

/** When the first of a pool is due. */
export interface PoolDue {
  readonly n: number
  readonly id: string
  readonly due_at: number
}

export interface Standing {
  /** Of pools with mail that waits. */
  readonly pools: ReadonlyMap<number, number>
  /** Of the others. */
  readonly rest: number
}

interface FloorParts {
  /** Walks over all that is due or was. */
  walk(): Promise<readonly PoolDue[]>
  /** How many rows of the queue are dead. */
  dead(): Promise<number>
  readonly clock?: Clock
}

export class Floors {
  readonly #parts: Required<FloorParts>
  #standing: Standing | null = null
  /** How long the last walk took. */
  #took = 0
  /** Not to be read anew before, by the tick clock. */
  #until = 0
  #isReading = false
  #age = 0

  constructor({ clock = systemClock, ...parts }: FloorParts) {
    this.#parts = { ...parts, clock }
  }

  /** Null: there is none. */
  standing(): Standing | null {
    if (this.#standing !== null) this.#readBeside()
    return this.#standing
  }

  /** How long a look took, from a floor or without one. */
  note(ms: number, from: Standing | null): void {
    if (from === null && ms >= SLOW_MS) this.#readBeside()
    // there are more workspaces to ask than dead rows to walk over
    else if (from !== null && from === this.#standing && ms > this.#took) {
      this.#standing = null
      this.#until = this.#parts.clock.tick() + MOST_KEPT_MS
    }
  }

  /** Due times have moved. */
  forget(): void {
    this.#age += 1
    this.#standing = null
    this.#until = 0
  }

  #readBeside(): void {
    if (this.#isReading || this.#parts.clock.tick() < this.#until) return
    this.#isReading = true
    this.#read()
      .catch(() => {})
      .finally(() => {
        this.#isReading = false
      })
  }

  async #read(): Promise<void> {
    const { clock, dead, walk } = this.#parts
    const [age, rest] = [this.#age, clock.now() - BEFORE_MS]
    this.#until = clock.tick() + LEAST_KEPT_MS
    if (this.#standing === null && (await dead()) < MANY) return
    const began = clock.tick()
    const pools = (await walk()).map(({ n, due_at }) => [n, Math.min(due_at, rest)] as const)
    if (age !== this.#age) return
    const took = clock.tick() - began
    this.#took = took
    this.#until = clock.tick() + Math.min(Math.max(took * KEPT, LEAST_KEPT_MS), MOST_KEPT_MS)
    // it is quick again: looks do without
    this.#standing = took < SLOW_MS ? null : { pools: new Map(pools), rest }
  }
}

/** 0: from the first on. */
export const floorOf = (standing: Standing | null, pool: number, now: number): number => {
  if (standing === null) return 0
  const from = standing.pools.get(pool) ?? standing.rest
  return from <= now ? from : 0
}
