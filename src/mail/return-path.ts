/**
 * NAME      return-path - one signed address per recipient, for bounces to come back to
 *   `b` + key id (1) + recipient id (16) + 80 bits of HMAC-SHA-256 (16): 34
 *   lower-case Crockford base32 characters, so it survives a change of case, the
 *   64 octets of a local part and a wrapping by SRS. The HMAC covers the
 *   recipient id, the workspace and the recipient's address: a token speaks for
 *   its own recipient only, and nobody can make one. The same token under
 *   another letter and purpose is the ENVID (`e`, RFC 3461) and the header
 *   X-Postern-Ref: `r` where it stands for a signed return path, `c` where it
 *   speaks in complaints only; none passes for another.
 *   Keys rotate: the current one signs, a retired one verifies for 45 days more,
 *   which is longer than any server keeps a mail in its queue.
 */
import { toBase32 } from '../base/id.js'
import { keyedHash, sameBytes } from '../base/secret.js'
import { normalizeAddress } from './address.js'

const DAY = 86_400_000
export const VERIFY_AFTER_RETIREMENT = 45 * DAY
const MAC_BYTES = 10

const LETTERS = { 'return-path': 'b', envid: 'e', ref: 'r', complaint: 'c' } as const
export type TokenPurpose = keyof typeof LETTERS

/** The name of the header that carries the `ref` or `complaint` token. */
export const REF_HEADER = 'X-Postern-Ref'

interface TokenKey {
  readonly key: Buffer
  /** Epoch ms until which it verifies; null for the current key. */
  readonly until: number | null
}

export interface ReturnPathKeys {
  /** The id of the key that signs. */
  readonly current: string
  readonly byId: ReadonlyMap<string, TokenKey>
}

export interface RetiredKey {
  readonly id: string
  /** Epoch ms. */
  readonly retiredAt: number
}

/** Derives the keys from the pepper. An id is one character of [0-9a-z]; a new id makes a new key. */
export const deriveKeys = (
  pepper: Uint8Array,
  current = '1',
  retired: readonly RetiredKey[] = [],
): ReturnPathKeys => {
  const byId = new Map<string, TokenKey>()
  const add = (id: string, until: number | null): void => {
    if (!/^[0-9a-z]$/.test(id) || byId.has(id)) throw new RangeError(`return path key id ${id}`)
    byId.set(id, { key: keyedHash(pepper, 'postern return path key', id), until })
  }
  add(current, null)
  for (const { id, retiredAt } of retired) add(id, retiredAt + VERIFY_AFTER_RETIREMENT)
  return { current, byId }
}

/** Whom a token speaks for. */
interface TokenSubject {
  readonly recipientId: string
  readonly workspaceId: string
  readonly address: string
}

export interface Token {
  readonly keyId: string
  readonly recipientId: string
  readonly mac: string
}

/** A mail has several tokens, made one after the other for the same address. */
const latest = { address: '', normal: '' }
const normalOf = (address: string): string => {
  if (address !== latest.address) Object.assign(latest, { address, normal: normalizeAddress(address) })
  return latest.normal
}

const macOf = (key: Uint8Array, purpose: TokenPurpose, { recipientId, workspaceId, address }: TokenSubject) =>
  toBase32(
    keyedHash(key, `postern ${purpose}`, recipientId, workspaceId, normalOf(address)).subarray(0, MAC_BYTES),
  )

/** A token for ENVID or X-Postern-Ref, or the local part of a return path. */
export const makeRef = (keys: ReturnPathKeys, purpose: TokenPurpose, subject: TokenSubject): string => {
  const key = keys.byId.get(keys.current)
  if (key === undefined) throw new RangeError('no current return path key')
  return `${LETTERS[purpose]}${keys.current}${subject.recipientId}${macOf(key.key, purpose, subject)}`
}

const TOKEN = /^([berc])([0-9a-z])([0-9a-hjkmnp-tv-z]{16})([0-9a-hjkmnp-tv-z]{16})$/

/** Reads a token of that purpose; null for anything else. Nothing is verified yet. */
export const readRef = (purpose: TokenPurpose, text: string): Token | null => {
  const [, letter, keyId = '', recipientId = '', mac = ''] = TOKEN.exec(text.trim().toLowerCase()) ?? []
  return letter === LETTERS[purpose] ? { keyId, recipientId, mac } : null
}

/** True when the token was made by us for exactly this recipient, with a key that is still good. */
export const verifyRef = (
  keys: ReturnPathKeys,
  purpose: TokenPurpose,
  token: Token,
  subject: Omit<TokenSubject, 'recipientId'>,
  now: number = Date.now(),
): boolean => {
  const key = keys.byId.get(token.keyId)
  if (key === undefined || (key.until !== null && now > key.until)) return false
  const wanted = macOf(key.key, purpose, { ...subject, recipientId: token.recipientId })
  return sameBytes(Buffer.from(wanted), Buffer.from(token.mac))
}

/** The return path of one recipient: `b<token>@<bounce domain>`. */
export const makeReturnPath = (keys: ReturnPathKeys, domain: string, subject: TokenSubject): string =>
  `${makeRef(keys, 'return-path', subject)}@${domain}`

const WRAPPED = /^(?:srs[01][=+-]|prvs=)/i

const partsOf = (text: string): { local: string; domain: string } => {
  const bare = text.trim().slice(0, 400).replace(/^<|>$/g, '')
  const at = bare.lastIndexOf('@')
  return at < 0
    ? { local: bare, domain: '' }
    : {
        local: bare.slice(0, at),
        domain: bare
          .slice(at + 1)
          .toLowerCase()
          .replace(/\.$/, ''),
      }
}

/**
 * Reads a return path from a local part or a whole address, in any case. A
 * forwarder may have wrapped it: `SRS0=hash=tt=domain=b…@forwarder`, or
 * `prvs=tag=b…` (BATV); the token is what follows the last `=`.
 */
export const readReturnPath = (text: string): Token | null => {
  const { local } = partsOf(text)
  return readRef('return-path', WRAPPED.test(local) ? (local.split('=').at(-1) ?? '') : local)
}

/** The same from an envelope: at our own domain, or, when a forwarder has wrapped it, at any that comes in. */
export const returnPathAt = (address: string, bounceDomain: string): Token | null => {
  const { local, domain } = partsOf(address)
  return domain === bounceDomain.toLowerCase() || WRAPPED.test(local) ? readReturnPath(address) : null
}

/** Where reports go when a pool wants one return path for all of its mail. */
export const fixedReturnPath = (bounceDomain: string): string => `bounces@${bounceDomain}`

const ROLES = ['bounces', 'fbl', 'postmaster', 'abuse', 'dmarc-reports', 'tls-reports'] as const
type Role = (typeof ROLES)[number]

/** Where receivers are asked to report about a domain (outcome/domain-report.ts). */
export const reportAddress = (kind: 'dmarc' | 'tls', bounceDomain: string): string =>
  `${kind}-reports@${bounceDomain}`

/** What an unsigned address of our bounce domain is for, in any case; null for any other. */
export const roleAt = (address: string, bounceDomain: string): Role | null => {
  const { local, domain } = partsOf(address)
  const role = ROLES.find((one) => one === local.toLowerCase())
  return role !== undefined && domain === bounceDomain.toLowerCase() ? role : null
}

/** Where reports about domains come. */
export const isReportAddress = (address: string, bounceDomain: string): boolean =>
  (roleAt(address, bounceDomain) ?? '').endsWith('-reports')

/** True when the return path (as text, or as read) is ours and speaks for this address of this workspace. */
export const verifyReturnPath = (
  keys: ReturnPathKeys,
  token: Token | string,
  subject: Omit<TokenSubject, 'recipientId'>,
  now: number = Date.now(),
): boolean => {
  const read = typeof token === 'string' ? readReturnPath(token) : token
  return read !== null && verifyRef(keys, 'return-path', read, subject, now)
}
