/**
 * NAME      log-reading - one log, read for many endpoints, and events again, many of them
 *     Those that are at the head of the log share one reading of it, of their mode alone: a flood of test mail is not
 *     read for live mail. One that cannot take what was read goes on by itself, from where it stopped, and joins the
 *     others again when it has come to the end: its reading ended no earlier than theirs, so what they are offered next
 *     begins before it or where it is, and what it has already is passed over by its id.
 *   NOTES
 *     Readings of one look come one after the other, which is what the above needs.
 *     Those that are behind get a part of each look's time and take turns for it.
 *   A replay is a walk over the log, or over the posts that failed, which makes posts of the kind `replay`, so many a
 *   second as the endpoint allows. The posts and how far the walk is are stored together, so a crash neither leaves out
 *   nor repeats one. It waits while its endpoint is disabled, or many posts wait.
 *   To one that is failing it gives a single post, at once, which tries whether it is back.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Mode } from '../lifecycle/page.js'
import type { EndpointRow, ListedPost, PostRow, ReplayRow } from '../store/port/hooks.js'
import type { LogFilter, LogRow } from '../store/port/log.js'
import { createWants, filterOf } from './body.js'
import { newPost } from './post.js'
import { type HookStore, type Poster, type PosterDeps, tell } from './poster.js'

const AT_HEAD = 500
const BEHIND = 100
/** Milliseconds of each look for those that are behind. */
const SHARE_MS = 40

interface Reading {
  /** Reads on for all that have room; true when there is more to read. */
  look(posters: readonly Poster[]): Promise<boolean>
}

/** What it had not read is gone: it goes on from what is left, and its owner is told. */
const skipLost = async (deps: PosterDeps, poster: Poster): Promise<void> => {
  const { oldest } = await deps.store.logEnds()
  const since = deps.signMark(oldest, poster.endpoint.accountId)
  poster.jump(oldest)
  await tell(deps, 'webhook.exhausted', poster.endpoint, { count: null, since })
}

/** One reading for all of a mode that are at the end of the log, from `head` on; where the next one begins. */
const readHead = async (
  { store }: PosterDeps,
  mode: Mode,
  head: string | null,
  posters: readonly Poster[],
): Promise<{ readonly head: string | null; readonly isMore: boolean }> => {
  const present = posters.filter(({ isAtHead }) => isAtHead)
  if (present.length === 0 || head === null) return { head: null, isMore: false }
  const read = await store.follow({ types: null, mode }, head, AT_HEAD)
  if (read === 'gone') {
    // not while somebody follows it; whoever does finds its own way
    for (const poster of present) poster.isAtHead = false
    return { head: null, isMore: true }
  }
  for (const poster of present) poster.offer(read.rows, read.mark, read.isEnd)
  return { head: read.mark, isMore: !read.isEnd }
}

export const createReading = (deps: PosterDeps, mode: Mode): Reading => {
  const { store, clock } = deps
  let head: string | null = null
  let next = 0

  /** One reading of one that is behind; true when it is still. */
  const readOn = async (poster: Poster): Promise<boolean> => {
    const read = await store.follow(filterOf(poster.endpoint), poster.readMark, Math.min(poster.room, BEHIND))
    if (read === 'gone') {
      await skipLost(deps, poster)
      return true
    }
    poster.offer(read.rows, read.mark, read.isEnd)
    if (!read.isEnd || poster.readMark !== read.mark) return true
    head ??= read.mark
    poster.join(read.rows)
    return false
  }

  return {
    async look(posters) {
      const read = await readHead(deps, mode, head, posters)
      head = read.head
      let { isMore } = read
      const behind = posters.filter(({ isAtHead, room }) => !isAtHead && room > 0)
      const end = clock.tick() + SHARE_MS
      for (let n = 0; n < behind.length; n++) {
        if (n > 0 && clock.tick() > end) {
          next += n
          return true
        }
        const poster = behind[(next + n) % behind.length] as Poster
        isMore = (await readOn(poster)) || isMore
        await turn()
      }
      return isMore
    },
  }
}

const MOST_WAITING = 500

/** What of the log a replay is about. */
type Span = Pick<ReplayRow, 'since' | 'until'>

const spanFilter = (endpoint: EndpointRow, { since, until }: Span): LogFilter => ({
  ...filterOf(endpoint),
  createdAfter: since === null ? null : since - 1,
  createdBefore: until + 1,
})

/** A part of the log that is older than it is kept is passed over. */
const readOn = async (
  store: Pick<HookStore, 'follow' | 'logEnds'>,
  filter: LogFilter,
  from: string | null,
  limit: number,
) => {
  const read = await store.follow(filter, from, limit)
  if (read !== 'gone') return read
  return { rows: [], mark: (await store.logEnds()).oldest, isEnd: false }
}

const againOf = (endpoint: EndpointRow, post: ListedPost, now: number): PostRow => {
  const { eventId, eventType, eventAt } = post
  const row = { id: eventId, type: eventType, createdAt: eventAt } as Pick<
    LogRow,
    'id' | 'type' | 'createdAt'
  >
  return { ...newPost(endpoint, row, 'replay', now), eventType }
}

interface Replays {
  /** Goes on with those whose endpoints can take some. */
  look(replays: readonly ReplayRow[], posters: ReadonlyMap<string, Poster>): Promise<void>
}

export const createReplays = ({ store, clock }: PosterDeps): Replays => {
  /** When an endpoint was last given some, on the tick clock. */
  const given = new Map<string, number>()

  const nextOf = async (replay: ReplayRow, endpoint: EndpointRow, limit: number) => {
    const now = clock.now()
    const { place, since, until } = replay
    if (replay.failed) {
      const { posts, next } = await store.failedPosts(endpoint.id, since, until, place, limit)
      return { posts: posts.map((post) => againOf(endpoint, post, now)), next }
    }
    const read = await readOn(store, spanFilter(endpoint, { since, until }), place, limit)
    const posts = read.rows.filter(createWants(endpoint)).map((row) => newPost(endpoint, row, 'replay', now))
    return { posts, next: read.isEnd ? null : read.mark }
  }

  const goOn = async (replay: ReplayRow, poster: Poster): Promise<void> => {
    const { endpoint, waiting, state } = poster
    const now = clock.tick()
    const last = given.get(endpoint.id) ?? now - 1000
    const fits = Math.floor(Math.min(now - last, 1000) * (endpoint.replayRate / 1000))
    const isFailing = state.health === 'failing'
    const limit = Math.min(fits, isFailing ? 1 - waiting : MOST_WAITING - waiting)
    if (limit < 1) return
    if (isFailing && replay.made === 0) poster.probeNow(clock.now())
    given.set(endpoint.id, now)
    const { posts, next } = await nextOf(replay, endpoint, limit)
    await store.advanceReplay(replay.id, next, posts)
  }

  return {
    async look(replays, posters) {
      const busy = new Set<string>()
      for (const replay of replays) {
        const poster = posters.get(replay.endpointId)
        if (poster === undefined || busy.has(replay.endpointId)) continue
        busy.add(replay.endpointId)
        await goOn(replay, poster)
      }
    },
  }
}
