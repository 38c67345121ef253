/**
 * NAME      record - a post as it is stored
 * DESCRIPTION
 *   How a post begins, and what a try makes of it.
 */
import { newId } from '../base/id.js'
import type { EndpointRow, PostKind, PostRow } from '../store/port/hooks.js'
import type { LogRow } from '../store/port/log.js'
import { postedType } from './body.js'
import type { Posted } from './post.js'

const MOST_TRIES = 12

/** A post of an event that waits for its first try. */
export const newPost = (
  endpoint: EndpointRow,
  row: Pick<LogRow, 'id' | 'type' | 'createdAt'>,
  kind: PostKind,
  now: number,
): PostRow => ({
  id: newId('post', now),
  endpointId: endpoint.id,
  eventId: row.id,
  eventType: postedType(row.type, endpoint.events),
  eventAt: row.createdAt,
  kind,
  state: 'waiting',
  attempts: 0,
  dueAt: now,
  tries: [],
  url: null,
  headers: null,
  status: null,
  ms: null,
  answer: null,
  cause: null,
  createdAt: now,
  updatedAt: now,
})

/** When its life began: that of an event when it happened, that of a replay when it was asked for. */
export const bornAt = ({ kind, eventAt, createdAt }: PostRow): number =>
  kind === 'event' ? eventAt : createdAt

/** After a try that ended at `now`; `dueAt` is the next one, null: there is none. */
export const afterTry = (
  post: PostRow,
  { url }: Pick<EndpointRow, 'url'>,
  posted: Posted,
  dueAt: number | null,
  now: number,
): PostRow => {
  const { status, ms, cause, answer, requestHeaders } = posted
  return {
    ...post,
    state: posted.ok ? 'succeeded' : dueAt === null ? 'failed' : 'waiting',
    attempts: post.attempts + 1,
    dueAt,
    tries: [...post.tries, { at: now - ms, status, ms, cause }].slice(-MOST_TRIES),
    url,
    headers: requestHeaders,
    status,
    ms,
    answer,
    cause,
    updatedAt: now,
  }
}

/** One whose event retention has taken. */
export const withoutEvent = (post: PostRow, now: number): PostRow => ({
  ...post,
  state: 'failed',
  dueAt: null,
  cause: 'its event is no longer kept',
  updatedAt: now,
})
