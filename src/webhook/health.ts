/**
 * NAME      health - what an endpoint's answers say of it, and when a post is tried again
 *     Pure: a state and an answer in, a state and what is to be told out. After twenty failures in a row, or a thousand
 *     posts that wait, an endpoint is failing: its place stands and one post at a time, by the list of waits, tries
 *     whether it is back. With `maxInFlight` 1 the first failure is enough, so the order is kept.
 *     Its owners are told when it has failed for about 35 minutes (a fourth try), and once more after half of the time
 *     in which it is disabled.
 *   NOTES
 *     It is disabled after five days without one success, if two failures in a row are twelve hours apart: a quiet
 *     endpoint does not fall by one.
 *   At once, then after the waits of the list, each up to a tenth shorter so that what failed together does not come
 *   back together. An event is given up 76 hours after it was stored, or when the list is at its end. An endpoint may
 *   ask for more time, a day at most.
 */
import type { EndpointRow, EndpointState } from '../store/port/hooks.js'

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3600_000]
const DAY = 24 * HOUR

/** After the first failed try, the second, and so on. */
const WAITS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]

export const LIFE_MS = 76 * HOUR
export const LONGEST_WAIT_MS = DAY

/** The wait after so many failed tries; the last one repeats. `asked` are seconds of a Retry-After. */
export const waitAfter = (failed: number, asked: number | null, random: () => number): number => {
  const wait = WAITS[Math.min(failed, WAITS.length) - 1] ?? DAY
  return Math.max(Math.round(wait * (0.9 + 0.1 * random())), Math.min((asked ?? 0) * SECOND, DAY))
}

/**
 * The time of the next try, or null: given up. `from` is when its life began. While the clock can not be
 * believed nothing is given up for its age.
 */
export const nextTry = (
  { attempts, from, asked }: { attempts: number; from: number; asked: number | null },
  now: number,
  isSteady: boolean,
  random: () => number,
): number | null => {
  const at = now + waitAfter(attempts, asked, random)
  if (!isSteady) return at
  return attempts > WAITS.length || at > from + LIFE_MS ? null : at
}

export const MOST_WAITING = 1000
const MOST_FAILURES = 20
const FOURTH = 4
const LIMIT_MS = 5 * DAY
const APART_MS = DAY / 2

type Told = 'failing' | 'recovered' | 'disable'

export interface JudgedPost {
  readonly state: EndpointState
  readonly tell: Told | null
}

/** Of a failed try. */
export interface Failed {
  readonly now: number
  /** Failed tries of this post, with this one. */
  readonly attempts: number
  /** When it failed first. */
  readonly since: number
  /** Seconds of a Retry-After. */
  readonly asked: number | null
  /** Posts that wait, with this one. */
  readonly waiting: number
  /** False while the wall clock can not be believed: nothing is disabled then. */
  readonly isSteady: boolean
  /** True when it was tried as the one post that may try a failing endpoint. */
  readonly isProbe: boolean
  readonly random: () => number
}

const AT_EASE = {
  health: 'healthy',
  failingSince: null,
  failures: 0,
  firstFailedAt: null,
  lastFailedAt: null,
  probes: 0,
  probeAt: null,
  told: 0,
} as const

export const succeeded = (state: EndpointState, now: number): JudgedPost => ({
  state: { ...state, ...AT_EASE, lastSucceededAt: now },
  tell: state.told > 0 ? 'recovered' : null,
})

/** Since when it has taken nothing: a change of the endpoint, or enabling it, is a new beginning. */
const silentSince = (state: EndpointState, endpoint: EndpointRow): number =>
  Math.max(state.lastSucceededAt ?? 0, endpoint.updatedAt)

const standing = (state: EndpointState, endpoint: EndpointRow, failed: Failed): EndpointState => {
  const { now, asked, random } = failed
  const isFailing = state.health === 'failing'
  const most = endpoint.maxInFlight === 1 ? 1 : MOST_FAILURES
  // what was under way when it began to fail says nothing new
  if (isFailing && !failed.isProbe) return state
  if (!isFailing && state.failures < most && failed.waiting < MOST_WAITING) return state
  const probes = isFailing ? state.probes + 1 : 0
  return {
    ...state,
    health: 'failing',
    failingSince: state.failingSince ?? now,
    probes,
    probeAt: now + waitAfter(probes + 1, asked, random),
  }
}

export const failed = (before: EndpointState, endpoint: EndpointRow, one: Failed): JudgedPost => {
  const { now } = one
  const counted = {
    ...before,
    failures: before.failures + 1,
    firstFailedAt: before.firstFailedAt ?? now,
    lastFailedAt: now,
  }
  const state = standing(counted, endpoint, one)
  const silent = now - silentSince(state, endpoint)
  const apart = now - (state.firstFailedAt ?? now)
  if (one.isSteady && silent >= LIMIT_MS && apart >= APART_MS) return { state, tell: 'disable' }
  const isFourth =
    state.probes >= FOURTH - 1 || (one.attempts >= FOURTH && one.since >= (state.firstFailedAt ?? now))
  if (state.told === 0 && isFourth) return { state: { ...state, told: 1 }, tell: 'failing' }
  if (one.isSteady && state.told === 1 && silent >= LIMIT_MS / 2 && apart >= APART_MS)
    return { state: { ...state, told: 2 }, tell: 'failing' }
  return { state, tell: null }
}

/** Whether `now` is the time of the one post that may try a failing endpoint. */
export const mayProbe = ({ probeAt }: EndpointState, now: number): boolean => now >= (probeAt ?? 0)

const TIMES = [
  'failingSince',
  'firstFailedAt',
  'lastFailedAt',
  'lastSucceededAt',
  'probeAt',
  'givenUpToldAt',
] as const

/** The wall clock was set by so much: what was long ago is as long ago as before. */
export const shifted = (state: EndpointState, by: number): EndpointState => {
  const moved = TIMES.map((name) => [name, state[name] === null ? null : (state[name] ?? 0) + by])
  return { ...state, ...(Object.fromEntries(moved) as Pick<EndpointState, (typeof TIMES)[number]>) }
}
