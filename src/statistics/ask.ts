/**
 * NAME      ask - what is asked of statistics, and whether it can be had
 * DESCRIPTION
 *   Reads the words of a request, of any door, into a question with limits: how
 *   many spans at once, and how far back rows of that length are kept.
 */
import type { FieldError } from '../base/fault.js'
import { type Dimension, KEPT, type Span } from '../store/port/statistics.js'
import { DAY, dayIn, HOUR, type Interval, MINUTE, startsIn, zoneNamed } from './zone.js'

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
export interface Words {
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
  /** Of which rows it is answered. */
  readonly dimension: Dimension
  readonly span: Span
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

const KEPT_WORDS: Readonly<Record<Span, string>> = {
  1: 'minutes are kept for 48 hours',
  15: 'in a zone that is not whole hours from UTC, hours and days are kept for 35 days; ask with tz=UTC',
  60: 'hours and days are kept for 13 months',
}

/** The fields of a door that a mistake is told of, such as `query.from` or `--from`. */
export type NameField = (field: 'from' | 'to' | 'interval' | 'group_by' | 'tag' | 'tz' | 'limit') => string

const rowsFor = (interval: Interval, starts: readonly number[]): Span =>
  interval === 'minute' ? 1 : starts.every((at) => at % HOUR === 0) ? 60 : 15

const dimensionOf = (groupBy: GroupBy): Dimension =>
  groupBy === 'workspace' || groupBy === 'category' ? 'none' : groupBy

/** Adds to `errors` all that is wrong; the question means nothing then. */
export const readQuestion = (
  words: Words,
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
