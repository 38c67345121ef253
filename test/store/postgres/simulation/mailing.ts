/** A daemon with mail that it accepts, claims, sends within its part of the upstream, and settles. */
import { partOf, shareOf } from '../../../../src/relay/warmup.js'
import type { ClusterView } from '../../../../src/store/port/cluster.js'
import { createView } from '../../../../src/store/postgres/cluster.js'
import { type QueueRow, Slot, type Statement, type Tx } from './database.js'
import type { Caller, Open } from './upstream.js'
import type { Process } from './world.js'
import { SimulatedWriter } from './writer.js'

const PROMISE_MS = 20_000
const MOST_LEASES = 3
const POOL = { id: 'p', name: 'p', kind: 'relay' } as const

interface Sending {
  readonly id: string
  readonly gen: number
  readonly slot: Slot<QueueRow>
  state: 'leased' | 'marked' | 'dropped' | 'given'
  at: number
  connection: Open | null
}

const without = (row: QueueRow): QueueRow => ({ boot: null, isMarked: false, gen: row.gen + 1 })

/** Frees what these have leased, whatever had begun. */
export function* freeing(
  tx: Tx,
  isTheirs: (boot: number) => boolean,
  mayBeSent: (id: string) => void,
): Generator<Slot, void, void> {
  for (const [id, slot] of tx.db.queue) {
    const seen = tx.read(slot)
    if (seen === null || seen.boot === null || !isTheirs(seen.boot)) continue
    const row = yield* tx.lock(slot)
    if (row === null || row.boot === null || !isTheirs(row.boot)) continue
    if (row.isMarked) tx.checks.push(() => mayBeSent(id))
    tx.put(slot, without(row))
  }
}

export class Mailing extends SimulatedWriter implements Caller {
  readonly inbox: string[] = []
  /** When its last heartbeat was sent. */
  protected sent = Number.NEGATIVE_INFINITY
  protected sending: Sending[] = []
  /** There may be leases of a claim whose answer was lost. */
  protected isUnsure = false
  protected cluster: ReturnType<typeof createView> | null = null

  /** It has joined. */
  protected look(): void {
    const tick = (): number => this.run.world.now
    this.cluster = createView({ n: this.n, boot: this.boot }, tick(), tick, tick)
  }

  #view(): ClusterView | null {
    const view = this.cluster?.view() ?? null
    if (view === null) return null
    const isHasty = this.run.faults.has('a newcomer does not wait')
    return isHasty ? { ...view, from: Number.NEGATIVE_INFINITY } : view
  }

  get from(): number {
    return this.cluster?.view().from ?? Number.POSITIVE_INFINITY
  }

  /** Of what the upstream allows; null: not known now. */
  part(): number | null {
    const { world, upstream } = this.run
    const view = this.#view()
    const share = view === null ? null : shareOf(view, POOL, world.now)
    return share === null ? null : partOf(upstream.limit, share)
  }

  *accept(): Process {
    const { run } = this
    const ids = this.inbox.splice(0, 3)
    yield* this.statement(() => {
      const mails = ids.map((id) => ({ id, ord: this.next(), slot: new Slot<QueueRow>() }))
      // biome-ignore lint/correctness/useYield: it locks nothing
      return function* (tx) {
        tx.mails.push(...mails)
      }
    })
    for (const id of ids) run.acknowledged.add(id)
  }

  *claim(): Process {
    const { world, db } = this.run
    const { boot } = this
    let taken: Sending[] = []
    // biome-ignore lint/correctness/useYield: it waits for no lock
    const lease: Statement<void> = function* (tx) {
      taken = []
      for (const [id, slot] of db.queue) {
        const seen = tx.read(slot)
        if (seen === null || seen.boot !== null || taken.length === 2) continue
        const newest = tx.tryLock(slot)
        if (newest === null || newest.boot !== null) {
          world.note('claim passes by what another one claims')
          continue
        }
        const gen = newest.gen + 1
        tx.put(slot, { boot, gen, isMarked: false })
        taken.push({ id, gen, slot, state: 'leased', at: world.now, connection: null })
      }
    }
    this.isUnsure = true
    yield* this.transaction([lease])
    this.isUnsure = false
    this.sending.push(...taken)
  }

  /** Of a lease that is still ours. */
  *#owned(one: Sending, change: (row: QueueRow) => QueueRow | null, tx: Tx): Generator<Slot, boolean, void> {
    const row = yield* tx.lock(one.slot)
    if (row === null || row.boot !== this.boot || row.gen !== one.gen) return false
    tx.put(one.slot, change(row))
    return true
  }

  #settled(one: Sending, event: number, tx: Tx): Generator<Slot, boolean, void> {
    const settle = (): null => {
      tx.events.push(event)
      return null
    }
    return this.#owned(one, settle, tx)
  }

  #forget(one: Sending): void {
    if (one.connection !== null) this.run.upstream.end(one.connection)
    const i = this.sending.indexOf(one)
    if (i >= 0) this.sending.splice(i, 1)
  }

  *#release(one: Sending): Process {
    yield* this.statement(() => (tx) => this.#owned(one, without, tx))
    this.#forget(one)
  }

  *#mark(one: Sending): Process {
    const { world, upstream, quietFrom } = this.run
    const part = this.part()
    if (part === 0) return yield* this.#release(one)
    const isOpen = one.connection !== null
    if (part === null || upstream.of(this) - (isOpen ? 1 : 0) >= part) {
      world.note(part === null ? 'waits for its part' : 'uses all of its part')
      one.at = world.now + 1000
      return
    }
    one.connection ??= upstream.begin(this, this.run.newest())
    const mark = (row: QueueRow): QueueRow => ({ boot: row.boot, gen: row.gen, isMarked: true })
    const isMarked = yield* this.statement(() => (tx) => this.#owned(one, mark, tx))
    if (isMarked === false) this.#forget(one)
    else if (isMarked === null) yield* this.#release(one)
    one.state = 'marked'
    one.at = world.now + world.below(world.now < quietFrom && world.chance(0.3) ? 50_000 : 3000)
  }

  *send(one: Sending): Process {
    const { world, dots, faults, upstream } = this.run
    if (one.state === 'leased') yield* this.#mark(one)
    else if (one.state === 'dropped') yield* this.#release(one)
    else if (one.state === 'marked') {
      if (world.now - this.sent > PROMISE_MS && !faults.has('no promise')) {
        world.note('its promise has lapsed')
        // its connection is ended before anything else: no dot follows, whatever becomes of the release
        if (one.connection !== null) upstream.end(one.connection)
        one.connection = null
        one.state = 'dropped'
        return yield* this.#release(one)
      }
      const { ended, wrong } = this.run
      if (ended.has(this.boot)) wrong.push(`a dot of ${this.boot} after it was taken over`)
      dots.push(one.id)
      one.state = 'given'
      one.at = world.now + world.below(300)
    } else {
      yield* this.statement(() => {
        const event = this.next()
        return (tx) => this.#settled(one, event, tx)
      })
      this.#forget(one)
    }
  }

  /** What can go on now. */
  protected ready(): Sending | undefined {
    const { world } = this.run
    const ready = this.sending.filter(({ at }) => at <= world.now)
    return ready.length > 1 ? ready[world.below(ready.length)] : ready[0]
  }

  /** A look by the way, which a hint or a quiet claim would be. */
  protected mayClaim(): boolean {
    if (this.sending.length >= Math.min(MOST_LEASES, (this.part() ?? 0) + 1) || this.part() === 0)
      return false
    for (const slot of this.run.db.queue.values()) if (slot.newest()?.boot === null) return true
    return false
  }
}
