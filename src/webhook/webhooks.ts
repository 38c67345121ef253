/**
 * NAME      webhooks - the service that posts events to endpoints
 *   Follows the log, gives each enabled endpoint what it asks for, and keeps the places once a second. What is stored
 *   of endpoints (new ones, changes, what was enabled or disabled) is read twice a second and is the truth: an endpoint
 *   whose generation has changed begins anew from its stored place.
 *   Endpoints of live and of test mail are read for and posted to apart: no endpoint of test mail keeps one of live
 *   mail waiting, and while live mail is about, what was done for test mail is followed by a rest (base/give-way.ts).
 *   Endpoints are called by the configuration's rules, and their secrets are opened for the moment of a post.
 * NOTES
 *   Looks are timed on the machine's timers; whatever is compared with a stored time is compared with the clock that is
 *   given.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, steadyClock } from '../base/clock.js'
import { diallerOf } from '../base/dial.js'
import type { GiveWay } from '../base/give-way.js'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import type { Config } from '../config/config.js'
import type { Mode } from '../lifecycle/page.js'
import { MarkCodec } from '../record/event.js'
import type { KnownEndpoint } from '../store/port/hooks.js'
import { targetOf } from './endpoints.js'
import { LONGEST_WAIT_MS, MOST_WAITING } from './health.js'
import { createReading, createReplays } from './log-reading.js'
import { createPost } from './post.js'
import { type HookStore, Poster, type PosterDeps } from './poster.js'

const LOOK_MS = 50
const LOAD_MS = 500
const KEEP_MS = 1000
const REPLAY_MS = 200
const GRACE_MS = 2000
/** Of endpoints of test mail; a stop waits for it. */
const LONGEST_REST_MS = 1000
/** Longer than any post takes. */
const LAST_POSTS_MS = 20_000

export interface WebhookParts extends Omit<PosterDeps, 'clock' | 'random'> {
  readonly clock: Clock
  readonly random?: () => number
}

/** Runs a thing at most every so many milliseconds. */
const every = (ms: number, run: () => Promise<void>): (() => Promise<void>) => {
  let last = Number.NEGATIVE_INFINITY
  return async () => {
    const now = performance.now()
    if (now - last < ms) return
    last = now
    await run()
  }
}

class Engine {
  readonly #deps: PosterDeps
  readonly #posters = new Map<string, Poster>()
  /** What is under way to endpoints that were disabled or enabled ends first, and its place is kept. */
  readonly #leaving = new Map<string, { readonly poster: Poster; readonly left: Promise<void> }>()
  readonly #replays
  #steppedBy = 0
  #isReplaying = false
  #isStopped = false
  #loops: Promise<unknown> = Promise.resolve()

  constructor(parts: WebhookParts) {
    const clock = steadyClock(parts.clock, (by) => {
      this.#steppedBy += by
    })
    this.#deps = { ...parts, random: parts.random ?? Math.random, clock }
    this.#replays = createReplays(this.#deps)
  }

  async start(): Promise<void> {
    const { store, clock } = this.#deps
    await store.adjustPosts(clock.now(), 0, LONGEST_WAIT_MS)
    await this.#load()
    this.#loops = Promise.all([this.#run(this.#liveTurn()), this.#run(this.#testTurn())])
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#loops
    const leaving = [...this.#leaving.values()]
    const ending = [...this.#posters.values(), ...leaving.map(({ poster }) => poster)]
    await Promise.all(ending.map((poster) => poster.stop(GRACE_MS)))
    await Promise.all(leaving.map(({ left }) => left))
    await this.#keep()
    this.#posters.clear()
  }

  /** Turn after turn, each of which tells how long to rest after it. */
  async #run(turn: () => Promise<number>): Promise<void> {
    let failed = ''
    while (!this.#isStopped) {
      let rest = LOOK_MS
      try {
        rest = await turn()
        failed = ''
      } catch (error) {
        const { message } = error as Error
        if (message !== failed) this.#deps.log.error({ error: message }, 'webhooks failed')
        failed = message
      }
      await sleep(rest)
    }
  }

  /** Reads on for the endpoints of one mode, and starts what may be started; true when there is more to read. */
  #work(mode: Mode): () => Promise<boolean> {
    const reading = createReading(this.#deps, mode)
    const replay = every(REPLAY_MS, () => this.#replay(mode))
    return async () => {
      const isMore = await reading.look(this.#postersOf(mode))
      await replay()
      await Promise.all(this.#postersOf(mode).map((poster) => poster.work()))
      return isMore
    }
  }

  #postersOf(mode: Mode): readonly Poster[] {
    return [...this.#posters.values()].filter(({ endpoint }) => endpoint.mode === mode)
  }

  /** Also does what is done for all. */
  #liveTurn(): () => Promise<number> {
    const load = every(LOAD_MS, () => this.#load())
    const keep = every(KEEP_MS, () => this.#keep())
    const work = this.#work('live')
    return async () => {
      await this.#followClock()
      await load()
      const isMore = await work()
      await keep()
      return isMore ? 1 : LOOK_MS
    }
  }

  #testTurn(): () => Promise<number> {
    const { way } = this.#deps
    const work = this.#work('test')
    return async () => {
      const began = performance.now()
      const isMore = await work()
      const rest = isMore ? 1 : LOOK_MS
      if (way?.isLive !== true) return rest
      const ended = this.#postersOf('test').map((poster) => poster.ended())
      await Promise.race([Promise.all(ended), sleep(LOOK_MS)])
      return Math.min(LONGEST_REST_MS, Math.max(rest, way.restAfter(performance.now() - began)))
    }
  }

  /** Endpoints as they are stored now. */
  async #load(): Promise<void> {
    const { store } = this.#deps
    // what is read while one leaves may be older than what it leaves
    const leaving = new Set(this.#leaving.keys())
    const all = await store.allEndpoints()
    const known = all.filter(({ status }) => status === 'enabled')
    const [ids, there] = [known, all].map((rows) => new Set(rows.map(({ id }) => id))) as [
      Set<string>,
      Set<string>,
    ]
    for (const [id, poster] of this.#posters)
      if (!ids.has(id)) this.#drop(id, poster, there.has(id) ? LAST_POSTS_MS : 0)
    for (const one of known) {
      const poster = this.#posters.get(one.id)
      if (poster?.state.generation === one.state.generation) poster.update(one)
      else if (poster !== undefined) this.#drop(one.id, poster, LAST_POSTS_MS)
      else if (!leaving.has(one.id)) this.#posters.set(one.id, await this.#begin(one))
    }
    this.#isReplaying = known.length > 0 && (await store.replays()).length > 0
  }

  /** From where they are stored to be now: what was read before has moved on. */
  async #replay(mode: Mode): Promise<void> {
    if (!this.#isReplaying) return
    const posters = new Map(this.#postersOf(mode).map((poster) => [poster.endpoint.id, poster]))
    await this.#replays.look(await this.#deps.store.replays(), posters)
  }

  async #begin(known: KnownEndpoint): Promise<Poster> {
    const { store } = this.#deps
    const mark = known.state.mark ?? (await store.logEnds()).newest
    const stored = known.waiting === 0 ? [] : await store.waitingPosts(known.id, null, MOST_WAITING)
    return new Poster(this.#deps, known, mark, stored)
  }

  #drop(id: string, poster: Poster, graceMs: number): void {
    this.#posters.delete(id)
    const left = this.#leave(poster, graceMs).finally(() => this.#leaving.delete(id))
    this.#leaving.set(id, { poster, left })
  }

  /** What it was posted is listed, and how far it came is kept, for whoever begins there. */
  async #leave(poster: Poster, graceMs: number): Promise<void> {
    await poster.stop(graceMs)
    const kept = poster.keep()
    if (kept === null) return
    await this.#deps.store.keepPlaces([kept]).catch((error: Error) => {
      this.#deps.log.error({ error: error.message }, 'posts not listed')
    })
  }

  async #keep(): Promise<void> {
    for (const poster of this.#posters.values()) await poster.tellGivenUp(false)
    const kept = [...this.#posters.values()].flatMap((poster) => {
      const one = poster.keep()
      return one === null ? [] : [{ poster, one }]
    })
    if (kept.length === 0) return
    try {
      await this.#deps.store.keepPlaces(kept.map(({ one }) => one))
    } catch (error) {
      for (const { poster, one } of kept) poster.unkeep(one)
      throw error
    }
  }

  /** What waits, waits as long as before the wall clock was set. */
  async #followClock(): Promise<void> {
    const { store, clock } = this.#deps
    const now = clock.now()
    const by = this.#steppedBy
    if (by === 0) return
    this.#steppedBy = 0
    for (const poster of this.#posters.values()) poster.shift(by)
    await store.adjustPosts(now, by, LONGEST_WAIT_MS)
  }
}

export const createWebhooks = (parts: WebhookParts): Service => {
  let engine: Engine | null = null
  return {
    name: 'webhooks',
    async start() {
      engine ??= new Engine(parts)
      await engine.start()
    },
    async stop() {
      await engine?.stop()
      engine = null
    },
  }
}

interface PostingParts {
  readonly store: HookStore
  readonly config: Config
  readonly pepper: Uint8Array
  readonly clock: Clock
  readonly log: Log
  readonly way: GiveWay
}

export const createPosting = ({ store, config, pepper, clock, log, way }: PostingParts): Service => {
  const dialler = diallerOf(config)
  const post = createPost(dialler, clock)
  const marks = new MarkCodec(pepper)
  const engine = createWebhooks({
    store,
    log,
    way,
    clock,
    post: (endpoint, request) => post(targetOf(pepper, endpoint, clock.now()), request),
    signMark: (mark, accountId) => marks.write(mark, accountId),
  })
  return {
    name: engine.name,
    start: () => engine.start(),
    async stop() {
      await engine.stop()
      await dialler.close()
    },
  }
}
