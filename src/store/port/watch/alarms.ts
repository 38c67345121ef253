/**
 * NAME      alarms - when too much of a workspace's mail goes wrong
 * DESCRIPTION
 *   Three rates, each over a window of its own, of live mail only. An alarm is
 *   raised when a rate reaches its limit and the count is large enough to mean
 *   something; it stands until the rate has been below the limit for an hour, so a rate
 *   that wavers around its limit is one alarm. Pure: what is counted is told by
 *   alarm/, and stored with its judgement in one commit.
 *   complaints    reports of abuse, of the recipients tried
 *   hard_bounces  recipients who do not exist, of those tried
 *   deferrals     refused for now, in an answer and not to greylist, of those tried
 */
export const ALARMS = ['complaints', 'hard_bounces', 'deferrals'] as const
export type Alarm = (typeof ALARMS)[number]

export interface AlarmLimit {
  /** A share, above 0 and at most 1. */
  readonly rate: number
  /** Fewer than this are no alarm, whatever their share. */
  readonly atLeast: number
}

/** What a workspace says itself; 'off' never raises one. */
export type AlarmSettings = Readonly<Partial<Record<Alarm, AlarmLimit | 'off'>>>

export const ALARM_LIMITS: Readonly<Record<Alarm, AlarmLimit>> = {
  complaints: { rate: 0.003, atLeast: 5 },
  hard_bounces: { rate: 0.05, atLeast: 20 },
  deferrals: { rate: 0.3, atLeast: 50 },
}

const HOUR = 3600_000

export const ALARM_WINDOW_MS: Readonly<Record<Alarm, number>> = {
  complaints: 24 * HOUR,
  hard_bounces: HOUR,
  deferrals: HOUR,
}

/** For how long a rate must stay below its limit before it can raise another alarm. */
export const ALARM_CALM_MS = HOUR

/** Counts are kept by these, and windows move by them. */
export const ALARM_SPAN_MS = 300_000

/** An alarm that stands. */
export interface Raised {
  readonly since: number
  /** When the rate was last found at its limit or above. */
  readonly lastAt: number
  /** As they were at the last look. */
  readonly count: number
  readonly tried: number
}

export type RaisedAlarms = Readonly<Partial<Record<Alarm, Raised>>>

/** How many there were in a window, of how many. */
export interface Rate {
  readonly count: number
  readonly tried: number
}

/** What holds for a workspace that says this. */
export const limitOf = (settings: AlarmSettings, alarm: Alarm): AlarmLimit | 'off' =>
  settings[alarm] ?? ALARM_LIMITS[alarm]

/** A share of 0 to 1; what nobody tried has no share that means anything. */
export const shareOf = ({ count, tried }: Rate): number => (tried === 0 ? 0 : Math.min(1, count / tried))

const isOver = (limit: AlarmLimit, rate: Rate): boolean =>
  rate.count >= limit.atLeast && shareOf(rate) >= limit.rate

/** The alarm that stands after a look at the rate, or null. */
export const judge = (
  limit: AlarmLimit | 'off',
  rate: Rate,
  before: Raised | null,
  now: number,
): Raised | null => {
  if (limit === 'off') return null
  if (isOver(limit, rate)) return { since: before?.since ?? now, lastAt: now, ...rate }
  if (before === null || now - before.lastAt >= ALARM_CALM_MS) return null
  // by a clock that was put back since, the calm begins now
  return { ...before, ...rate, lastAt: Math.min(before.lastAt, now) }
}

const WORDS: Readonly<Record<Alarm, string>> = {
  complaints: 'recipients complained within 24 hours',
  hard_bounces: 'recipients bounced hard within an hour',
  deferrals: 'recipients were deferred within an hour',
}

/** How the reason of a hold begins that an alarm made. */
export const ALARM_HOLD = 'alarm: '

/** A share as people read it: `0.3 %`, `12 %`. */
export const percent = (share: number): string => `${Number((share * 100).toPrecision(2))} %`

/** What an alarm says, in words that name nobody. */
export const alarmText = (alarm: Alarm, { count, tried }: Rate): string =>
  `${count} of ${tried} ${WORDS[alarm]} (${percent(shareOf({ count, tried }))})`
