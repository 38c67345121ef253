/**
 * NAME      schedule - when a mail is to go
 * DESCRIPTION
 *   ISO 8601 with a zone, or a few words (base/time/in-words.ts), at most 30 days
 *   ahead. A time that has just passed (60 s: clocks differ, requests travel)
 *   means now.
 */
import type { FieldError } from '../base/fault.js'
import { readTimeInWords, TIME_FORMS } from '../base/time/in-words.js'
import { parseTime } from '../base/time/iso.js'

const MOST_AHEAD_MS = 30 * 86_400_000
const JUST_PAST_MS = 60_000

/** When to send: null is now. Adds to `errors` what is wrong. */
export const readSchedule = (
  text: string | null,
  now: number,
  field: string,
  errors: FieldError[],
): number | null => {
  if (text === null) return null
  const time = parseTime(text) ?? readTimeInWords(text, now)
  if (time === null) {
    const message = `must be an ISO 8601 time with a zone, or one of ${TIME_FORMS}`
    errors.push({ field, kind: 'format', message })
    return null
  }
  if (time < now - JUST_PAST_MS) errors.push({ field, kind: 'past', message: 'must not lie in the past' })
  if (time > now + MOST_AHEAD_MS) {
    errors.push({ field, kind: 'range', message: 'must lie within the next 30 days' })
  }
  return time > now ? time : null
}
