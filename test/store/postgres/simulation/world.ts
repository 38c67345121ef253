/**
 * One process with a virtual clock: what happens is drawn from a seed. Processes are generators that yield what they wait
 * for; one that is stopped goes on later, and one that was killed never.
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

/** What a process waits for. */
export type Wait = (resume: (value: unknown) => void, fail: (error: unknown) => void) => void
export type Process<T = void> = Generator<Wait, T, never>

/** The machine that a process runs on. */
export interface Machine {
  isKilled: boolean
  /** It stands still until then. */
  stoppedUntil: number
}

export function* sleep(world: World, ms: number): Process {
  yield (resume) => world.after(ms, () => resume(undefined))
}

/** Waits for the answer, as the process that asks. */
export function* awaited<T>(wait: Wait): Process<T> {
  return (yield wait) as T
}

export const start = (world: World, machine: Machine, process: Process): void => {
  const onMachine = (go: () => void): void => {
    if (machine.isKilled) return
    if (machine.stoppedUntil > world.now) world.after(machine.stoppedUntil - world.now, () => onMachine(go))
    else go()
  }
  const advance = (step: () => IteratorResult<Wait, void>): void => {
    const { done, value } = step()
    if (done === true || value === undefined) return
    value(
      (answer) => onMachine(() => advance(() => process.next(answer as never))),
      (error) => onMachine(() => advance(() => process.throw(error))),
    )
  }
  world.after(0, () => onMachine(() => advance(() => process.next(undefined as never))))
}
