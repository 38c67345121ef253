/**
 * NAME      time - relative to read, exact to know
 * DESCRIPTION
 *   A time is shown as its distance from now, with the exact one, zone named, on hover and in the `datetime`. What is
 *   relative goes on counting where scripts run.
 */
import { nearWords, spanWords } from '../client/span.js'
import { useVisit } from '../render/context.js'
import { html } from '../render/markup.js'

export { spanWords }

/** A browser may name its zone in a thousand spellings. */
const MOST_ZONES = 100

/** Made once for each zone: a format costs a hundred times what its use does. */
const formatted = (options: Intl.DateTimeFormatOptions) => {
  const formats = new Map<string, Intl.DateTimeFormat>()
  return (at: number, zone: string): string => {
    let format = formats.get(zone)
    if (format === undefined) {
      format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, ...options })
      if (formats.size >= MOST_ZONES) formats.clear()
      formats.set(zone, format)
    }
    return format.format(at)
  }
}

/** `2026-11-22 08:59:39`. */
export const plainTime = formatted({ dateStyle: 'short', timeStyle: 'medium' })

/** `2026-11-22 08:59:39 Europe/Berlin` in the zone of the reader. */
export const exactTime = (at: number, zone: string): string => `${plainTime(at, zone)} ${zone}`

/** `08:59:39`, for a timeline of one day. */
export const clockTime = formatted({ timeStyle: 'medium' })

/** `08:59`, for an axis. */
export const minuteTime = formatted({ hour: '2-digit', minute: '2-digit' })

/** `2026-11-22`. */
export const dayOf = formatted({ dateStyle: 'short' })

/** A zone that can be formatted with, or null. */
export const readZone = (zone: string | null): string | null => {
  if (zone === null || !/^[A-Za-z0-9_+\-/]{1,64}$/.test(zone)) return null
  try {
    plainTime(0, zone)
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
  if (!at) return html`<span class="faint">${none}</span>`
  const ms = Date.parse(at)
  const shown = exactTime(ms, visit.zone)
  const near = nearWords(visit.now - ms)
  return exact
    ? html`<time datetime="${at}" title="${near}">${shown}</time>`
    : html`<time datetime="${at}" title="${shown}" data-near="">${near}</time>`
}
