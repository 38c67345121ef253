/**
 * NAME      webhooks - endpoints and what is posted to them: their tables, what is written and what is listed
 *   Of an endpoint that is gone nothing is stored any more. Rows of `posts` and the posts inside the rows of
 *   `brief_posts` are merged by their places. Rows of the second never overlap, so of those only the ones
 *   that a page needs are read; the first may begin on the other side of its boundary.
 *   Who enables or disables one raises the generation of its place, so what the engine still says of the
 *   time before falls on nothing.
 *     `webhooks` changes when somebody says so, `webhook_places` once a second while
 *     events pass. `posts` has a row for each failure, replay and test; what was taken
 *     at once is in `brief_posts`, a row for each second, whose posts have places of
 *     their own (`first` to `last`), so that one list goes over both tables.
 *   NOTES
 *     A deleted endpoint keeps its row until the sweep has taken its posts.
 *   One row for a second, an endpoint and a result; each post in it is an array that begins with its place
 *   in the list.
 */
import { Fault } from '../../base/fault.js'
import { type Page, type Rows, rowBeside } from '../../lifecycle/page.js'
import {
  type BriefPost,
  type DisabledReason,
  ENDPOINT_ROW,
  ENDPOINT_STATE_ROW,
  type EndpointRow,
  type EndpointState,
  type Endpoints,
  type FailedPosts,
  type Hooks,
  type KeptPlace,
  type KnownEndpoint,
  type ListedPost,
  POST_ROW,
  type PostRow,
  type Posts,
  REPLAY_ROW,
  type ReplayRow,
} from '../port/hooks.js'
import type { EventNotice } from '../port/log.js'
import { afresh, isLost, KEPT_ENDED, listedOf, POSTS_KEPT_MS, SKIPPED } from '../rules/tenants.js'
import { namedBy, placeOfFirst } from './log/places.js'
import { boundaryOf, listOf, markOf, ordAt, pageOf, TOP } from './pages.js'
import {
  type AskedReads,
  type AskedWrites,
  type Asking,
  all,
  first,
  type Row,
  run,
  together,
} from './query.js'
import { allOf, change, insertInto, isThere, oneOf, type Places, type Readable, table } from './table.js'

export const WEBHOOKS = table<EndpointRow>('webhooks', ENDPOINT_ROW)

const PLACES = table<EndpointState>('webhook_places', ENDPOINT_STATE_ROW)

const POSTS = table<PostRow>('posts', POST_ROW)

const REPLAYS = table<ReplayRow>('replays', REPLAY_ROW)

type Stored = readonly [
  ord: number,
  eventId: string,
  eventType: string,
  eventAt: number,
  at: number,
  status: number | null,
  ms: number | null,
]

const encodeBrief = (posts: readonly BriefPost[], next: () => number) => {
  const stored = posts.map(
    ({ eventId, eventType, eventAt, at, status, ms }): Stored => [
      next(),
      eventId,
      eventType,
      eventAt,
      at,
      status,
      ms,
    ],
  )
  return { first: stored[0]?.[0] ?? 0, last: stored.at(-1)?.[0] ?? 0, text: JSON.stringify(stored) }
}

interface Placed {
  readonly ord: number
  readonly post: ListedPost
}

const placed = (endpointId: string, failed: boolean, [ord, ...stored]: Stored): Placed => {
  const [eventId, eventType, eventAt, at, status, ms] = stored
  const state = failed ? 'failed' : 'succeeded'
  return { ord, post: listedOf(endpointId, { eventId, eventType, eventAt, at, status, ms, state }) }
}

/** The posts of a stored row, in their order. */
const decodeBrief = (endpointId: string, failed: boolean, text: string): Placed[] =>
  (JSON.parse(text) as Stored[]).map((one) => placed(endpointId, failed, one))

const STEP = 200

const KNOWN_POST = `SELECT id FROM posts WHERE id = ? UNION ALL
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
    const known = yield* first(KNOWN_POST, id, endpointId, post.kind === 'event' ? post.eventId : '')
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

const placedOf = (endpointId: string, { failed, posts }: Row): Placed[] =>
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
    .flatMap((row) => placedOf(endpointId, row))
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
  const brief = row === null ? [] : placedOf(endpointId, row)
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

const posts: Lists['posts'] = (endpointId, failed, page) =>
  together(() => pageOfPosts({ endpointId, failed }, page))

const postsOfEvent: Lists['postsOfEvent'] = function* (endpointId, eventId, eventAt) {
  const found = yield* placesOfEvent(endpointId, eventId, eventAt === null ? null : ordAt(eventAt))
  return found.map(({ post }) => post)
}

const AGAIN = `SELECT 1 FROM posts WHERE endpoint_id = ? AND event_id = ? AND kind = 'replay'
  AND state IN ('waiting', 'succeeded') LIMIT 1`

/** One that is replayed since, or being replayed, is left out. */
const failedPosts: Lists['failedPosts'] = (endpointId, since, until, after, limit) =>
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

const KNOWN: Readable<KnownEndpoint> = {
  name: 'webhooks JOIN webhook_places ON endpoint_id = id',
  columns: `${WEBHOOKS.columns}, ${PLACES.columns},
    (SELECT count(*) FROM posts p WHERE p.endpoint_id = webhooks.id AND p.due_at IS NOT NULL) AS waiting`,
  decode: (row) => ({
    ...WEBHOOKS.decode(row),
    state: PLACES.decode(row),
    waiting: row.waiting as number,
  }),
}

const FAILING = `status = 'enabled' AND id IN (SELECT endpoint_id FROM webhook_places WHERE health = 'failing')`

const byId = oneOf(KNOWN, 'deleted_at IS NULL AND id = ?')
const waiting = allOf(
  POSTS,
  'endpoint_id = ? AND due_at IS NOT NULL AND due_at <= ? ORDER BY due_at, ord LIMIT ? + 0',
)

export const hookReads: AskedReads<Hooks> = {
  posts,
  postsOfEvent,
  failedPosts,
  endpoint: oneOf(KNOWN, 'deleted_at IS NULL AND account_id = ? AND id = ?'),
  endpoints({ accountId, workspaceId, mode, failing }, page) {
    const clauses = ['account_id = ?', 'deleted_at IS NULL']
    if (workspaceId !== null) clauses.push('workspace_id = ?')
    if (mode !== null) clauses.push('mode = ?')
    if (failing) clauses.push(FAILING)
    const values = [accountId, workspaceId, mode].filter((value) => value !== null)
    return pageOf(listOf('webhooks', clauses.join(' AND '), values), page, (id: string) => byId(id))
  },
  post: oneOf(POSTS, 'endpoint_id = ? AND id = ?'),
  replays: allOf(REPLAYS, 'true ORDER BY ord'),
  allEndpoints: allOf(KNOWN, 'deleted_at IS NULL ORDER BY ord'),
  waitingPosts: (endpointId, now, limit) => waiting(endpointId, now ?? Number.MAX_SAFE_INTEGER, limit),
}

const ALIVE = 'account_id = ? AND id = ? AND deleted_at IS NULL'

const find = oneOf(WEBHOOKS, ALIVE)
const placeOf = oneOf(PLACES, 'endpoint_id = ?')

/** One, or those of a workspace. What is left is no secret; posts go with the sweep. */
export const removeEndpoints = (
  accountId: string,
  by: 'id' | 'workspace_id',
  id: string,
  now: number,
): Asking<number> =>
  run(
    `UPDATE webhooks SET deleted_at = ?, status = 'disabled', secret = '', previous_secret = NULL, auth = NULL, headers = NULL
     WHERE deleted_at IS NULL AND account_id = ? AND ${by} = ?`,
    ...[now, accountId, id],
  )

function* begin(id: string, from: string | null): Asking<void> {
  const place = yield* placeOf(id)
  if (place !== null) yield* change(PLACES, afresh(place, from), 'endpoint_id = ?', id)
}

const noticeOf = (
  { id, accountId, workspaceId, mode, url }: EndpointRow,
  type: 'webhook.enabled' | 'webhook.disabled',
  reason: DisabledReason | null,
  now: number,
): EventNotice => ({
  type,
  accountId,
  workspaceId,
  mode,
  now,
  data: { webhook_id: id, endpoint: url, ...(reason !== null && { reason }) },
})

const turning = (
  addNotice: (notice: EventNotice) => Asking<unknown>,
): Pick<AskedWrites<Endpoints>, 'enableEndpoint' | 'disableEndpoint'> => ({
  *enableEndpoint(accountId, id, from, now) {
    const row = yield* find(accountId, id)
    if (row?.status !== 'disabled') return row !== null
    const turned = { status: 'enabled', disabledReason: null, disabledAt: null, updatedAt: now } as const
    yield* change(WEBHOOKS, turned, 'id = ?', id)
    yield* begin(id, from)
    if (from !== null)
      yield* run(
        `UPDATE posts SET state = 'canceled', due_at = NULL, updated_at = ?, cause = '${SKIPPED}'
         WHERE endpoint_id = ? AND due_at IS NOT NULL AND kind = 'event'`,
        ...[now, id],
      )
    yield* addNotice(noticeOf(row, 'webhook.enabled', null, now))
    return true
  },
  *disableEndpoint(accountId, id, reason, now) {
    const row = yield* find(accountId, id)
    if (row?.status !== 'enabled') return row !== null
    const turned = { status: 'disabled', disabledReason: reason, disabledAt: now, updatedAt: now } as const
    yield* change(WEBHOOKS, turned, 'id = ?', id)
    yield* run('UPDATE webhook_places SET generation = generation + 1 WHERE endpoint_id = ?', id)
    yield* addNotice(noticeOf(row, 'webhook.disabled', reason, now))
    return true
  },
})

/** `addNotice` writes in the commit that runs. */
export const endpointWrites = (
  places: Places,
  addNotice: (notice: EventNotice) => Asking<unknown>,
): AskedWrites<Endpoints> => {
  const insert = insertInto(WEBHOOKS, places)
  return {
    *createEndpoint(row, mark) {
      yield* insert(row)
      yield* run(
        `INSERT INTO webhook_places (endpoint_id, generation, mark, health, failures, probes, told, given_up)
         VALUES (?, 1, ?, 'healthy', 0, 0, 0, 0)`,
        ...[row.id, mark],
      )
    },
    *updateEndpoint(accountId, id, part, now) {
      return (yield* change(WEBHOOKS, { ...part, updatedAt: now }, ALIVE, accountId, id)) === 1
    },
    *rotateEndpoint(accountId, id, { secret, publicKey }, until, now) {
      const before = until === null ? 'NULL' : 'secret'
      const text = `UPDATE webhooks SET previous_secret = ${before}, previous_until = ?, secret = ?, public_key = ?,
        updated_at = ? WHERE ${ALIVE}`
      return (yield* run(text, until, secret, publicKey, now, accountId, id)) === 1
    },
    ...turning(addNotice),
    *deleteEndpoint(accountId, id, now) {
      if ((yield* removeEndpoints(accountId, 'id', id, now)) === 0) return false
      yield* run('DELETE FROM replays WHERE endpoint_id = ?', id)
      return true
    },
  }
}
