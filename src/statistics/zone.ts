/**
 * NAME      zone - where minutes, hours and days begin in a time zone
 * DESCRIPTION
 *   A day is as long as its zone has it, 23 or 25 hours twice a year; an hour
 *   begins at the full hour of the clock on the wall. A day whose midnight is
 *   skipped begins at the first moment that it has.
 */
export const INTERVALS = ['minute', 'hour', 'day'] as const
export type Interval = (typeof INTERVALS)[number]

export const MINUTE = 60_000
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
