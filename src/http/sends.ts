/**
 * NAME      sends - what a send brings along beside its mail
 *   The Idempotency-Key, read from the raw headers: Node joins repeated ones into `a, b`, which no client sent. An empty key
 *   is a mistake, never "no key". What is fingerprinted is the parsed body as sent, so that white space, key order and
 *   compression do not matter and every difference in value does. And bodies that the bodies' thread reads: what it needs
 *   beside the octets, and what its results mean to the endpoints.
 */
import { isUtf8 } from 'node:buffer'
import { Fault } from '../base/fault.js'
import { parseContent } from '../mail/parse.js'
import type { Content } from '../record/email.js'
import type { IdempotencyWish } from '../submission/draft.js'
import { checkIdempotencyKey, sendFingerprint } from '../submission/idempotency.js'
import { rulesOf } from '../submission/submit.js'
import type { HttpDeps } from './deps.js'
import type { Dialect } from './dialect/dialect.js'
import type { DraftItem } from './drafts.js'
import type { Call } from './endpoint.js'
import type { BodyJob } from './thread/job.js'
import { headerValues } from './wire/values.js'

export const REPLAYED = { 'idempotent-replayed': 'true' }

/** Node gives header bytes as Latin-1. A key that is UTF-8 is read as such, so that SMTP means the same key. */
const textOf = (value: string): string => {
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : value
}

/** The key of a request; null without one, a Fault for a bad or a second one. */
const keyOf = ({ req, repeatOf }: Sent): string | null => {
  const values = headerValues(req, 'idempotency-key')
  if (values.length === 0) {
    const other = repeatOf?.(req) ?? null
    return other && checkIdempotencyKey(other)
  }
  if (values.length > 1) throw new Fault('idempotency.key_invalid')
  return checkIdempotencyKey(textOf(values[0] ?? ''))
}

/** A request, and what stands in it in place of an Idempotency-Key. */
type Sent = Call & Pick<Dialect, 'repeatOf'>

/** The key with the fingerprint of what was sent. */
export const idempotencyOf = async (call: Sent, variant = ''): Promise<IdempotencyWish | null> => {
  const key = keyOf(call)
  if (key === null) return null
  return { key, fingerprint: await sendFingerprint(call.route, variant, call.sent) }
}

interface LargeSend {
  readonly items: readonly DraftItem[]
  readonly idempotency: IdempotencyWish | null
  /** As the thread says it. */
  readonly isTrial: boolean
}

/** Throws the Fault to answer with. */
export const readLarge = async (
  { reader, config, clock }: HttpDeps,
  call: Sent & { readonly large: Uint8Array },
  what: BodyJob['what'],
  variant = '',
): Promise<LargeSend> => {
  const key = keyOf(call)
  const {
    items,
    fingerprint,
    isTrial = false,
  } = await reader.read({
    bytes: call.large,
    what,
    fingerprint: key === null ? null : { route: call.route, variant },
    rules: rulesOf({ config, clock }, call.workspace),
    perMinute: call.principal.limitPerMinute,
  })
  return { items, isTrial, idempotency: key === null || fingerprint === null ? null : { key, fingerprint } }
}

/** A message of more takes longer to read than others should wait. */
const LARGE_MESSAGE = 48 * 1024

/** What was written in a message. */
export const contentOf = async ({ reader }: Pick<HttpDeps, 'reader'>, raw: Uint8Array): Promise<Content> => {
  if (raw.length <= LARGE_MESSAGE) return parseContent(raw)
  // what is given away must be nobody else's
  const { content } = await reader.read({ bytes: new Uint8Array(raw), what: 'content' })
  if (content === undefined) throw new Error('the thread gave no content')
  return content
}

/** Octets that belong to no workspace are read all the same: what is no JSON is that before all else. */
export const demandJson = async ({ reader, config, clock }: HttpDeps, bytes: Uint8Array): Promise<void> => {
  await reader.read({
    bytes,
    what: 'json',
    fingerprint: null,
    rules: rulesOf({ config, clock }, null),
    perMinute: 0,
  })
}
