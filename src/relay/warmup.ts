/**
 * NAME      warmup - how much of what an upstream allows this daemon may use: of its connections, and of a day of its warm-up
 *   Several daemons give mail to the same upstreams. All of their connections together stay within its limit: the relays
 *   that serve a pool share it in the order of their writers, each its whole part, the first ones one more. They do not
 *   ask each other. That the sum never passes the limit follows from three rules: a part is gone by no longer than a
 *   newcomer waits (store/postgres/cluster.ts), a daemon that joins makes no part greater, and one that goes has let go
 *   of its own before: a process that ends has no sockets.
 *   How many recipients a new upstream may be given on a day is counted in the store, for all daemons
 *   (lifecycle/warmup.ts). What this one may give it takes there beforehand, some at a time and fewer towards the end of
 *   a day, and gives back what it has not used; where one is killed, what it had taken stays counted. A recipient counts
 *   on the day on which its mail chose this upstream, and counts no more when the upstream did not take it. When nothing
 *   is left the upstream is as one that is down until the day is over: its mail is neither claimed nor kept at hand.
 *   Several daemons go by the clock of their database, so it is the same day for all.
 * BUGS
 *   A mail that is on its way when a newcomer takes its part ends as it began, so for as long as that takes there may be
 *   more connections than the limit. A daemon that was stopped where it stood keeps its sockets until it goes on or the
 *   upstream ends them, while the others have its part; stopped while a newcomer waits, it also keeps what it had to
 *   let go of.
 */
import type { Trouble } from '../base/service.js'
import { dayOf, isSpent, type WarmupDay, warmupState } from '../lifecycle/warmup.js'
import { ALONE, type ClusterView } from '../store/port/cluster.js'
import type { PoolRow, WarmupRow } from '../store/port/tenants.js'
import type { Warmups } from '../store/port/watch.js'

export interface DaemonShare {
  /** From 0. */
  readonly rank: number
  /** Among how many. */
  readonly count: number
}

export const WHOLE: DaemonShare = { rank: 0, count: 1 }

/** Of a number of connections; without a share none. */
export const partOf = (most: number, share: DaemonShare | null): number =>
  share === null ? 0 : Math.floor(most / share.count) + (share.rank < most % share.count ? 1 : 0)

type Named = Pick<PoolRow, 'id' | 'name' | 'kind'>

/** Whether a relay with these pools, by name or id, carries the mail of this one. */
export const serves = (pools: readonly string[] | null, { id, name }: Named): boolean =>
  pools === null || pools.includes(name) || pools.includes(id)

const inView = ({ relays, self }: ClusterView, pool: Named): DaemonShare | null => {
  const among = relays.filter(({ pools }) => serves(pools, pool))
  const rank = among.findIndex(({ n }) => n === self)
  return rank < 0 ? null : { rank, count: among.length }
}

/** Of one pool, as it is now; null: nothing is to be begun here. */
export const shareOf = (view: ClusterView, pool: Named, tick: number): DaemonShare | null => {
  if (view === ALONE) return WHOLE
  if (tick < view.from || tick >= view.until) return null
  // the sandbox is within each daemon
  return pool.kind === 'sandbox' ? WHOLE : inView(view, pool)
}

/** Of what is left of a day one daemon takes such a part, and at most so many. */
const PART = 1 / 16
const MOST = 500
/** What nobody has used for so long goes back. */
const IDLE_MS = 5_000
/** So often a daemon without any looks whether another one gave some back. */
const LOOK_MS = 15_000
const TROUBLE_MS = 1_000

interface WarmupTaken {
  readonly count: number
  /** On which they count; null: they do not. */
  readonly day: number | null
}

export interface WarmupSettings {
  readonly store: Warmups
  readonly now: () => number
  readonly tick: () => number
  /** The store does not count. */
  readonly trouble: Trouble
}

export class Warmup {
  #row: WarmupRow
  readonly #settings: WarmupSettings
  readonly #changed: () => void
  #day = Number.NEGATIVE_INFINITY
  /** There is no limit any more. */
  #isOver = false
  /** May be given now. */
  #has = 0
  /** What was left in the store when it was last asked; null: it was not. */
  #left: number | null = null
  #isAsking = false
  /** On the tick clock: not to be asked before; when one was last given; when it was last looked. */
  #notBefore = 0
  #usedAt = 0
  #lookedAt = 0

  /** `changed`: more may be given than before. */
  constructor(row: WarmupRow, settings: WarmupSettings, changed: () => void) {
    this.#row = row
    this.#settings = settings
    this.#changed = changed
  }

  /** The same warm-up, maybe by other numbers. */
  update(row: WarmupRow): void {
    const { first, days } = this.#row
    this.#row = row
    if (row.first !== first || row.days !== days) this.#restart()
  }

  /** Of now, since the days change by themselves. */
  #today(): number {
    const day = dayOf(this.#settings.now())
    if (day !== this.#day) this.#restart(day)
    return day
  }

  #restart(day = this.#day): void {
    this.#return(this.#day, this.#has)
    ;[this.#day, this.#has, this.#left, this.#isOver] = [day, 0, null, false]
    this.#notBefore = 0
  }

  /** Nothing may be given today any more. */
  get isSpent(): boolean {
    this.#today()
    return !this.#isOver && this.#has === 0 && this.#left === 0
  }

  /** True when one may be given; else it asks for some. */
  hasRoom(): boolean {
    const day = this.#today()
    if (this.#isOver || this.#has > 0) return true
    this.#ask(day, 1)
    return false
  }

  /** Of `count` recipients of one message, how many may go now: all, or the last ones of the day. */
  take(count: number): WarmupTaken {
    const day = this.#today()
    if (this.#isOver) return { count, day: null }
    const taken = this.#has >= count ? count : this.#left === 0 ? this.#has : 0
    if (taken < count) this.#ask(day, count - this.#has)
    this.#has -= taken
    this.#usedAt = this.#settings.tick()
    return { count: taken, day }
  }

  /** The upstream did not take so many of those that were taken for it. */
  giveBack({ day }: WarmupTaken, count: number): void {
    if (count === 0 || day === null) return
    if (day === this.#today()) {
      this.#has += count
      this.#changed()
    } else this.#return(day, count)
  }

  #ask(day: number, count: number): void {
    const { store, now, tick, trouble } = this.#settings
    if (this.#isAsking || this.#left === 0 || tick() < this.#notBefore) return
    this.#isAsking = true
    const { id, first, days } = this.#row
    const part = Math.min(MOST, Math.ceil((this.#left ?? first) * PART))
    const ask = { id, first, days, day, count: Math.max(count, part), now: now() }
    store.takeWarmup(ask).then(
      ({ granted, left }) => {
        this.#isAsking = false
        trouble.succeeded()
        const isSame = day === this.#today() && this.#row.first === first && this.#row.days === days
        if (left === null) this.#isOver = isSame
        else if (!isSame) this.#return(day, granted)
        else [this.#has, this.#left] = [this.#has + granted, left]
        this.#lookedAt = this.#usedAt = tick()
        this.#changed()
      },
      (error: Error) => {
        this.#isAsking = false
        this.#notBefore = tick() + TROUBLE_MS
        trouble.failed(error)
      },
    )
  }

  /** To be called a few times a second. */
  sweep(): void {
    const { tick } = this.#settings
    const day = this.#today()
    if (this.#has > 0 && tick() - this.#usedAt > IDLE_MS) this.#restart(day)
    if (this.isSpent && tick() - this.#lookedAt > LOOK_MS) this.#look(day)
  }

  #look(day: number): void {
    const { store, now, tick, trouble } = this.#settings
    this.#lookedAt = tick()
    store.warmupDays().then((rows: readonly WarmupDay[]) => {
      const own = rows.filter(({ id }) => id === this.#row.id)
      if (day !== this.#today() || isSpent(warmupState(this.#row, own, now()))) return
      this.#left = null
      this.#changed()
    }, trouble.failed)
  }

  #return(day: number, count: number): void {
    if (count > 0) void this.#returned(day, count)
  }

  /** What can not be given back stays counted. */
  #returned(day: number, count: number): Promise<void> {
    return this.#settings.store.returnWarmup(this.#row.id, day, count).catch(this.#settings.trouble.failed)
  }

  /** Nothing is given any more. */
  async close(): Promise<void> {
    const [day, count] = [this.#day, this.#has]
    this.#has = 0
    if (count > 0) await this.#returned(day, count)
  }
}
