/**
 * NAME      post - one try to post one event to an endpoint: its signature and how it is stored
 *   Signs, posts, and says how it went: 2xx within the time is success, anything else a failure with its cause in one
 *   sentence. It never throws for what an endpoint does; only when we stop ourselves (DialError `stopped`), since then
 *   nothing is known of the endpoint. What is given back may be stored and shown: values of the endpoint's own headers,
 *   and its login, are masked in it.
 *   How a post begins, and what a try makes of it.
 */
import { STATUS_CODES } from 'node:http'
import type { Clock } from '../base/clock.js'
import { DialError, type Dialler, type HttpAnswer } from '../base/dial.js'
import { newId } from '../base/id.js'
import type { EndpointRow, PostKind, PostRow } from '../store/port/hooks.js'
import type { LogRow } from '../store/port/log.js'
import { postedType } from './body.js'
import { FORMATS, type Signed, type SignedPost, signatureHeaders } from './formats.js'

const MOST_SHOWN = 1024
const MASKED = '(hidden)'

export interface PostTarget {
  readonly url: string
  /** The endpoint's own, in the clear. */
  readonly headers: Readonly<Record<string, string>>
  /** In the clear; two of them during a rotation, the newer first. */
  readonly secrets: readonly [string, ...string[]]
  readonly format: EndpointRow['format']
  /** `user:password`, in the clear; null: none. */
  readonly auth: string | null
}

/** What is posted now, with the signature of the format, over which that of Standard Webhooks is made. */
const signedPost = ({ secrets, format }: PostTarget, post: Signed): SignedPost => {
  const { body, headers } = FORMATS[format]?.sign?.(secrets, post) ?? { body: post.body, headers: {} }
  return { body, headers: { ...headers, ...signatureHeaders(secrets, { ...post, body }) } }
}

const loginHeader = (auth: string | null): Readonly<Record<string, string>> =>
  auth === null ? {} : { authorization: `Basic ${Buffer.from(auth).toString('base64')}` }

export interface PostRequest {
  /** The id of the event. */
  readonly id: string
  readonly body: string
  readonly signal?: AbortSignal
}

export interface Posted {
  readonly ok: boolean
  /** null when there was no answer. */
  readonly status: number | null
  readonly ms: number
  /** As sent, with the values of own headers masked. */
  readonly requestHeaders: Readonly<Record<string, string>>
  /** The first kilobyte of the answer; null when there was none. */
  readonly answer: string | null
  /** Why it counts as failed; null when it does not. */
  readonly cause: string | null
  /** Seconds that the endpoint asks us to wait, or null. */
  readonly retryAfter: number | null
}

/** A fault of ours; it is tried again all the same. */
export const NOT_POSTED: Posted = {
  ok: false,
  status: null,
  ms: 0,
  requestHeaders: {},
  answer: null,
  cause: 'not posted, by a fault of the gateway',
  retryAfter: null,
}

/** Cut at an octet, shown as text: half a character at the end is left out, what is no text is marked. */
const shown = (body: Uint8Array): string =>
  new TextDecoder().decode(body.subarray(0, MOST_SHOWN), { stream: true }).replace(/\u0000/g, '\ufffd')

/** RFC 9110, section 10.2.3: seconds, or a date. */
const readRetryAfter = (text: string | undefined, now: number): number | null => {
  if (text === undefined) return null
  if (/^\d{1,9}$/.test(text.trim())) return Number(text)
  const date = /^[A-Z][a-z]{2},? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1000))
}

const causeOfAnswer = ({ status, headers }: HttpAnswer): string | null => {
  if (status >= 200 && status < 300) return null
  const words = `${status} ${STATUS_CODES[status] ?? ''}`.trim()
  const to = headers.location
  if (status >= 300 && status < 400 && to !== undefined)
    return `redirected to ${to.slice(0, 200)}, we do not follow`
  return status === 410 ? `answered ${words}: it wants no more posts` : `answered ${words}`
}

export const createPost =
  (dialler: Dialler, clock: Clock) =>
  async (target: PostTarget, { id, body, signal }: PostRequest): Promise<Posted> => {
    const at = clock.now()
    const start = clock.tick()
    const signed = signedPost(target, { id, at, body })
    const ours = {
      'content-type': 'application/json',
      'user-agent': 'Postern-Webhooks/1.0',
      ...signed.headers,
    }
    const hidden = { ...target.headers, ...loginHeader(target.auth) }
    const masked = Object.fromEntries(Object.keys(hidden).map((name) => [name, MASKED]))
    const told = (rest: Pick<Posted, 'status' | 'answer' | 'cause' | 'retryAfter'>): Posted => ({
      ok: rest.cause === null,
      ms: Math.round(clock.tick() - start),
      requestHeaders: { ...masked, ...ours },
      ...rest,
    })
    try {
      const answer = await dialler.request({
        url: target.url,
        method: 'POST',
        headers: { ...hidden, ...ours },
        body: signed.body,
        ...(signal !== undefined && { signal }),
      })
      return told({
        status: answer.status,
        answer: shown(answer.body),
        cause: causeOfAnswer(answer),
        retryAfter: readRetryAfter(answer.headers['retry-after'], clock.now()),
      })
    } catch (error) {
      if (!(error instanceof DialError) || error.failure === 'stopped') throw error
      return told({ status: error.status, answer: null, cause: error.message, retryAfter: null })
    }
  }
export type Post = ReturnType<typeof createPost>

const MOST_TRIES = 12

/** What nobody has tried to post yet. */
export const untriedPost = (
  about: Pick<PostRow, 'endpointId' | 'eventId' | 'eventType' | 'eventAt' | 'kind' | 'dueAt'>,
  now: number,
): PostRow => ({
  id: newId('post', now),
  ...about,
  ...{ state: 'waiting', attempts: 0, tries: [], url: null, headers: null, status: null, ms: null },
  ...{ answer: null, cause: null, createdAt: now, updatedAt: now },
})

/** A post of an event that waits for its first try. */
export const newPost = (
  endpoint: EndpointRow,
  { id: eventId, type, createdAt: eventAt }: Pick<LogRow, 'id' | 'type' | 'createdAt'>,
  kind: PostKind,
  now: number,
): PostRow => {
  const eventType = postedType(type, endpoint.events)
  return untriedPost({ endpointId: endpoint.id, eventId, eventType, eventAt, kind, dueAt: now }, now)
}

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
