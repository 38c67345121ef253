/**
 * NAME      suppress - an address that we must not write to again
 * DESCRIPTION
 *   Puts an address on its workspace's list, because a report or a reply said
 *   that it is dead or because its owner complained. An address that is listed
 *   stays as it is.
 *   Only for live mail: who tests writes to `bounced@` a hundred times, and wants
 *   the same outcome each time. Only when the report names that very address: an
 *   alias or a list may have members that died, and lives on.
 */
import type { Clock } from '../base/clock.js'
import { newId } from '../base/id.js'
import { normalizeAddress } from '../mail/address.js'
import type { ReportRecipient } from '../mail/report/report.js'
import type { RecipientOwner, Store } from '../store/port.js'

export interface SuppressParts {
  readonly store: Pick<Store, 'recipient' | 'addSuppression'>
  readonly clock: Clock
}

/** What became of a reason to suppress. */
export type Suppression = 'added' | 'test_mode' | 'other_address' | 'workspace_deleted'

const names = (one: string | null, ours: string): boolean =>
  one === null || !one.includes('@') || normalizeAddress(one) === ours

const BRACKETED = /<([^\s<>@]{1,64}@[^\s<>]{1,255})>/g
const FORWARDED = /\((?:generated|expanded) from\b|^x-failed-recipients:/im
const FAILED_RECIPIENTS = /^x-failed-recipients:((?:[^\r\n]|\r?\n[ \t])*)/im
const READ = 64 * 1024

/** True when a text names addresses, and ours is none of them. */
const namesOthers = (found: readonly string[], ours: string): boolean =>
  found.length > 0 && !found.some((one) => normalizeAddress(one) === ours)

/** True when the report tells that the dead address is one that ours was forwarded to. */
const isForwarded = (raw: Uint8Array, ours: string): boolean => {
  const text = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.length, READ)).toString('latin1')
  if (!FORWARDED.test(text)) return false
  const failed = (FAILED_RECIPIENTS.exec(text)?.[1] ?? '').split(',').map((one) => one.trim())
  return (
    namesOthers(
      failed.filter((one) => one !== ''),
      ours,
    ) || /\((?:generated|expanded) from\b/i.test(text)
  )
}

/**
 * True when what a group says about somebody's death is about this address, and not about one that it was
 * forwarded to. Exim names the alias in Final-Recipient and the dead member only in X-Failed-Recipients and
 * in its text; others only in the far server's words.
 */
export const speaksForAddress = (
  { address, finalRecipient, diagnostic }: Pick<ReportRecipient, 'address' | 'finalRecipient' | 'diagnostic'>,
  ours: string,
  raw: Uint8Array,
): boolean => {
  const mine = normalizeAddress(ours)
  const said = [...(diagnostic ?? '').matchAll(BRACKETED)].map(([, one]) => one ?? '')
  return (
    [address, finalRecipient].every((one) => names(one, mine)) &&
    !namesOthers(said, mine) &&
    !isForwarded(raw, mine)
  )
}

/** Lists the address of this recipient; says why where it does not. */
export const suppress = async (
  { store, clock }: Omit<SuppressParts, 'store'> & { readonly store: Pick<Store, 'addSuppression'> },
  owner: RecipientOwner,
  origin: 'bounce' | 'complaint',
  reason: string | null,
): Promise<Suppression> => {
  if (owner.isDeleted) return 'workspace_deleted'
  if (owner.mode !== 'live') return 'test_mode'
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
  return 'added'
}

/** For a recipient whom an upstream refused as dead, in the dialogue itself. */
export const suppressRefused = async (
  parts: SuppressParts,
  recipientId: string,
  reason: string | null,
): Promise<boolean> => {
  const owner = await parts.store.recipient(recipientId)
  return owner !== null && (await suppress(parts, owner, 'bounce', reason)) === 'added'
}
