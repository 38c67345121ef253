/**
 * NAME      return-path - which key signs return paths, and which still verify
 *   All keys derive from the pepper; what the store keeps, for all daemons, is only which id signs now and when each
 *   older one was retired. Without it there is one key, `1`. An old key verifies for 45 days more
 *   (mail/return-path.ts), which is longer than anybody's queue keeps a mail, and
 *   is then forgotten. A relay sees a rotation within a second; whoever reads a report looks at the ring first, so what
 *   a new key has signed is known wherever it comes back. An older Postern kept the ring in `return-path.json` beside
 *   the pepper: it is taken from there once.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DamagedFileError } from '../base/secret.js'
import {
  deriveKeys,
  type RetiredKey,
  type ReturnPathKeys,
  VERIFY_AFTER_RETIREMENT,
} from '../mail/return-path.js'

interface KeyRing {
  /** The id that signs; one character. */
  readonly current: string
  readonly retired: readonly RetiredKey[]
}

/** Where it is kept. */
export interface RingStore {
  returnPathRing(): Promise<string | null>
  replaceReturnPathRing(was: string | null, is: string): Promise<boolean>
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

/** Of the text that is kept, in `place`; throws DamagedFileError. */
const readRing = (text: string | null, place: string): KeyRing => {
  if (text === null) return FIRST
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = null
  }
  if (!isRing(value)) throw new DamagedFileError(`${place} is damaged; restore it from a backup`)
  return value
}

/** What an older Postern left is brought into the store; throws DamagedFileError. */
export const bringRing = async (store: RingStore, dataDir: string): Promise<void> => {
  const file = fileIn(dataDir)
  if (!existsSync(file)) return
  const text = readFileSync(file, 'utf8')
  readRing(text, file)
  await store.replaceReturnPathRing(null, text)
  rmSync(file)
}

const PLACE = 'the ring of return-path keys in the database'

export const keptRing = async (store: RingStore): Promise<KeyRing> =>
  readRing(await store.returnPathRing(), PLACE)

const keysOf = (pepper: Uint8Array, text: string | null): ReturnPathKeys => {
  const { current, retired } = readRing(text, PLACE)
  return deriveKeys(pepper, current, retired)
}

/** Keys that are those of the ring, whenever it was last looked at. */
interface LiveKeys {
  readonly keys: ReturnPathKeys
  look(): Promise<void>
}

export const liveKeys = async (
  store: Pick<RingStore, 'returnPathRing'>,
  pepper: Uint8Array,
): Promise<LiveKeys> => {
  let text = await store.returnPathRing()
  const keys = { ...keysOf(pepper, text) }
  return {
    keys,
    async look() {
      const fresh = await store.returnPathRing()
      if (fresh === text) return
      Object.assign(keys, keysOf(pepper, fresh))
      text = fresh
    },
  }
}

/** A new id signs; the one before it verifies until what it signed has come home. */
const rotated = ({ current, retired }: KeyRing, now: number): KeyRing => {
  const kept = retired.filter(({ retiredAt }) => retiredAt + VERIFY_AFTER_RETIREMENT > now)
  const after = IDS.indexOf(current) + 1
  const free = [...IDS.slice(after), ...IDS.slice(0, after)].find(
    (id) => id !== current && !kept.some((one) => one.id === id),
  )
  if (free === undefined) throw new RangeError('every key id is in use; an old one is free within 45 days')
  return { current: free, retired: [...kept, { id: current, retiredAt: now }] }
}

export const rotateKeys = async (store: RingStore, now: number): Promise<KeyRing> => {
  for (;;) {
    const text = await store.returnPathRing()
    const ring = rotated(readRing(text, PLACE), now)
    if (await store.replaceReturnPathRing(text, JSON.stringify(ring))) return ring
  }
}
