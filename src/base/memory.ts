/**
 * NAME      memory - a budget for what is on its way in, and memory that grows in place
 *   Both doors share one. A body takes its part before its octets are read: what it declares at once, what it does not
 *   declare in steps as it comes. Who finds nothing left is refused and may try again; nobody waits, so nobody can make
 *   others wait. A part is counted as what the body really takes, which is some times its size: it is read, unpacked,
 *   and written anew.
 *     A resizable ArrayBuffer reserves addresses and takes memory page by page, so it seldom moves; and `free` returns
 *     all of it in that very moment, where an ordinary buffer of 25 MiB would wait for a collection that sees no need
 *     to come. Whoever still holds a view of it then holds an empty one.
 *     `free` does the same for ordinary memory.
 *   NOTES
 *     V8 counts the addresses as memory in use, and collects all it has when it believes to have too much. So few are
 *     reserved, and more when these are used.
 */
import { totalmem } from 'node:os'
import { MessageChannel } from 'node:worker_threads'

const MIB = 1024 * 1024
/** Up to this size a body takes its octets, and beyond it whole steps. */
const SMALL = 64 * 1024
const BUDGET_STEP = 256 * 1024
const MOST_DEFAULT = 256 * MIB

export interface Share {
  /** Takes what a body of so many octets needs; false when there is not so much left. */
  cover(octets: number, declared?: boolean): boolean
  /** Gives all of it back. Twice is fine. */
  release(): void
}

export class Budget {
  private taken = 0
  private readonly most: number

  constructor(most: number) {
    this.most = most
  }

  get used(): number {
    return this.taken
  }

  /** The part of one body, of which each octet takes `times` of memory. */
  share(times: number): Share {
    let held = 0
    let released = false
    return {
      cover: (octets, declared = false) => {
        const needed = octets * times
        if (released || needed <= held) return !released
        const whole = declared || octets <= SMALL ? needed : Math.ceil(needed / BUDGET_STEP) * BUDGET_STEP
        if (this.taken + whole - held > this.most) return false
        this.taken += whole - held
        held = whole
        return true
      },
      release: () => {
        this.taken -= held
        held = 0
        released = true
      },
    }
  }
}

/** A quarter of what this process may have, its control group's limit or the machine's memory. */
export const defaultBudget = (): number => {
  const limit = process.constrainedMemory()
  const total = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return Math.min(MOST_DEFAULT, Math.max(MIB, Math.floor(total / 4 / MIB) * MIB))
}

/** ES2024; Node 20 has it. */
interface Resizable extends ArrayBuffer {
  readonly maxByteLength: number
  readonly resizable: boolean
  resize(bytes: number): void
}
const Resizable = ArrayBuffer as unknown as new (
  bytes: number,
  options: { readonly maxByteLength: number },
) => Resizable

/** Taken in steps, because each one asks the system. */
const STEP = 256 * 1024
/** Addresses at first, and how many times as many each time after. */
const FIRST = 1024 * 1024
const TIMES = 4

export class Growing {
  size = 0
  private memory: Resizable
  private readonly most: number
  private view = Buffer.alloc(0)

  constructor(most: number) {
    this.most = most
    this.memory = new Resizable(0, { maxByteLength: Math.min(most, FIRST) })
  }

  /** Throws RangeError beyond the most that was asked for. */
  append(part: Uint8Array): void {
    const needed = this.size + part.length
    if (needed > this.memory.maxByteLength) this.move(needed)
    if (needed > this.view.length) {
      this.memory.resize(
        Math.max(needed, Math.min(this.memory.maxByteLength, Math.ceil(needed / STEP) * STEP)),
      )
      this.view = Buffer.from(this.memory, 0, this.memory.byteLength)
    }
    this.view.set(part, this.size)
    this.size = needed
  }

  private move(needed: number): void {
    const { memory, view, size } = this
    this.memory = new Resizable(Math.min(this.most, needed), {
      maxByteLength: Math.min(this.most, Math.max(needed, memory.maxByteLength * TIMES)),
    })
    this.view = Buffer.from(this.memory, 0, this.memory.byteLength)
    this.view.set(view.subarray(0, size))
    memory.resize(0)
  }

  /** What was written, from an offset on. */
  bytes(from = 0): Buffer {
    return Buffer.from(this.memory, from, this.size - from)
  }

  /** What was written, with the memory cut to it: fit to be handed to another thread. */
  whole(): Buffer {
    this.memory.resize(this.size)
    this.view = Buffer.from(this.memory, 0, this.size)
    return this.view
  }

  free(): void {
    this.size = 0
    this.memory.resize(0)
    this.view = Buffer.alloc(0)
  }
}

/** Gives the memory of octets back that came from whole(), perhaps in another thread; others are left to the collector. */
export const giveBack = ({ buffer }: Uint8Array): void => {
  const memory = buffer as Resizable
  if (memory.resizable) memory.resize(0)
}

const { port1: nowhere } = new MessageChannel()
nowhere.close()

/**
 * Gives ordinary memory back at once: what is handed over is gone here, and through a closed port nobody gets it.
 * Octets that share their memory with others are left to the collector.
 */
export const free = (all: readonly Uint8Array[]): void => {
  const own = all.filter(({ byteLength, buffer }) => byteLength > 0 && byteLength === buffer.byteLength)
  nowhere.postMessage(
    null,
    own.map(({ buffer }) => buffer as ArrayBuffer),
  )
}
