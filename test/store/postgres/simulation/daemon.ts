/**
 * A daemon as write/writer.ts and write/heartbeat.ts make it, a page of it: a writer that joins, fences, beats and takes
 * over, with mail that it accepts, claims, sends and settles.
 */
import { createObserver, type Seen } from '../../../../src/store/postgres/write/heartbeat.js'
import { placeAfter } from '../../../../src/store/postgres/write/places.js'
import {
  AgainError,
  type Database,
  LostError,
  type Row,
  Session,
  type Statement,
  TROUBLE_MS,
  type Tx,
} from './database.js'
import { type Machine, type Process, sleep, type World } from './world.js'

export const T0 = Date.UTC(2026, 10, 20)
export const ROWS = 8
const BEAT_MS = 3000
const PROMISE_MS = 20_000

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
class UnavailableError extends Error {}

interface Joined {
  readonly n: number
  readonly epoch: number
  readonly boot: number
  readonly frontier: number
}

interface Sending {
  readonly id: string
  readonly gen: number
  state: 'leased' | 'marked' | 'given'
  at: number
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

const keyOf = (n: number): string => `w${n}`
const writersOf = function* (tx: Tx): Iterable<Row> {
  for (const [, row] of tx.rows('w')) yield row
}

export class Daemon implements Machine {
  isKilled = false
  stoppedUntil = 0
  readonly inbox: string[] = []
  /** It ends when it has done what it has begun. */
  isLeaving = false
  session: Session
  #joined: Joined = { n: 0, epoch: 0, boot: 0, frontier: 0 }
  #last = 0
  #sent = Number.NEGATIVE_INFINITY
  #isCut = false
  readonly #sending: Sending[] = []
  /** There may be leases of a claim whose answer was lost. */
  #isUnsure = false

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

  get boot(): number {
    return this.#joined.boot
  }

  cut(isCut: boolean): void {
    this.#isCut = isCut
    this.session.isCut = isCut
    if (isCut) this.session.isLost = true
  }

  #next(): number {
    this.#last = placeAfter(this.#last, T0 + Math.floor(this.run.world.now) + this.skew, this.#joined.n)
    return this.#last
  }

  #open(): Session {
    const session = new Session(this.run.db)
    session.isCut = this.#isCut
    session.stalls = (ms) => this.hinder(ms)
    return session
  }

  *#join(): Process {
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
  *#statement<T>(make: () => (tx: Tx) => Generator<string, T, void>): Process<T | null> {
    const { faults } = this.run
    return yield* this.#persistently(
      function* (this: Daemon): Process<T | null> {
        yield* this.#ready()
        const joined = this.#joined
        const work = make()
        const frontier = this.#next()
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
  *#transaction(steps: readonly Statement<unknown>[]): Process {
    yield* this.#persistently(
      function* (this: Daemon): Process {
        yield* this.#ready()
        const { session } = this
        const joined = this.#joined
        let frontier = Number.POSITIVE_INFINITY
        try {
          const isMine = yield* session.ask((tx) => this.#fence(tx, null, joined), true)
          if (!isMine) throw new TakenOverError()
          for (const step of steps) yield* session.ask(step, true)
          frontier = this.#next()
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

  *#accept(): Process {
    const { run } = this
    const ids = this.inbox.splice(0, 3)
    yield* this.#statement(() => {
      const mails = ids.map((id) => ({ id, ord: this.#next() }))
      // biome-ignore lint/correctness/useYield: it locks nothing
      return function* (tx) {
        for (const { id, ord } of mails) {
          tx.put(`m${ord}`, { ord, id })
          tx.put(`q${ord}`, { id, boot: null, gen: 0, marked: 0 })
        }
      }
    })
    for (const id of ids) run.acknowledged.add(id)
  }

  *#claim(): Process {
    const { world } = this.run
    const { boot } = this.#joined
    let taken: Sending[] = []
    // biome-ignore lint/correctness/useYield: it waits for no lock
    const lease: Statement<void> = function* (tx) {
      taken = []
      for (const [key, row] of tx.rows('q')) {
        if (row.boot !== null || taken.length === 2) continue
        const newest = tx.tryLock(key)
        if (newest === null || newest.boot !== null) continue
        const gen = Number(newest.gen) + 1
        tx.put(key, { ...newest, boot, gen, marked: 0 })
        taken.push({ id: key, gen, state: 'leased', at: world.now })
      }
    }
    this.#isUnsure = true
    yield* this.#transaction([lease])
    this.#isUnsure = false
    this.#sending.push(...taken)
  }

  /** Of a lease that is still ours. */
  #owned(one: Sending, change: (row: Row, tx: Tx) => Row | null) {
    const { boot } = this.#joined
    return () =>
      function* (tx: Tx): Generator<string, boolean, void> {
        const row = yield* tx.lock(one.id)
        if (row === null || row.boot !== boot || row.gen !== one.gen) return false
        tx.put(one.id, change(row, tx))
        return true
      }
  }

  *#send(one: Sending): Process {
    const { world, dots, faults } = this.run
    const forget = () => this.#sending.splice(this.#sending.indexOf(one), 1)
    if (one.state === 'leased') {
      const isMarked = yield* this.#statement(this.#owned(one, (row) => ({ ...row, marked: 1 })))
      if (isMarked === false) forget()
      else if (isMarked === null) yield* this.#release(one)
      one.state = 'marked'
      one.at = world.now + world.below(world.now < TROUBLE_MS && world.chance(0.3) ? 50_000 : 3000)
    } else if (one.state === 'marked') {
      if (world.now - this.#sent > PROMISE_MS && !faults.has('no promise')) return yield* this.#release(one)
      const { ended, wrong } = this.run
      if (ended.has(this.boot)) wrong.push(`a dot of ${this.boot} after it was taken over`)
      dots.push(one.id)
      one.state = 'given'
      one.at = world.now + world.below(300)
    } else {
      const event = this.#next()
      yield* this.#statement(
        this.#owned(one, (_, tx) => {
          tx.put(`e${event}`, { ord: event })
          return null
        }),
      )
      forget()
    }
  }

  *#release(one: Sending): Process {
    yield* this.#statement(
      this.#owned(one, (row) => ({ ...row, boot: null, marked: 0, gen: Number(row.gen) + 1 })),
    )
    const i = this.#sending.indexOf(one)
    if (i >= 0) this.#sending.splice(i, 1)
  }

  *#takeover({ n, boot, heartbeat }: Seen): Process {
    const { run } = this
    const { world, faults, wrong } = run
    let isEnded = false
    const end: Statement<void> = function* (tx) {
      const row = yield* tx.lock(keyOf(n))
      const isStill = row?.heartbeat === heartbeat || faults.has('takeover in one statement')
      isEnded = row?.boot === boot && isStill
      if (!isEnded) return
      tx.put(keyOf(n), { ...(row as Row), epoch: Number(row?.epoch) + 1, boot: null })
      tx.checks.push(() => {
        run.ended.set(boot, world.now)
        const since = run.hindered.get(boot) ?? Number.NEGATIVE_INFINITY
        if (world.now - since > 60_000) wrong.push(`${boot} was taken over, and lived`)
      })
    }
    const free: Statement<void> = function* (tx) {
      if (!isEnded) return
      for (const [key, seen] of tx.rows('q')) {
        if (seen.boot !== boot) continue
        const row = yield* tx.lock(key)
        if (row === null || row.boot !== boot) continue
        if (row.marked === 1) tx.checks.push(() => run.ambiguous.push(key))
        tx.put(key, { ...row, boot: null, marked: 0, gen: Number(row.gen) + 1 })
      }
    }
    const order: Statement<void> = function* (tx) {
      yield* tx.lock('o')
    }
    const both: Statement<void> = function* (tx) {
      yield* end(tx)
      yield* free(tx)
    }
    yield* this.#transaction(faults.has('takeover in one statement') ? [order, both] : [order, end, free])
  }

  /** Frees leases that it knows nothing of. */
  #reap() {
    const { boot } = this.#joined
    const known = new Set(this.#sending.map(({ id }) => id))
    return function* (tx: Tx): Generator<string, void, void> {
      for (const [key, seen] of tx.rows('q')) {
        if (seen.boot !== boot || known.has(key)) continue
        const row = yield* tx.lock(key)
        if (row?.boot === boot) tx.put(key, { ...row, boot: null, marked: 0, gen: Number(row.gen) + 1 })
      }
    }
  }

  *#beat(observe: (seen: readonly Seen[]) => readonly Seen[]): Process {
    const { world } = this.run
    let sent = world.now
    const rows = yield* this.#statement(() => {
      sent = world.now
      return function* (tx) {
        return [...writersOf(tx)].filter(({ boot }) => boot !== null) as unknown as readonly Seen[]
      }
    })
    if (rows === null) return
    this.#sent = sent
    if (this.#isUnsure) yield* this.#statement(() => this.#reap())
    this.#isUnsure = false
    for (const dead of observe(rows.filter(({ boot }) => boot !== this.boot))) yield* this.#takeover(dead)
  }

  *#leave(): Process {
    const { n, boot } = this.#joined
    yield* this.#statement(() => this.#reap())
    yield* this.#statement(
      () =>
        function* (tx) {
          const row = yield* tx.lock(keyOf(n))
          if (row?.boot === boot) tx.put(keyOf(n), { ...row, boot: null })
        },
    )
    this.session.close()
  }

  /** A look by the way, which a hint or a quiet claim would be. */
  #isAnyDue(): boolean {
    const { db } = this.run
    for (const key of db.keys('q')) if (db.at(key, db.seq)?.boot === null) return true
    return false
  }

  /** Until it is killed or taken over. */
  *live(): Process {
    const { world, faults } = this.run
    yield* this.#join()
    const observe = faults.has('death by the own clock')
      ? carelessObserver(() => world.now)
      : createObserver(() => world.now)
    let beatAt = world.now
    for (;;) {
      try {
        const isIdle = this.#sending.length === 0 && this.inbox.length === 0
        if (this.isLeaving && isIdle) return yield* this.#leave()
        const ready = this.#sending.filter(({ at }) => at <= world.now)
        const next = ready[world.below(ready.length)]
        // what is on its way to an upstream goes on beside the heartbeat
        if (next?.state === 'marked' && world.chance(0.5)) yield* this.#send(next)
        else if (world.now >= beatAt) {
          beatAt = world.now + BEAT_MS
          yield* this.#beat(observe)
        } else if (this.inbox.length > 0) yield* this.#accept()
        else if (next !== undefined) yield* this.#send(next)
        else if (this.#sending.length < 2 && !this.isLeaving && this.#isAnyDue()) yield* this.#claim()
        else yield* sleep(world, world.below(1500))
      } catch (error) {
        if (error instanceof TakenOverError) return this.session.close()
        if (!(error instanceof UnavailableError)) throw error
      }
    }
  }
}

/** As createObserver, but for the look at its own heartbeats. */
const carelessObserver = (tick: () => number) => {
  const since = new Map<number, { readonly heartbeat: number; readonly at: number }>()
  return (seen: readonly Seen[]): readonly Seen[] => {
    for (const { boot, heartbeat } of seen)
      if (since.get(boot)?.heartbeat !== heartbeat) since.set(boot, { heartbeat, at: tick() })
    return seen.filter(({ boot }) => tick() - (since.get(boot)?.at ?? tick()) >= 30_000)
  }
}
