/**
 * NAME      journal - what relay writes down, many at once
 * DESCRIPTION
 *   Marks (before MAIL), outcomes and released leases of all connections go to
 *   the store in rounds: while one round is being committed, the next one
 *   gathers. A lone mail waits for nobody, many share an fsync, and there is no timer.
 *   Within a round outcomes go before marks, so a connection never has two
 *   messages whose fate is unwritten.
 * NOTES
 *   When the store can not write (a full disk) outcomes are kept and written
 *   later, and every mark is refused meanwhile: no message is sent whose end could not
 *   be told.
 *   What waits here when the wall clock is set moves with it, as it does in the store.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { AttemptMark, LeaseRef, Outcome } from '../lifecycle/facts.js'
import { settle } from '../outcome/settle.js'
import type { Queue } from '../store/port/mail.js'

export type JournalQueue = Pick<Queue, 'attempting' | 'settle' | 'release'>

interface Mark {
  readonly mark: AttemptMark
  done(mine: boolean): void
}

interface Ended {
  readonly outcome: Outcome
  /** By how much the clock had been set when it came. */
  readonly set: number
}

interface Release {
  readonly lease: LeaseRef
  readonly dueAt: number
  readonly set: number
}

const RETRY_MS = 1_000

/** As `map`, whose array, once it runs hot, has room for holes, and crosses to another thread key by key. */
const packed = <T, U>(all: readonly T[], to: (one: T) => U): U[] => {
  const made: U[] = []
  for (const one of all) made.push(to(one))
  return made
}

export class Journal {
  readonly #queue: JournalQueue
  readonly #onTrouble: (error: Error) => void
  #outcomes: Ended[] = []
  #marks: Mark[] = []
  #releases: Release[] = []
  #round: Promise<void> | null = null
  #giveUp = false
  /** By how much the clock was set since the start. */
  #set = 0

  constructor(queue: JournalQueue, onTrouble: (error: Error) => void) {
    this.#queue = queue
    this.#onTrouble = onTrouble
  }

  /** Outcomes and releases not yet on disk. */
  get pending(): number {
    return this.#outcomes.length + this.#releases.length
  }

  /** Resolves with false when the message must not be sent. */
  mark(mark: AttemptMark): Promise<boolean> {
    return new Promise((done) => {
      this.#marks.push({ mark, done })
      this.#start()
    })
  }

  settle(outcome: Outcome): void {
    this.#outcomes.push({ outcome, set: this.#set })
    this.#start()
  }

  /** A pace has fractions of a millisecond, and what is stored has none. */
  release(lease: LeaseRef, dueAt: number): void {
    this.#releases.push({ lease, dueAt: Math.ceil(dueAt), set: this.#set })
    this.#start()
  }

  /** The wall clock was set by so much. */
  stepped(by: number): void {
    this.#set += by
  }

  #now({ outcome, set }: Ended): Outcome {
    const by = this.#set - set
    if (by === 0) return outcome
    const { at, retryAt } = outcome
    return { ...outcome, at: at + by, retryAt: retryAt === null ? null : retryAt + by }
  }

  /** Resolves when all is written; gives up at the first failure, because a restart will tell the rest. */
  async flush(): Promise<void> {
    this.#giveUp = true
    while (this.#round !== null) await this.#round
  }

  #start(): void {
    this.#round ??= this.#rounds()
  }

  async #rounds(): Promise<void> {
    // what comes in within the same turn of the loop shares the first round
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (this.#outcomes.length + this.#marks.length + this.#releases.length > 0) {
      const failed = await this.#write()
      if (failed === null) continue
      this.#onTrouble(failed)
      if (this.#giveUp) break
      await pause(RETRY_MS)
    }
    // in the same turn in which nothing was left, or what comes next would find no round to join
    this.#round = null
  }

  async #write(): Promise<Error | null> {
    const outcomes = this.#outcomes
    const marks = this.#marks
    const releases = this.#releases
    this.#outcomes = []
    this.#marks = []
    this.#releases = []
    let failed: Error | null = null
    const failing =
      (again: () => void) =>
      (error: Error): void => {
        failed = error
        again()
      }
    const settled = settle(
      this.#queue,
      packed(outcomes, (one) => this.#now(one)),
      true,
    ).then(
      () => true,
      (error: Error) => {
        failing(() => this.#outcomes.unshift(...outcomes))(error)
        return false
      },
    )
    await Promise.all([
      settled,
      this.#attempting(marks, settled).catch(failing(() => {})),
      this.#release(releases).catch(failing(() => this.#releases.unshift(...releases))),
    ])
    return failed
  }

  /** `settled`: whether the outcomes before them are written; else nobody goes. */
  async #attempting(marks: readonly Mark[], settled: Promise<boolean>): Promise<void> {
    if (marks.length === 0) return
    let mine: readonly boolean[] = []
    try {
      const asked = this.#queue.attempting(packed(marks, ({ mark }) => mark))
      const [isSettled, answers] = await Promise.all([settled, asked])
      if (isSettled) mine = answers
    } finally {
      for (const [i, { done }] of marks.entries()) done(mine[i] === true)
    }
  }

  async #release(releases: readonly Release[]): Promise<void> {
    const byTime = new Map<number, LeaseRef[]>()
    for (const { lease, set, ...release } of releases) {
      const dueAt = release.dueAt + this.#set - set
      const list = byTime.get(dueAt)
      if (list === undefined) byTime.set(dueAt, [lease])
      else list.push(lease)
    }
    await Promise.all([...byTime].map(([dueAt, leases]) => this.#queue.release(leases, dueAt)))
  }
}
