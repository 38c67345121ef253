/**
 * NAME      suppress - an address that we must not write to again
 * DESCRIPTION
 *   Puts an address on its workspace's list, because a report or a reply said
 *   that it is dead or because its owner complained. Only for live mail: what the
 *   sandbox plays is not to silence anyone. An address that is listed stays as it is.
 */
import type { Clock } from '../base/clock.js'
import { newId } from '../base/id.js'
import { normalizeAddress } from '../mail/address.js'
import type { RecipientOwner, Store } from '../store/port.js'

export interface SuppressParts {
  readonly store: Pick<Store, 'recipient' | 'addSuppression'>
  readonly clock: Clock
}

/** Resolves with false when this mail can not suppress. */
export const suppress = async (
  { store, clock }: Omit<SuppressParts, 'store'> & { readonly store: Pick<Store, 'addSuppression'> },
  owner: RecipientOwner,
  origin: 'bounce' | 'complaint',
  reason: string | null,
): Promise<boolean> => {
  if (owner.mode !== 'live') return false
  const now = clock.now()
  await store.addSuppression({
    id: newId('sup', now),
    accountId: owner.accountId,
    workspaceId: owner.workspaceId,
    email: normalizeAddress(owner.address),
    origin,
    sourceId: owner.emailId,
    reason,
    expiresAt: null,
    createdAt: now,
  })
  return true
}

/** For a recipient whom an upstream refused as dead, in the dialogue itself. */
export const suppressRefused = async (
  parts: SuppressParts,
  recipientId: string,
  reason: string | null,
): Promise<boolean> => {
  const owner = await parts.store.recipient(recipientId)
  return owner !== null && suppress(parts, owner, 'bounce', reason)
}
