/**
 * NAME      large - sends that the bodies' thread reads
 * DESCRIPTION
 *   What the thread is told besides the octets, and what its results mean to the
 *   endpoints: composed mails, and the fingerprint of what was sent.
 */
import type { IdempotencyWish } from '../submission/draft.js'
import { rulesOf } from '../submission/submit.js'
import type { Call } from './endpoint.js'
import type { Ground } from './ground.js'
import { keyOf } from './idempotency.js'
import type { Item, Job } from './thread/job.js'

export interface LargeSend {
  readonly items: readonly Item[]
  readonly idempotency: IdempotencyWish | null
}

/** Throws the Fault to answer with. */
export const readLarge = async (
  { reader, config, clock }: Ground,
  call: Call & { readonly large: Uint8Array },
  what: Job['what'],
  variant = '',
): Promise<LargeSend> => {
  const { hostname, limits } = config
  const key = keyOf(call)
  const { items, fingerprint } = await reader.read({
    bytes: call.large,
    what,
    fingerprint: key === null ? null : { route: call.request.route.path, variant },
    rules: rulesOf({ config, clock }, call.workspace),
    compose: { hostname, messageSize: limits.message_size, now: clock.now() },
  })
  return { items, idempotency: key === null || fingerprint === null ? null : { key, fingerprint } }
}

/** Octets that belong to no workspace are read all the same: what is no JSON is that before all else. */
export const demandJson = async ({ reader, config, clock }: Ground, bytes: Uint8Array): Promise<void> => {
  const { hostname, limits } = config
  await reader.read({
    bytes,
    what: 'json',
    fingerprint: null,
    rules: rulesOf({ config, clock }, null),
    compose: { hostname, messageSize: limits.message_size, now: clock.now() },
  })
}
