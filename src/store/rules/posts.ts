/**
 * NAME      posts - what becomes of endpoints and of what is posted to them
 * DESCRIPTION
 *   Ended posts are kept for four days, and of each endpoint the latest, so that one that refuses everything
 *   can not fill the disk. Whoever enables an endpoint begins a generation. Pure.
 */
import type { BriefPost, EndpointState, ListedPost } from '../port/hooks.js'

export const POSTS_KEPT_MS = 4 * 86_400_000
export const KEPT_ENDED = 5_000

const GIVEN_UP = 'given up unposted: the endpoint took nothing for too long'

/** Of an endpoint that is enabled again, from this mark or from where it stood. */
export const afresh = (state: EndpointState, from: string | null): EndpointState => ({
  ...{ ...state, generation: state.generation + 1, mark: from ?? state.mark, health: 'healthy' },
  ...{ failingSince: null, failures: 0, firstFailedAt: null, lastFailedAt: null },
  ...{ probes: 0, probeAt: null, told: 0 },
})

/** What is skipped is skipped whole: events that were to be tried again as well. */
export const SKIPPED = 'enabled again from a later event'

/** Posts of these are not to be replayed again. */
export const isReplayed = ({ kind, state }: Pick<ListedPost, 'kind' | 'state'>): boolean =>
  kind === 'replay' && (state === 'waiting' || state === 'succeeded')

export const isLost = (
  { kind, state, eventAt }: Pick<ListedPost, 'kind' | 'state' | 'eventAt'>,
  since: number | null,
  until: number,
): boolean => kind === 'event' && state === 'failed' && eventAt >= (since ?? 0) && eventAt <= until

/** A brief post as a list has it. */
export const listedOf = (endpointId: string, { state, at, status, ms, ...event }: BriefPost): ListedPost => {
  const failed = state === 'failed'
  return {
    ...{ id: null, endpointId, ...event, kind: 'event', state, attempts: failed ? 0 : 1, dueAt: null },
    tries: failed ? [] : [{ at, status, ms: ms ?? 0, cause: null }],
    ...{ url: null, headers: null, status, ms, answer: null, cause: failed ? GIVEN_UP : null },
    ...{ createdAt: at, updatedAt: at },
  }
}
