/**
 * NAME      kept - what stands beside every page, asked once a second and not once a page
 * DESCRIPTION
 *   The state of the queue costs more than the rest of a page, and is the same for all who look. It is kept for a
 *   second, and forgotten when somebody orders something here, so that nobody is shown what was before his own order.
 *   What is being made when it is forgotten goes to those who asked before, and to nobody after.
 */
import type { Clock } from '../base/clock.js'

const KEPT_MS = 1_000
/** Workspaces that are looked at within a second. */
const MOST = 200

export class Kept<Value> {
  readonly #clock: Pick<Clock, 'tick'>
  readonly #found = new Map<string, { readonly value: Promise<Value>; readonly at: number }>()

  constructor(clock: Pick<Clock, 'tick'>) {
    this.#clock = clock
  }

  /** What `make` made within the last second, or makes now. */
  get(key: string, make: () => Promise<Value>): Promise<Value> {
    const found = this.#found.get(key)
    return found !== undefined && this.#clock.tick() - found.at < KEPT_MS
      ? found.value
      : this.fresh(key, make)
  }

  /** Makes it now, and keeps it. */
  fresh(key: string, make: () => Promise<Value>): Promise<Value> {
    if (this.#found.size >= MOST) this.forget()
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
