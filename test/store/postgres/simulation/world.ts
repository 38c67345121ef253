/**
 * One machine room with a virtual clock: what happens is drawn from a seed. Processes are generators that yield for how long
 * they sleep, or what they wait for; one that is stopped goes on later, and one that was killed never.
 */

/** Mulberry32. */
const drawing = (seed: number) => {
  let state = seed | 0
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

interface Happening {
  readonly at: number
  readonly n: number
  readonly run: () => void
}

const isSooner = (a: Happening, b: Happening): boolean => a.at < b.at || (a.at === b.at && a.n < b.n)

export class World {
  now = 0
  readonly random: () => number
  /** How often what was met. */
  readonly met = new Map<string, number>()
  readonly #heap: Happening[] = []
  #n = 0

  constructor(seed: number) {
    this.random = drawing(seed)
  }

  /** A whole number below this one. */
  below(n: number): number {
    return Math.floor(this.random() * n)
  }

  chance(p: number): boolean {
    return this.random() < p
  }

  note(what: string): void {
    this.met.set(what, (this.met.get(what) ?? 0) + 1)
  }

  after(ms: number, run: () => void): void {
    const heap = this.#heap
    const one = { at: this.now + ms, n: this.#n++, run }
    let i = heap.push(one) - 1
    while (i > 0) {
      const up = (i - 1) >> 1
      if (!isSooner(one, heap[up] as Happening)) break
      heap[i] = heap[up] as Happening
      i = up
    }
    heap[i] = one
  }

  #take(): Happening {
    const heap = this.#heap
    const [first] = heap as [Happening]
    const last = heap.pop() as Happening
    if (heap.length === 0) return first
    let i = 0
    for (;;) {
      let down = 2 * i + 1
      if (down >= heap.length) break
      if (down + 1 < heap.length && isSooner(heap[down + 1] as Happening, heap[down] as Happening)) down++
      if (!isSooner(heap[down] as Happening, last)) break
      heap[i] = heap[down] as Happening
      i = down
    }
    heap[i] = last
    return first
  }

  run(until: number): void {
    while (this.#heap.length > 0 && (this.#heap[0] as Happening).at <= until) {
      const { at, run } = this.#take()
      this.now = at
      run()
    }
    this.now = until
  }
}

/** What a process waits for; it goes on by `resume` or `fail`. */
export interface Asked {
  begin(process: Running): void
}

export type Process<T = void> = Generator<number | Asked, T, never>

/** The machine that a process runs on. */
export interface Machine {
  isKilled: boolean
  /** It stands still until then. */
  stoppedUntil: number
}

export class Running {
  /** Of the sleep that is on; it may be woken from it. */
  #sleep = 0
  #isAsleep = false

  constructor(
    readonly world: World,
    readonly machine: Machine,
    readonly process: Process,
  ) {}

  resume(answer: unknown): void {
    const { world, machine, process } = this
    if (machine.isKilled) return
    if (machine.stoppedUntil > world.now)
      world.after(machine.stoppedUntil - world.now, () => this.resume(answer))
    else this.#wait(process.next(answer as never))
  }

  fail(error: unknown): void {
    const { world, machine, process } = this
    if (machine.isKilled) return
    if (machine.stoppedUntil > world.now)
      world.after(machine.stoppedUntil - world.now, () => this.fail(error))
    else this.#wait(process.throw(error))
  }

  #wait({ done, value }: IteratorResult<number | Asked, void>): void {
    if (done === true) return
    if (typeof value === 'number') {
      const sleep = ++this.#sleep
      this.#isAsleep = true
      this.world.after(value, () => {
        if (this.#isAsleep && sleep === this.#sleep) this.wake()
      })
    } else (value as Asked).begin(this)
  }

  wake(): void {
    if (!this.#isAsleep) return
    this.#isAsleep = false
    this.resume(undefined)
  }
}

export const start = (world: World, machine: Machine, process: Process): Running => {
  const running = new Running(world, machine, process)
  world.after(0, () => running.resume(undefined))
  return running
}
