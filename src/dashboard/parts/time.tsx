/**
 * NAME      time - relative to read, exact to know
 * DESCRIPTION
 *   A time is shown as its distance from now, with the exact one, zone named, on hover and in the `datetime`.
 */
import type { Visit } from '../visit.js'

const STEPS = [
  [60_000, 1_000, 's'],
  [3_600_000, 60_000, 'min'],
  [86_400_000, 3_600_000, 'h'],
  [Number.POSITIVE_INFINITY, 86_400_000, 'd'],
] as const

/** `14 min`, `3 h`, `2 d`. */
export const spanWords = (ms: number): string => {
  const [, unit, word] = STEPS.find(([below]) => Math.abs(ms) < below) ?? STEPS[3]
  return `${Math.floor(Math.abs(ms) / unit)} ${word}`
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** `2026-11-22 08:59:39 CET` in the zone of the reader. */
export const exactTime = (at: number, zone: string): string => {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('sv-SE', {
      timeZone: zone,
      dateStyle: 'short',
      timeStyle: 'medium',
    })
    formats.set(zone, format)
  }
  return `${format.format(at)} ${zone}`
}

interface TimeProps {
  readonly visit: Visit
  /** RFC 3339; null is shown as the text of `none`. */
  readonly at: string | null | undefined
  readonly none?: string
  /** Shows the exact time itself. */
  readonly exact?: boolean
}

export const Time = ({ visit, at, none = 'never', exact = false }: TimeProps) => {
  if (!at) return <span class="faint">{none}</span>
  const ms = Date.parse(at)
  const away = visit.now - ms
  const shown = exactTime(ms, visit.zone)
  const near = Math.abs(away) < 1_000 ? 'now' : away > 0 ? `${spanWords(away)} ago` : `in ${spanWords(away)}`
  return (
    <time datetime={at} title={exact ? near : shown}>
      {exact ? shown : near}
    </time>
  )
}
