/**
 * NAME      words - figures and times of the queue, as a sentence says them
 */
import { figure } from '../../parts/figure.js'

export const recipients = (n: number): string => (n === 1 ? '1 recipient' : `${figure(n)} recipients`)

const UNITS = [
  [60_000, 1_000, 'second'],
  [3_600_000, 60_000, 'minute'],
  [86_400_000, 3_600_000, 'hour'],
  [Number.POSITIVE_INFINITY, 86_400_000, 'day'],
] as const

/** `14 minutes`. */
export const longSpan = (ms: number): string => {
  const [, unit, word] = UNITS.find(([below]) => ms < below) ?? UNITS[3]
  const n = Math.max(1, Math.floor(ms / unit))
  return `${n} ${word}${n === 1 ? '' : 's'}`
}

/** Of a reason that goes on, what it begins with. */
export const firstWords = (detail: string): string => detail.split('; ')[0] ?? detail

export const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
