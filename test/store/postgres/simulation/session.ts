/**
 * A connection of a client. A client may be gone while its statement runs: that goes on, and what it did by itself is
 * committed. What is on the way may be lost, a disk may stand still, and locks are waited for so long and no longer.
 */
import { type Database, type Slot, type Statement, Tx } from './database.js'
import type { Asked, Running } from './world.js'

export class LostError extends Error {}
export class AgainError extends Error {}

const LOST = new LostError('lost')
const LOCKED = new AgainError('lock timeout')

const LOCK_TIMEOUT = 5000
const IDLE_TIMEOUT = 5000
const DEADLINE = 10_000
const STALLS = 0.004

class Call implements Asked {
  isAnswered = false
  sentAt = 0
  process: Running | null = null

  constructor(
    readonly session: Session,
    readonly statement: Statement<unknown> | 'commit',
    /** The transaction stays open behind it. */
    readonly inTx: boolean,
  ) {}

  begin(process: Running): void {
    this.process = process
    this.sentAt = this.session.db.world.now
    this.session.send(this)
  }
}

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
  #call: Call | null = null
  #isDeadlineSet = false
  #idleSince = 0
  #isIdleSet = false

  constructor(
    readonly db: Database,
    /** Disks do not stand still after that. */
    readonly quietFrom: number,
  ) {}

  /** To be yielded by a process. */
  ask(statement: Statement<unknown> | 'commit', inTx = false): Call {
    return new Call(this, statement, inTx)
  }

  /** The server learns that its client has gone. */
  close(): void {
    this.#isGone = true
    if (!this.#isBusy) this.#rollback()
  }

  #rollback(): void {
    if (this.#tx !== null) this.db.end(this.#tx, false)
    this.#tx = null
  }

  #way(): number {
    const { world } = this.db
    return world.random() * (world.chance(0.1) ? 50 : 2)
  }

  #isDeaf(): boolean {
    return this.isCut || this.db.isAway
  }

  #lose(call: Call): void {
    if (call.isAnswered) return
    call.isAnswered = true
    this.isLost = true
    if (!this.#isDeaf()) this.db.world.after(this.#way(), () => this.close())
    call.process?.fail(LOST)
  }

  #watchDeadline(): void {
    const call = this.#call
    this.#isDeadlineSet = call !== null && !call.isAnswered
    if (call === null || call.isAnswered) return
    const { world } = this.db
    const left = call.sentAt + DEADLINE - world.now
    if (left <= 0) {
      this.#isDeadlineSet = false
      world.note('no answer in time')
      this.#lose(call)
    } else world.after(left, () => this.#watchDeadline())
  }

  send(call: Call): void {
    const { world } = this.db
    if (this.isLost) {
      world.after(this.#way(), () => this.#lose(call))
      return
    }
    this.#call = call
    if (!this.#isDeadlineSet) this.#watchDeadline()
    world.after(this.#way(), () => this.#arrive(call))
  }

  #arrive(call: Call): void {
    if (this.#isDeaf()) return
    if (this.#isGone) {
      this.#lose(call)
      return
    }
    if (this.isDoomed) this.db.world.after(this.#way(), () => this.#lose(call))
    this.#isBusy = true
    if (call.statement === 'commit') this.#stalling(() => this.#commit(call))
    else this.#run(call, call.statement)
  }

  #answer(call: Call, error: Error | null, value: unknown): void {
    this.db.world.after(this.#way(), () => {
      if (this.#isDeaf() || call.isAnswered) return
      if (this.#isGone) {
        this.#lose(call)
        return
      }
      call.isAnswered = true
      if (error === null) call.process?.resume(value)
      else call.process?.fail(error)
    })
  }

  #finished(): void {
    this.#isBusy = false
    if (this.#isGone) this.#rollback()
    else if (this.#tx !== null) {
      this.#idleSince = this.db.world.now
      if (!this.#isIdleSet) this.#watchIdle()
    }
  }

  /** A transaction of a client that says nothing is given up. */
  #watchIdle(): void {
    this.#isIdleSet = this.#tx !== null
    if (!this.#isIdleSet) return
    const { world } = this.db
    const left = this.#idleSince + IDLE_TIMEOUT - world.now
    if (left > 0 || this.#isBusy) world.after(Math.max(left, 1000), () => this.#watchIdle())
    else {
      this.#isIdleSet = false
      world.note('idle in a transaction')
      this.close()
    }
  }

  /** A disk that stands still. */
  #stalling(then: () => void): void {
    const { world } = this.db
    if (world.now >= this.quietFrom || !world.chance(STALLS)) {
      then()
      return
    }
    const ms = 1000 + world.below(45_000)
    world.note('disk stands still')
    this.stalls(ms)
    world.after(ms, then)
  }

  #commit(call: Call): void {
    if (this.#tx !== null) this.db.end(this.#tx, true)
    this.#tx = null
    this.#finished()
    this.#answer(call, null, undefined)
  }

  #run(call: Call, statement: Statement<unknown>): void {
    const { world } = this.db
    const tx = this.#tx ?? new Tx(this.db)
    tx.snapshot = this.db.seq
    const work = statement(tx)
    world.after(world.random() * (world.chance(0.1) ? 300 : 2), () => this.#advance(call, tx, work))
  }

  #advance(call: Call, tx: Tx, work: Generator<Slot, unknown, void>): void {
    if (tx.isOver) return
    const step = work.next()
    if (step.done !== true) {
      this.#await(step.value, call, tx, work)
      return
    }
    this.#stalling(() => {
      if (call.inTx) this.#tx = tx
      else this.db.end(tx, true)
      this.#finished()
      this.#answer(call, null, step.value)
    })
  }

  #await(slot: Slot, call: Call, tx: Tx, work: Generator<Slot, unknown, void>): void {
    const { world } = this.db
    world.note('waits for a lock')
    let isOver = false
    slot.waiting.push(() => {
      if (isOver) return
      isOver = true
      this.#advance(call, tx, work)
    })
    world.after(LOCK_TIMEOUT, () => {
      if (isOver) return
      isOver = true
      world.note('lock timeout')
      this.stalls(0)
      this.db.end(tx, false)
      this.#tx = null
      this.#finished()
      this.#answer(call, LOCKED, undefined)
    })
  }
}
