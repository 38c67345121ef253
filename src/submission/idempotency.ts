/**
 * NAME      idempotency - the same request twice is one email
 *   The protocol of an idempotency key around one accept: claim the key, do the work, let the store write the answer
 *   together with the mail. What fails before frees the key. A claim that took so long that another took over (60 s)
 *   finds its lock lost, stores nothing, and answers like any retry.
 *   A fingerprint covers the parsed request, so that white space, key order and compression do not matter, and every
 *   difference in value does.
 */
import { createHash, randomUUID } from 'node:crypto'
import { Fault } from '../base/fault.js'
import type { IdempotentAnswer } from '../lifecycle/facts.js'
import type { Mode } from '../lifecycle/page.js'
import { submissionFingerprint } from '../mail/parse.js'
import type { Queue } from '../store/port/mail.js'
import { decodeBase64, type IdempotencyWish, type Rendered, type SubmitAnswer } from './draft.js'

const LOCK_MS = 60_000
const MAX_BYTES = 256

/** The key as it counts (trimmed), or a Fault. */
export const checkIdempotencyKey = (text: string): string => {
  const key = text.trim()
  const size = Buffer.byteLength(key)
  if (size === 0 || size > MAX_BYTES) throw new Fault('idempotency.key_invalid')
  return key
}

/** Far beyond any request that we understand. */
const DEEPEST = 200

/** JSON with sorted keys: equal values give equal text, and only those. What is nested without end is refused. */
export const canonicalJson = (value: unknown, depth = 0): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (depth > DEEPEST) throw new Fault('request.body_malformed')
  const inner = (one: unknown) => canonicalJson(one, depth + 1)
  if (Array.isArray(value)) {
    // files come as arrays of millions of numbers, and have no names to sort
    const flat = value.every((one) => typeof one !== 'object')
    return flat ? JSON.stringify(value) : `[${value.map(inner).join()}]`
  }
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${inner(member)}`).join()}}`
}

/** SHA-256, hex. `variant` is whatever else of the request decides what it means (x-batch-validation). */
export const requestFingerprint = (method: string, route: string, variant: string, body: unknown): string =>
  createHash('sha256')
    .update(canonicalJson([method, route, variant, body]))
    .digest('hex')

const isMessage = (one: unknown): one is { readonly raw: string } =>
  typeof one === 'object' && one !== null && typeof Reflect.get(one, 'raw') === 'string'

/** A message that came whole counts as what a person reads of it: programs make Message-ID, Date and boundaries anew on each try. */
const asRead = async (one: unknown): Promise<unknown> => {
  const octets = isMessage(one) ? decodeBase64(one.raw) : null
  return octets === null ? one : { ...(one as object), raw: await submissionFingerprint(octets, []) }
}

export const sendFingerprint = async (route: string, variant: string, body: unknown): Promise<string> => {
  if (!Array.isArray(body)) return requestFingerprint('POST', route, variant, await asRead(body))
  const read: unknown[] = []
  for (const one of body) read.push(await asRead(one))
  return requestFingerprint('POST', route, variant, read)
}

type Locks = Pick<Queue, 'claimKey' | 'releaseKey'>

/** Does `work` once under this key. Work resolves with null when its lock was lost, and then stored nothing. */
export const once = async (
  store: Locks,
  wish: IdempotencyWish,
  place: { readonly workspaceId: string; readonly mode: Mode },
  now: () => number,
  work: (ticket: Omit<IdempotentAnswer, keyof Rendered>) => Promise<SubmitAnswer | null>,
): Promise<SubmitAnswer> => {
  for (let tries = 0; tries < 3; tries++) {
    const { workspaceId, mode } = place
    const claim = { workspaceId, mode, key: wish.key, token: randomUUID() }
    const at = now()
    const found = await store.claimKey({
      ...claim,
      fingerprint: wish.fingerprint,
      now: at,
      lockedUntil: at + LOCK_MS,
    })
    if (found.state === 'done') return { status: found.status, body: found.body, replayed: true, records: [] }
    if (found.state === 'in_progress') throw new Fault('idempotency.in_progress', { retryAfter: 1 })
    if (found.state === 'mismatch') throw new Fault('idempotency.body_mismatch')
    let answer: SubmitAnswer | null
    try {
      answer = await work(claim)
    } catch (error) {
      // best effort: a key that cannot be freed unlocks by itself
      await store.releaseKey(claim).catch(() => undefined)
      throw error
    }
    if (answer !== null) return answer
  }
  throw new Fault('idempotency.in_progress', { retryAfter: 1 })
}
