/**
 * NAME      time - relative to read, exact to know
 * DESCRIPTION
 *   A time is shown as its distance from now, with the exact one, zone named, on hover and in the `datetime`. What is
 *   relative goes on counting where scripts run.
 */
import { nearWords, spanWords } from '../client/span.js'
import { useVisit } from './context.js'

export { spanWords }

const formats = new Map<string, Intl.DateTimeFormat>()
/** A browser may name its zone in a thousand spellings. */
const MOST_FORMATS = 500

/** Made once: a format costs a hundred times what its use does. */
const formatOf = (zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat => {
  const key = `${zone} ${JSON.stringify(options)}`
  let format = formats.get(key)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, ...options })
    if (formats.size >= MOST_FORMATS) formats.clear()
    formats.set(key, format)
  }
  return format
}

const EXACT = { dateStyle: 'short', timeStyle: 'medium' } as const

/** `2026-11-22 08:59:39 Europe/Berlin` in the zone of the reader. */
export const exactTime = (at: number, zone: string): string => `${formatOf(zone, EXACT).format(at)} ${zone}`

/** `08:59:39`, for a timeline of one day. */
export const clockTime = (at: number, zone: string): string =>
  formatOf(zone, { timeStyle: 'medium' }).format(at)

/** `08:59`, for an axis. */
export const minuteTime = (at: number, zone: string): string =>
  formatOf(zone, { hour: '2-digit', minute: '2-digit' }).format(at)

/** `2026-11-22`. */
export const dayOf = (at: number, zone: string): string => formatOf(zone, { dateStyle: 'short' }).format(at)

/** A zone that can be formatted with, or null. */
export const readZone = (zone: string | null): string | null => {
  if (zone === null || !/^[A-Za-z0-9_+\-/]{1,64}$/.test(zone)) return null
  try {
    formatOf(zone, EXACT)
    return zone
  } catch {
    return null
  }
}

interface TimeProps {
  /** RFC 3339; null is shown as the text of `none`. */
  readonly at: string | null | undefined
  readonly none?: string
  /** Shows the exact time itself. */
  readonly exact?: boolean
}

export const Time = ({ at, none = 'never', exact = false }: TimeProps) => {
  const visit = useVisit()
  if (!at) return <span class="faint">{none}</span>
  const ms = Date.parse(at)
  const shown = exactTime(ms, visit.zone)
  const near = nearWords(visit.now - ms)
  return exact ? (
    <time datetime={at} title={near}>
      {shown}
    </time>
  ) : (
    <time datetime={at} title={shown} data-near="">
      {near}
    </time>
  )
}
