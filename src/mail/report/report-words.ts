/**
 * NAME      report-words - the words of a report about a domain, checked
 */
import { isIP, SocketAddress } from 'node:net'
import { wellFormed } from '../encoding.js'
import { refuse } from './unpack.js'

const DAY = 86_400_000
const LONGEST = 32 * DAY

/** On one line, and of a bounded length. */
export const worded = (text: unknown, most = 200): string =>
  typeof text === 'string'
    ? wellFormed(text.slice(0, most * 4))
        .replace(/\s+/g, ' ')
        .trim()
        .slice(0, most)
    : ''

/** A domain as it is compared; empty when it is none. */
export const domainIn = (text: unknown): string => {
  const name = worded(text, 254).toLowerCase().replace(/\.$/, '')
  return /^[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9])?$/.test(name) ? name : ''
}

/** Null: no address. */
export const addressIn = (text: string): string | null => {
  const family = isIP(text)
  if (family === 0 || text.includes('%')) return null
  return family === 4 ? text : new SocketAddress({ address: text, family: 'ipv6' }).address
}

const COUNT = /^\d{1,9}$/

/** A number of mails or sessions: whole, not negative, below a thousand million. */
export const countIn = (value: unknown): number =>
  (typeof value === 'string' || typeof value === 'number') && COUNT.test(String(value))
    ? Number(value)
    : refuse('a count that is no number of mails or sessions')

/** The time that it is about: at most a month long. */
export const spanOf = (begins: number, ends: number): { readonly begins: number; readonly ends: number } => {
  if (!Number.isSafeInteger(begins) || !Number.isSafeInteger(ends) || begins < 0)
    return refuse('its times are missing or none')
  if (ends < begins || ends - begins > LONGEST) return refuse('it is not about a span of up to a month')
  return { begins, ends }
}
