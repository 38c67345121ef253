/**
 * NAME      poster - one endpoint: what it is posted, and what it answered
 *   Events of the log wait in a short queue, posts of the store are fetched when they are due, and at most
 *   `maxInFlight` of both are under way. A failed event is stored before its place moves past it. While the endpoint is
 *   failing, one post at a time is tried, at the times that health.ts says. Nothing in here waits for another endpoint.
 *   The store, the clock, the way to post, and the ways to tell. A wall clock that was set less than an hour ago is not
 *   believed: nothing is given up or disabled by it.
 *   Events are taken in the order of the log and answered in any order. The place is the mark after which the first
 *   unanswered event comes; it never passes one, and whoever goes on from it after a crash misses none.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SteadyClock } from '../base/clock.js'
import type { GiveWay } from '../base/give-way.js'
import type { Log } from '../base/log.js'
import type { EventType } from '../mail/event-type.js'
import type {
  BriefPost,
  DisabledReason,
  EndpointRow,
  EndpointState,
  Hooks,
  KeptPlace,
  KnownEndpoint,
  PostRow,
} from '../store/port/hooks.js'
import type { EventLog, LogRow } from '../store/port/log.js'
import { bodyOf, createWants, filterOf, postedType } from './body.js'
import {
  failed,
  type JudgedPost,
  LIFE_MS,
  MOST_WAITING,
  mayProbe,
  nextTry,
  shifted,
  succeeded,
} from './health.js'
import { afterTry, bornAt, NOT_POSTED, newPost, type Posted, type PostRequest, withoutEvent } from './post.js'

export type HookStore = Pick<
  Hooks,
  | 'allEndpoints'
  | 'endpoint'
  | 'keepPlaces'
  | 'waitingPosts'
  | 'savePosts'
  | 'adjustPosts'
  | 'disableEndpoint'
  | 'replays'
  | 'advanceReplay'
  | 'failedPosts'
> &
  Pick<EventLog, 'log' | 'follow' | 'logEnds' | 'loggedEvent' | 'addNotice'>

export interface PosterDeps {
  readonly store: HookStore
  readonly clock: SteadyClock
  readonly log: Log
  readonly random: () => number
  /** Hears of live mail: posts of test mail give way to it. */
  readonly way?: GiveWay | undefined
  /** Posts once; throws when it was stopped. */
  readonly post: (endpoint: EndpointRow, request: PostRequest) => Promise<Posted>
  /** A mark of the store as the public may have it. */
  readonly signMark: (mark: string, accountId: string) => string
}

const STEADY_MS = 3600_000
/** After the store could not do something. */
const AGAIN_MS = 1000

const isSteady = ({ clock }: PosterDeps): boolean => clock.tick() - clock.steadySince() >= STEADY_MS

/** An event about an endpoint, for the log of its account. */
export const tell = async (
  { store, clock, log }: PosterDeps,
  type: EventType,
  { id, accountId, workspaceId, mode, url }: EndpointRow,
  data: Readonly<Record<string, unknown>>,
): Promise<void> => {
  log.warn({ webhook: id, type }, 'webhook told of')
  const about = { webhook_id: id, endpoint: url, ...data }
  await store.addNotice({ type, accountId, workspaceId, mode, now: clock.now(), data: about })
}

/** Stores posts, however long the store can not (a full disk); false when it was stopped before. */
const save = async (
  { store, log }: PosterDeps,
  posts: readonly PostRow[],
  stopped: AbortSignal,
): Promise<boolean> => {
  for (let told = false; ; told = true) {
    try {
      await store.savePosts(posts)
      return true
    } catch (error) {
      if (!told) log.error({ error: (error as Error).message }, 'posts not stored')
      await sleep(AGAIN_MS, null, { signal: stopped }).catch(() => {})
      if (stopped.aborted) return false
    }
  }
}

/** The mark after which all stands that an endpoint may have been told and that was stored at this time or later. */
const markBefore = async ({ store }: PosterDeps, endpoint: EndpointRow, time: number): Promise<string> => {
  const filter = { ...filterOf(endpoint), types: null, createdBefore: time }
  const { rows } = await store.log(filter, { limit: 1, direction: 'older', anchor: null, countUpTo: 0 })
  return rows[0]?.mark ?? (await store.logEnds()).oldest
}

export interface Taken {
  /** Right after the event, and after all that was passed over since. */
  mark: string
  isAnswered: boolean
}

interface Place {
  readonly mark: string
  /** Taken, and behind the place for the lack of an answer. */
  readonly open: number
  /** An event that must be answered, and the mark right after it. */
  take(mark: string): Taken
  /** Up to here nothing more is to be answered. */
  pass(mark: string): void
  /** Taken in posts or stored as failed, durably. */
  answer(taken: Taken): void
}

export const createPlace = (start: string): Place => {
  let mark = start
  let taken: Taken[] = []
  let first = 0
  return {
    get mark() {
      return mark
    },
    get open() {
      return taken.length - first
    },
    take(at) {
      const one = { mark: at, isAnswered: false }
      taken.push(one)
      return one
    },
    pass(at) {
      const last = taken.at(-1)
      if (last === undefined) mark = at
      else last.mark = at
    },
    answer(one) {
      one.isAnswered = true
      for (let next = taken[first]; next?.isAnswered === true; next = taken[++first]) mark = next.mark
      if (first === taken.length) taken = []
      else if (first >= 1000) taken = taken.slice(first)
      else return
      first = 0
    },
  }
}

const QUEUE = 200
/** An endpoint that asks for time gets no post for this long at most. */
const LONGEST_PAUSE_S = 3600
/** A place that moved over nothing but what others are told is kept this often. */
const IDLE_KEEP_MS = 60_000
/** What is given up is gathered for so long before it is told. */
const [GATHER_MS, OLD_MS, HOUR] = [30_000, 60_000, 3600_000]

const NO_MORE = 'the endpoint is no more what it was'

interface Queued {
  readonly row: LogRow
  readonly taken: Taken
}

export class Poster {
  readMark: string
  isAtHead = false
  waiting: number
  #endpoint: EndpointRow
  #state: EndpointState
  #wants: (row: LogRow) => boolean
  readonly #deps: PosterDeps
  readonly #place: Place
  readonly #queue: Queued[] = []
  #due: PostRow[] = []
  readonly #inFlight = new Set<string>()
  readonly #running = new Set<Promise<void>>()
  /** Events that were stored as posts before a crash, and that the place has not passed. */
  readonly #stored: Set<string>
  /** Taken by its own reading, and read again at the head. */
  #joining: Set<string> | null = null
  #brief: BriefPost[] = []
  #isDirty = false
  #keptAt: number
  #pausedUntil = 0
  #lookedForOldAt = 0
  /** When the oldest event of those given up was stored; null: there are none, or they were before a restart. */
  #givenUpSince: number | null = null
  /** Since when such are gathered, on the tick clock. */
  #gatheredFrom: number | null = null
  readonly #abort = new AbortController()

  constructor(deps: PosterDeps, known: KnownEndpoint, mark: string, stored: readonly PostRow[]) {
    this.#deps = deps
    this.#endpoint = known
    this.#state = { ...known.state, mark }
    this.waiting = known.waiting
    this.#wants = createWants(known)
    this.#place = createPlace(mark)
    this.#stored = new Set(stored.filter(({ kind }) => kind === 'event').map(({ eventId }) => eventId))
    this.#keptAt = deps.clock.tick()
    this.#isDirty = known.state.mark === null
    this.readMark = mark
  }

  get endpoint(): EndpointRow {
    return this.#endpoint
  }

  get state(): EndpointState {
    return this.#state
  }

  /** As it is stored now: its settings, and how many posts wait. */
  update(known: KnownEndpoint, waiting = known.waiting): void {
    this.waiting = waiting
    if (known.updatedAt === this.#endpoint.updatedAt) return
    this.#endpoint = known
    this.#wants = createWants(known)
  }

  /** Resolves when all that is under way now has ended. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running)
  }

  get room(): number {
    if (this.waiting + this.#inFlight.size >= MOST_WAITING) return 0
    if (this.#state.health === 'healthy') return Math.max(0, QUEUE - this.#queue.length)
    return this.#queue.length === 0 && this.waiting === 0 ? 1 : 0
  }

  /**
   * Events in the order of the log, and the mark of what was looked at. When they are more than it can
   * take, it goes on by itself from where it stopped.
   */
  offer(rows: readonly LogRow[], mark: string, isEnd: boolean): void {
    for (const row of rows) {
      const isWanted = this.#wants(row)
      if (this.#joining !== null) {
        if (!isWanted || this.#joining.has(row.id)) continue
        this.#joining = null
      }
      if (isWanted && !this.#stored.delete(row.id)) {
        if (this.room === 0) {
          this.isAtHead = false
          return
        }
        this.#queue.push({ row, taken: this.#place.take(row.mark) })
      } else this.#place.pass(row.mark)
      this.readMark = row.mark
    }
    if (this.#joining !== null && !isEnd) return
    this.#joining = null
    this.#place.pass(mark)
    this.readMark = mark
  }

  /** From now on it is offered what is read for all, which may begin with events that it has. */
  join(known: readonly LogRow[]): void {
    this.isAtHead = true
    this.#joining = new Set(known.map(({ id }) => id))
  }

  /** Its place is older than the log: it goes on from here. */
  jump(mark: string): void {
    this.#place.pass(mark)
    this.readMark = mark
    this.#isDirty = true
  }

  /** Starts what may be started now. */
  async work(): Promise<void> {
    const { store, clock } = this.#deps
    const isFailing = this.#state.health === 'failing'
    if (!this.#mayStart(clock.now())) return isFailing ? this.#endOld() : undefined
    if (this.waiting > 0 && this.#due.length === 0) {
      const limit = isFailing ? 1 : this.#inFlight.size + this.#endpoint.maxInFlight
      // one that ends while they are read is still among them
      const before = new Set(this.#inFlight)
      const found = await store.waitingPosts(this.#endpoint.id, isFailing ? null : clock.now(), limit)
      this.#due = found.filter(({ id }) => !before.has(id))
    }
    this.#launch()
  }

  /** What is to be stored of it; null when nothing is new. */
  keep(): KeptPlace | null {
    const { clock } = this.#deps
    const isIdle = clock.tick() - this.#keptAt < IDLE_KEEP_MS
    const isSame = this.#place.mark === this.#state.mark
    if (!this.#isDirty && this.#brief.length === 0 && (isSame || isIdle)) return null
    const brief = this.#brief
    this.#brief = []
    this.#isDirty = false
    this.#keptAt = clock.tick()
    const { mark: was } = this.#state
    this.#state = { ...this.#state, mark: this.#place.mark }
    return { endpointId: this.#endpoint.id, state: this.#state, was, brief }
  }

  unkeep({ brief, was }: KeptPlace): void {
    this.#brief.unshift(...brief)
    this.#state = { ...this.#state, mark: was }
    this.#isDirty = true
  }

  /** While it fails: somebody believes that it is back. */
  probeNow(now: number): void {
    this.#state = { ...this.#state, probeAt: now }
  }

  /** The wall clock was set. */
  shift(by: number): void {
    this.#state = shifted(this.#state, by)
  }

  /** Tells its owners what was given up: gathered for a while, and once an hour; the rest when it ends. */
  async tellGivenUp(isEnd: boolean): Promise<void> {
    const { clock, signMark } = this.#deps
    const { givenUp, givenUpFrom, givenUpToldAt } = this.#state
    if (givenUp === 0) return
    const now = clock.now()
    this.#gatheredFrom ??= clock.tick()
    const isEarly = now - (givenUpToldAt ?? 0) < HOUR || clock.tick() - this.#gatheredFrom < GATHER_MS
    if (isEarly && !isEnd) return
    this.#gatheredFrom = null
    this.#givenUpSince = null
    this.#state = { ...this.#state, givenUp: 0, givenUpFrom: null, givenUpToldAt: now }
    this.#isDirty = true
    const since = givenUpFrom === null ? null : signMark(givenUpFrom, this.#endpoint.accountId)
    await tell(this.#deps, 'webhook.exhausted', this.#endpoint, { count: givenUp, since })
  }

  /** Nothing is begun any more; what is under way gets so long to end. Then its place is final. */
  async stop(graceMs: number): Promise<void> {
    this.#queue.length = 0
    this.#due = []
    this.#pausedUntil = Number.POSITIVE_INFINITY
    const timer = setTimeout(() => this.#abort.abort(), graceMs)
    await Promise.allSettled(this.#running)
    clearTimeout(timer)
    this.#abort.abort()
  }

  #mayStart(now: number): boolean {
    if (this.#deps.clock.tick() < this.#pausedUntil) return false
    if (this.#state.health === 'failing') return this.#inFlight.size === 0 && mayProbe(this.#state, now)
    return this.#inFlight.size < this.#endpoint.maxInFlight
  }

  #launch(): void {
    const now = this.#deps.clock.now()
    for (let n = 0; this.#mayStart(now); n++) {
      // taking turns, so that neither what is new nor what is tried again waits for the whole of the other
      const due = n % 2 === 0 || this.#queue.length === 0 ? this.#due.shift() : undefined
      // while it fails, what has failed before goes first, also when it is yet to be read
      const most = this.#state.health === 'failing' ? 1 : MOST_WAITING
      const isFull = this.waiting + this.#inFlight.size >= most
      const next = due === undefined && !isFull ? this.#queue.shift() : undefined
      if (due !== undefined) this.#start(due.id, (isProbe) => this.#again(due, isProbe))
      else if (next !== undefined) this.#start(next.row.id, (isProbe) => this.#first(next, isProbe), next)
      else return
    }
  }

  /** `queued` is begun again when the store was away. */
  #start(key: string, run: (isProbe: boolean) => Promise<void>, queued?: Queued): void {
    this.#inFlight.add(key)
    const isProbe = this.#state.health === 'failing'
    const running = this.#renew()
      .then(() => run(isProbe))
      .catch((error: Error) => {
        if (this.#abort.signal.aborted || error.message === NO_MORE) return
        this.#deps.log.error({ webhook: this.#endpoint.id, error: error.message }, 'post failed')
        this.#pausedUntil = Math.max(this.#pausedUntil, this.#deps.clock.tick() + AGAIN_MS)
        if (queued?.taken.isAnswered === false) this.#queue.unshift(queued)
      })
      .finally(() => {
        this.#inFlight.delete(key)
        this.#running.delete(running)
        // what gives way begins nothing but in its turn
        if (this.#endpoint.mode === 'live' || this.#deps.way?.isLive !== true) this.#launch()
      })
    this.#running.add(running)
  }

  /**
   * A new secret or URL holds from the next post on; one that was disabled or removed gets none, and what is under way to
   * it ends by itself.
   */
  async #renew(): Promise<void> {
    const { accountId, id } = this.#endpoint
    const known = await this.#deps.store.endpoint(accountId, id)
    if (known?.state.generation === this.#state.generation) return this.update(known, this.waiting)
    this.#pausedUntil = Number.POSITIVE_INFINITY
    throw new Error(NO_MORE)
  }

  async #send(row: LogRow): Promise<Posted> {
    const { signal } = this.#abort
    try {
      const body = bodyOf(row, this.#endpoint)
      return await this.#deps.post(this.#endpoint, { id: row.id, body, signal })
    } catch (error) {
      if (signal.aborted) throw error
      this.#deps.log.error({ webhook: this.#endpoint.id, error: (error as Error).message }, 'not posted')
      return NOT_POSTED
    }
  }

  /** An event of the log. */
  async #first({ row, taken }: Queued, isProbe: boolean): Promise<void> {
    if (!this.#wants(row)) return this.#place.answer(taken) // it was changed meanwhile
    const post = newPost(this.#endpoint, row, 'event', this.#deps.clock.now())
    const posted = await this.#send(row)
    const now = this.#deps.clock.now()
    if (posted.ok) {
      const { id: eventId, createdAt: eventAt, type } = row
      const eventType = postedType(type, this.#endpoint.events)
      const { status, ms } = posted
      this.#brief.push({ eventId, eventType, eventAt, status, ms, state: 'succeeded', at: now })
      this.#place.answer(taken)
      return this.#succeeded(now)
    }
    this.waiting++
    await this.#failed(post, posted, isProbe, taken)
  }

  /** A post that was stored. */
  async #again(post: PostRow, isProbe: boolean): Promise<void> {
    const { store, clock } = this.#deps
    const row = await store.loggedEvent(this.#endpoint.accountId, post.eventId)
    if (row === null) {
      await save(this.#deps, [withoutEvent(post, clock.now())], this.#abort.signal)
      this.waiting--
      return
    }
    const posted = await this.#send(row)
    const now = clock.now()
    if (!posted.ok) return this.#failed(post, posted, isProbe)
    await save(this.#deps, [afterTry(post, this.#endpoint, posted, null, now)], this.#abort.signal)
    this.waiting--
    await this.#succeeded(now)
  }

  async #succeeded(now: number): Promise<void> {
    const { state, tell } = succeeded(this.#state, now)
    this.#state = state
    await this.#tell(tell)
  }

  /** Stores a failed try, and draws the consequences. */
  async #failed(post: PostRow, posted: Posted, isProbe: boolean, taken?: Taken): Promise<void> {
    const { clock, random } = this.#deps
    const now = clock.now()
    const steady = isSteady(this.#deps)
    const { retryAfter: asked } = posted
    const attempts = post.attempts + 1
    const dueAt = nextTry({ attempts, from: bornAt(post), asked }, now, steady, random)
    const pause = Math.min(asked ?? 0, LONGEST_PAUSE_S) * 1000
    this.#pausedUntil = Math.max(this.#pausedUntil, clock.tick() + pause)
    const judged = failed(this.#state, this.#endpoint, {
      now,
      attempts,
      since: post.tries[0]?.at ?? now,
      asked,
      waiting: this.waiting,
      isSteady: steady,
      isProbe,
      random,
    })
    // at once, so that nothing more is started that the judgement forbids
    this.#state = judged.state
    this.#isDirty = true
    const stored = afterTry(post, this.#endpoint, posted, dueAt, now)
    if (!(await save(this.#deps, [stored], this.#abort.signal))) return
    if (taken !== undefined) this.#place.answer(taken)
    if (dueAt === null) await this.#giveUp([post])
    if (posted.status === 410) await this.#disable('gone')
    else await this.#tell(judged.tell)
  }

  async #tell(what: JudgedPost['tell']): Promise<void> {
    if (what === 'disable') return this.#disable('failures')
    if (what === null) return
    this.#isDirty = true
    const { failures, firstFailedAt } = this.#state
    const how = { failures, since: new Date(firstFailedAt ?? 0).toISOString(), waiting: this.waiting }
    await tell(this.#deps, `webhook.${what}`, this.#endpoint, what === 'failing' ? how : {})
  }

  /** The place as it is now is kept first: what is said of it later is not heard. */
  async #disable(reason: DisabledReason): Promise<void> {
    const { store, clock, log } = this.#deps
    const { accountId, id } = this.#endpoint
    this.#pausedUntil = Number.POSITIVE_INFINITY
    await this.tellGivenUp(true)
    const kept = this.keep()
    if (kept !== null) await store.keepPlaces([kept])
    log.warn({ webhook: id, reason }, 'webhook disabled')
    await store.disableEndpoint(accountId, id, reason, clock.now())
  }

  /** While it fails hardly anything is tried, so what is too old is looked for; nothing is posted meanwhile. */
  #endOld(): void {
    const tick = this.#deps.clock.tick()
    const isIdle = this.#inFlight.size === 0 && this.#pausedUntil !== Number.POSITIVE_INFINITY
    if (!isIdle || tick - this.#lookedForOldAt < OLD_MS || !isSteady(this.#deps)) return
    this.#lookedForOldAt = tick
    this.#start('old', () => this.#giveUpOld(this.#deps.clock.now()))
  }

  async #giveUpOld(now: number): Promise<void> {
    this.#due = []
    const all = await this.#deps.store.waitingPosts(this.#endpoint.id, null, MOST_WAITING)
    const old = all.filter((post) => bornAt(post) + LIFE_MS < now)
    if (old.length === 0) return
    const ended = old.map((post): PostRow => ({ ...post, state: 'failed', dueAt: null, updatedAt: now }))
    if (!(await save(this.#deps, ended, this.#abort.signal))) return
    await this.#giveUp(old)
  }

  /** Counts what was given up. A replay that begins at its mark posts all of it. */
  async #giveUp(posts: readonly PostRow[]): Promise<void> {
    const first = Math.min(...posts.map(({ eventAt }) => eventAt))
    this.waiting -= posts.length
    this.#state = { ...this.#state, givenUp: this.#state.givenUp + posts.length }
    this.#isDirty = true
    if (first >= (this.#givenUpSince ?? Number.POSITIVE_INFINITY)) return
    this.#givenUpSince = first
    const givenUpFrom = await markBefore(this.#deps, this.#endpoint, first)
    this.#state = { ...this.#state, givenUpFrom }
  }
}
