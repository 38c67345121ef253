/**
 * NAME      replay - events again, many of them
 * DESCRIPTION
 *   A replay is a walk over the log, or over the posts that failed, which makes posts
 *   of the kind `replay`, so many a second as the endpoint allows. The posts and how
 *   far the walk is are stored together, so a crash neither leaves out nor repeats
 *   one. It waits while its endpoint is disabled, or many posts wait. To one that is
 *   failing it gives a single post, at once, which tries whether it is back.
 */
import type { EndpointRow, ListedPost, PostRow, ReplayRow } from '../../store/port/hooks.js'
import type { LogFilter, LogRow } from '../../store/port/log.js'
import { createWants, filterOf } from '../match.js'
import { newPost } from '../record.js'
import type { Deps, HookStore } from './deps.js'
import type { Poster } from './poster.js'

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

export const createReplays = ({ store, clock }: Deps): Replays => {
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
