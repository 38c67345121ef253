/**
 * NAME      text - times, figures and words of others, as people read them
 *   A time is shown as its distance from now, with the exact one, zone named, on hover and in the `datetime`. What is
 *   relative goes on counting where scripts run. A reply, a name or a subject may be written from right to left, or try to
 *   turn what stands around it: in a string such words stand between two marks of Unicode, on a page they are a `<bdi>`.
 */
import type { VNode } from 'preact'
import { nearWords, spanWords } from '../client/span.js'
import { html, useVisit } from '../render.js'

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
const plainTime = formatted({ dateStyle: 'short', timeStyle: 'medium' })

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

const FIRST = '\u2068'
const LAST = '\u2069'
const PART = /\u2068([^\u2069]*)\u2069/

/** Marks of its own would end it too early. */
export const isolate = (text: string): string =>
  text === '' ? '' : `${FIRST}${text.replace(/[\u2066-\u2069]/g, '')}${LAST}`

/** A sentence with such words in it. */
export const Said = ({ text }: { readonly text: string }): VNode =>
  html`${text.split(PART).map((part, at) => (at % 2 === 0 ? part : html`<bdi>${part}</bdi>`))}`

/** A longer one is wider than some columns, and may break anywhere. */
const LONGEST_LABEL = 20

interface AddressProps {
  readonly text: string
  /** Of a table with little room: a short one breaks, too. */
  readonly isTight?: boolean
}

/** A host name or an address. It breaks behind its dots and other marks, and not within a label or before a port. */
export const Address = ({ text, isTight = false }: AddressProps): VNode => {
  if (!isTight && text.length <= LONGEST_LABEL) return html`<bdi class="nb">${text}</bdi>`
  const labels = text.match(/[\p{L}\p{N}]+(?::\d+$|[^\p{L}\p{N}]*)|[^\p{L}\p{N}]+/gu) ?? []
  return html`<bdi>${labels.map((label) =>
    label.length > LONGEST_LABEL ? html`<wbr>${label}` : html`<wbr><span class="nb">${label}</span>`,
  )}</bdi>`
}

const FORMAT = new Intl.NumberFormat('en-US')

/** `12,345`. */
export const figure = (n: number): string => FORMAT.format(n)
