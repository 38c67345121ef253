/**
 * NAME      deps - what the parts of the engine share
 * DESCRIPTION
 *   The store, the clock, the way to post, and the ways to tell. A wall clock that
 *   was set less than an hour ago is not believed: nothing is given up or disabled
 *   by it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SteadyClock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { GiveWay } from '../../base/time/give-way.js'
import type { EventType } from '../../mail/event-type.js'
import type { EndpointRow, Hooks, PostRow } from '../../store/port/hooks.js'
import type { EventLog } from '../../store/port/log.js'
import { filterOf } from '../match.js'
import type { Posted, PostRequest } from '../post.js'

export type HookStore = Pick<
  Hooks,
  | 'allEndpoints'
  | 'endpoint'
  | 'keepPlaces'
  | 'waitingPosts'
  | 'savePosts'
  | 'adjustPosts'
  | 'disableEndpoint'
  | 'replays'
  | 'advanceReplay'
  | 'failedPosts'
> &
  Pick<EventLog, 'log' | 'follow' | 'logEnds' | 'loggedEvent' | 'addNotice'>

export interface Deps {
  readonly store: HookStore
  readonly clock: SteadyClock
  readonly log: Log
  readonly random: () => number
  /** Hears of live mail: posts of test mail give way to it. */
  readonly way?: GiveWay | undefined
  /** Posts once; throws when it was stopped. */
  readonly post: (endpoint: EndpointRow, request: PostRequest) => Promise<Posted>
  /** A mark of the store as the public may have it. */
  readonly signMark: (mark: string, accountId: string) => string
}

const STEADY_MS = 3600_000
/** After the store could not do something. */
export const AGAIN_MS = 1000

export const isSteady = ({ clock }: Deps): boolean => clock.tick() - clock.steadySince() >= STEADY_MS

/** An event about an endpoint, for the log of its account. */
export const tell = async (
  { store, clock, log }: Deps,
  type: EventType,
  { id, accountId, workspaceId, mode, url }: EndpointRow,
  data: Readonly<Record<string, unknown>>,
): Promise<void> => {
  log.warn({ webhook: id, type }, 'webhook told of')
  const about = { webhook_id: id, endpoint: url, ...data }
  await store.addNotice({ type, accountId, workspaceId, mode, now: clock.now(), data: about })
}

/** Stores posts, however long the store can not (a full disk); false when it was stopped before. */
export const save = async (
  { store, log }: Deps,
  posts: readonly PostRow[],
  stopped: AbortSignal,
): Promise<boolean> => {
  for (let told = false; ; told = true) {
    try {
      await store.savePosts(posts)
      return true
    } catch (error) {
      if (!told) log.error({ error: (error as Error).message }, 'posts not stored')
      await sleep(AGAIN_MS, null, { signal: stopped }).catch(() => {})
      if (stopped.aborted) return false
    }
  }
}

/** The mark after which all stands that an endpoint may have been told and that was stored at this time or later. */
export const markBefore = async ({ store }: Deps, endpoint: EndpointRow, time: number): Promise<string> => {
  const filter = { ...filterOf(endpoint), types: null, createdBefore: time }
  const { rows } = await store.log(filter, { limit: 1, direction: 'older', anchor: null, countUpTo: 0 })
  return rows[0]?.mark ?? (await store.logEnds()).oldest
}
