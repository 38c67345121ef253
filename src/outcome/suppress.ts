/**
 * NAME      suppress - an address that we must not write to again, and what its server said
 *   Puts an address on its workspace's list, because a report or a reply said that it is dead or because its owner
 *   complained. An address that is listed stays as it is. Only for live mail: who tests writes to `bounced@` a hundred
 *   times, and wants the same outcome each time. Only when the report names that very address: an alias or a list may
 *   have members that are gone, and still be good. The verb of the store that lists a hard bounce sees whether too many
 *   bounce at the same time.
 *   Two refusals with one text have one cause. So addresses, codes, digits and ids are cut, and what is left is
 *   compared, and shown to people.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { newId } from '../base/id.js'
import type { Log } from '../base/log.js'
import { normalizeAddress } from '../mail/address.js'
import type { ReportRecipient } from '../mail/report/report.js'
import type { RecipientOwner } from '../store/port/mail.js'
import type { Store } from '../store/port/store.js'
import type { SuppressionRow } from '../store/port/tenants.js'
import type { IncidentRow } from '../store/port/watch.js'
import { isNameOf, type NamedRecipient } from './trust.js'

const LONGEST = 200
const LINK = /\bhttps?:\/\/\S+/gi
const IN_BRACKETS = /<[^<>]*>|\([^()]*@[^()]*\)/g
/** A server's name of one word for a mail or for itself: `[alpha]`, `(xkjqwzpt)`. */
const TAGGED = /\[[^\s[\]]*\]|\([^\s()]*\)/g
/** An address, a number, a code, a name of a host, an id; `ref=…`. */
const OF_ONE_MAIL = /\S*(?:[\d@=]|[\p{L}\d]\.[\p{L}\d])\S*/gu
/** Such as `sYtTPuXEQzwK`: capitals in the middle of a long word. */
const MIXED = /\b(?=\w*[a-z])\w+[A-Z]\w{6,}\b/g
const NO_WORD = /[^\p{L}\s]+/gu

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** The text in lower case, its words alone; '' when nothing of it is left. */
export const saidAlike = (text: string, address: string): string => {
  const normal = normalizeAddress(address)
  const local = normal.slice(0, normal.lastIndexOf('@'))
  const own = new RegExp(`(?<![\\p{L}\\d])${escaped(local)}(?![\\p{L}\\d])`, 'giu')
  return text
    .slice(0, 2_000)
    .replace(LINK, ' ')
    .replace(IN_BRACKETS, ' ')
    .replace(TAGGED, ' ')
    .replace(OF_ONE_MAIL, ' ')
    .replace(MIXED, ' ')
    .replace(own, ' ')
    .replace(NO_WORD, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
    .slice(0, LONGEST)
    .replace(/\p{Surrogate}$/u, '')
}

export interface SuppressParts {
  readonly store: Pick<Store, 'recipient' | 'addHardBounce'>
  readonly clock: Clock
  /** Hears of incidents that begin: refusals that say more of a server than of the addresses. */
  readonly begun?: ((incident: IncidentRow) => void) | undefined
}

/** What became of a reason to suppress; `pending`: too many bounced for good at the same time, and a person decides. */
export type SuppressResult = 'added' | 'pending' | 'test_mode' | 'other_address' | 'workspace_deleted'

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
 * True when what a group says about somebody's refusal is about this address, and not about one that it was
 * forwarded to. Exim names the alias in Final-Recipient and the dead member only in X-Failed-Recipients and
 * in its text; others only in the far server's words.
 */
export const speaksForAddress = (
  { address, finalRecipient, diagnostic }: Pick<ReportRecipient, 'address' | 'finalRecipient' | 'diagnostic'>,
  ours: NamedRecipient,
  raw: Uint8Array,
): boolean => {
  const mine = normalizeAddress(ours.address)
  const said = [...(diagnostic ?? '').matchAll(BRACKETED)].map(([, one]) => one ?? '')
  return (
    // where the far server says whom it tried, the client's own name for him may stand beside it
    (names(address, mine) || (finalRecipient !== null && isNameOf(address, ours))) &&
    names(finalRecipient, mine) &&
    !namesOthers(said, mine) &&
    !isForwarded(raw, mine)
  )
}

/** Why an address of this recipient is on no list. */
const whyNot = (owner: RecipientOwner): 'workspace_deleted' | 'test_mode' | null =>
  owner.isDeleted ? 'workspace_deleted' : owner.mode === 'live' ? null : 'test_mode'

const rowFor = (
  owner: RecipientOwner,
  origin: 'bounce' | 'complaint',
  reason: string | null,
  now: number,
): SuppressionRow => ({
  id: newId('sup', now),
  accountId: owner.accountId,
  list: owner.workspaceId,
  email: normalizeAddress(owner.address),
  origin,
  sourceId: owner.emailId,
  reason,
  expiresAt: null,
  createdAt: now,
})

/** Lists the address of this recipient, who complained; says why where it does not. */
export const suppressComplained = async (
  { store, clock }: { readonly store: Pick<Store, 'addSuppression'>; readonly clock: Clock },
  owner: RecipientOwner,
  reason: string,
): Promise<SuppressResult> => {
  const why = whyNot(owner)
  if (why === null) await store.addSuppression(rowFor(owner, 'complaint', reason, clock.now()))
  return why ?? 'added'
}

/** What was said of an address that is dead. */
export interface Refusal {
  readonly reason: string | null
  /** The server's words. */
  readonly text: string
  /** Of the server that said it in the dialogue; null for a report. */
  readonly upstreamId: string | null
}

/** Lists the address of this recipient after a hard bounce; says why where it does not. */
export const suppressHardBounce = async (
  { store, clock, begun }: Omit<SuppressParts, 'store'> & { readonly store: Pick<Store, 'addHardBounce'> },
  owner: RecipientOwner,
  { reason, text, upstreamId }: Refusal,
): Promise<SuppressResult> => {
  const why = whyNot(owner)
  if (why !== null) return why
  const { opened, as } = await store.addHardBounce({
    row: rowFor(owner, 'bounce', reason, clock.now()),
    recipientId: owner.recipientId,
    said: saidAlike(text, owner.address),
    upstreamId,
  })
  for (const incident of opened) begun?.(incident)
  return as === 'pending' ? 'pending' : 'added'
}

/** For a recipient whom an upstream refused as dead, in the dialogue itself. */
const suppressRefused = async (
  parts: SuppressParts,
  recipientId: string,
  refusal: Refusal,
): Promise<boolean> => {
  const owner = await parts.store.recipient(recipientId)
  return owner !== null && (await suppressHardBounce(parts, owner, refusal)) === 'added'
}

const AGAIN_MS = 1000

/** Until the store is there: those are few, since nothing is sent while it is away. */
const persistently = async <T>(work: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Fault && error.code === 'service.unavailable')) throw error
      await sleep(AGAIN_MS, undefined, { ref: false })
    }
  }
}

/** Listed by the way: no mail waits for it. */
export const suppressLater =
  ({ log, ...parts }: SuppressParts & { readonly log: Pick<Log, 'error'> }) =>
  (recipientId: string, refusal: Refusal): void =>
    void persistently(() => suppressRefused(parts, recipientId, refusal)).catch((error: Error) =>
      log.error({ recipient: recipientId, error: error.message }, 'not suppressed'),
    )

export const logIncident =
  (log: Pick<Log, 'warn'>): NonNullable<SuppressParts['begun']> =>
  ({ id, upstreamId: upstream, domain, said, addresses, outcomes }) =>
    log.warn({ incident: id, upstream, domain, said, addresses, outcomes }, 'suppression incident')
