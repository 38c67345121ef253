/**
 * NAME      return-path - which key signs return paths, and which still verify
 * DESCRIPTION
 *   All keys derive from the pepper; what is kept, in `return-path.json` beside
 *   it, is only which id signs now and when each older one was retired. Without
 *   the file there is one key, `1`. An old key verifies for 45 days more
 *   (mail/return-path.ts), which is longer than anybody's queue keeps a mail, and
 *   is then forgotten. A rotation takes effect when the daemon starts again.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DamagedFileError } from '../base/secret.js'
import {
  deriveKeys,
  type RetiredKey,
  type ReturnPathKeys,
  VERIFY_AFTER_RETIREMENT,
} from '../mail/return-path.js'

export interface KeyRing {
  /** The id that signs; one character. */
  readonly current: string
  readonly retired: readonly RetiredKey[]
}

const IDS = '123456789abcdefghijklmnopqrstuvwxyz0'
const FIRST: KeyRing = { current: '1', retired: [] }

const fileIn = (dataDir: string): string => join(dataDir, 'return-path.json')

const isRing = (value: unknown): value is KeyRing => {
  const { current, retired } = (value ?? {}) as Partial<KeyRing>
  const isId = (id: unknown): boolean => typeof id === 'string' && id.length === 1 && IDS.includes(id)
  return (
    isId(current) &&
    Array.isArray(retired) &&
    retired.every((one: Partial<RetiredKey> | null) => isId(one?.id) && typeof one?.retiredAt === 'number')
  )
}

/** The ring as it stands in the data folder; throws DamagedFileError. */
export const readKeyRing = (dataDir: string): KeyRing => {
  const file = fileIn(dataDir)
  if (!existsSync(file)) return FIRST
  let value: unknown
  try {
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    value = null
  }
  if (!isRing(value)) throw new DamagedFileError(`${file} is damaged; restore it from a backup`)
  return value
}

/** The keys of that ring, ready to sign and verify. */
export const returnPathKeys = (dataDir: string, pepper: Uint8Array): ReturnPathKeys => {
  const { current, retired } = readKeyRing(dataDir)
  return deriveKeys(pepper, current, retired)
}

/** A new id signs; the one before it verifies until what it signed has come home. */
export const rotateKeys = (dataDir: string, now: number): KeyRing => {
  const { current, retired } = readKeyRing(dataDir)
  const kept = retired.filter(({ retiredAt }) => retiredAt + VERIFY_AFTER_RETIREMENT > now)
  const after = IDS.indexOf(current) + 1
  const free = [...IDS.slice(after), ...IDS.slice(0, after)].find(
    (id) => id !== current && !kept.some((one) => one.id === id),
  )
  if (free === undefined) throw new RangeError('every key id is in use; an old one is free within 45 days')
  const ring: KeyRing = { current: free, retired: [...kept, { id: current, retiredAt: now }] }
  const file = fileIn(dataDir)
  writeFileSync(`${file}.new`, `${JSON.stringify(ring)}\n`, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
  return ring
}
