/**
 * NAME      idempotency - the Idempotency-Key header
 * DESCRIPTION
 *   Read from the raw headers: Node joins repeated ones into `a, b`, which would
 *   be a key nobody sent. An empty key is a mistake, never "no key". What is
 *   fingerprinted is the parsed body as sent, so that white space, key order and
 *   compression do not matter and every difference in value does.
 */
import { isUtf8 } from 'node:buffer'
import { Fault } from '../base/fault.js'
import type { IdempotencyWish } from '../submission/draft.js'
import { checkIdempotencyKey, sendFingerprint } from '../submission/idempotency.js'
import { type Call, headerValues } from './endpoint.js'

export const REPLAYED = { 'idempotent-replayed': 'true' }

/** Node gives header bytes as Latin-1. A key that is UTF-8 is read as such, so that SMTP means the same key. */
const textOf = (value: string): string => {
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : value
}

/** The key of a request; null without one, a Fault for a bad or a second one. */
export const keyOf = (call: Call): string | null => {
  const values = headerValues(call.req, 'idempotency-key')
  if (values.length === 0) return null
  if (values.length > 1) throw new Fault('idempotency.key_invalid')
  return checkIdempotencyKey(textOf(values[0] ?? ''))
}

/** The key with the fingerprint of what was sent. */
export const idempotencyOf = async (call: Call, variant = ''): Promise<IdempotencyWish | null> => {
  const key = keyOf(call)
  if (key === null) return null
  return { key, fingerprint: await sendFingerprint(call.route, variant, call.sent) }
}
