/**
 * NAME      schedule - when a mail is to go
 * DESCRIPTION
 *   ISO 8601 with a zone, at most 30 days ahead. A time that has just passed
 *   (60 s: clocks differ, requests travel) means now.
 */
import type { FieldError } from '../base/fault.js'

const MOST_AHEAD_MS = 30 * 86_400_000
const JUST_PAST_MS = 60_000

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d|60)(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]([01]\d|2[0-3]):?[0-5]\d)$/

/** Epoch milliseconds, or null when the text is no time with a zone, or no day of the calendar. */
export const parseTime = (text: string): number | null => {
  const parts = ISO.exec(text.trim())
  if (parts === null) return null
  const [, year, month, day] = parts.map(Number)
  const date = new Date(Date.UTC(year ?? 0, (month ?? 0) - 1, day))
  if (date.getUTCMonth() !== (month ?? 0) - 1 || date.getUTCDate() !== day) return null
  const plain = text
    .trim()
    .toUpperCase()
    .replace(' ', 'T')
    .replace(',', '.')
    .replace(/([+-]\d\d)(\d\d)$/, '$1:$2')
    .replace(/:60(?=[.Z+-])/, ':59')
  const time = Date.parse(plain)
  return Number.isNaN(time) ? null : time
}

/** When to send: null is now. Adds to `errors` what is wrong. */
export const readSchedule = (
  text: string | null,
  now: number,
  field: string,
  errors: FieldError[],
): number | null => {
  if (text === null) return null
  const time = parseTime(text)
  if (time === null) {
    errors.push({ field, kind: 'format', message: 'must be an ISO 8601 time with a zone' })
    return null
  }
  if (time < now - JUST_PAST_MS) errors.push({ field, kind: 'past', message: 'must not lie in the past' })
  if (time > now + MOST_AHEAD_MS) {
    errors.push({ field, kind: 'range', message: 'must lie within the next 30 days' })
  }
  return time > now ? time : null
}
