/**
 * NAME      secret - making, keeping and comparing secrets
 * DESCRIPTION
 *   The pepper is 32 random bytes in a file of mode 0600 that never enters the
 *   database: a stolen database alone proves no key. Keys are long and random,
 *   so one HMAC is a sound hash for them; passwords that people chose are not
 *   kept here (tenant/ uses bcrypt). Each use of the pepper has a purpose string,
 *   so that a proof made for one door opens no other.
 */
import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Uniform random base62 text (letters and digits only: `=` and `_` upset some SMTP clients). */
export const randomText = (length: number): string => {
  let text = ''
  for (let i = 0; i < length; i++) text += BASE62[randomInt(62)]
  return text
}

/** HMAC-SHA-256 over a purpose and the parts, each preceded by its length so that no two inputs collide. */
export const keyedHash = (key: Uint8Array, purpose: string, ...parts: readonly string[]): Buffer => {
  const mac = createHmac('sha256', key)
  for (const part of [purpose, ...parts]) mac.update(`${Buffer.byteLength(part)}:`).update(part)
  return mac.digest()
}

/** Constant-time equality; different lengths are simply unequal. */
export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && timingSafeEqual(a, b)

export class LooseModeError extends Error {}

/** Reads the pepper of `dataDir`, making it on the first run. Throws LooseModeError when others may read it. */
export const loadPepper = (dataDir: string): Buffer => {
  const file = join(dataDir, 'pepper')
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  try {
    const fd = openSync(file, 'wx', 0o600)
    const fresh = randomBytes(32)
    writeSync(fd, fresh)
    fsyncSync(fd)
    closeSync(fd)
    chmodSync(file, 0o600)
    return fresh
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new LooseModeError(`${file} can be read by others; run: chmod 600 ${file}`)
  }
  const pepper = readFileSync(file)
  if (pepper.length < 32) throw new Error(`${file} is damaged: expected 32 bytes, found ${pepper.length}`)
  return pepper
}
