/**
 * NAME      days - how far the places of a day and created_at part
 * DESCRIPTION
 *   Lists go by the place, filters by time speak of created_at. For each day of
 *   places the largest difference in each direction is kept, so that a filter
 *   becomes ranges of places that never miss a row and are narrow on every day
 *   whose clock was right.
 */
import { dayStart, ordAt } from './ord.js'

export interface Day {
  readonly day: number
  /** created_at was at most so many ms before the place. */
  readonly behind: number
  /** And at most so many after it. */
  readonly ahead: number
}

/** Places from `from` up to, and not with, `to`. */
export interface Range {
  readonly from: number
  readonly to: number
  /** All that stands in it was created within the times that were asked for, so that no row must be looked at. */
  readonly isSure?: boolean
}

export const ALL_DAYS = 'SELECT day, behind, ahead FROM email_days ORDER BY day'

/** The places of one day at which mail created between these times can stand; null when none can. */
export const rangeOf = (
  { day, behind, ahead }: Day,
  createdAfter: number | null,
  createdBefore: number | null,
): Range | null => {
  const from = createdAfter === null ? 0 : ordAt(createdAfter - ahead)
  const to = createdBefore === null ? Number.POSITIVE_INFINITY : ordAt(createdBefore + behind + 1)
  const range = { from: Math.max(from, dayStart(day)), to: Math.min(to, dayStart(day + 1)) }
  return range.from < range.to ? range : null
}

/** The same in parts: the middle is sure, at its edges the clock may have been wrong. */
const partsOf = (day: Day, createdAfter: number | null, createdBefore: number | null): readonly Range[] => {
  const range = rangeOf(day, createdAfter, createdBefore)
  if (range === null) return []
  const from = createdAfter === null ? 0 : ordAt(createdAfter + day.behind + 1)
  const to = createdBefore === null ? Number.POSITIVE_INFINITY : ordAt(createdBefore - day.ahead)
  const sure = { from: Math.max(from, range.from), to: Math.min(to, range.to), isSure: true }
  if (sure.from >= sure.to) return [range]
  const parts = [{ from: range.from, to: sure.from }, sure, { from: sure.to, to: range.to }]
  return parts.filter((part) => part.from < part.to)
}

/** Of all days, rising. Days without mail between two of them do not part a range. */
export const rangesOf = (
  days: readonly Day[],
  createdAfter: number | null,
  createdBefore: number | null,
): Range[] => {
  const ranges: Range[] = []
  let previous: Day | null = null
  for (const day of days) {
    for (const part of partsOf(day, createdAfter, createdBefore)) {
      const last = ranges.at(-1)
      const isNext =
        previous !== null && last?.to === dayStart(previous.day + 1) && part.from === dayStart(day.day)
      if (isNext && last?.isSure === part.isSure) ranges[ranges.length - 1] = { ...part, from: last.from }
      else ranges.push(part)
    }
    previous = day
  }
  return ranges
}
