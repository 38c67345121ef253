/**
 * NAME      pace - how soon the next message may go to the sandbox
 * DESCRIPTION
 *   While live mail is about, messages for the sandbox begin so far apart that they are under way for a part of the time
 *   only (base/time/give-way), reckoned by how long the last ones took: a busy machine slows them down by itself.
 */
import type { GiveWay } from '../../base/time/give-way.js'

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
