/**
 * NAME      repost - posting events again, and posting a test
 *   A replay posts events of the log under the ids that they have, so a receiver that keeps ids sees nothing new. One
 *   is queued at once; many are counted here (up to a thousand) and made into posts by the thread, so many a second. A
 *   test is posted from here, now, and what came back is the answer.
 */
import { toRfc3339 } from '../base/clock.js'
import { DialError } from '../base/dial.js'
import { Fault } from '../base/fault.js'
import { newId } from '../base/id.js'
import type { Page, Rows } from '../lifecycle/page.js'
import type { Again, Behind, ToldPost } from '../resource/webhook.js'
import type { EndpointRow, KnownEndpoint, PostRow, ReplayRow } from '../store/port/hooks.js'
import type { LogRow } from '../store/port/log.js'
import { bodyOf, createWants, filterOf } from './body.js'
import { type HookDeps, type HookScope, targetOf } from './endpoints.js'
import { afterTry, createPost, newPost, untriedPost } from './post.js'

const MOST_COUNTED = 1000
/** Of each endpoint of a list. */
const MOST_LISTED = 100
const MOST_TESTS = 20

const needsEnabled = ({ status }: EndpointRow): void => {
  if (status === 'enabled') return
  throw new Fault('resource.conflict', {
    reason: 'disabled',
    detail: 'Nothing is posted to an endpoint that is disabled; enable it first',
  })
}

const isOf = (row: LogRow, { workspaceId, mode }: EndpointRow): boolean =>
  row.mode === mode && (workspaceId === null || row.workspaceId === workspaceId)

/** Throws event.not_found, also for events that this endpoint would never be told. */
export const findEvent = async (
  { store }: Pick<HookDeps, 'store'>,
  endpoint: EndpointRow,
  eventId: string,
): Promise<LogRow> => {
  const row = await store.loggedEvent(endpoint.accountId, eventId)
  if (row === null || !isOf(row, endpoint)) throw new Fault('event.not_found')
  return row
}

/** Throws event.not_found or resource.conflict. */
export const replayEvent = async (
  { store, clock }: HookDeps,
  endpoint: KnownEndpoint,
  eventId: string,
): Promise<PostRow & ToldPost> => {
  const about = await findEvent({ store }, endpoint, eventId)
  needsEnabled(endpoint)
  const post = newPost(endpoint, about, 'replay', clock.now())
  await store.savePosts([post])
  return { ...post, about }
}

interface Counted {
  readonly matched: number
  /** True when counting ended early: there may be more. */
  readonly isCapped: boolean
}

/** What the endpoint would be told after this mark; 'gone' when the log does not reach so far back. */
const countAfter = async (
  { store }: Pick<HookDeps, 'store'>,
  endpoint: EndpointRow,
  mark: string | null,
  isWanted: (row: LogRow) => boolean = () => true,
  most = MOST_COUNTED,
): Promise<Counted | 'gone'> => {
  if (mark === null) return { matched: 0, isCapped: false }
  const found = await store.follow(filterOf(endpoint), mark, most)
  if (found === 'gone') return 'gone'
  const wants = createWants(endpoint)
  const matched = found.rows.filter((row) => wants(row) && isWanted(row)).length
  return { matched, isCapped: !found.isEnd }
}

/** What of the log it has not come to; null: more than the log has. */
export const behindOf = async (
  deps: Pick<HookDeps, 'store'>,
  row: KnownEndpoint,
  most?: number,
): Promise<Behind | null> => {
  const counted = await countAfter(deps, row, row.state.mark, undefined, most)
  return counted === 'gone' ? null : { events: counted.matched, capped: counted.isCapped }
}

/** Rows of a page, each with something more. */
const withMore = async <Row, More>(
  { rows, ...page }: Rows<Row>,
  more: (row: Row) => Promise<More>,
): Promise<Rows<Row & More>> => ({
  ...page,
  rows: await Promise.all(rows.map(async (row) => ({ ...row, ...(await more(row)) }))),
})

export const endpointsBehind = async (
  deps: Pick<HookDeps, 'store'>,
  scope: HookScope,
  page: Page,
): Promise<Rows<KnownEndpoint & { readonly behind: Behind | null }>> =>
  withMore(await deps.store.endpoints(scope, page), async (row) => ({
    behind: await behindOf(deps, row, MOST_LISTED),
  }))

export const postsOf = async (
  { store }: Pick<HookDeps, 'store'>,
  { id, accountId }: Pick<EndpointRow, 'id' | 'accountId'>,
  failed: boolean,
  page: Page,
): Promise<Rows<ToldPost>> =>
  withMore(await store.posts(id, failed, page), async ({ eventId, kind }) => ({
    about: kind === 'test' ? null : await store.loggedEvent(accountId, eventId),
  }))

export interface ReplayWish {
  /** A mark of the log, or a time; null: from the beginning, with `failed` only. */
  readonly since: { readonly mark: string } | { readonly at: number } | null
  readonly until: number
  readonly failed: boolean
}

const countFailed = async (
  { store }: HookDeps,
  { id }: EndpointRow,
  since: number | null,
  until: number,
): Promise<Counted> => {
  let matched = 0
  let next: string | null = null
  for (let step = 0; step < 10; step++) {
    const found = await store.failedPosts(id, since, until, next, MOST_COUNTED / 5)
    matched += found.posts.length
    next = found.next
    if (next === null) return { matched, isCapped: false }
  }
  return { matched, isCapped: true }
}

const expired = async ({ store }: HookDeps): Promise<Fault> =>
  new Fault('event.expired', { oldest: (await store.logEnds()).oldest })

/** Where a replay of the log begins: right below the first event that was stored at or after this time. */
const placeAt = async ({ store }: HookDeps, endpoint: EndpointRow, at: number): Promise<string> => {
  const filter = { ...filterOf(endpoint), createdAfter: at }
  const found = await store.log(filter, { limit: 1, direction: 'newer', anchor: null, countUpTo: 0 })
  return found.rows.length === 0 ? (await store.logEnds()).newest : found.older
}

const timeOf = (since: ReplayWish['since']): number | null =>
  since !== null && 'at' in since ? since.at : null

/** What a replay would begin with. The `oldest` of an event.expired is a mark of the store. */
const planReplay = async (
  deps: HookDeps,
  endpoint: KnownEndpoint,
  { since, until, failed }: ReplayWish,
): Promise<Counted & { readonly place: string | null }> => {
  if (failed) return { place: null, ...(await countFailed(deps, endpoint, timeOf(since), until)) }
  const place =
    since === null
      ? (await deps.store.logEnds()).oldest
      : 'mark' in since
        ? since.mark
        : await placeAt(deps, endpoint, since.at)
  const counted = await countAfter(deps, endpoint, place, ({ createdAt }) => createdAt <= until)
  if (counted === 'gone') throw await expired(deps)
  return { place, ...counted }
}

/** Throws event.expired or resource.conflict. */
export const replayMany = async (
  deps: HookDeps,
  endpoint: KnownEndpoint,
  wish: ReplayWish,
  isDry: boolean,
): Promise<Again> => {
  const { store, clock } = deps
  const { place, ...counted } = await planReplay(deps, endpoint, wish)
  const { failed, until } = wish
  const since = timeOf(wish.since)
  const told = { endpointId: endpoint.id, failed, since, until, ...counted }
  if (isDry) return { ...told, replayId: null }
  needsEnabled(endpoint)
  if ((await store.replays()).some(({ endpointId }) => endpointId === endpoint.id))
    throw new Fault('resource.conflict', {
      reason: 'replaying',
      detail: 'A replay to this endpoint is under way; wait for its end',
    })
  const now = clock.now()
  const replay: ReplayRow = {
    id: newId('rep', now),
    endpointId: endpoint.id,
    ...{ failed, place, since, until },
    made: 0,
    createdAt: now,
  }
  await store.addReplay(replay)
  return { ...told, replayId: replay.id }
}

/** A delivery that never was, to an address that nobody has: receivers of other words know no test. */
const testRow = ({ accountId, workspaceId, mode }: EndpointRow, eventId: string, now: number): LogRow => ({
  ...{ id: eventId, type: 'email.delivered', mark: '0', accountId, workspaceId, mode },
  ...{ change: true, begunHere: true, emailId: newId('em', now), recipientId: null },
  ...{ recipient: 'test@example.com', source: 'system', occurredAt: now, createdAt: now },
  ...{ reply: { code: 250, enhanced: '2.0.0', text: 'It works.' }, mta: null, attempt: 1, applied: true },
  ...{ reason: null, detail: null, data: null },
  mail: {
    ...{ id: '', poolId: '', from: 'Postern <postern@example.com>', to: ['test@example.com'] },
    ...{ subject: 'It works.', messageId: '<test@example.com>', tags: [], createdAt: now, scheduledAt: null },
  },
})

const testBody = (endpoint: EndpointRow, eventId: string, now: number): string => {
  const { id, workspaceId, mode, format } = endpoint
  if (format !== 'standard') return bodyOf(testRow(endpoint, eventId, now), endpoint)
  return JSON.stringify({
    type: 'webhook.test',
    timestamp: toRfc3339(now),
    created_at: toRfc3339(now),
    data: { webhook_id: id, workspace_id: workspaceId, mode, message: 'It works.' },
  })
}

let testing = 0

/** Posts a `webhook.test` now, also to an endpoint that is disabled; resolves with how it went. */
export const testEndpoint = async (
  { store, pepper, clock, dialler }: HookDeps,
  endpoint: KnownEndpoint,
): Promise<PostRow & ToldPost> => {
  if (testing >= MOST_TESTS) throw new Fault('service.unavailable', { retryAfter: 5 })
  testing++
  try {
    const now = clock.now()
    const id = newId('evt', now)
    const posted = await createPost(dialler, clock)(targetOf(pepper, endpoint, now), {
      id,
      body: testBody(endpoint, id, now),
    })
    const about = { endpointId: endpoint.id, eventId: id, eventType: 'webhook.test', eventAt: now }
    const post = untriedPost({ ...about, kind: 'test', dueAt: null }, now)
    const done = afterTry(post, endpoint, posted, null, clock.now())
    await store.savePosts([done])
    return { ...done, about: null }
  } catch (error) {
    // only when this server stops: what an endpoint does is no error
    throw error instanceof DialError ? new Fault('service.unavailable', { retryAfter: 5 }) : error
  } finally {
    testing--
  }
}
