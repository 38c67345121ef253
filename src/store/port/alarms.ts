/**
 * NAME      alarms - limits of what goes wrong: when an alarm is raised, when an address is suppressed
 *   Three rates, each over a window of its own, of live mail only. An alarm is
 *   raised when a rate reaches its limit and the count is large enough to mean
 *   something; it stands until the rate has been below the limit for an hour, so a rate
 *   that wavers around its limit is one alarm. Pure: what is counted is told by
 *   alarm/, and stored with its judgement in one commit.
 *   complaints    reports of abuse, of the recipients tried
 *   hard_bounces  recipients who do not exist, of those tried
 *   deferrals     refused for now, in an answer and not to greylist, of those tried
 *   Each says what most of what it counts has in common, so that whoever is woken knows where to look.
 *   When an address that is not dead is written to no more: Off unless a workspace says so: after so many soft
 *   bounces of one kind, the first of which is so many days older than the last, with no mail taken between.
 *   Counted in the mails that are kept, so days beyond `retention.emails` are never reached.
 */
import type { EventRow } from '../../lifecycle/facts.js'
import { storedDomain } from '../../mail/address.js'
import type { EventType } from '../../mail/event-type.js'
import { isGreylisting } from '../../mail/reply.js'
import { CATEGORIES, type Category, categoryTitle } from '../../mail/report/category.js'

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

/** What most of them have in common. */
export interface Cause {
  /** Why a recipient was refused; of complaints, the type of feedback. */
  readonly reason: string
  /** As often, of so many that were looked at. */
  readonly count: number
  readonly of: number
  /** Of the recipients, where more than half of them have one. */
  readonly domain: string | null
}

/** An alarm that stands. */
export interface Raised {
  readonly since: number
  /** When the rate was last found at its limit or above. */
  readonly lastAt: number
  /** As they were at the last look. */
  readonly count: number
  readonly tried: number
  /** Looked for when it is raised, and then once a minute; null or not there: nothing is known. */
  readonly cause?: Cause | null
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

/** What each counts. */
export const ALARM_EVENTS = {
  complaints: 'email.complained',
  hard_bounces: 'email.bounced',
  deferrals: 'email.deferred',
} as const satisfies Readonly<Record<Alarm, EventType>>

/** Where its counts stand. */
export const ALARM_COUNTS = {
  complaints: 'complaints',
  hard_bounces: 'hardBounces',
  deferrals: 'deferrals',
} as const satisfies Readonly<Record<Alarm, string>>

/** What of an event, or of a record of the log, says whether it is counted. */
export type Countable = Pick<EventRow, 'source' | 'change' | 'reply' | 'reason' | 'detail' | 'recipient'>

const COUNTS: Readonly<Record<Alarm, (event: Countable) => boolean>> = {
  complaints: () => true,
  hard_bounces: ({ detail }) => detail?.class === 'hard',
  deferrals: ({ source, reply, reason }) =>
    source === 'smtp' && reply !== null && reason !== 'connection' && !isGreylisting(reply),
}

/** Whether an event of its type counts for it. */
export const countsFor = (alarm: Alarm, event: Countable): boolean => event.change && COUNTS[alarm](event)

/** As many of the newest events are looked at for a cause. */
export const MOST_OF_CAUSE = 1_000

/** The most frequent, and of those that are as frequent the first by name. */
const mostOf = (texts: readonly string[]): readonly [text: string, count: number] | null => {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0] ?? null
}

const reasonOf = ({ reason }: Countable): string => reason ?? 'unknown'

/** The most frequent reason of those that count. */
export const causeIn = (alarm: Alarm, events: readonly Countable[]): Cause | null => {
  const counted = events.filter((event) => countsFor(alarm, event))
  const most = mostOf(counted.map(reasonOf))
  if (most === null) return null
  const [reason, count] = most
  const same = counted.filter((event) => reasonOf(event) === reason)
  const at = mostOf(same.flatMap(({ recipient }) => (recipient === null ? [] : storedDomain(recipient))))
  return { reason, count, of: counted.length, domain: at !== null && at[1] * 2 > count ? at[0] : null }
}

const FEEDBACK: Readonly<Record<string, string>> = { abuse: 'Called spam', fraud: 'Called fraud' }

/** In plain words: `No such mailbox`. */
const causeTitle = ({ reason }: Cause): string => categoryTitle(reason) ?? FEEDBACK[reason] ?? reason

/** As the wire has it. */
export const causeRecord = (cause: Cause | null | undefined) =>
  cause == null ? null : { ...cause, title: causeTitle(cause) }

/** Where the mails behind an alarm are found, as a search. */
export const ALARM_SEARCH: Readonly<Record<Alarm, string>> = {
  complaints: 'is:complained',
  hard_bounces: 'status:bounced',
  deferrals: 'is:deferred',
}

/** What recipients did, or what became of them, when it is raised. */
export const ALARM_WORDS: Readonly<Record<Alarm, string>> = {
  complaints: 'complained within 24 hours',
  hard_bounces: 'bounced hard within an hour',
  deferrals: 'were deferred within an hour',
}

/** How the reason of a hold begins that an alarm made. */
export const ALARM_HOLD = 'alarm: '

/** A share as people read it: `0.3 %`, `12 %`. */
export const percent = (share: number): string => `${Number((share * 100).toPrecision(3))} %`

/** `No such mailbox (41 of 52), most at example.com`. */
const causeText = (cause: Cause): string =>
  `${causeTitle(cause)} (${cause.count} of ${cause.of})${cause.domain === null ? '' : `, most at ${cause.domain}`}`

/** What an alarm says, in words that name nobody. */
export const alarmText = (alarm: Alarm, { count, tried, cause }: Rate & Pick<Raised, 'cause'>): string => {
  const said = `${count} of ${tried} recipients ${ALARM_WORDS[alarm]} (${percent(shareOf({ count, tried }))})`
  return cause == null ? said : `${said}, mostly: ${causeText(cause)}`
}

export interface SoftLimit {
  readonly bounces: number
  readonly days: number
}

/** By kind; one that it leaves out suppresses nobody. */
export type SoftLimits = Readonly<Partial<Record<Category, SoftLimit>>>

export const MOST_SOFT_BOUNCES = 1_000
export const MOST_SOFT_DAYS = 365

/** Kinds of soft bounces that say something of the address. */
export const SOFT_KINDS = (Object.keys(CATEGORIES) as Category[]).filter(
  (kind) => CATEGORIES[kind].severity === 'soft' && CATEGORIES[kind].fault === 'recipient',
)

/** A limit as people write it: `0.3%/5`, off, or default. Null for what is none. */
export const readAlarmLimit = (alarm: Alarm, text: string): AlarmLimit | 'off' | null => {
  if (text === 'off') return 'off'
  if (text === 'default') return ALARM_LIMITS[alarm]
  const [, share = '', least = ''] = /^(\d{1,3}(?:\.\d{1,4})?)\s*%\s*\/\s*(\d{1,7})$/.exec(text) ?? []
  const [rate, atLeast] = [Number(share) / 100, Number(least)]
  return rate < 0.0001 || rate > 1 || atLeast < 1 || atLeast > 1_000_000 ? null : { rate, atLeast }
}

/** The same in writing. */
export const alarmLimitText = (limit: AlarmLimit | 'off'): string =>
  limit === 'off' ? limit : `${Number((limit.rate * 100).toFixed(4))}%/${limit.atLeast}`

/** A limit of soft bounces as people write it: a kind, and `8/30d` for eight over thirty days. Null for what is none. */
export const readSoftLimit = (name: string, text: string) => {
  const [, many = '', length = ''] = /^(\d{1,4})\/(\d{1,3})d$/.exec(text) ?? []
  const [bounces, days] = [Number(many), Number(length)]
  const kind = SOFT_KINDS.find((known) => known === name)
  return kind === undefined || bounces < 1 || bounces > MOST_SOFT_BOUNCES || days > MOST_SOFT_DAYS
    ? null
    : { kind, limit: { bounces, days } }
}
