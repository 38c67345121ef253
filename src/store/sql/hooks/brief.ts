/**
 * NAME      brief - the stored form of posts that were taken at once
 * DESCRIPTION
 *   One row for a second, an endpoint and a result; each post in it is an array
 *   that begins with its place in the list.
 */
import type { BriefPost, ListedPost } from '../../port/hooks.js'
import { listedOf } from '../../rules/tenants.js'

type Stored = readonly [
  ord: number,
  eventId: string,
  eventType: string,
  eventAt: number,
  at: number,
  status: number | null,
  ms: number | null,
]

export const encodeBrief = (posts: readonly BriefPost[], next: () => number) => {
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

export interface Placed {
  readonly ord: number
  readonly post: ListedPost
}

const placed = (endpointId: string, failed: boolean, [ord, ...stored]: Stored): Placed => {
  const [eventId, eventType, eventAt, at, status, ms] = stored
  const state = failed ? 'failed' : 'succeeded'
  return { ord, post: listedOf(endpointId, { eventId, eventType, eventAt, at, status, ms, state }) }
}

/** The posts of a stored row, in their order. */
export const decodeBrief = (endpointId: string, failed: boolean, text: string): Placed[] =>
  (JSON.parse(text) as Stored[]).map((one) => placed(endpointId, failed, one))
