/**
 * NAME      secret - making, keeping and comparing secrets
 *   Hashes and seals are made under the pepper (keys/pepper.ts), which never enters the database. Keys are long and
 *   random, so one HMAC is a sound hash for them; passwords that people chose are not kept here (tenant/ uses bcrypt).
 *   Each use of the pepper has a purpose string, so that a proof made for one door opens no other.
 */
import { createCipheriv, createDecipheriv, hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Uniform random text, base62 unless it is said (letters and digits only: `=` and `_` upset some SMTP clients). */
export const randomText = (length: number, alphabet = BASE62): string => {
  let text = ''
  for (let i = 0; i < length; i++) text += alphabet[randomInt(alphabet.length)]
  return text
}

const BLOCK = 64
/** What a text of a usual length fits into, beside the block of the key. */
const SHORT = 512

interface Pads {
  /** One block, then room for a text. */
  readonly inner: Buffer
  /** One block, then the inner hash. */
  readonly outer: Buffer
}

/** Made once of each key: a mail has three hashes under the same. */
const prepared = new WeakMap<Uint8Array, Pads>()

/** RFC 2104, 2: the key, as long as a block, against 0x36 and against 0x5c. */
const padsOf = (key: Uint8Array): Pads => {
  let found = prepared.get(key)
  if (found === undefined) {
    const octets = key.length > BLOCK ? hash('sha256', key, 'buffer') : key
    found = { inner: Buffer.alloc(BLOCK + SHORT), outer: Buffer.alloc(BLOCK + 32) }
    for (let i = 0; i < BLOCK; i++) {
      found.inner[i] = (octets[i] ?? 0) ^ 0x36
      found.outer[i] = (octets[i] ?? 0) ^ 0x5c
    }
    prepared.set(key, found)
  }
  return found
}

/**
 * HMAC-SHA-256 over a purpose and the parts, each preceded by its length so that no two inputs collide. Two hashes at
 * once instead of an Hmac object, which takes nearly twice the time. The pads are written anew by each call, which never
 * waits.
 */
export const keyedHash = (key: Uint8Array, purpose: string, ...parts: readonly string[]): Buffer => {
  let text = ''
  for (const part of [purpose, ...parts]) text += `${Buffer.byteLength(part)}:${part}`
  const { inner, outer } = padsOf(key)
  const length = Buffer.byteLength(text)
  const first =
    length <= SHORT
      ? inner.subarray(0, BLOCK + inner.write(text, BLOCK))
      : Buffer.concat([inner.subarray(0, BLOCK), Buffer.from(text)])
  outer.write(hash('sha256', first, 'binary'), BLOCK, 'latin1')
  return Buffer.from(hash('sha256', outer, 'binary'), 'latin1')
}

/** Constant-time equality; different lengths are simply unequal. */
export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && timingSafeEqual(a, b)

/** Encrypts text (AES-256-GCM) under a key made from the pepper for this purpose: base64url of nonce, tag, ciphertext. */
export const seal = (pepper: Uint8Array, purpose: string, text: string): string => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', keyedHash(pepper, 'seal', purpose), nonce)
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
}

/** The text of a seal(); throws when it was made with another pepper or purpose, or was changed. */
export const unseal = (pepper: Uint8Array, purpose: string, sealed: string): string => {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length < 28) throw new Error('a sealed secret is damaged')
  const key = keyedHash(pepper, 'seal', purpose)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
  decipher.setAuthTag(bytes.subarray(12, 28))
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
}

/** A secret that others could read. */
export class LooseModeError extends Error {
  override readonly name = 'LooseModeError'
}

/** A file that Postern needs is missing, empty or not what it should be. */
export class DamagedFileError extends Error {
  override readonly name = 'DamagedFileError'
}

/** More than one pepper, or one that does not belong to the database. */
export class PepperError extends Error {
  override readonly name = 'PepperError'
}
