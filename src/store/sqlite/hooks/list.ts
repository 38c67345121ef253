/**
 * NAME      list - the posts of an endpoint, over both of their tables
 * DESCRIPTION
 *   Rows of `posts` and the posts inside the rows of `brief_posts` are merged by
 *   their places. Rows of the second never overlap, so of those only the ones that
 *   a page needs are read; the first may begin on the other side of its boundary.
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { FailedPosts, ListedPost } from '../../port/hooks.js'
import { isLost } from '../../rules/posts.js'
import { ordAt, TOP } from '../../sql/order/ord.js'
import { boundaryOf, markOf } from '../../sql/pages/marks.js'
import type { Statements } from '../read/statements.js'
import { decodeBrief, type Placed } from './brief.js'
import { POSTS } from './tables.js'

const COLUMNS = `${POSTS.columns}, ord`

/** What of an endpoint's posts a reader wants. */
interface Wanted {
  readonly endpointId: string
  readonly failed: boolean
}

const ofPosts = (failed: boolean): string =>
  `FROM posts WHERE endpoint_id = ?${failed ? ' AND cause IS NOT NULL' : ''}`
const ofBrief = (failed: boolean): string =>
  `FROM brief_posts WHERE endpoint_id = ?${failed ? ' AND failed = 1' : ''}`

/** The nearest posts below a boundary, downward, or above it, upward. */
const nearest = (
  sql: Statements,
  { endpointId, failed }: Wanted,
  isOlder: boolean,
  boundary: number,
  limit: number,
): Placed[] => {
  const [compare, order] = isOlder ? ['<', 'DESC'] : ['>=', 'ASC']
  const isWithin = ({ ord }: Placed): boolean => (isOlder ? ord < boundary : ord >= boundary)
  const found: Placed[] = sql(
    `SELECT ${COLUMNS} ${ofPosts(failed)} AND ord ${compare} ? ORDER BY ord ${order} LIMIT ? + 0`,
  )
    .all(endpointId, boundary, limit)
    .map((row) => ({ ord: row.ord as number, post: POSTS.decode(row) }))
  const brief: Placed[] = []
  const take = (row: unknown): void => {
    const { failed, posts } = row as { failed: number; posts: string }
    const all = decodeBrief(endpointId, failed === 1, posts).filter(isWithin)
    brief.push(...(isOlder ? all.reverse() : all))
  }
  if (!isOlder) {
    const across = sql(
      `SELECT failed, posts ${ofBrief(failed)} AND first < ? ORDER BY first DESC LIMIT 1`,
    ).get(endpointId, boundary)
    if (across !== undefined) take(across)
  }
  const rows = sql(`SELECT failed, posts ${ofBrief(failed)} AND first ${compare} ? ORDER BY first ${order}`)
  for (const row of rows.iterate(endpointId, boundary)) {
    if (brief.length >= limit) break
    take(row)
  }
  const sign = isOlder ? -1 : 1
  return [...found, ...brief].sort((a, b) => sign * (a.ord - b.ord)).slice(0, limit)
}

const countUpTo = (sql: Statements, { endpointId, failed }: Wanted, most: number): number => {
  const posts = sql(`SELECT count(*) AS n FROM (SELECT 1 ${ofPosts(failed)} LIMIT ? + 0)`).get(
    endpointId,
    most,
  )
  let total = Number(posts?.n ?? 0)
  for (const row of sql(`SELECT n ${ofBrief(failed)}`).iterate(endpointId)) {
    if (total >= most) break
    total += row.n as number
  }
  return Math.min(total, most)
}

const MOST_LOOKED_AT = 4000
const NO_IDS = { from: 'posts WHERE false', params: [] }

export const createPostList = (sql: Statements) => ({
  posts: (endpointId: string, failed: boolean, page: Page): Rows<ListedPost> => {
    const wanted = { endpointId, failed }
    const isOlder = page.direction === 'older'
    const boundary = sql.ask(boundaryOf(NO_IDS, page))
    const found = nearest(sql, wanted, isOlder, boundary, page.limit + 1)
    const rows = found.slice(0, page.limit)
    if (!isOlder) rows.reverse()
    const older = rows.at(-1)?.ord ?? (boundary === TOP ? 0 : boundary)
    const newer = rows[0] === undefined ? older : rows[0].ord + 1
    const isThere = (side: boolean, from: number): boolean => nearest(sql, wanted, side, from, 1).length > 0
    const more = found.length > page.limit
    return {
      rows: rows.map(({ post }) => post),
      hasOlder: isOlder ? more : isThere(true, older),
      hasNewer: isOlder ? page.anchor !== null && isThere(false, newer) : more,
      older: markOf(older),
      newer: markOf(newer),
      total: page.countUpTo > 0 ? countUpTo(sql, wanted, page.countUpTo) : null,
    }
  },

  /** Brief posts stand above their event, soon after it: the rows of about an hour are looked through. */
  postsOfEvent: (endpointId: string, eventId: string, eventAt: number | null): readonly ListedPost[] => {
    const posts = sql(`SELECT ${COLUMNS} FROM posts WHERE endpoint_id = ? AND event_id = ? ORDER BY ord`)
      .all(endpointId, eventId)
      .map((row) => POSTS.decode(row))
    const row =
      eventAt === null
        ? undefined
        : sql(
            `SELECT failed, posts FROM (SELECT failed, posts FROM brief_posts WHERE endpoint_id = ? AND first >= ?
               ORDER BY first LIMIT ${MOST_LOOKED_AT}) WHERE instr(posts, ?) > 0 LIMIT 1`,
          ).get(endpointId, ordAt(eventAt), eventId)
    if (row === undefined) return posts
    const brief = decodeBrief(endpointId, row.failed === 1, row.posts as string)
    return [...brief.flatMap(({ post }) => (post.eventId === eventId ? [post] : [])), ...posts]
  },

  /** One that is replayed since, or being replayed, is left out. */
  failedPosts: (
    endpointId: string,
    since: number | null,
    until: number,
    after: string | null,
    limit: number,
  ): FailedPosts => {
    const found = nearest(sql, { endpointId, failed: true }, false, Number(after ?? 0), limit)
    const again = sql(
      `SELECT 1 FROM posts WHERE endpoint_id = ? AND event_id = ? AND kind = 'replay'
           AND state IN ('waiting', 'succeeded') LIMIT 1`,
    )
    const posts = found
      .map(({ post }) => post)
      .filter((post) => isLost(post, since, until))
      .filter(({ eventId }) => again.get(endpointId, eventId) === undefined)
    const last = found.at(-1)
    return { posts, next: last === undefined || found.length < limit ? null : markOf(last.ord + 1) }
  },
})
