/** A writer as store/postgres/writer.ts makes it, a page of it: it joins, fences what it writes, and knows what became of it. */
import { placeAfter } from '../../../../src/store/postgres/writer.js'
import type { Database, Slot, Statement, Tx, WriterRow } from './database.js'
import { AgainError, LostError, Session } from './session.js'
import type { Upstream } from './upstream.js'
import type { Machine, Process, Running, World } from './world.js'

export const T0 = Date.UTC(2026, 10, 20)
export const ROWS = 8

/** What is done wrong on purpose. */
export type Fault =
  /** And without another look at the heartbeat: each batch moves it, so that alone would save the one that is dying. */
  | 'takeover in one statement'
  | 'death by the own clock'
  | 'frontier after the commit'
  | 'frontier before the commit'
  | 'no fence'
  | 'no promise'
  | 'joins beside others'
  | 'looks before the fence'
  | 'a newcomer does not wait'
  | 'work is not fenced'

export class TakenOverError extends Error {}
export class UnavailableError extends Error {}

interface Joined {
  readonly n: number
  readonly epoch: number
  readonly boot: number
  readonly frontier: number
}

/** What all of a run share. */
export interface Run {
  readonly world: World
  readonly db: Database
  readonly upstream: Upstream
  readonly faults: ReadonlySet<Fault>
  /** Requests that were answered. */
  readonly acknowledged: Set<string>
  /** The dots that reached the upstream. */
  readonly dots: string[]
  /** Mails that may have been sent by who was taken over. */
  readonly ambiguous: string[]
  /** When each boot ended by a takeover. */
  readonly ended: Map<number, number>
  /** When a daemon was last hindered by what only it met. */
  readonly hindered: Map<number, number>
  readonly wrong: string[]
  /** When the last of what befell them is over. */
  over: number
  /** Nothing goes wrong after that. */
  readonly quietFrom: number
  /** When the newest of those who live took its part of the upstream. */
  newest(): number
}

const NOBODY: Joined = { n: 0, epoch: 0, boot: 0, frontier: 0 }

export class SimulatedWriter implements Machine {
  isKilled = false
  stoppedUntil = 0
  session: Session
  process: Running | null = null
  /** It has ended. */
  isGone = false
  /** It has a row. */
  isIn = false
  #joined: Joined = NOBODY
  #last = 0
  #isCut = false

  constructor(
    readonly run: Run,
    /** How far its clock is off. */
    public skew: number,
  ) {
    this.session = this.#open()
  }

  /** It meets what no other one does. */
  hinder(ms: number): void {
    const { hindered, world } = this.run
    this.run.over = Math.max(this.run.over, world.now + ms)
    hindered.set(this.boot, Math.max(hindered.get(this.boot) ?? 0, world.now + ms))
  }

  get n(): number {
    return this.#joined.n
  }

  get boot(): number {
    return this.#joined.boot
  }

  get isCut(): boolean {
    return this.#isCut
  }

  /** Its row. */
  get slot(): Slot<WriterRow> {
    return this.run.db.writers[this.n] as Slot<WriterRow>
  }

  cut(isCut: boolean): void {
    this.#isCut = isCut
    this.session.isCut = isCut
    if (isCut) this.session.isLost = true
  }

  next(): number {
    this.#last = placeAfter(this.#last, T0 + Math.floor(this.run.world.now) + this.skew, this.#joined.n)
    return this.#last
  }

  /** What others have given in the order of all. */
  rise(to: number): void {
    this.#last = Math.max(this.#last, to)
  }

  #open(): Session {
    const session = new Session(this.run.db, this.run.quietFrom)
    session.isCut = this.#isCut
    session.stalls = (ms) => this.hinder(ms)
    return session
  }

  *#joining(tx: Tx): Generator<Slot, Joined | null, void> {
    const { faults, hindered, db } = this.run
    const isBeside = faults.has('joins beside others')
    let highest = 0
    for (const slot of db.writers) {
      const row = isBeside ? tx.read(slot) : yield* tx.lock(slot)
      highest = Math.max(highest, row?.frontier ?? 0)
    }
    for (const slot of db.writers) {
      const row = isBeside ? tx.tryLock(slot) : yield* tx.lock(slot)
      if (row === null || row.boot !== null) continue
      const { n, role, about } = row
      const epoch = row.epoch + 1
      const boot = epoch * ROWS + n
      const heartbeat = row.heartbeat + 1
      tx.put(slot, { n, epoch, boot, heartbeat, frontier: highest, owner: String(boot), role, about })
      // who never hears of it has a row that dies
      hindered.set(boot, Number.POSITIVE_INFINITY)
      return { n, epoch, boot, frontier: highest }
    }
    return null
  }

  *join(): Process {
    const { run } = this
    for (;;) {
      try {
        if (this.session.isLost) this.session = this.#open()
        const joined = (yield this.session.ask((tx) => this.#joining(tx))) as Joined | null
        if (joined !== null) {
          run.hindered.set(joined.boot, run.world.now)
          this.#joined = joined
          this.#last = joined.frontier
          this.isIn = true
          return
        }
        run.world.note('no row is free')
      } catch (error) {
        if (!(error instanceof LostError || error instanceof AgainError)) throw error
      }
      yield 500
    }
  }

  *#ending(tx: Tx): Generator<Slot, Joined | null, void> {
    const { n, boot } = this.#joined
    const isLooking = this.run.faults.has('looks before the fence')
    const row = isLooking ? tx.read(this.slot) : yield* tx.lock(this.slot)
    if (row === null || row.boot !== boot) return null
    const epoch = row.epoch + (isLooking ? 0 : 1)
    if (!isLooking) tx.put(this.slot, { ...row, epoch })
    return { n, boot, epoch, frontier: row.frontier }
  }

  /** A connection on which nothing of an earlier one can still happen. */
  *#ready(): Process {
    const fresh = this.#open()
    const found = (yield fresh.ask((tx) => this.#ending(tx))) as Joined | null
    if (found === null) throw new TakenOverError()
    this.run.world.note('goes on under a new epoch')
    this.#joined = found
    this.session.close()
    this.session = fresh
  }

  /** Until another try; throws what is not to be tried again. */
  *#again(error: unknown, tries: number, until: number): Process {
    const { world } = this.run
    const isAgain = error instanceof AgainError
    if (!isAgain && !(error instanceof LostError)) throw error
    if (isAgain ? tries >= 5 : world.now >= until) throw new UnavailableError()
    yield world.below(100)
  }

  *#readyAtLast(): Process {
    const until = this.run.world.now + 5000
    for (let tries = 1; ; tries++) {
      try {
        if (this.session.isLost) yield* this.#ready()
        return
      } catch (error) {
        yield* this.#again(error, tries, until)
      }
    }
  }

  /** What an epoch wrote must have been committed before it ended. */
  #checked(tx: Tx, { n, epoch }: Joined): void {
    const { db, wrong } = this.run
    tx.checks.push(() => {
      const now = db.writers[n]?.newest()
      if (now?.epoch !== epoch) wrong.push(`epoch ${epoch} of ${n} wrote after it had ended`)
    })
  }

  *#fence(tx: Tx, frontier: number | null, joined: Joined): Generator<Slot, boolean, void> {
    const slot = this.run.db.writers[joined.n] as Slot<WriterRow>
    const row = yield* tx.lock(slot)
    if (row === null) return false
    if (row.epoch !== joined.epoch && !this.run.faults.has('no fence')) {
      this.run.world.note('found its epoch ended')
      return false
    }
    this.#checked(tx, joined)
    const { n, epoch, boot, heartbeat, owner, role, about } = row
    const { frontier: old } = row
    tx.put(slot, { n, epoch, boot, heartbeat: heartbeat + 1, frontier: frontier ?? old, owner, role, about })
    return true
  }

  *#fenced<T>(
    tx: Tx,
    frontier: number | null,
    joined: Joined,
    work: Statement<T>,
  ): Generator<Slot, { value: T } | null, void> {
    return (yield* this.#fence(tx, frontier, joined)) ? { value: yield* work(tx) } : null
  }

  /** The answer was lost: null when it is in. */
  *#wasLost(error: unknown, frontier: number): Process<null> {
    if (!(error instanceof LostError)) throw error
    yield* this.#readyAtLast()
    const isIn = this.#joined.frontier >= frontier
    this.run.world.note(isIn ? 'answer lost, it is in' : 'answer lost, it is not in')
    if (!isIn) throw error
    return null
  }

  *#once<T>(make: () => Statement<T>): Process<T | null> {
    const { faults } = this.run
    if (this.session.isLost) yield* this.#ready()
    const joined = this.#joined
    const work = make()
    const frontier = this.next()
    const isLate = faults.has('frontier after the commit')
    const isEarly = faults.has('frontier before the commit')
    if (isEarly) yield this.session.ask((tx) => this.#fence(tx, frontier, joined))
    try {
      const own = isLate || isEarly ? null : frontier
      const found = (yield this.session.ask((tx) => this.#fenced(tx, own, joined, work))) as {
        value: T
      } | null
      if (found === null) throw new TakenOverError()
      if (isLate) yield this.session.ask((tx) => this.#fence(tx, frontier, joined))
      return found.value
    } catch (error) {
      return yield* this.#wasLost(error, frontier)
    }
  }

  /** One fenced statement; null: it is in, and its answer was lost. */
  *statement<T>(make: () => Statement<T>): Process<T | null> {
    const until = this.run.world.now + 5000
    for (let tries = 1; ; tries++) {
      try {
        return yield* this.#once(make)
      } catch (error) {
        yield* this.#again(error, tries, until)
      }
    }
  }

  /** What no writer may do. */
  *unfenced(work: Statement<void>): Process {
    try {
      if (this.session.isLost) yield* this.#ready()
      yield this.session.ask(work)
    } catch (error) {
      if (error instanceof LostError || error instanceof AgainError) throw new UnavailableError()
      throw error
    }
  }

  /** The places of what is not mail are given in the order in which it is committed. */
  *#inOrder(tx: Tx): Generator<Slot, void, void> {
    const { order } = this.run.db
    this.rise((yield* tx.lock(order))?.last ?? 0)
  }

  *#rising(tx: Tx, frontier: number, joined: Joined, inOrder: boolean): Generator<Slot, void, void> {
    if (inOrder) tx.put(this.run.db.order, { last: frontier })
    yield* this.#fence(tx, frontier, joined)
  }

  *#wholly(steps: readonly Statement<void>[], inOrder: boolean): Process {
    if (this.session.isLost) yield* this.#ready()
    const { session } = this
    const joined = this.#joined
    let frontier = Number.POSITIVE_INFINITY
    try {
      const isMine = (yield session.ask((tx) => this.#fence(tx, null, joined), true)) as boolean
      if (!isMine) throw new TakenOverError()
      if (inOrder) yield session.ask((tx) => this.#inOrder(tx), true)
      for (const step of steps) yield session.ask(step, true)
      const last = this.next()
      frontier = last
      yield session.ask((tx) => this.#rising(tx, last, joined, inOrder), true)
      yield session.ask('commit')
    } catch (error) {
      if (error instanceof TakenOverError) session.close()
      if (frontier === Number.POSITIVE_INFINITY) throw error
      yield* this.#wasLost(error, frontier)
    }
  }

  /** A transaction of these statements. */
  *transaction(steps: readonly Statement<void>[], inOrder = false): Process {
    const until = this.run.world.now + 5000
    for (let tries = 1; ; tries++) {
      try {
        return yield* this.#wholly(steps, inOrder)
      } catch (error) {
        yield* this.#again(error, tries, until)
      }
    }
  }
}
