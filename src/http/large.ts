/**
 * NAME      large - sends that the bodies' thread reads
 * DESCRIPTION
 *   What else than the octets the thread is told, and what its results mean to the
 *   endpoints: composed mails, and the fingerprint of what was sent.
 */
import { parseContent } from '../mail/parse.js'
import type { Content } from '../record/content.js'
import type { IdempotencyWish } from '../submission/draft.js'
import { rulesOf } from '../submission/submit.js'
import type { Deps } from './deps.js'
import type { Call } from './endpoint.js'
import { keyOf } from './idempotency.js'
import type { Item, Job } from './thread/job.js'

interface LargeSend {
  readonly items: readonly Item[]
  readonly idempotency: IdempotencyWish | null
}

/** Throws the Fault to answer with. */
export const readLarge = async (
  { reader, config, clock }: Deps,
  call: Call & { readonly large: Uint8Array },
  what: Job['what'],
  variant = '',
): Promise<LargeSend> => {
  const key = keyOf(call)
  const { items, fingerprint } = await reader.read({
    bytes: call.large,
    what,
    fingerprint: key === null ? null : { route: call.route, variant },
    rules: rulesOf({ config, clock }, call.workspace),
  })
  return { items, idempotency: key === null || fingerprint === null ? null : { key, fingerprint } }
}

/** A message of more takes longer to read than others should wait. */
const LARGE_MESSAGE = 48 * 1024

/** What was written in a message. */
export const contentOf = async ({ reader }: Pick<Deps, 'reader'>, raw: Uint8Array): Promise<Content> => {
  if (raw.length <= LARGE_MESSAGE) return parseContent(raw)
  // what is given away must be nobody else's
  const { content } = await reader.read({ bytes: new Uint8Array(raw), what: 'content' })
  if (content === undefined) throw new Error('the thread gave no content')
  return content
}

/** Octets that belong to no workspace are read all the same: what is no JSON is that before all else. */
export const demandJson = async ({ reader, config, clock }: Deps, bytes: Uint8Array): Promise<void> => {
  await reader.read({
    bytes,
    what: 'json',
    fingerprint: null,
    rules: rulesOf({ config, clock }, null),
  })
}
