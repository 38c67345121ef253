/**
 * NAME      posts - writing places, posts and replays; the housekeeping of them
 * DESCRIPTION
 *   Of an endpoint that is gone nothing is stored any more.
 */
import type { KeptPlace, PostRow, Posts } from '../../port/hooks.js'
import type { Writes } from '../../port/verbs.js'
import { KEPT_ENDED, POSTS_KEPT_MS } from '../../rules/posts.js'
import { inserter } from '../order/insert.js'
import type { WriteContext } from '../write/context.js'
import { encodeBrief } from './brief.js'
import { PLACES, POSTS, REPLAYS } from './tables.js'

const STEP = 200

const prepare = ({ db }: WriteContext) => ({
  isThere: db.prepare<[string], number>('SELECT 1 FROM webhooks WHERE id = ? AND deleted_at IS NULL').pluck(),
  known: db
    .prepare<[string, string, string], string>(
      `SELECT id FROM posts WHERE id = ? UNION ALL
       SELECT id FROM posts WHERE endpoint_id = ? AND event_id = ? AND kind = 'event' LIMIT 1`,
    )
    .pluck(),
  brief: db.prepare(
    'INSERT INTO brief_posts (endpoint_id, first, last, n, failed, at, posts) VALUES (?, ?, ?, ?, ?, ?, ?)',
  ),
  trim: db.prepare<[string]>(
    `DELETE FROM posts WHERE id IN (SELECT id FROM posts WHERE endpoint_id = ? AND due_at IS NULL
       ORDER BY ord DESC LIMIT ${2 * STEP} OFFSET ${KEPT_ENDED})`,
  ),
  advance: db.prepare('UPDATE replays SET place = ?, made = made + ? WHERE id = ?'),
  endReplay: db.prepare('DELETE FROM replays WHERE id = ?'),
  adjust: db.prepare('UPDATE posts SET due_at = min(due_at + @by, @now + @longest) WHERE due_at IS NOT NULL'),
  adjustPlaces: db.prepare(
    `UPDATE webhook_places SET probe_at = min(probe_at + @by, @now + @longest), failing_since = failing_since + @by,
       first_failed_at = first_failed_at + @by, last_failed_at = last_failed_at + @by,
       last_succeeded_at = last_succeeded_at + @by, given_up_told_at = given_up_told_at + @by`,
  ),
})

export const createPostWrites = (context: WriteContext): Writes<Posts> => {
  const sql = prepare(context)
  const insert = inserter(context, POSTS)
  const insertReplay = inserter(context, REPLAYS)
  /** Ended posts of an endpoint since it was last trimmed. */
  const ended = new Map<string, number>()

  const savePost = (post: PostRow): void => {
    if (sql.isThere.get(post.endpointId) === undefined) return
    const known = sql.known.get(post.id, post.endpointId, post.kind === 'event' ? post.eventId : '')
    if (known === undefined) insert(post)
    else {
      const { id: _, createdAt: __, ...rest } = post
      const { set, values } = POSTS.change(rest)
      context.db.prepare(`UPDATE posts SET ${set} WHERE id = ?`).run(...values, known)
    }
    if (post.dueAt !== null) return
    const n = (ended.get(post.endpointId) ?? 0) + 1
    ended.set(post.endpointId, n % STEP)
    if (n === STEP) sql.trim.run(post.endpointId)
  }

  const keepBrief = ({ endpointId, brief }: KeptPlace, failed: boolean): void => {
    const posts = brief.filter(({ state }) => (state === 'failed') === failed)
    const latest = posts.at(-1)
    if (latest === undefined) return
    const { first, last, text } = encodeBrief(posts, () => context.order.next())
    sql.brief.run(endpointId, first, last, posts.length, Number(failed), latest.at, text)
  }

  return {
    savePosts: (posts) => {
      for (const post of posts) savePost(post)
    },
    addReplay: (row) => void insertReplay(row),
    advanceReplay(id, place, posts) {
      for (const post of posts) savePost(post)
      if (place === null) sql.endReplay.run(id)
      else sql.advance.run(place, posts.length, id)
    },
    keepPlaces(kept) {
      for (const one of kept) {
        if (sql.isThere.get(one.endpointId) === undefined) continue
        const { set, values } = PLACES.change(one.state)
        context.db
          .prepare(`UPDATE webhook_places SET ${set} WHERE endpoint_id = ? AND generation = ?`)
          .run(...values, one.endpointId, one.state.generation)
        keepBrief(one, false)
        keepBrief(one, true)
      }
    },
    adjustPosts(now, by, longest) {
      sql.adjust.run({ now, by, longest })
      sql.adjustPlaces.run({ now, by, longest })
    },
  }
}

/** A step over what is old or has lost its endpoint; resolves with the rows removed, none when there are none. */
export const createPostSweep = ({ db }: Pick<WriteContext, 'db'>) => {
  const old = [
    `DELETE FROM posts WHERE id IN (SELECT id FROM posts WHERE due_at IS NULL AND updated_at < ? LIMIT ${STEP})`,
    `DELETE FROM brief_posts WHERE (endpoint_id, first) IN
       (SELECT endpoint_id, first FROM brief_posts WHERE at < ? LIMIT ${STEP})`,
  ].map((text) => db.prepare(text))
  const gone = db.prepare<[], string>('SELECT id FROM webhooks WHERE deleted_at IS NOT NULL LIMIT 1').pluck()
  const ofGone = [
    `DELETE FROM posts WHERE id IN (SELECT id FROM posts WHERE endpoint_id = ? LIMIT ${STEP})`,
    `DELETE FROM brief_posts WHERE (endpoint_id, first) IN
       (SELECT endpoint_id, first FROM brief_posts WHERE endpoint_id = ? LIMIT ${STEP})`,
  ].map((text) => db.prepare(text))
  const last = ['webhook_places WHERE endpoint_id', 'replays WHERE endpoint_id', 'webhooks WHERE id'].map(
    (from) => db.prepare(`DELETE FROM ${from} = ?`),
  )
  const run = (statements: typeof old, value: unknown): number =>
    statements.reduce((removed, statement) => removed + statement.run(value).changes, 0)
  return (now: number): number => {
    const id = gone.get()
    const rows = run(old, now - POSTS_KEPT_MS) + (id === undefined ? 0 : run(ofGone, id))
    return rows > 0 || id === undefined ? rows : run(last, id)
  }
}
