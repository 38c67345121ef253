/**
 * NAME      flow - the way of due mail through the relay
 *     Takes fresh mail as it is handed over in memory and older mail by claim,
 *     gives each to an upstream that has room, and settles how it ended. What is
 *     at hand is bounded by the room of the pool, whatever the depth of the queue.
 *     A mail that fails before its content was sent moves to another member within
 *     the same attempt. When no member of a pool is healthy nothing is tried:
 *     its mails go back to the store, still queued, and a probe tells when to resume.
 *   NOTES
 *     A pool that can not carry mail is looked at once a minute, so that mails
 *     past their lifetime are told so even then.
 */
import type { GiveWay } from '../base/give-way.js'
import type { Claimed } from '../lifecycle/facts.js'
import { type AttemptEnd, isDead } from '../outcome/reply.js'
import type { Refusal } from '../outcome/suppress.js'
import type { Queue } from '../store/port/mail.js'
import { Attempt, type AttemptResult, type Surroundings } from './attempt.js'
import { Expiry, isTaken, type Journal, moved, recorded } from './journal.js'
import { DueTimer, type Lane, Lanes, Pace } from './lanes.js'
import type { Pool, Pools } from './pools.js'
import { emptyStats, type RelayLogLine, type RelaySettings, type RelayStats } from './settings.js'
import { type RelayItem, recipientsOf, type SlowedDomain, split, Throttles } from './throttles.js'
import type { Upstream } from './upstream.js'

export type RelayQueue = Pick<
  Queue,
  | 'claim'
  | 'attempting'
  | 'settle'
  | 'release'
  | 'body'
  | 'onDue'
  | 'onLeased'
  | 'ready'
  | 'nextDue'
  | 'duePools'
>

interface FlowParts {
  readonly queue: RelayQueue
  readonly pools: Pools
  readonly journal: Journal
  /** Hears of live mail. */
  readonly way: GiveWay
  readonly settings: Pick<RelaySettings, 'retry' | 'lifetime' | 'poll' | 'drain'> &
    Partial<Pick<RelaySettings, 'rules' | 'quiet'>>
  readonly around: Omit<Surroundings, 'queue' | 'journal' | 'stopping' | 'stopped'>
  readonly random: () => number
  /** When the wall clock was last set, or the start, on the tick clock. */
  readonly steadySince: () => number
  /** An upstream said that this address is dead. */
  readonly dead: (recipientId: string, refusal: Refusal) => void
  readonly attempted?: ((ends: readonly AttemptEnd[]) => void) | undefined
  /** Mail came for a pool that is not known here: it may be new. */
  readonly unknownPool: () => void
  readonly log: (level: RelayLogLine['level'], fact: string, fields: RelayLogLine['fields']) => void
}

/** Longer than the longest attempt can be: connect, envelope, body and dot at their deadlines. */
const LEASE_MS = 3 * 3_600_000
/** Fresh mail that may wait in memory, per pool. */
const MOST_FRESH = 2_000
const PARKED_MS = 30_000
const MB = 1024 * 1024
/** Messages in flight may hold this much; one larger than that still goes, alone. Those of the sandbox take none of the others'. */
const MOST_BYTES = { relay: 64 * MB, sandbox: 16 * MB }

type MovedOn = Extract<AttemptResult, { kind: 'again' }>

export class Flow {
  readonly stats: RelayStats = emptyStats()
  readonly #parts: FlowParts
  readonly #lanes: Lanes
  readonly #around: Surroundings
  #stopping = false
  #fail: (error: Error) => void = () => {}
  #unsubscribe: (() => void)[] = []
  readonly #dueTimer: DueTimer
  readonly #throttles: Throttles
  readonly #expiry: Expiry
  #inFlight = 0
  /** Size of the messages in flight. */
  readonly #bytes = { relay: 0, sandbox: 0 }
  readonly #claims = new Set<Promise<unknown>>()
  /** The pools that the store knows to be up; mail of others stays there. Null: it was not told yet. */
  #ready: ReadonlySet<string> | null = null
  /** How many mails each of them may have at hand. */
  #rooms: readonly number[] = []
  #idle: (() => void) | null = null
  readonly #pace: Pace
  /** Until the next one may go to the sandbox. */
  #pumping: NodeJS.Timeout | null = null

  constructor(parts: FlowParts) {
    this.#parts = parts
    this.#pace = new Pace(parts.way, parts.around.tick)
    const stopped = new Promise<never>((_, reject) => {
      this.#fail = reject
    })
    stopped.catch(() => {})
    this.#around = {
      ...parts.around,
      queue: parts.queue,
      journal: parts.journal,
      stopping: () => this.#stopping,
      stopped,
    }
    this.#throttles = new Throttles({
      tick: parts.around.tick,
      giveBack: (claimed, delayMs) => this.#giveBack(claimed, delayMs),
      log: (fact, fields) => parts.log('info', fact, fields),
    })
    this.#lanes = new Lanes(this.#throttles, parts.around.tick)
    this.#expiry = new Expiry({
      ...parts.around,
      queue: parts.queue,
      plan: { ...parts.settings, steadySince: parts.steadySince },
      giveBack: (claimed) => this.#giveBack(claimed, 0),
      conclude: (end) => this.#conclude(end),
      stopping: () => this.#stopping,
    })
    this.#dueTimer = new DueTimer({
      visit: () => this.#visit(),
      nextDue: () => parts.queue.nextDue([...(this.#ready ?? [])]),
      now: parts.around.now,
      poll: parts.settings.poll,
      onError: (error) => parts.log('warn', 'claim failed', { error: error.message }),
    })
  }

  start(): void {
    const { queue } = this.#parts
    this.announce()
    this.#unsubscribe = [queue.onLeased((claimed) => this.#fresh(claimed)), queue.onDue(() => this.look())]
    this.look()
  }

  /** Lets what is in DATA complete, gives everything else back. */
  async stop(): Promise<void> {
    if (this.#stopping) return
    this.#stopping = true
    for (const off of this.#unsubscribe) off()
    if (this.#pumping !== null) clearTimeout(this.#pumping)
    this.#fail(new Error('stopping'))
    await this.#dueTimer.stop()
    await Promise.allSettled(this.#claims)
    for (const [poolId, lane] of this.#lanes.all()) this.#giveBackAll(poolId, lane)
    const upstreams = this.#parts.pools.upstreams()
    for (const upstream of upstreams) upstream.abortEarly()
    const cut = setTimeout(() => {
      for (const upstream of upstreams) upstream.abortAll()
    }, this.#parts.settings.drain)
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
    clearTimeout(cut)
    await this.#parts.journal.flush()
    await this.#parts.pools.close()
  }

  /** Looks for due mail, now. */
  look(): void {
    this.#dueTimer.look()
  }

  async #visit(): Promise<void> {
    for (const id of await this.#parts.queue.duePools(this.#around.now())) {
      const pool = this.#parts.pools.get(id)
      if (pool !== undefined) await this.#claim(pool)
    }
  }

  /** Tells the store which pools are up, when that has changed, and claims for those that came up. */
  announce(): void {
    if (this.#stopping) return
    const up = [...this.#parts.pools.all()].filter((pool) => pool.isUp)
    const before = this.#ready
    const fresh = up.filter(({ row }) => !before?.has(row.id))
    const rooms = up.map((pool) => 2 * pool.capacity)
    const isSame = fresh.length === 0 && up.length === before?.size
    if (isSame && `${rooms}` === `${this.#rooms}`) return
    ;[this.#rooms, this.#ready] = [rooms, new Set(up.map(({ row }) => row.id))]
    this.#parts.queue.ready([...this.#ready], rooms)
    if (isSame) return
    for (const pool of fresh) void this.#claim(pool).catch(() => {})
    this.look()
  }

  /** To be called a few times a second: for what no event will wake. */
  tend(): void {
    this.announce()
    this.#expiry.look(this.#parts.pools.all())
    const pumped = new Set<Pool>()
    for (const [poolId, lane] of this.#lanes.all()) {
      const pool = this.#parts.pools.get(poolId)
      if (pool === undefined) {
        this.#giveBackAll(poolId, lane)
        this.#lanes.drop(poolId)
      } else if (this.#lanes.hasMail(poolId) && !pumped.has(pool)) {
        for (const one of pool.sharing) pumped.add(one)
        this.pump(pool)
      }
    }
  }

  /** While nothing can be sent, mails still come to the end of their time. */
  async expire(): Promise<void> {
    await this.#expiry.run([...this.#parts.pools.all()])
  }

  /** The wall clock was set: what is at hand and has not begun is claimed anew, with times that are right. */
  stepped(): void {
    for (const [poolId, lane] of this.#lanes.all()) this.#giveBackAll(poolId, lane)
    this.look()
  }

  async #claim(pool: Pool): Promise<void> {
    const lane = this.#lanes.of(pool.row.id)
    const room = this.#lanes.room(pool)
    if (!pool.isUp || this.#stopping) return
    if (lane.claiming || room <= 0) {
      lane.missed = true
      return
    }
    lane.claiming = true
    lane.missed = false
    const now = this.#around.now()
    const claim = this.#parts.queue.claim(pool.row.id, room, now + LEASE_MS, now)
    this.#claims.add(claim)
    try {
      const claimed = await claim
      lane.more = claimed.length === room || lane.missed
      for (const one of claimed) lane.backlog.add(one, pool.isShared)
      if (this.#stopping || !this.#lanes.isOf(pool.row.id, lane)) this.#giveBackAll(pool.row.id, lane)
    } finally {
      lane.claiming = false
      this.#claims.delete(claim)
    }
    this.pump(pool)
  }

  #fresh(claimed: readonly Claimed[]): void {
    const touched = new Set<Pool>()
    let idle = false
    for (const one of claimed) {
      const pool = this.#parts.pools.get(one.poolId)
      const lane = this.#lanes.of(one.poolId)
      if (this.#stopping || pool === undefined || !pool.isUp) {
        idle = true
        if (pool === undefined) this.#parts.unknownPool()
        this.#giveBack(one, 0)
      } else if (lane.backlog.size >= MOST_FRESH) {
        lane.more = true
        this.#giveBack(one, 0)
      } else {
        lane.backlog.add(one, pool.isShared)
        touched.add(pool)
      }
    }
    for (const pool of touched) this.pump(pool)
    if (idle) this.announce()
  }

  /** Its upstreams may be given more. */
  changed(pool: Pool): void {
    this.announce()
    this.pump(pool)
  }

  /** A pool may carry mail again, and so may those that follow it. */
  resume(pool: Pool): void {
    this.announce()
    for (const one of pool.sharing) void this.#claim(one).catch(() => {})
  }

  /** Starts as many mails as there is room for, of all the pools with these upstreams. */
  pump(pool: Pool): void {
    if (this.#stopping) return
    const { kind } = pool.row
    const waiting = pool.sharing.filter(({ row }) => this.#lanes.hasMail(row.id))
    for (const one of waiting) this.#again(one)
    while (waiting.some(({ row }) => this.#lanes.hasMail(row.id))) {
      if (kind === 'sandbox' && this.#pace.wait > 0) {
        this.#pumpLater(this.#pace.wait)
        break
      }
      const choice = this.#bytes[kind] > MOST_BYTES[kind] ? 'busy' : pool.choose(this.#parts.random)
      if (choice === 'busy') break
      if (choice === 'none') {
        for (const one of waiting) this.#giveUpOn(one)
        this.announce()
        break
      }
      const next = this.#lanes.next(pool)
      if (next === null) break
      this.#send(next.item, next.pool, choice)
    }
    for (const one of this.#lanes.hungry(pool)) {
      const lane = this.#lanes.of(one.row.id)
      lane.more = false
      void this.#claim(one).catch(() => {
        lane.more = true
      })
    }
  }

  #pumpLater(ms: number): void {
    this.#pumping ??= setTimeout(() => {
      this.#pumping = null
      for (const one of this.#parts.pools.all()) if (one.row.kind === 'sandbox') this.pump(one)
    }, ms)
  }

  /** Mails that failed on another member have waited already. */
  #again(pool: Pool): void {
    const { backlog } = this.#lanes.of(pool.row.id)
    for (const item of backlog.takeAgain()) {
      const choice = pool.choose(this.#parts.random, item.tried)
      if (choice === 'busy') backlog.addAgain(item)
      else if (choice === 'none') this.#giveUp(item)
      else this.#send(item, pool, choice)
    }
  }

  /** No member is up. */
  #giveUpOn(pool: Pool): void {
    if (!this.#lanes.hasMail(pool.row.id)) return
    this.#giveBackAll(pool.row.id, this.#lanes.of(pool.row.id))
  }

  /** Where the upstream warms up, as many of its recipients as that allows; the others wait for another turn. */
  #send(item: RelayItem, pool: Pool, upstream: Upstream): void {
    const { warmup } = upstream
    if (warmup === null) {
      this.#begin(item, pool, upstream)
      return
    }
    const taken = warmup.take(recipientsOf(item).length)
    const [now, later] = split(item, taken.count)
    if (later !== null) this.#lanes.of(pool.row.id).backlog.addAgain(later)
    if (now === null) return
    this.#begin(now, pool, upstream, (ends) =>
      warmup.giveBack(taken, taken.count - ends.filter(isTaken).length),
    )
  }

  /** `told`: hears how it ended, if anybody knows. */
  #begin(
    item: RelayItem,
    pool: Pool,
    upstream: Upstream,
    told?: (ends: readonly AttemptEnd[]) => void,
  ): void {
    const { kind } = pool.row
    const began = this.#around.tick()
    if (kind === 'sandbox') this.#pace.begun()
    else this.#parts.way.live()
    this.#inFlight++
    this.#bytes[kind] += item.claimed.size
    this.stats.attempts += 1 + item.others.length
    this.#lanes.of(pool.row.id).begunAt = this.#around.tick()
    let ends: readonly AttemptEnd[] = []
    this.#throttles.begun(item)
    new Attempt(item, pool, upstream, this.#around)
      .run()
      .then(
        (result) => {
          if (result.kind !== 'released') ends = result.kind === 'settled' ? result.ends : [result.end]
          told?.(ends)
          if (result.kind === 'released') return this.#giveBackItem(item, 0)
          if (result.kind === 'settled') {
            for (const end of ends) this.#conclude(end)
            return this.#rest(pool, item, result.left)
          }
          if (result.stale) item.stale = true
          else this.#leave(item, pool, upstream, result)
          this.#lanes.of(pool.row.id).backlog.addAgain(item)
          if (this.#stopping) this.#giveBackAll(pool.row.id, this.#lanes.of(pool.row.id))
        },
        (error: Error) => {
          this.#parts.log('error', 'attempt failed', { email: item.claimed.emailId, error: error.message })
          this.#giveBackItem(item, PARKED_MS)
        },
      )
      .finally(() => {
        this.#inFlight--
        this.#bytes[kind] -= item.claimed.size
        if (kind === 'sandbox') this.#pace.ended(this.#around.tick() - began)
        this.#throttles.ended(item, ends)
        this.#parts.attempted?.(ends)
        if (this.#inFlight === 0) this.#idle?.()
        this.pump(pool)
      })
  }

  /** A member failed before the content was sent: another one may have the mail, if there is one. */
  #leave(item: RelayItem, pool: Pool, upstream: Upstream, { end, hurried }: MovedOn): void {
    item.tried.add(upstream.row.id)
    if (hurried === true) item.left.set(upstream.row.id, this.#around.tick())
    pool.forgive(item)
    // a member that might still have taken it weighs more than one that can not
    const isFinal = ({ reply }: AttemptEnd): boolean => (reply?.code ?? 0) >= 500
    if (item.last === null || isFinal(item.last) || !isFinal(end)) item.last = end
    const goesOn = pool.choose(() => 0, item.tried) !== 'none'
    if (goesOn) this.stats.failovers++
    item.before.push(moved(end, pool.row, goesOn || item.last !== end ? this.#parts.log : null))
  }

  /** Recipients that the upstream wants in another transaction. */
  #rest(pool: Pool, item: RelayItem, [first, ...others]: readonly Claimed[]): void {
    if (first === undefined) return
    this.#lanes.of(pool.row.id).backlog.addAgain({ ...item, claimed: first, others })
    if (this.#stopping) this.#giveBackAll(pool.row.id, this.#lanes.of(pool.row.id))
  }

  /** No member is left for it. */
  #giveUp(item: RelayItem): void {
    const { last } = item
    if (last === null) this.#giveBackItem(item, PARKED_MS)
    else for (const claimed of recipientsOf(item)) this.#conclude({ ...last, claimed })
  }

  /** Writes down how the attempt ended. */
  #conclude(end: AttemptEnd): void {
    const { settings, random, steadySince, journal, log } = this.#parts
    this.#around.crash('relay.before-settle')
    const pool = this.#parts.pools.get(end.claimed.poolId)?.row
    const plan = { ...settings, random, steadySince }
    const outcome = recorded(end, plan, this.stats, pool, settings.quiet === true ? null : log)
    journal.settle(outcome)
    // where our own report is refused, no address of a mailing has died
    if (isDead(outcome) && end.claimed.nullSender !== true)
      this.#parts.dead(outcome.recipientId, {
        reason: outcome.reason,
        text: outcome.reply?.text ?? '',
        upstreamId: end.upstreamId,
      })
  }

  #giveBack({ recipientId, leaseGen }: Claimed, delayMs: number): void {
    this.stats.released++
    this.#parts.journal.release({ recipientId, leaseGen }, this.#around.now() + delayMs)
  }

  #giveBackItem(item: RelayItem, delayMs: number): void {
    for (const claimed of recipientsOf(item)) this.#giveBack(claimed, delayMs)
  }

  #giveBackAll(poolId: string, lane: Lane): void {
    const items = [...lane.backlog.takeAll(), ...this.#throttles.takeAside(poolId)]
    for (const item of items) this.#giveBackItem(item, 0)
  }

  begunAt(poolId: string): number {
    return this.#lanes.of(poolId).begunAt
  }

  waiting(poolId: string): number {
    return this.#lanes.of(poolId).backlog.size
  }

  /** Begins anew with a pool that does nothing, whatever it may be waiting for. */
  restart(pool: Pool): void {
    this.#giveBackAll(pool.row.id, this.#lanes.of(pool.row.id))
    this.#lanes.drop(pool.row.id)
    this.resume(pool)
    this.#dueTimer.restart()
  }

  /** The recipient domains that are kept waiting, at most so many. */
  slow(most: number): SlowedDomain[] {
    return this.#throttles.slow(most)
  }

  /** A snapshot for the main side. */
  measure(): RelayStats {
    this.stats.inFlight = this.#inFlight
    this.stats.throttled = this.#throttles.deferred
    this.stats.throttledDomains = this.#throttles.size
    this.stats.waiting = this.#lanes.size
    this.stats.connections = this.#parts.pools.upstreams().reduce((sum, upstream) => sum + upstream.open, 0)
    return { ...this.stats }
  }
}
