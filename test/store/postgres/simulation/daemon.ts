/** A daemon as store/postgres/heartbeat.ts makes it, a page of it: it beats, takes over, does work that one does at a time, and leaves. */
import { createObserver, type SeenWriter } from '../../../../src/store/postgres/heartbeat.js'
import type { Row } from '../../../../src/store/sql/query.js'
import type { Slot, Statement, Tx, WriterRow } from './database.js'
import { freeing, Mailing } from './mailing.js'
import type { Process } from './world.js'
import { TakenOverError, UnavailableError } from './writer.js'

const BEAT_MS = 3000
const BEATS_A_LOOK = 5
const WORK_MS = 15_000

const freed = (row: WriterRow, epoch: number): WriterRow => ({ ...row, epoch, boot: null })

const writersOf = (tx: Tx): WriterRow[] => tx.db.writers.map((slot) => tx.read(slot) as WriterRow)

export class Daemon extends Mailing {
  /** It ends when it has done what it has begun. */
  isLeaving = false
  #beats = 0
  #workAt = 0

  #end(seen: SeenWriter, ended: () => void): Statement<void> {
    const { world, faults, wrong, hindered, ended: all, db } = this.run
    const { n, boot, heartbeat } = seen
    const slot = db.writers[n] as Slot<WriterRow>
    return function* (tx) {
      const row = yield* tx.lock(slot)
      const isStill = row?.heartbeat === heartbeat || faults.has('takeover in one statement')
      if (row === null || row.boot !== boot || !isStill) return world.note('taken for dead, and had moved')
      ended()
      tx.put(slot, freed(row, row.epoch + 1))
      tx.checks.push(() => {
        world.note('taken over')
        all.set(boot, world.now)
        const since = hindered.get(boot) ?? Number.NEGATIVE_INFINITY
        if (world.now - since > 60_000) wrong.push(`${boot} was taken over, and lived`)
      })
    }
  }

  *#takeover(seen: SeenWriter): Process {
    const { faults, ambiguous } = this.run
    let isEnded = false
    const end = this.#end(seen, () => {
      isEnded = true
    })
    const free: Statement<void> = function* (tx) {
      if (isEnded)
        yield* freeing(
          tx,
          (boot) => boot === seen.boot,
          (id) => ambiguous.push(id),
        )
    }
    const both: Statement<void> = function* (tx) {
      yield* end(tx)
      yield* free(tx)
    }
    const reset: Statement<void> = function* (tx) {
      isEnded = false
      yield* end(tx)
    }
    yield* this.transaction(faults.has('takeover in one statement') ? [both] : [reset, free])
  }

  /** Frees leases that it knows nothing of. */
  *#reap(tx: Tx): Generator<Slot, void, void> {
    const known = new Set(this.sending.map(({ id }) => id))
    for (const [id, slot] of tx.db.queue) {
      const seen = tx.read(slot)
      if (seen === null || seen.boot !== this.boot || known.has(id)) continue
      const row = yield* tx.lock(slot)
      if (row?.boot === this.boot) tx.put(slot, { boot: null, isMarked: false, gen: row.gen + 1 })
    }
  }

  /** What writers have left that nobody took over. */
  *#recoverOrphans(): Process {
    const { ambiguous, world } = this.run
    const free: Statement<void> = function* (tx) {
      const boots = new Set(writersOf(tx).map(({ boot }) => boot))
      yield* freeing(
        tx,
        (boot) => !boots.has(boot),
        (id) => {
          world.note('lease of nobody')
          ambiguous.push(id)
        },
      )
    }
    yield* this.transaction([free])
  }

  *#beat(observe: (seen: readonly SeenWriter[]) => readonly SeenWriter[]): Process {
    const { world } = this.run
    let sent = world.now
    const look = () => {
      sent = world.now
      return function* (tx: Tx) {
        return writersOf(tx).filter(({ boot }) => boot !== null)
      }
    }
    const rows = yield* this.statement(look)
    if (rows === null) return
    this.sent = sent
    this.cluster?.told(rows as unknown as readonly Row[], sent)
    this.rise(Math.max(...rows.map(({ frontier }) => frontier)))
    if (this.isUnsure) yield* this.statement(() => (tx) => this.#reap(tx))
    this.isUnsure = false
    const others = rows.filter(({ boot }) => boot !== this.boot)
    for (const dead of observe(others as readonly SeenWriter[])) yield* this.#takeover(dead)
    this.#beats += 1
    if (this.#beats % BEATS_A_LOOK === 0 && rows.every(({ n }) => n >= this.n)) yield* this.#recoverOrphans()
  }

  /** Who does the work, as somebody saw it who asked in between. */
  #holder(tx: Pick<Tx, 'read' | 'db'>): number | null {
    const boot = tx.read(tx.db.work)?.boot ?? null
    return tx.db.writers.some((slot) => tx.read(slot)?.boot === boot) ? boot : null
  }

  *#take(tx: Tx): Generator<Slot, void, void> {
    if (this.#holder(tx) !== null) return this.run.world.note('work was taken meanwhile')
    const row = yield* tx.lock(tx.db.work)
    tx.put(tx.db.work, { boot: this.boot, rounds: row?.rounds ?? 0 })
    this.run.world.note('work taken')
  }

  /** A round of it, which only one may do. */
  *#round(tx: Tx): Generator<Slot, void, void> {
    const { wrong } = this.run
    const { boot } = this
    const row = yield* tx.lock(tx.db.work)
    tx.checks.push(() => {
      if (row?.boot !== boot) wrong.push(`${boot} did the work of ${row?.boot}`)
    })
    if (row !== null) tx.put(tx.db.work, { boot: row.boot, rounds: row.rounds + 1 })
  }

  *#work(): Process {
    const { world, db, faults } = this.run
    const now = { db, read: <R>(slot: Slot<R>) => slot.newest() }
    const holder = this.#holder(now)
    yield world.below(2000)
    if (holder === null) return yield* this.transaction([(tx) => this.#take(tx)], true)
    if (holder !== this.boot) return
    if (faults.has('work is not fenced')) yield* this.unfenced((tx) => this.#round(tx))
    else yield* this.transaction([(tx) => this.#round(tx)])
  }

  *#leave(): Process {
    yield* this.statement(() => (tx) => this.#reap(tx))
    const { slot, boot } = this
    yield* this.statement(
      () =>
        function* (tx) {
          const row = yield* tx.lock(slot)
          if (row?.boot === boot) tx.put(slot, freed(row, row.epoch))
        },
    )
    this.session.close()
  }

  /** Whoever starts on the same folder knows that its predecessor is dead. */
  *#endPredecessor(boot: number): Process {
    const { world, db, ended, ambiguous } = this.run
    const end: Statement<void> = function* (tx) {
      for (const slot of db.writers) {
        if (tx.read(slot)?.boot !== boot) continue
        const row = yield* tx.lock(slot)
        if (row?.boot !== boot) continue
        tx.put(slot, freed(row, row.epoch + 1))
        tx.checks.push(() => {
          world.note('predecessor ended')
          ended.set(boot, world.now)
        })
      }
    }
    const free: Statement<void> = (tx) =>
      freeing(
        tx,
        (one) => one === boot,
        (id) => ambiguous.push(id),
      )
    yield* this.transaction([end, free])
  }

  *#step(observe: (seen: readonly SeenWriter[]) => readonly SeenWriter[], beat: { at: number }): Process {
    const { world } = this.run
    const next = this.ready()
    // what is on its way to an upstream goes on beside the heartbeat
    if (next !== undefined && world.chance(0.5)) yield* this.send(next)
    else if (world.now >= beat.at) {
      beat.at = world.now + BEAT_MS
      yield* this.#beat(observe)
    } else if (this.inbox.length > 0) yield* this.accept()
    else if (next !== undefined) yield* this.send(next)
    else if (!this.isLeaving && this.mayClaim()) yield* this.claim()
    else if (world.now >= this.#workAt) {
      this.#workAt = world.now + WORK_MS / 2 + world.below(WORK_MS)
      yield* this.#work()
    } else yield this.#until(beat.at)
  }

  /** How long it has nothing to do, unless it is woken. */
  #until(beatAt: number): number {
    const { now } = this.run.world
    let until = Math.min(beatAt, this.#workAt)
    for (const { at } of this.sending) until = Math.min(until, at)
    return Math.max(1, until - now)
  }

  /** Until it is killed or taken over. */
  *live(predecessor: number | null): Process {
    const { world, faults } = this.run
    yield* this.join()
    this.look()
    const observe = faults.has('death by the own clock')
      ? carelessObserver(() => world.now)
      : createObserver(() => world.now)
    const beat = { at: world.now }
    let before = predecessor
    for (;;) {
      try {
        if (before !== null) yield* this.#endPredecessor(before)
        before = null
        if (this.isLeaving && this.sending.length === 0 && this.inbox.length === 0)
          return yield* this.#leave()
        yield* this.#step(observe, beat)
      } catch (error) {
        if (error instanceof TakenOverError) return this.session.close()
        if (!(error instanceof UnavailableError)) throw error
        world.note('the database is away')
      }
    }
  }
}

/** As createObserver, but for the look at its own heartbeats. */
const carelessObserver = (tick: () => number) => {
  const since = new Map<number, { readonly heartbeat: number; readonly at: number }>()
  return (seen: readonly SeenWriter[]): readonly SeenWriter[] => {
    for (const { boot, heartbeat } of seen)
      if (since.get(boot)?.heartbeat !== heartbeat) since.set(boot, { heartbeat, at: tick() })
    return seen.filter(({ boot }) => tick() - (since.get(boot)?.at ?? tick()) >= 30_000)
  }
}
