/**
 * NAME      warmup - how much an upstream that is new may be given in a day
 *   Of `first` and `days` follows all: day n of a warm-up allows first · 2^(n−1) recipients, and behind its last day
 *   there is no limit. Days are those of UTC, and only those on which the upstream took mail: receivers forget who says
 *   nothing for a while. So a clock that is set, however far, is at most one day more, and one that is set back finds
 *   the day as it left it.
 */

const DAY_MS = 86_400_000

/** 2^29 times as much at the end is more than a number of mails can be. */
export const WARMUP_MOST = { first: 1_000_000, days: 30 } as const

export interface WarmupPlan {
  /** Recipients of the first day. */
  readonly first: number
  readonly days: number
}

/** What was given to an upstream on a day. */
export interface WarmupDay {
  /** The warm-up of which it is a day. */
  readonly id: string
  /** Days since the epoch, in UTC. */
  readonly day: number
  /** Recipients that were given to the upstream, or that a daemon may give it. */
  readonly used: number
  /** When the first of them was. */
  readonly beganAt: number
}

export const dayOf = (now: number): number => Math.floor(now / DAY_MS)
export const beginOf = (day: number): number => day * DAY_MS
/** When the next day begins. */
export const nextDayAt = (now: number): number => beginOf(dayOf(now) + 1)

/** Of its n-th day; null: none. */
export const limitOf = ({ first, days }: WarmupPlan, n: number): number | null =>
  n > days ? null : first * 2 ** (n - 1)

/** Which day of the warm-up `day` is, from 1; `earlier` days had mail. */
export const placeOf = (days: readonly WarmupDay[], day: number): number =>
  1 + days.filter((one) => one.day < day && one.used > 0).length

export interface WarmupState extends WarmupPlan {
  /** From 1; greater than `days` when it is over. */
  readonly day: number
  readonly used: number
  /** null: none. */
  readonly limit: number | null
  /** When the first mail was given to the upstream; null: none was. */
  readonly startedAt: number | null
  /** Days with mail, the oldest first. */
  readonly past: readonly { readonly at: number; readonly used: number; readonly limit: number | null }[]
}

/** How it stands now; `days` are those of this warm-up, in their order. */
export const warmupState = (
  { first, days }: WarmupPlan,
  rows: readonly WarmupDay[],
  now: number,
): WarmupState => {
  const plan = { first, days }
  const today = dayOf(now)
  const day = placeOf(rows, today)
  const began = rows.filter(({ used }) => used > 0)
  return {
    ...plan,
    day,
    used: rows.find((one) => one.day === today)?.used ?? 0,
    limit: limitOf(plan, day),
    startedAt: began[0]?.beganAt ?? null,
    past: began.map(({ day: at, used }, i) => ({ at: beginOf(at), used, limit: limitOf(plan, i + 1) })),
  }
}

/** It may be given nothing more today. */
export const isSpent = ({ used, limit }: Pick<WarmupState, 'used' | 'limit'>): boolean =>
  limit !== null && used >= limit
