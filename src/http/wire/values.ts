/**
 * NAME      values - headers and values of a request, in the units that the stages have for them
 */
import type { IncomingMessage } from 'node:http'
import { Fault, type FieldError } from '../../base/fault.js'
import { parseTime } from '../../base/moments.js'
import { formatDuration, parseDuration } from '../../config/forms.js'

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

/** All values of a header as sent: Node joins some repeated headers and drops others. */
export const headerValues = (req: IncomingMessage, name: string): readonly string[] => {
  const values: string[] = []
  // An injected request has no raw headers, and nobody to repeat one.
  const raw = req.rawHeaders ?? Object.entries(req.headers).flat()
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i]?.length === name.length && raw[i]?.toLowerCase() === name) values.push(raw[i + 1] ?? '')
  }
  return values
}

/** The one value of a header, or null; sent twice, it is no well-formed request. */
export const headerValue = (req: IncomingMessage, name: string): string | null => {
  const [value, second] = headerValues(req, name)
  if (second !== undefined) throw new Fault('request.malformed')
  return value ?? null
}

const BEARER = /^Bearer +([!-~]+) *$/i

/** The token of `Authorization`; null without one. Throws a Fault for anything else there. */
export const bearerOf = (req: IncomingMessage): string | null => {
  const values = headerValues(req, 'authorization')
  if (values.length === 0) return null
  const token = values.length === 1 ? BEARER.exec(values[0] ?? '')?.[1] : undefined
  if (token === undefined) throw new Fault('auth.credentials_invalid')
  return token
}
