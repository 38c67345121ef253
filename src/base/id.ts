/**
 * NAME      id - names for things
 *   A public id is `<prefix>_` and 26 characters of lower-case Crockford base32: 48 bits of milliseconds, then 80
 *   random bits that count up within a millisecond, so new rows are stored at the edge of their trees. They are names:
 *   no list goes by them (store/sqlite/order).
 *   A recipient id is the short form (16 characters, 48 + 32 bits), because it travels inside a return path, where an
 *   address has only 64 octets.
 */
import { randomBytes } from 'node:crypto'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

type IdPrefix =
  | 'acct'
  | 'ws'
  | 'key'
  | 'cred'
  | 'usr'
  | 'lnk'
  | 'fac'
  | 'ses'
  | 'aud'
  | 'pool'
  | 'up'
  | 'wup'
  | 'em'
  | 'evt'
  | 'sup'
  | 'inc'
  | 'wh'
  | 'post'
  | 'rep'
  | 'dom'
  | 'rpt'
  | 'hold'
  | 'lot'
  | 'job'
  | 'req'
  | 'boot'

/** Bytes to lower-case Crockford base32, most significant bit first, zero bits in front. */
export const toBase32 = (bytes: Uint8Array): string => {
  const chars = Math.ceil((bytes.length * 8) / 5)
  let text = ''
  let value = 0
  let bits = chars * 5 - bytes.length * 8
  for (const byte of bytes) {
    value = (value << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET[(value >>> bits) & 31]
    }
    value &= (1 << bits) - 1
  }
  return text
}

/** The bytes behind such a text, null when it is none or has bits that no byte holds. */
export const fromBase32 = (text: string): Uint8Array | null => {
  const bytes = new Uint8Array(Math.floor((text.length * 5) / 8))
  let value = 0
  let bits = bytes.length * 8 - text.length * 5 // zero bits in front have no byte
  let at = 0
  for (const char of text) {
    const digit = ALPHABET.indexOf(char)
    if (digit < 0) return null
    value = (value << 5) | digit
    bits += 5
    if (bits < 5 && value >>> bits !== 0) return null // beyond the first byte
    if (bits >= 8) {
      bits -= 8
      bytes[at++] = (value >>> bits) & 255
      value &= (1 << bits) - 1
    }
  }
  return bytes
}

let random = Buffer.alloc(0)

/** Randomness is drawn for many ids at once: each draw costs as much as the rest of an id. */
const randomOctets = (size: number): Buffer => {
  if (random.length < size) random = randomBytes(4096)
  const taken = random.subarray(0, size)
  random = random.subarray(size)
  return taken
}

/** One generator of rising ids: `size` bytes in all, the first six hold the time. */
const rising = (size: number) => {
  const bytes = new Uint8Array(size)
  let last = -1
  return (now: number): string => {
    if (now > last) {
      last = now
      bytes[0] = (now / 2 ** 40) & 255
      bytes[1] = (now / 2 ** 32) & 255
      bytes[2] = (now >>> 24) & 255
      bytes[3] = (now >>> 16) & 255
      bytes[4] = (now >>> 8) & 255
      bytes[5] = now & 255
      bytes.set(randomOctets(size - 6), 6)
      bytes[6]! &= 127 // room to count up without touching the time
    } else {
      let i = size - 1
      while (bytes[i] === 255) bytes[i--] = 0
      bytes[i]!++
    }
    return toBase32(bytes)
  }
}

const nextLong = rising(16)
const nextShort = rising(10)

/** A fresh public id such as `em_01k9f3m2zq8v6t4r2p0nxcwbha`. */
export const newId = (prefix: IdPrefix, now: number = Date.now()): string => `${prefix}_${nextLong(now)}`

/** A fresh recipient id: 16 characters, no prefix, case-insensitive by alphabet. */
export const newRecipientId = (now: number = Date.now()): string => nextShort(now)

const SHAPE = /^[a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25}$/

/** True when `text` has the shape of an id with that prefix; says nothing about existence. */
export const isId = (prefix: IdPrefix, text: string): boolean =>
  text.startsWith(`${prefix}_`) && SHAPE.test(text)

const SHORT = /^[0-7][0-9a-hjkmnp-tv-z]{15}$/

export const isRecipientId = (text: string): boolean => SHORT.test(text)

/** When a public id was born, epoch milliseconds: its first ten characters. */
export const idTime = (id: string): number => {
  const start = id.indexOf('_') + 1
  let time = 0
  for (const char of id.slice(start, start + 10)) time = time * 32 + ALPHABET.indexOf(char)
  return time
}

/** A request id, for logs and problem details. */
export const newRequestId = (): string => newId('req')
