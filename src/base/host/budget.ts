/**
 * NAME      budget - memory for what is on its way in
 * DESCRIPTION
 *   Both doors share one. A body takes its part before its octets are read: what
 *   it declares at once, what it does not declare in steps as it comes. Who finds
 *   nothing left is refused and may try again; nobody waits, so nobody can make
 *   others wait. A part is counted as what the body really takes, which is some
 *   times its size: it is read, unpacked, and written anew.
 */
import { totalmem } from 'node:os'

const MIB = 1024 * 1024
/** Up to this size a body takes its octets, and beyond it whole steps. */
const SMALL = 64 * 1024
const STEP = 256 * 1024
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
        const whole = declared || octets <= SMALL ? needed : Math.ceil(needed / STEP) * STEP
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
