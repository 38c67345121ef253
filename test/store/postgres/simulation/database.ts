/**
 * A model of a database at READ COMMITTED: each statement reads what was committed when it began, an update waits for the
 * lock of its row and looks again at the newest version of it, and of nothing else.
 */
import type { World } from './world.js'

export interface WriterRow {
  readonly n: number
  readonly epoch: number
  readonly boot: number | null
  readonly heartbeat: number
  readonly frontier: number
  /** What it says of itself, as the row has it. */
  readonly owner: string
  readonly role: string
  readonly about: string
}

/** What waits or is leased. */
export interface QueueRow {
  readonly boot: number | null
  readonly gen: number
  readonly isMarked: boolean
}

/** Of work that one does at a time: who does it, and how far it is. */
export interface WorkRow {
  readonly boot: number
  readonly rounds: number
}

interface Version<R> {
  readonly seq: number
  readonly row: R | null
  readonly before: Version<R> | null
}

/** A row with its versions, the newest first. Whoever holds its lock may have written one more. */
export class Slot<R = unknown> {
  #newest: Version<R> | null = null
  holder: Tx | null = null
  waiting: (() => void)[] = []
  /** By its holder; undefined: nothing yet. */
  next: R | null | undefined = undefined

  at(seq: number): R | null {
    let version = this.#newest
    while (version !== null && version.seq > seq) version = version.before
    return version === null ? null : version.row
  }

  newest(): R | null {
    return this.#newest === null ? null : this.#newest.row
  }

  store(seq: number, row: R | null): void {
    this.#newest = { seq, row, before: this.#newest }
  }
}

/** Rows that never change, in the order of their places. */
export class Places {
  readonly ords: number[] = []
  readonly #seqs: number[] = []

  add(ord: number, seq: number): void {
    const { ords } = this
    let i = ords.length
    while (i > 0 && (ords[i - 1] as number) > ord) i--
    ords.splice(i, 0, ord)
    this.#seqs.splice(i, 0, seq)
  }

  /** What is seen by then, rising, from a place on and below another one. */
  seen(seq: number, from: number, to: number): number[] {
    const found: number[] = []
    for (let i = this.ords.length - 1; i >= 0; i--) {
      const ord = this.ords[i] as number
      if (ord < from) break
      if (ord < to && (this.#seqs[i] as number) <= seq) found.push(ord)
    }
    return found.reverse()
  }
}

export class Tx {
  snapshot = 0
  isOver = false
  readonly locks: Slot[] = []
  /** To be stored when it is committed. */
  readonly mails: { readonly id: string; readonly ord: number; readonly slot: Slot<QueueRow> }[] = []
  readonly events: number[] = []
  /** Looked at when it is committed. */
  readonly checks: (() => void)[] = []

  constructor(readonly db: Database) {}

  read<R>(slot: Slot<R>): R | null {
    return slot.holder === this && slot.next !== undefined ? slot.next : slot.at(this.snapshot)
  }

  /** The newest version of a row, which is nobody else's until the end. */
  *lock<R>(slot: Slot<R>): Generator<Slot, R | null, void> {
    while (!this.#take(slot)) yield slot as Slot
    return slot.next !== undefined ? slot.next : slot.newest()
  }

  /** The same, or null at once. */
  tryLock<R>(slot: Slot<R>): R | null {
    if (!this.#take(slot)) return null
    return slot.next !== undefined ? slot.next : slot.newest()
  }

  #take<R>(slot: Slot<R>): boolean {
    if (slot.holder === this) return true
    if (slot.holder !== null) return false
    slot.holder = this
    this.locks.push(slot as Slot)
    return true
  }

  /** Of a row whose lock it holds. */
  put<R>(slot: Slot<R>, row: R | null): void {
    slot.next = row
  }
}

/** A statement; what it yields are rows whose locks it waits for. */
export type Statement<T> = (tx: Tx) => Generator<Slot, T, void>

export class Database {
  seq = 0
  /** Nobody gets an answer. */
  isAway = false
  /** Hears of mail that has come. */
  onDue: () => void = () => {}
  readonly writers: readonly Slot<WriterRow>[]
  readonly queue = new Map<string, Slot<QueueRow>>()
  readonly work = new Slot<WorkRow>()
  readonly order = new Slot<{ readonly last: number }>()
  readonly mails = new Places()
  readonly events = new Places()
  /** By each place. */
  readonly ids: string[] = []

  constructor(
    readonly world: World,
    writers: readonly WriterRow[],
  ) {
    this.writers = writers.map((row) => {
      const slot = new Slot<WriterRow>()
      slot.store(0, row)
      return slot
    })
    this.order.store(0, { last: 0 })
  }

  end(tx: Tx, isKept: boolean): void {
    if (tx.isOver) return
    tx.isOver = true
    if (isKept) this.#keep(tx)
    for (const slot of tx.locks) {
      slot.holder = null
      slot.next = undefined
      if (slot.waiting.length === 0) continue
      for (const then of slot.waiting) this.world.after(this.world.random(), then)
      slot.waiting = []
    }
  }

  #keep(tx: Tx): void {
    for (const check of tx.checks) check()
    this.seq += 1
    for (const slot of tx.locks) if (slot.next !== undefined) slot.store(this.seq, slot.next)
    for (const { id, ord, slot } of tx.mails) {
      this.mails.add(ord, this.seq)
      this.ids.push(id)
      slot.store(this.seq, { boot: null, gen: 0, isMarked: false })
      this.queue.set(`q${ord}`, slot)
    }
    for (const ord of tx.events) this.events.add(ord, this.seq)
    if (tx.mails.length > 0) this.onDue()
  }
}
