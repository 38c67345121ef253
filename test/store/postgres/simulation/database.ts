/**
 * A model of a database at READ COMMITTED: each statement reads what was committed when it began, an update waits for the
 * lock of its row and looks again at the newest version of it, and of nothing else. A client may be gone while its
 * statement runs: that goes on, and what it did by itself is committed.
 */
import { awaited, type Process, type Wait, type World } from './world.js'

export class LostError extends Error {}
export class AgainError extends Error {}

export type Row = Readonly<Record<string, number | string | null>>

interface Version {
  readonly seq: number
  readonly row: Row | null
}

const LOCK_TIMEOUT = 5000
const IDLE_TIMEOUT = 5000
const DEADLINE = 10_000
/** Nothing goes wrong after that. */
export const TROUBLE_MS = 50_000
const STALLS = 0.004

/** A statement; what it yields are rows whose locks it waits for. */
export type Statement<T> = (tx: Tx) => Generator<string, T, void>

interface Lock {
  holder: Tx | null
  readonly waiting: (() => void)[]
}

export class Tx {
  snapshot = 0
  readonly writes = new Map<string, Row | null>()
  readonly locks: string[] = []
  isOver = false
  /** Looked at when it is committed. */
  readonly checks: (() => void)[] = []

  constructor(readonly db: Database) {}

  read(key: string): Row | null {
    const own = this.writes.get(key)
    return own !== undefined ? own : this.db.at(key, this.snapshot)
  }

  /** Rows of a table as the statement sees them. */
  *rows(table: string): Iterable<readonly [string, Row]> {
    for (const key of this.db.keys(table)) {
      const row = this.read(key)
      if (row !== null) yield [key, row]
    }
    for (const [key, row] of this.writes)
      if (row !== null && key.startsWith(table) && !this.db.has(key)) yield [key, row]
  }

  /** The newest version of a row, which is nobody else's until the end. */
  *lock(key: string): Generator<string, Row | null, void> {
    while (!this.db.take(key, this)) yield key
    const own = this.writes.get(key)
    return own !== undefined ? own : this.db.at(key, Number.POSITIVE_INFINITY)
  }

  /** The same, or null at once. */
  tryLock(key: string): Row | null {
    if (!this.db.take(key, this)) return null
    const own = this.writes.get(key)
    return own !== undefined ? own : this.db.at(key, Number.POSITIVE_INFINITY)
  }

  put(key: string, row: Row | null): void {
    this.writes.set(key, row)
  }
}

export class Database {
  seq = 0
  /** Nobody gets an answer. */
  isAway = false
  readonly #tables = new Map<string, Map<string, Version[]>>()
  readonly #locks = new Map<string, Lock>()

  constructor(readonly world: World) {}

  keys(table: string): Iterable<string> {
    return this.#tables.get(table)?.keys() ?? []
  }

  has(key: string): boolean {
    return this.#tables.get(key.charAt(0))?.has(key) ?? false
  }

  at(key: string, seq: number): Row | null {
    const versions = this.#tables.get(key.charAt(0))?.get(key)
    if (versions === undefined) return null
    for (let i = versions.length - 1; i >= 0; i--) {
      const version = versions[i] as Version
      if (version.seq <= seq) return version.row
    }
    return null
  }

  take(key: string, tx: Tx): boolean {
    let lock = this.#locks.get(key)
    if (lock === undefined) {
      lock = { holder: null, waiting: [] }
      this.#locks.set(key, lock)
    }
    if (lock.holder === tx) return true
    if (lock.holder !== null) return false
    lock.holder = tx
    tx.locks.push(key)
    return true
  }

  wait(key: string, then: () => void): void {
    this.#locks.get(key)?.waiting.push(then)
  }

  #store(key: string, row: Row | null): void {
    const name = key.charAt(0)
    let table = this.#tables.get(name)
    if (table === undefined) {
      table = new Map()
      this.#tables.set(name, table)
    }
    const versions = table.get(key)
    if (versions === undefined) table.set(key, [{ seq: this.seq, row }])
    else versions.push({ seq: this.seq, row })
  }

  end(tx: Tx, isKept: boolean): void {
    if (tx.isOver) return
    tx.isOver = true
    if (isKept) {
      for (const check of tx.checks) check()
      this.seq += 1
      for (const [key, row] of tx.writes) this.#store(key, row)
    }
    for (const key of tx.locks) {
      const lock = this.#locks.get(key) as Lock
      lock.holder = null
      for (const then of lock.waiting.splice(0)) this.world.after(this.world.random(), then)
    }
  }

  /** Of what is made before anybody comes. */
  fill(key: string, row: Row): void {
    this.#store(key, row)
  }
}

/** A connection of a client. */
export class Session {
  /** As its client knows. */
  isLost = false
  /** What it sends and what it is sent does not arrive. */
  isCut = false
  /** The next statement arrives, and its answer does not. */
  isDoomed = false
  /** Hears of a statement that the server is long about. */
  stalls: (ms: number) => void = () => {}
  #tx: Tx | null = null
  #isBusy = false
  #isGone = false
  #calls = 0

  constructor(readonly db: Database) {}

  /** The server learns that its client has gone. */
  close(): void {
    this.#isGone = true
    if (!this.#isBusy) this.#rollback()
  }

  #rollback(): void {
    if (this.#tx !== null) this.db.end(this.#tx, false)
    this.#tx = null
  }

  /** How long a disk stands still. */
  #stall(): number {
    const { world } = this.db
    if (world.now > TROUBLE_MS || !world.chance(STALLS)) return 0
    const ms = 1000 + world.below(45_000)
    this.stalls(ms)
    return ms
  }

  #run<T>(tx: Tx, statement: Statement<T>, done: (value: T) => void, failed: (error: unknown) => void): void {
    const { world } = this.db
    tx.snapshot = this.db.seq
    const work = statement(tx)
    const advance = (): void => {
      if (tx.isOver) return
      let step: IteratorResult<string, T>
      try {
        step = work.next()
      } catch (error) {
        failed(error)
        return
      }
      if (step.done === true) {
        const { value } = step
        const ms = this.#stall()
        if (ms > 0) world.after(ms, () => done(value))
        else done(value)
        return
      }
      let isOver = false
      this.db.wait(step.value, () => {
        if (isOver) return
        isOver = true
        advance()
      })
      world.after(LOCK_TIMEOUT, () => {
        if (isOver) return
        isOver = true
        failed(new AgainError('lock timeout'))
      })
    }
    world.after(world.random() * (world.chance(0.1) ? 300 : 2), advance)
  }

  #serve<T>(
    statement: Statement<T> | 'commit',
    inTx: boolean,
    answer: (error: unknown, value?: T) => void,
  ): void {
    const call = ++this.#calls
    this.#isBusy = true
    const finished = (): void => {
      this.#isBusy = false
      if (this.#isGone) this.#rollback()
      else if (this.#tx !== null)
        this.db.world.after(IDLE_TIMEOUT, () => {
          if (this.#calls === call && this.#tx !== null) this.close()
        })
    }
    const tx = this.#tx ?? new Tx(this.db)
    const failed = (error: unknown): void => {
      this.db.end(tx, false)
      this.#tx = null
      finished()
      answer(error)
    }
    if (statement === 'commit') {
      const end = (): void => {
        this.db.end(tx, true)
        this.#tx = null
        finished()
        answer(null)
      }
      const ms = this.#stall()
      if (ms > 0) this.db.world.after(ms, end)
      else end()
      return
    }
    this.#run(
      tx,
      statement,
      (value) => {
        if (inTx) this.#tx = tx
        else this.db.end(tx, true)
        finished()
        answer(null, value)
      },
      failed,
    )
  }

  /** Sends a statement; `inTx`: the transaction stays open behind it. */
  ask<T>(statement: Statement<T> | 'commit', inTx = false): Process<T> {
    const { world } = this.db
    const way = (): number => world.random() * (world.chance(0.1) ? 50 : 2)
    const isDeaf = (): boolean => this.isCut || this.db.isAway
    const wait: Wait = (resume, fail) => {
      let isAnswered = false
      const lose = (): void => {
        if (isAnswered) return
        isAnswered = true
        this.isLost = true
        if (!isDeaf()) world.after(way(), () => this.close())
        fail(new LostError('lost'))
      }
      if (this.isLost) {
        world.after(way(), lose)
        return
      }
      world.after(DEADLINE, lose)
      world.after(way(), () => {
        if (isDeaf()) return
        if (this.#isGone) return lose()
        if (this.isDoomed) world.after(way(), lose)
        this.#serve<T>(statement, inTx, (error, value) =>
          world.after(way(), () => {
            if (isDeaf() || isAnswered) return
            if (this.#isGone) return lose()
            isAnswered = true
            if (error === null) resume(value)
            else fail(error)
          }),
        )
      })
    }
    return awaited<T>(wait)
  }
}
