/**
 * NAME      kept - what is asked once a second, however many look
 *   What stands beside every page costs more than the rest of a page, and is the same for all who may see the same: so
 *   its key says who that is. It is forgotten when somebody orders something here, so that the answer to an order shows
 *   what it did. What is being made when it is forgotten goes to those who asked before, and to nobody after.
 */
import type { Clock } from './clock.js'

const KEPT_MS = 1_000
/** Keys that are looked at within a second. */
const MOST_KEPT = 400

export class Kept {
  readonly #clock: Pick<Clock, 'tick'>
  readonly #found = new Map<string, { readonly value: Promise<unknown>; readonly at: number }>()

  constructor(clock: Pick<Clock, 'tick'>) {
    this.#clock = clock
  }

  /** What `make` made within the last second, or makes now. The first word of a key says what it is. */
  get<Value>(key: string, make: () => Promise<Value>): Promise<Value> {
    const found = this.#found.get(key)
    return found !== undefined && this.#clock.tick() - found.at < KEPT_MS
      ? (found.value as Promise<Value>)
      : this.fresh(key, make)
  }

  /** Makes it now, and keeps it; not where it failed. */
  fresh<Value>(key: string, make: () => Promise<Value>): Promise<Value> {
    if (this.#found.size >= MOST_KEPT) this.forget()
    const one = { value: make(), at: this.#clock.tick() }
    this.#found.set(key, one)
    one.value.catch(() => {
      if (this.#found.get(key) === one) this.#found.delete(key)
    })
    return one.value
  }

  forget(): void {
    this.#found.clear()
  }
}
