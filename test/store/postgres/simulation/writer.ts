/** A writer as write/writer.ts makes it, a page of it: it joins, fences what it writes, and knows what became of it. */
import { placeAfter } from '../../../../src/store/postgres/write/places.js'
import { AgainError, type Database, LostError, Session, type Statement, type Tx } from './database.js'
import { type Machine, type Process, sleep, type World } from './world.js'

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
}

export const keyOf = (n: number): string => `w${n}`

export class SimulatedWriter implements Machine {
  isKilled = false
  stoppedUntil = 0
  session: Session
  #joined: Joined = { n: 0, epoch: 0, boot: 0, frontier: 0 }
  #last = 0
  #isCut = false

  constructor(
    readonly run: Run,
    /** How far its clock is off. */
    readonly skew: number,
  ) {
    this.session = this.#open()
  }

  /** It meets what no other one does. */
  hinder(ms: number): void {
    const { hindered, world } = this.run
    hindered.set(this.boot, Math.max(hindered.get(this.boot) ?? 0, world.now + ms))
  }

  get n(): number {
    return this.#joined.n
  }

  get boot(): number {
    return this.#joined.boot
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

  #open(): Session {
    const session = new Session(this.run.db)
    session.isCut = this.#isCut
    session.stalls = (ms) => this.hinder(ms)
    return session
  }

  *join(): Process {
    const { run } = this
    const isBeside = run.faults.has('joins beside others')
    const join: Statement<Joined | null> = function* (tx) {
      let highest = 0
      for (let n = 0; n < ROWS; n++) {
        const row = isBeside ? tx.read(keyOf(n)) : yield* tx.lock(keyOf(n))
        highest = Math.max(highest, Number(row?.frontier))
      }
      for (let n = 0; n < ROWS; n++) {
        const row = isBeside ? tx.tryLock(keyOf(n)) : yield* tx.lock(keyOf(n))
        if (row === null || row.boot !== null) continue
        const epoch = Number(row.epoch) + 1
        const boot = epoch * 64 + n
        tx.put(keyOf(n), { ...row, epoch, boot, frontier: highest, heartbeat: Number(row.heartbeat) + 1 })
        // who never hears of it has a row that dies
        run.hindered.set(boot, Number.POSITIVE_INFINITY)
        return { n, epoch, boot, frontier: highest }
      }
      return null
    }
    for (;;) {
      try {
        if (this.session.isLost) this.session = this.#open()
        const joined = yield* this.session.ask(join)
        if (joined !== null) {
          run.hindered.delete(joined.boot)
          this.#joined = joined
          this.#last = joined.frontier
          return
        }
      } catch (error) {
        if (!(error instanceof LostError || error instanceof AgainError)) throw error
      }
      yield* sleep(run.world, 500)
    }
  }

  /** A connection on which nothing of an earlier one can still happen. */
  *#ready(): Process {
    if (!this.session.isLost) return
    const { n, boot } = this.#joined
    const isLooking = this.run.faults.has('looks before the fence')
    const fresh = this.#open()
    const found = yield* fresh.ask(function* (tx): Generator<string, Joined | null, void> {
      const row = isLooking ? tx.read(keyOf(n)) : yield* tx.lock(keyOf(n))
      if (row === null || row.boot !== boot) return null
      const epoch = Number(row.epoch) + (isLooking ? 0 : 1)
      if (!isLooking) tx.put(keyOf(n), { ...row, epoch })
      return { n, boot, epoch, frontier: Number(row.frontier) }
    })
    if (found === null) throw new TakenOverError()
    this.#joined = found
    this.session.close()
    this.session = fresh
  }

  *#persistently<T>(work: () => Process<T>): Process<T> {
    const { world } = this.run
    const until = world.now + 5000
    for (let tries = 1; ; tries++) {
      try {
        return yield* work()
      } catch (error) {
        if (error instanceof AgainError ? tries >= 5 : !(error instanceof LostError) || world.now >= until)
          throw error instanceof TakenOverError ? error : new UnavailableError()
        yield* sleep(world, world.below(100))
      }
    }
  }

  /** What an epoch wrote must have been committed before it ended. */
  #checked(tx: Tx, { n, epoch }: Joined): void {
    const { db, wrong } = this.run
    tx.checks.push(() => {
      const now = db.at(keyOf(n), Number.POSITIVE_INFINITY)
      if (now?.epoch !== epoch) wrong.push(`epoch ${epoch} of ${n} wrote after it had ended`)
    })
  }

  *#fence(tx: Tx, frontier: number | null, joined: Joined): Generator<string, boolean, void> {
    const { n, epoch } = joined
    const row = yield* tx.lock(keyOf(n))
    if (row === null) return false
    if (row.epoch !== epoch && !this.run.faults.has('no fence')) return false
    this.#checked(tx, joined)
    const { frontier: old } = row
    tx.put(keyOf(n), { ...row, heartbeat: Number(row.heartbeat) + 1, frontier: frontier ?? (old as number) })
    return true
  }

  /** One fenced statement; null: it is in, and its answer was lost. */
  *statement<T>(make: () => (tx: Tx) => Generator<string, T, void>): Process<T | null> {
    const { faults } = this.run
    return yield* this.#persistently(
      function* (this: SimulatedWriter): Process<T | null> {
        yield* this.#ready()
        const joined = this.#joined
        const work = make()
        const frontier = this.next()
        const self = this
        const isLate = faults.has('frontier after the commit')
        const isEarly = faults.has('frontier before the commit')
        if (isEarly) yield* self.session.ask((tx) => self.#fence(tx, frontier, joined))
        try {
          const found = yield* this.session.ask(function* (tx): Generator<string, { value: T } | null, void> {
            return (yield* self.#fence(tx, isLate || isEarly ? null : frontier, joined))
              ? { value: yield* work(tx) }
              : null
          })
          if (found === null) throw new TakenOverError()
          if (isLate) yield* self.session.ask((tx) => self.#fence(tx, frontier, joined))
          return found.value
        } catch (error) {
          if (!(error instanceof LostError)) throw error
          yield* this.#persistently(() => this.#ready())
          if (this.#joined.frontier >= frontier) return null
          throw error
        }
      }.bind(this),
    )
  }

  /** A transaction of these statements. */
  *transaction(steps: readonly Statement<unknown>[]): Process {
    yield* this.#persistently(
      function* (this: SimulatedWriter): Process {
        yield* this.#ready()
        const { session } = this
        const joined = this.#joined
        let frontier = Number.POSITIVE_INFINITY
        try {
          const isMine = yield* session.ask((tx) => this.#fence(tx, null, joined), true)
          if (!isMine) throw new TakenOverError()
          for (const step of steps) yield* session.ask(step, true)
          frontier = this.next()
          yield* session.ask((tx) => this.#fence(tx, frontier, joined), true)
          yield* session.ask('commit')
        } catch (error) {
          if (error instanceof TakenOverError) session.close()
          if (!(error instanceof LostError) || frontier === Number.POSITIVE_INFINITY) throw error
          yield* this.#persistently(() => this.#ready())
          if (this.#joined.frontier < frontier) throw error
        }
      }.bind(this),
    )
  }
}
