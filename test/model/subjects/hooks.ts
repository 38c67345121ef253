/**
 * NAME      hooks - endpoints, and what is posted to them
 */

import type {
  DisabledReason,
  EndpointRow,
  EndpointState,
  Hooks,
  KnownEndpoint,
  ListedPost,
  PostRow,
} from '../../../src/store/port/hooks.js'
import type { EventNotice } from '../../../src/store/port/log.js'
import {
  afresh,
  isLost,
  isReplayed,
  KEPT_ENDED,
  listedOf,
  POSTS_KEPT_MS,
  SKIPPED,
} from '../../../src/store/rules/tenants.js'
import { markOf } from '../page.js'
import type { Plain } from '../plain.js'
import { nextOrd, type State } from '../state.js'
import { listed, owned } from '../tenants.js'

const FRESH: EndpointState = {
  ...{ generation: 1, mark: null, health: 'healthy', failingSince: null, failures: 0, firstFailedAt: null },
  ...{ lastFailedAt: null, lastSucceededAt: null, probes: 0, probeAt: null, told: 0, givenUp: 0 },
  ...{ givenUpFrom: null, givenUpToldAt: null },
}

const TIMES = ['failingSince', 'firstFailedAt', 'lastFailedAt', 'lastSucceededAt', 'givenUpToldAt'] as const

/** An endpoint and all that was posted to it. */
export const dropEndpoints = (
  { endpoints, places, posts, replays }: State,
  wanted: (row: EndpointRow) => boolean,
): boolean => {
  const gone = endpoints.where(wanted).map(({ id }) => id)
  const isOf = ({ endpointId }: { readonly endpointId: string }): boolean => gone.includes(endpointId)
  endpoints.drop(wanted)
  for (const id of gone) places.delete(id)
  posts.drop(isOf)
  replays.drop(isOf)
  return gone.length > 0
}

const createSwitches = (state: State, addNotice: (notice: EventNotice) => unknown) => {
  const { endpoints, places, posts } = state
  const turn = (
    { id, accountId, workspaceId, mode, url }: EndpointRow,
    status: EndpointRow['status'],
    reason: DisabledReason | null,
    now: number,
  ): void => {
    const disabledAt = status === 'enabled' ? null : now
    endpoints.change(id, { status, disabledReason: reason, disabledAt, updatedAt: now })
    const data = { webhook_id: id, endpoint: url, ...(reason !== null && { reason }) }
    addNotice({ type: `webhook.${status}`, accountId, workspaceId, mode, now, data })
  }
  const verbs = {
    enableEndpoint(accountId, id, from, now) {
      const row = owned(endpoints, accountId, id)
      if (row?.status !== 'disabled') return row !== null
      turn(row, 'enabled', null, now)
      places.put(id, afresh(places.get(id) as EndpointState, from))
      for (const [key, { endpointId, dueAt, kind }] of from === null ? [] : posts.entries())
        if (endpointId === id && dueAt !== null && kind === 'event')
          posts.change(key, { state: 'canceled', dueAt: null, updatedAt: now, cause: SKIPPED })
      return true
    },
    disableEndpoint(accountId, id, reason, now) {
      const row = owned(endpoints, accountId, id)
      if (row?.status !== 'enabled') return row !== null
      turn(row, 'disabled', reason, now)
      places.change(id, { generation: (places.get(id)?.generation ?? 0) + 1 })
      return true
    },
  } satisfies Partial<Plain<Hooks>>
  return verbs
}

const createEndpoints = (state: State) => {
  const { endpoints, places, posts } = state
  const known = (row: EndpointRow): KnownEndpoint => ({
    ...row,
    state: places.get(row.id) as EndpointState,
    waiting: posts.where(({ endpointId, dueAt }) => endpointId === row.id && dueAt !== null).length,
  })
  const verbs = {
    createEndpoint(row, mark) {
      endpoints.add(row.id, row)
      places.add(row.id, { ...FRESH, mark })
    },
    endpoint(accountId, id) {
      const row = owned(endpoints, accountId, id)
      return row && known(row)
    },
    endpoints({ accountId, workspaceId, mode, failing = false }, page) {
      const found = listed(
        endpoints,
        (row) =>
          row.accountId === accountId &&
          (workspaceId === null || row.workspaceId === workspaceId) &&
          (mode === null || row.mode === mode) &&
          (!failing || (row.status === 'enabled' && places.get(row.id)?.health === 'failing')),
        page,
      )
      return { ...found, rows: found.rows.map(known) }
    },
    updateEndpoint: (accountId, id, change, updatedAt) =>
      owned(endpoints, accountId, id) !== null && endpoints.change(id, { ...change, updatedAt }),
    rotateEndpoint(accountId, id, fresh, previousUntil, updatedAt) {
      const row = owned(endpoints, accountId, id)
      const previousSecret = previousUntil === null ? null : (row?.secret ?? null)
      return row !== null && endpoints.change(id, { ...fresh, previousSecret, previousUntil, updatedAt })
    },
    deleteEndpoint: (accountId, id) =>
      dropEndpoints(state, (row) => row.id === id && row.accountId === accountId),
    allEndpoints: () => endpoints.where(() => true).map(known),
  } satisfies Partial<Plain<Hooks>>
  return verbs
}

const createPostReads = ({ posts }: State) => {
  const ofEndpoint = (id: string) => posts.where(({ endpointId }) => endpointId === id)
  const verbs = {
    posts: (endpointId, failed, page) =>
      listed(
        posts,
        (row) => row.endpointId === endpointId && (!failed || row.cause !== null),
        page,
        (row) => row.eventId,
      ),
    post: (endpointId, id) => ofEndpoint(endpointId).find((row): row is PostRow => row.id === id) ?? null,
    postsOfEvent: (endpointId, eventId, eventAt) =>
      ofEndpoint(endpointId).filter(
        (row) => row.eventId === eventId && (row.id !== null || eventAt !== null),
      ),
    failedPosts(endpointId, since, until, after, limit) {
      const all = posts.all().filter(({ row }) => row.endpointId === endpointId)
      const replayed = all.filter(({ row }) => isReplayed(row)).map(({ row }) => row.eventId)
      const failed = all.filter(({ row, ord }) => row.cause !== null && ord >= Number(after ?? 0))
      const here = failed.slice(0, limit)
      const lost = here.filter(({ row }) => isLost(row, since, until) && !replayed.includes(row.eventId))
      const last = here.at(-1)
      const next = last === undefined || here.length < limit ? null : markOf({ ord: last.ord + 1 })
      return { posts: lost.map(({ row }) => row), next }
    },
    waitingPosts: (endpointId, now, limit) =>
      ofEndpoint(endpointId)
        .filter(
          (row): row is PostRow & { readonly dueAt: number } =>
            row.dueAt !== null && (now === null || row.dueAt <= now),
        )
        .sort((a, b) => a.dueAt - b.dueAt)
        .slice(0, limit),
  } satisfies Partial<Plain<Hooks>>
  return verbs
}

const createSavePosts = ({ endpoints, posts }: State) => {
  const save = ({ id, createdAt, ...post }: PostRow): void => {
    if (endpoints.get(post.endpointId) === null) return
    const isKnown = (row: ListedPost): boolean =>
      row.id !== null &&
      row.endpointId === post.endpointId &&
      row.eventId === post.eventId &&
      row.kind === 'event' &&
      post.kind === 'event'
    const known = posts.get(id) === null ? posts.where(isKnown)[0]?.id : id
    if (known == null) posts.add(id, { id, createdAt, ...post })
    else posts.change(known, post)
  }
  return (rows: readonly PostRow[]): void => {
    for (const row of rows) save(row)
    for (const endpointId of new Set(rows.map((row) => row.endpointId))) {
      const ended = posts.where(
        (row) => row.endpointId === endpointId && row.id !== null && row.dueAt === null,
      )
      for (const { id } of ended.slice(0, -KEPT_ENDED)) posts.delete(id ?? '')
    }
  }
}

const createPosts = (state: State) => {
  const { endpoints, places, posts, replays } = state
  const savePosts = createSavePosts(state)
  const keepBrief = (endpointId: string, post: ListedPost): void => {
    const ord = nextOrd(state)
    posts.add(`${endpointId} ${ord}`, post, ord)
  }
  const verbs = {
    savePosts,
    addReplay: (row) => void replays.add(row.id, row),
    replays: () => replays.where(() => true),
    advanceReplay(id, place, rows) {
      savePosts(rows)
      if (place === null) replays.delete(id)
      else replays.change(id, { place, made: (replays.get(id)?.made ?? 0) + rows.length })
    },
    keepPlaces(kept) {
      for (const { endpointId, state: place, was, brief } of kept) {
        if (endpoints.get(endpointId) === null) continue
        const stored = places.get(endpointId)
        if (stored?.generation === place.generation) places.put(endpointId, place)
        else if (was !== null && stored?.mark === was) places.change(endpointId, { mark: place.mark })
        for (const result of ['succeeded', 'failed'])
          for (const post of brief.filter((one) => one.state === result))
            keepBrief(endpointId, listedOf(endpointId, post))
      }
    },
    adjustPosts(now, by, longest) {
      const later = (at: number | null): number | null =>
        at === null ? null : Math.min(at + by, now + longest)
      for (const [key, { dueAt }] of posts.entries()) posts.change(key, { dueAt: later(dueAt) })
      for (const [key, place] of places.entries()) {
        const times = TIMES.map((name) => [name, place[name] === null ? null : place[name] + by])
        places.change(key, { ...Object.fromEntries(times), probeAt: later(place.probeAt) })
      }
    },
  } satisfies Partial<Plain<Hooks>>
  return verbs
}

export const createHooks = (state: State, addNotice: (notice: EventNotice) => unknown): Plain<Hooks> => ({
  ...createEndpoints(state),
  ...createSwitches(state, addNotice),
  ...createPostReads(state),
  ...createPosts(state),
})

export const sweepPosts = ({ posts }: State, now: number): number =>
  posts.drop(({ dueAt, updatedAt }) => dueAt === null && updatedAt < now - POSTS_KEPT_MS)
