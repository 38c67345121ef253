/**
 * NAME      values - values of a request by the names and units that the stages have for them
 */
import type { FieldError } from '../../base/fault.js'
import { parseTime } from '../../base/moments.js'
import { formatDuration, parseDuration } from '../../config/units.js'

const DAY = /^\d{4}-\d\d-\d\d$/

/** Epoch milliseconds of a time with its zone, or of a day (its first moment in UTC). Adds to `errors` when it is neither. */
export const readTime = (
  field: string,
  text: string | null | undefined,
  errors: FieldError[],
): number | null => {
  if (text == null) return null
  const at = parseTime(DAY.test(text) ? `${text}T00:00Z` : text)
  if (at === null) {
    errors.push({ field, message: 'must be an ISO 8601 day, or a time with its zone', kind: 'format' })
  }
  return at
}

/** Milliseconds of `90m`, or of a number of seconds. Adds to `errors` when it is no time or a longer one than `most`. */
export const readSpan = (
  field: string,
  value: string | number,
  most: number,
  errors: FieldError[],
): number => {
  const ms = typeof value === 'number' ? value * 1000 : parseDuration(value)
  if (ms !== null && ms <= most) return ms
  const message = `must be a time such as "24h", at most "${formatDuration(most)}"`
  errors.push({ field, kind: 'range', message })
  return 0
}
