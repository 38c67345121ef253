/**
 * An upstream that allows so many connections at a time, and counts them. Two kinds may be more than that: those of a
 * daemon that was taken over, and those that were begun before the newest daemon took its part.
 */
import type { World } from './world.js'

/** Who connects to it. */
export interface Caller {
  readonly boot: number
  /** From then on it begins connections. */
  readonly from: number
}

export interface Open {
  readonly caller: Caller
  readonly since: number
}

export class Upstream {
  readonly #open = new Set<Open>()

  constructor(
    readonly world: World,
    readonly limit: number,
    /** When each boot ended by a takeover. */
    readonly ended: ReadonlyMap<number, number>,
    readonly wrong: string[],
  ) {}

  of(caller: Caller): number {
    let n = 0
    for (const one of this.#open) if (one.caller === caller) n++
    return n
  }

  /** `newest`: when the newest of those who live took its part. */
  begin(caller: Caller, newest: number): Open {
    const { world, limit } = this
    const one = { caller, since: world.now }
    this.#open.add(one)
    let most = 0
    for (const { caller, since } of this.#open) if (since >= newest && !this.ended.has(caller.boot)) most += 1
    if (most > limit) this.wrong.push(`${most} connections of ${limit}`)
    if (most === limit) world.note('all connections of the upstream')
    return one
  }

  end(one: Open): void {
    this.#open.delete(one)
  }

  /** Its process has gone. */
  drop(caller: Caller): void {
    for (const one of this.#open) if (one.caller === caller) this.#open.delete(one)
  }
}
