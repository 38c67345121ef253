/**
 * Twenty addresses of one domain that bounce for good at the same time, straight in the store: an incident that is open.
 */
import { newId, newRecipientId } from '../../src/base/id.js'
import type { Store } from '../../src/store/port/store.js'

const at = (domain: string): string[] => Array.from({ length: 20 }, (_, i) => `user${i}@${domain}`)
export const REFUSED = at('refused.test')

/** Its id. */
export const openIncident = async (
  store: Pick<Store, 'addHardBounce'>,
  { accountId, workspaceId }: { readonly accountId: string; readonly workspaceId: string },
  now: number,
  domain = 'refused.test',
): Promise<string> => {
  const upstreamId = newId('up')
  let id = ''
  for (const email of at(domain)) {
    const row = {
      ...{ id: newId('sup', now), accountId, list: workspaceId, email, origin: 'bounce' as const },
      ...{ sourceId: null, reason: 'unknown_user', expiresAt: null, createdAt: now },
    }
    const dead = { row, recipientId: newRecipientId(), said: 'no such user', upstreamId }
    id = (await store.addHardBounce(dead)).opened[0]?.id ?? id
  }
  return id
}
