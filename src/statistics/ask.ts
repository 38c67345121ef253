/**
 * NAME      ask - what is asked of statistics, whether it can be had, and where hours and days begin in a zone
 *   Reads the words of a request, of any door, into a question with limits: how many spans at once, and how far back
 *   rows of that length are kept.
 *   A day is as long as its zone has it, 23 or 25 hours twice a year; an hour begins at the full hour of the clock on
 *   the wall. A day whose midnight is skipped begins at the first moment that it has.
 */
import type { FieldError } from '../base/fault.js'
import { type Dimension, KEPT, type StatisticsSpan } from '../store/port/watch.js'

export const INTERVALS = ['minute', 'hour', 'day'] as const
type Interval = (typeof INTERVALS)[number]

const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

const MOST_FORMATS = 1_000
const formats = new Map<string, Intl.DateTimeFormat>()

const makeFormat = (zone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })

/** Of the names that are asked for; a client can write one in many ways. */
const formatOf = (zone: string): Intl.DateTimeFormat => {
  if (formats.size > MOST_FORMATS) formats.clear()
  const format = formats.get(zone) ?? makeFormat(zone)
  formats.set(zone, format)
  return format
}

/** As the tz database writes it, or as it was given: Asia/Kolkata is told as Asia/Kolkata. Null when there is none such. */
export const zoneNamed = (name: string): string | null => {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{1,63}$/.test(name)) return null
  try {
    const { timeZone } = formatOf(name).resolvedOptions()
    return timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name
  } catch {
    return null
  }
}

/** How far the zone is ahead of UTC at that moment, in milliseconds. */
const offsetAt = (zone: string, at: number): number => {
  if (zone === 'UTC') return 0
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000
}

/** The moment at which the wall shows midnight of a day that is given as if it were UTC's. */
const midnightOf = (zone: string, wall: number): number => {
  const before = wall - offsetAt(zone, wall - DAY)
  const after = wall - offsetAt(zone, wall + DAY)
  const right = [before, after].filter((at) => at + offsetAt(zone, at) === wall)
  return right.length === 0 ? before : Math.min(...right)
}

const floor = (at: number, unit: number): number => Math.floor(at / unit) * unit

/** The beginning of the minute, hour or day that a moment is in. */
export const startOf = (interval: Interval, zone: string, at: number): number => {
  if (interval === 'minute') return floor(at, MINUTE)
  const offset = offsetAt(zone, at)
  if (interval === 'hour') return floor(at + offset, HOUR) - offset
  return midnightOf(zone, floor(at + offset, DAY))
}

const nextOf = (interval: Interval, zone: string, start: number): number => {
  if (interval === 'minute') return start + MINUTE
  if (interval === 'hour') return startOf('hour', zone, start + HOUR)
  // the middle of the next day, however long this one is
  return startOf('day', zone, start + 36 * HOUR)
}

/** Where each begins, from the one that `from` is in, and where the last one ends; at most `most` of them, and one more. */
export const startsIn = (
  interval: Interval,
  zone: string,
  from: number,
  to: number,
  most: number,
): readonly number[] => {
  const starts = [startOf(interval, zone, from)]
  for (let at = starts[0] as number; at < to && starts.length <= most + 1; ) {
    at = nextOf(interval, zone, at)
    starts.push(at)
  }
  return starts
}

/** The first moment of `2026-11-20` in a zone; null when there is no such day. */
export const dayIn = (zone: string, text: string): number | null => {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return null
  const wall = Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(wall) || new Date(wall).toISOString().slice(0, 10) !== text
    ? null
    : midnightOf(zone, wall)
}

export const GROUPS = [
  'none',
  'workspace',
  'pool',
  'recipient_domain',
  'tag',
  'category',
  'upstream',
  'provider',
] as const
export type GroupBy = (typeof GROUPS)[number]

/** As it was written. */
export interface AskedWords {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly interval?: Interval | undefined
  readonly groupBy?: GroupBy | undefined
  /** With `tag`: only the values of this name. */
  readonly tag?: string | undefined
  readonly tz?: string | undefined
  /** How many groups are told apart, the busiest first. */
  readonly limit?: number | undefined
}

export interface Question {
  readonly interval: Interval
  readonly groupBy: GroupBy
  readonly tag: string | null
  readonly zone: string
  readonly limit: number
  /** Where each span begins, and where the last one ends. */
  readonly starts: readonly number[]
  readonly dimension: Dimension
  readonly span: StatisticsSpan
  /** What its fields are called where it was asked. */
  readonly nameOf: NameField
}

/** How many spans one answer may have, and how many without `from`. */
const MOST: Readonly<Record<Interval, number>> = { minute: 1_440, hour: 744, day: 396 }
const USUAL: Readonly<Record<Interval, number>> = { minute: 60, hour: 24, day: 30 }
const LENGTH: Readonly<Record<Interval, number>> = { minute: MINUTE, hour: HOUR, day: DAY }
export const MOST_GROUPS = 100
const USUAL_GROUPS = 10
/** Groups times spans. */
const MOST_CELLS = 7_500

const BY_MINUTE: readonly GroupBy[] = ['none', 'workspace', 'pool', 'upstream', 'category']

const WITH_ZONE = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:?\d\d)$/

const KEPT_WORDS: Readonly<Record<StatisticsSpan, string>> = {
  1: 'minutes are kept for 48 hours',
  15: 'in a zone that is not whole hours from UTC, hours and days are kept for 35 days; ask with tz=UTC',
  60: 'hours and days are kept for 13 months',
}

/** The fields of a door that a mistake is told of, such as `query.from` or `--from`. */
export type NameField = (field: 'from' | 'to' | 'interval' | 'group_by' | 'tag' | 'tz' | 'limit') => string

const rowsFor = (interval: Interval, starts: readonly number[]): StatisticsSpan =>
  interval === 'minute' ? 1 : starts.every((at) => at % HOUR === 0) ? 60 : 15

const dimensionOf = (groupBy: GroupBy): Dimension =>
  groupBy === 'workspace' || groupBy === 'category' ? 'none' : groupBy

/** Adds to `errors` all that is wrong; the question means nothing then. */
export const readQuestion = (
  words: AskedWords,
  now: number,
  nameOf: NameField,
  errors: FieldError[],
): Question => {
  const { interval = 'hour', groupBy = 'none', tag = null } = words
  const wrong = (field: Parameters<NameField>[0], kind: FieldError['kind'], message: string): void => {
    errors.push({ field: nameOf(field), kind, message })
  }
  const zone = zoneNamed(words.tz ?? 'UTC')
  if (zone === null) wrong('tz', 'unknown', 'must be a zone of the tz database, such as Asia/Tashkent')
  const moment = (field: 'from' | 'to'): number | null => {
    const text = words[field]
    if (text === undefined) return null
    const at = dayIn(zone ?? 'UTC', text) ?? (WITH_ZONE.test(text) ? Date.parse(text) : Number.NaN)
    if (Number.isNaN(at)) wrong(field, 'format', 'must be a day such as 2026-11-20, or a time with its zone')
    return Number.isNaN(at) ? null : at
  }
  const to = moment('to') ?? now
  const from = moment('from') ?? to - USUAL[interval] * LENGTH[interval]
  if (from >= to) wrong('from', 'range', 'must be before `to`')
  const starts = startsIn(interval, zone ?? 'UTC', from, to, MOST[interval])
  const spans = starts.length - 1
  const span = rowsFor(interval, starts)
  if (spans > MOST[interval])
    wrong('from', 'too_many', `one answer has at most ${MOST[interval]} spans of a ${interval}`)
  else if ((starts[0] as number) < now - KEPT[span] - span * MINUTE) wrong('from', 'past', KEPT_WORDS[span])
  if (interval === 'minute' && !BY_MINUTE.includes(groupBy))
    wrong('group_by', 'unsupported', `with interval=minute it must be ${BY_MINUTE.join(', ')}`)
  if (tag !== null && groupBy !== 'tag') wrong('tag', 'unsupported', 'needs group_by=tag')
  const limit = words.limit ?? Math.min(USUAL_GROUPS, Math.floor(MOST_CELLS / Math.max(1, spans)))
  if (groupBy !== 'none' && limit * spans > MOST_CELLS)
    wrong('limit', 'range', `groups times spans must be at most ${MOST_CELLS}: fewer groups, or longer spans`)
  return {
    interval,
    groupBy,
    tag,
    zone: zone ?? 'UTC',
    limit,
    starts,
    dimension: dimensionOf(groupBy),
    span,
    nameOf,
  }
}
