/**
 * NAME      time - moments and spans as people write and read them
 */
import { badInput } from './exit.js'

const UNITS: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 }

/** `90d` from now, or an RFC 3339 time, as epoch milliseconds; NaN when it is neither. */
export const readInstant = (text: string, now: number = Date.now()): number => {
  const span = readSpan(text)
  if (!Number.isNaN(span)) return now + span
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN
}

/** `15m` as milliseconds; NaN when it is no span. */
export const readSpan = (text: string): number => {
  const [, number, unit = ''] = /^(\d+)([smhdw])$/.exec(text) ?? []
  return Number(number) * (UNITS[unit] ?? Number.NaN)
}

/** Of an option: `2h` is two hours ago here. */
export const readPast = (name: string, text: string | undefined): number | null => {
  if (text === undefined) return null
  const now = Date.now()
  const at = readInstant(text, now)
  if (Number.isNaN(at)) throw badInput(`--${name}: ${text} is neither 2h nor an RFC 3339 time`)
  return Number.isNaN(readSpan(text)) ? at : 2 * now - at
}

/** A span in its two largest words are too many: `41 ms`, `3 s`, `12 min`, `5 h`, `3 d`. */
export const spanText = (ms: number): string => {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 100_000) return `${Math.round(ms / 1000)} s`
  if (ms < 100 * 60_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 72 * 3_600_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} d`
}

export const ago = (at: number, now: number = Date.now()): string => `${spanText(now - at)} ago`
