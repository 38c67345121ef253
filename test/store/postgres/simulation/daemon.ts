/** A daemon as write/heartbeat.ts makes it, a page of it: it beats and takes over, with mail that it accepts, claims, sends and settles. */
import { createObserver, type Seen } from '../../../../src/store/postgres/write/heartbeat.js'
import { type Row, type Statement, TROUBLE_MS, type Tx } from './database.js'
import { type Process, sleep } from './world.js'
import { keyOf, SimulatedWriter, TakenOverError, UnavailableError } from './writer.js'

const BEAT_MS = 3000
const PROMISE_MS = 20_000

interface Sending {
  readonly id: string
  readonly gen: number
  state: 'leased' | 'marked' | 'given'
  at: number
}

const writersOf = function* (tx: Tx): Iterable<Row> {
  for (const [, row] of tx.rows('w')) yield row
}

export class Daemon extends SimulatedWriter {
  readonly inbox: string[] = []
  /** It ends when it has done what it has begun. */
  isLeaving = false
  #sent = Number.NEGATIVE_INFINITY
  readonly #sending: Sending[] = []
  /** There may be leases of a claim whose answer was lost. */
  #isUnsure = false;

  *#accept(): Process {
    const { run } = this
    const ids = this.inbox.splice(0, 3)
    yield* this.statement(() => {
      const mails = ids.map((id) => ({ id, ord: this.next() }))
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
    const { boot } = this
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
    yield* this.transaction([lease])
    this.#isUnsure = false
    this.#sending.push(...taken)
  }

  /** Of a lease that is still ours. */
  #owned(one: Sending, change: (row: Row, tx: Tx) => Row | null) {
    const { boot } = this
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
      const isMarked = yield* this.statement(this.#owned(one, (row) => ({ ...row, marked: 1 })))
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
      const event = this.next()
      yield* this.statement(
        this.#owned(one, (_, tx) => {
          tx.put(`e${event}`, { ord: event })
          return null
        }),
      )
      forget()
    }
  }

  *#release(one: Sending): Process {
    yield* this.statement(
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
    yield* this.transaction(faults.has('takeover in one statement') ? [order, both] : [order, end, free])
  }

  /** Frees leases that it knows nothing of. */
  #reap() {
    const { boot } = this
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
    const rows = yield* this.statement(() => {
      sent = world.now
      return function* (tx) {
        return [...writersOf(tx)].filter(({ boot }) => boot !== null) as unknown as readonly Seen[]
      }
    })
    if (rows === null) return
    this.#sent = sent
    if (this.#isUnsure) yield* this.statement(() => this.#reap())
    this.#isUnsure = false
    for (const dead of observe(rows.filter(({ boot }) => boot !== this.boot))) yield* this.#takeover(dead)
  }

  *#leave(): Process {
    const { n, boot } = this
    yield* this.statement(() => this.#reap())
    yield* this.statement(
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
    yield* this.join()
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
