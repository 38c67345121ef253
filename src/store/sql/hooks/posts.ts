/**
 * NAME      posts - writing places, posts and replays; the housekeeping of them
 * DESCRIPTION
 *   Of an endpoint that is gone nothing is stored any more.
 */
import type { KeptPlace, PostRow, Posts } from '../../port/hooks.js'
import { KEPT_ENDED, POSTS_KEPT_MS } from '../../rules/tenants.js'
import { insertInto, type Places } from '../insert.js'
import { type AskedWrites, type Asking, first, run } from '../query.js'
import { change, isThere } from '../rows.js'
import { encodeBrief } from './brief.js'
import { PLACES, POSTS, REPLAYS } from './tables.js'

const STEP = 200

const KNOWN = `SELECT id FROM posts WHERE id = ? UNION ALL
  SELECT id FROM posts WHERE endpoint_id = ? AND event_id = ? AND kind = 'event' LIMIT 1`
const BRIEF =
  'INSERT INTO brief_posts (endpoint_id, first, last, n, failed, at, posts) VALUES (?, ?, ?, ?, ?, ?, ?)'
const TRIM = `DELETE FROM posts WHERE id IN (SELECT id FROM posts WHERE endpoint_id = ? AND due_at IS NULL
  ORDER BY ord DESC LIMIT ${2 * STEP} OFFSET ${KEPT_ENDED})`

const isKept = (endpointId: string): Asking<boolean> =>
  isThere('SELECT 1 FROM webhooks WHERE id = ? AND deleted_at IS NULL', endpointId)

/** Saves posts one by one. */
const saving = (places: Places) => {
  const insert = insertInto(POSTS, places)
  /** Ended posts of an endpoint since it was last trimmed. */
  const ended = new Map<string, number>()
  return function* (post: PostRow): Asking<void> {
    const { id, endpointId, createdAt: _, ...rest } = post
    if (!(yield* isKept(endpointId))) return
    const known = yield* first(KNOWN, id, endpointId, post.kind === 'event' ? post.eventId : '')
    if (known === null) yield* insert(post)
    else yield* change(POSTS, { ...rest, endpointId }, 'id = ?', known.id)
    if (post.dueAt !== null) return
    const n = (ended.get(endpointId) ?? 0) + 1
    ended.set(endpointId, n % STEP)
    if (n === STEP) yield* run(TRIM, endpointId)
  }
}

function* keepBrief({ endpointId, brief }: KeptPlace, failed: boolean, places: Places): Asking<void> {
  const posts = brief.filter(({ state }) => (state === 'failed') === failed)
  const latest = posts.at(-1)
  if (latest === undefined) return
  const { first, last, text } = encodeBrief(posts, () => places.next())
  yield* run(BRIEF, endpointId, first, last, posts.length, Number(failed), latest.at, text)
}

export const postWrites = (places: Places): AskedWrites<Posts> => {
  const save = saving(places)
  const insertReplay = insertInto(REPLAYS, places)
  return {
    *savePosts(posts) {
      for (const post of posts) yield* save(post)
    },
    *addReplay(row) {
      yield* insertReplay(row)
    },
    *advanceReplay(id, place, posts) {
      for (const post of posts) yield* save(post)
      if (place === null) yield* run('DELETE FROM replays WHERE id = ?', id)
      else yield* run('UPDATE replays SET place = ?, made = made + ? WHERE id = ?', place, posts.length, id)
    },
    *keepPlaces(kept) {
      for (const one of kept) {
        if (!(yield* isKept(one.endpointId))) continue
        const { endpointId, state, was } = one
        const { generation, mark } = state
        const isCurrent = yield* change(
          PLACES,
          state,
          'endpoint_id = ? AND generation = ?',
          endpointId,
          generation,
        )
        if (isCurrent === 0 && was !== null)
          yield* change(PLACES, { mark }, 'endpoint_id = ? AND mark = ?', endpointId, was)
        yield* keepBrief(one, false, places)
        yield* keepBrief(one, true, places)
      }
    },
    *adjustPosts(now, by, longest) {
      const latest = now + longest
      yield* run(
        'UPDATE posts SET due_at = CASE WHEN due_at + ? > ? THEN ? ELSE due_at + ? END WHERE due_at IS NOT NULL',
        ...[by, latest, latest, by],
      )
      yield* run(
        `UPDATE webhook_places SET probe_at = CASE WHEN probe_at + ? > ? THEN ? ELSE probe_at + ? END,
           failing_since = failing_since + ?, first_failed_at = first_failed_at + ?, last_failed_at = last_failed_at + ?,
           last_succeeded_at = last_succeeded_at + ?, given_up_told_at = given_up_told_at + ?`,
        ...[by, latest, latest, by, by, by, by, by, by],
      )
    },
  }
}

const OLD = [
  `DELETE FROM posts WHERE id IN (SELECT id FROM posts WHERE due_at IS NULL AND updated_at < ? LIMIT ${STEP})`,
  `DELETE FROM brief_posts WHERE (endpoint_id, first) IN
     (SELECT endpoint_id, first FROM brief_posts WHERE at < ? LIMIT ${STEP})`,
]
const OF_GONE = [
  `DELETE FROM posts WHERE id IN (SELECT id FROM posts WHERE endpoint_id = ? LIMIT ${STEP})`,
  `DELETE FROM brief_posts WHERE (endpoint_id, first) IN
     (SELECT endpoint_id, first FROM brief_posts WHERE endpoint_id = ? LIMIT ${STEP})`,
]
const GONE = ['webhook_places WHERE endpoint_id', 'replays WHERE endpoint_id', 'webhooks WHERE id'].map(
  (from) => `DELETE FROM ${from} = ?`,
)

function* runAll(texts: readonly string[], value: unknown): Asking<number> {
  let changed = 0
  for (const text of texts) changed += yield* run(text, value)
  return changed
}

/** A step over what is old or has lost its endpoint; the rows removed, none when there are none. */
export function* sweepPosts(now: number): Asking<number> {
  const gone = yield* first('SELECT id FROM webhooks WHERE deleted_at IS NOT NULL LIMIT 1')
  const old = yield* runAll(OLD, now - POSTS_KEPT_MS)
  if (gone === null) return old
  const rows = old + (yield* runAll(OF_GONE, gone.id))
  return rows > 0 ? rows : yield* runAll(GONE, gone.id)
}
