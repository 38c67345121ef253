/**
 * NAME      list - the posts of an endpoint, over both of their tables
 * DESCRIPTION
 *   Rows of `posts` and the posts inside the rows of `brief_posts` are merged by
 *   their places. Rows of the second never overlap, so of those only the ones that
 *   a page needs are read; the first may begin on the other side of its boundary.
 */
import { Fault } from '../../../base/fault.js'
import { type Page, type Rows, rowBeside } from '../../../lifecycle/page.js'
import type { FailedPosts, ListedPost, Posts } from '../../port/hooks.js'
import { isLost } from '../../rules/tenants.js'
import { namedBy, placeOfFirst } from '../log/event-id.js'
import { ordAt, TOP } from '../order/ord.js'
import { boundaryOf, markOf } from '../pages/marks.js'
import { type AskedReads, type Asking, all, first, type Row, together } from '../query.js'
import { isThere } from '../rows.js'
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

const placed = (endpointId: string, { failed, posts }: Row): Placed[] =>
  decodeBrief(endpointId, failed === 1, posts as string)

/** The rows of brief posts on one side of a boundary that a page needs; the first of them may lie across it. */
function* briefRows(
  { endpointId, failed }: Wanted,
  isOlder: boolean,
  boundary: number,
  limit: number,
): Asking<readonly Row[]> {
  const [compare, order] = isOlder ? ['<', 'DESC'] : ['>=', 'ASC']
  const from = ofBrief(failed)
  const across = isOlder
    ? []
    : yield* all(
        `SELECT failed, posts ${from} AND first < ? ORDER BY first DESC LIMIT 1`,
        endpointId,
        boundary,
      )
  const sizes = yield* all(
    `SELECT first, n ${from} AND first ${compare} ? ORDER BY first ${order} LIMIT ? + 0`,
    ...[endpointId, boundary, limit + 1],
  )
  let found = 0
  const enough = sizes.findIndex(({ n }, i) => {
    found += isOlder && i === 0 ? 1 : (n as number)
    return found >= limit
  })
  const [start, end] = [sizes[0], sizes[enough] ?? sizes.at(-1)]
  if (start === undefined || end === undefined) return across
  const [low, high] = isOlder ? [end, start] : [start, end]
  const rows = yield* all(
    `SELECT failed, posts ${from} AND first >= ? AND first <= ? ORDER BY first`,
    ...[endpointId, low.first, high.first],
  )
  return [...across, ...rows]
}

/** The nearest posts below a boundary, downward, or above it, upward. */
function* nearest(wanted: Wanted, isOlder: boolean, boundary: number, limit: number): Asking<Placed[]> {
  const { endpointId, failed } = wanted
  const [compare, order] = isOlder ? ['<', 'DESC'] : ['>=', 'ASC']
  const isWithin = ({ ord }: Placed): boolean => (isOlder ? ord < boundary : ord >= boundary)
  const text = `SELECT ${COLUMNS} ${ofPosts(failed)} AND ord ${compare} ? ORDER BY ord ${order} LIMIT ? + 0`
  const rows = yield* all(text, endpointId, boundary, limit)
  const found = rows.map((row): Placed => ({ ord: row.ord as number, post: POSTS.decode(row) }))
  const brief = (yield* briefRows(wanted, isOlder, boundary, limit))
    .flatMap((row) => placed(endpointId, row))
    .filter(isWithin)
  const sign = isOlder ? -1 : 1
  return [...found, ...brief].sort((a, b) => sign * (a.ord - b.ord)).slice(0, limit)
}

function* countUpTo({ endpointId, failed }: Wanted, most: number): Asking<number> {
  let total = 0
  for (const [what, from] of [
    ['1 AS n', ofPosts(failed)],
    ['n', ofBrief(failed)],
  ]) {
    const text = `SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM (SELECT ${what} ${from} LIMIT ? + 0) AS counted`
    total += Number((yield* first(text, endpointId, most))?.n ?? 0)
  }
  return Math.min(total, most)
}

const MOST_LOOKED_AT = 4000
const NO_IDS = { from: 'posts WHERE false', params: [] }

/** All posts of an event. Brief posts stand above their event, soon after it: the rows of about an hour are looked through. */
function* placesOfEvent(endpointId: string, eventId: string, from: number | null): Asking<readonly Placed[]> {
  const own = `SELECT ${COLUMNS} FROM posts WHERE endpoint_id = ? AND event_id = ? ORDER BY ord`
  const rows = yield* all(own, endpointId, eventId)
  const posts = rows.map((row): Placed => ({ ord: row.ord as number, post: POSTS.decode(row) }))
  if (from === null) return posts
  const row = yield* first(
    `SELECT failed, posts FROM (SELECT failed, posts FROM brief_posts WHERE endpoint_id = ? AND first >= ?
       ORDER BY first LIMIT ${MOST_LOOKED_AT}) AS near WHERE replace(posts, ?, '') <> posts LIMIT 1`,
    ...[endpointId, from, eventId],
  )
  const brief = row === null ? [] : placed(endpointId, row)
  return [...brief.filter(({ post }) => post.eventId === eventId), ...posts]
}

/** The boundary below all posts of an event, or above them. */
function* besideEvent(endpointId: string, eventId: string, isOlder: boolean): Asking<number> {
  const named = namedBy(eventId)
  const begins = named === null ? null : yield* placeOfFirst(named.recipientId)
  const ords = (yield* placesOfEvent(endpointId, eventId, begins?.ord ?? named?.ord ?? null)).map(
    ({ ord }) => ord,
  )
  if (ords.length === 0) throw new Fault('validation.cursor_invalid')
  return isOlder ? Math.min(...ords) : Math.max(...ords) + 1
}

function* pageOfPosts(wanted: Wanted, page: Page): Asking<Rows<ListedPost>> {
  const isOlder = page.direction === 'older'
  const event = rowBeside(page.anchor)
  const boundary =
    event === null ? yield* boundaryOf(NO_IDS, page) : yield* besideEvent(wanted.endpointId, event, isOlder)
  const found = yield* nearest(wanted, isOlder, boundary, page.limit + 1)
  const rows = found.slice(0, page.limit)
  if (!isOlder) rows.reverse()
  const older = rows.at(-1)?.ord ?? (boundary === TOP ? 0 : boundary)
  const newer = rows[0] === undefined ? older : rows[0].ord + 1
  const isAny = function* (side: boolean, from: number): Asking<boolean> {
    return (yield* nearest(wanted, side, from, 1)).length > 0
  }
  const more = found.length > page.limit
  return {
    rows: rows.map(({ post }) => post),
    hasOlder: isOlder ? more : yield* isAny(true, older),
    hasNewer: isOlder ? page.anchor !== null && (yield* isAny(false, newer)) : more,
    older: markOf(older),
    newer: markOf(newer),
    total: page.countUpTo > 0 ? yield* countUpTo(wanted, page.countUpTo) : null,
  }
}

type Lists = AskedReads<Posts>

export const posts: Lists['posts'] = (endpointId, failed, page) =>
  together(() => pageOfPosts({ endpointId, failed }, page))

export const postsOfEvent: Lists['postsOfEvent'] = function* (endpointId, eventId, eventAt) {
  const found = yield* placesOfEvent(endpointId, eventId, eventAt === null ? null : ordAt(eventAt))
  return found.map(({ post }) => post)
}

const AGAIN = `SELECT 1 FROM posts WHERE endpoint_id = ? AND event_id = ? AND kind = 'replay'
  AND state IN ('waiting', 'succeeded') LIMIT 1`

/** One that is replayed since, or being replayed, is left out. */
export const failedPosts: Lists['failedPosts'] = (endpointId, since, until, after, limit) =>
  together(function* (): Asking<FailedPosts> {
    const found = yield* nearest({ endpointId, failed: true }, false, Number(after ?? 0), limit)
    const posts: ListedPost[] = []
    for (const { post } of found) {
      if (!isLost(post, since, until)) continue
      if (!(yield* isThere(AGAIN, endpointId, post.eventId))) posts.push(post)
    }
    const last = found.at(-1)
    return { posts, next: last === undefined || found.length < limit ? null : markOf(last.ord + 1) }
  })
