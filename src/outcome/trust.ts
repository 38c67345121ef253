/**
 * NAME      trust - whom a report may speak for, and which of its groups are about our recipient
 *   T1: it came to a signed return path, so whoever sent it was given that address. T2: a signed ENVID, reference or
 *   return path stands in its top-level status part or the headers it returns. T3: only an unsigned Message-ID fits:
 *   worth an event, never a change. Anything else is T4 and only counted.
 *   A report that came to a signed return path (T1) is about that recipient, whomever its groups name: the path was
 *   given to nobody else, and aliases, forwards, lists and the client's own ORCPT make the names differ. Each group is
 *   heard, and one failure is a failure. Without the path, a report about one recipient speaks of it. Of several groups
 *   ours has our recipient as Original-Recipient, or what the client had us say there (ORCPT), else as Final-Recipient;
 *   else all agree on what happened. Otherwise the report is an event only.
 */
import { normalizeAddress } from '../mail/address.js'
import { addressOf, type Report, type ReportRecipient } from '../mail/report/report.js'
import {
  type ReturnPathKeys,
  readRef,
  readReturnPath,
  returnPathAt,
  type Token,
  type TokenPurpose,
  verifyRef,
} from '../mail/return-path.js'
import { poolInForce } from '../store/pools.js'
import type { Ledger, RecipientOwner } from '../store/port/mail.js'
import type { Tenants } from '../store/port/tenants.js'

export type NotOurs = 'other_recipient' | 'groups_disagree' | 'unclear'

export interface OurGroups {
  readonly groups: readonly ReportRecipient[]
  /** Null when some are ours. */
  readonly why: NotOurs | null
}

/** Whom we wrote to, and what the client had us call him. */
export type NamedRecipient = Pick<RecipientOwner, 'address' | 'orcpt'>

/** True for the recipient's address, and for the one that the client gave as its original. */
export const isNameOf = (one: string | null, { address, orcpt }: NamedRecipient): boolean => {
  if (one === null) return false
  const name = normalizeAddress(one)
  if (name === normalizeAddress(address)) return true
  const given = addressOf(orcpt ?? undefined)
  return given !== null && name === normalizeAddress(given)
}

const isAddressOf = (one: string | null, { address }: NamedRecipient): boolean =>
  one !== null && normalizeAddress(one) === normalizeAddress(address)

/** Any of them would do, since they agree; none, when they do not. */
const agreed = (groups: readonly ReportRecipient[]): OurGroups => {
  const [first] = groups
  if (first === undefined) return { groups: [], why: 'unclear' }
  const isOne = groups.every(({ action }) => action === first.action)
  return isOne ? { groups: [first], why: null } : { groups: [], why: 'groups_disagree' }
}

export const groupsNaming = (
  groups: readonly ReportRecipient[],
  ours: NamedRecipient,
): readonly ReportRecipient[] => {
  const original = groups.filter((group) => isNameOf(group.originalRecipient, ours))
  if (original.length > 0) return original
  return groups.filter(
    ({ originalRecipient, finalRecipient, address }) =>
      originalRecipient === null && (isAddressOf(finalRecipient, ours) || isAddressOf(address, ours)),
  )
}

/** The groups that speak for `ours`, where the report is about nobody else of us. */
export const groupsFor = (
  groups: readonly ReportRecipient[],
  ours: NamedRecipient,
  cameByPath: boolean,
): OurGroups => {
  if (groups.length > 0 && (cameByPath || groups.length === 1)) return { groups, why: null }
  const original = groups.filter((group) => isNameOf(group.originalRecipient, ours))
  const named =
    original.length > 0
      ? original
      : groups.filter(
          ({ finalRecipient, address }) => isAddressOf(finalRecipient, ours) || isAddressOf(address, ours),
        )
  return named.length > 0 ? { groups: named, why: null } : agreed(groups)
}

/** The first of those that tell the same; of those, who is `better`. */
export const distinct = (
  groups: readonly ReportRecipient[],
  better: (group: ReportRecipient) => boolean,
): readonly ReportRecipient[] => {
  const told = new Map<string, ReportRecipient>()
  for (const group of groups) {
    const key = `${group.action ?? group.unknownAction} ${group.status}`
    const found = told.get(key)
    if (found === undefined || (!better(found) && better(group))) told.set(key, group)
  }
  return [...told.values()]
}

export type Tier = 'T1' | 'T2' | 'T3' | 'T4'

export interface ReportStanding {
  readonly tier: Tier
  /** Several only when one mail went to several at once. */
  readonly owners: readonly RecipientOwner[]
  /** True when its mail had more recipients, and went to several in one transaction: the reference is theirs, too. */
  readonly shared: boolean
}

interface TrustParts {
  readonly store: Pick<Ledger, 'recipient' | 'findEmails' | 'email'> & Pick<Tenants, 'pool'>
  readonly keys: ReturnPathKeys
  readonly domain: string
}

const ownerOf = async (
  { store, keys }: TrustParts,
  purpose: TokenPurpose,
  token: Token | null,
  now: number,
): Promise<RecipientOwner | null> => {
  if (token === null) return null
  const owner = await store.recipient(token.recipientId)
  return owner !== null && verifyRef(keys, purpose, token, owner, now) ? owner : null
}

/** By Message-ID alone: the one recipient that the report names, or the only one. */
const guess = async ({ store }: TrustParts, report: Report): Promise<RecipientOwner | null> => {
  if (report.originalMessageId === null) return null
  const [email, another] = await store.findEmails(report.originalMessageId, 2)
  if (email === undefined || another !== undefined) return null
  const record = await store.email({ ...email, mode: null }, email.id)
  const named = new Set(
    report.recipients.flatMap(({ originalRecipient, finalRecipient, address }) =>
      [originalRecipient, finalRecipient, address].map((one) => one?.toLowerCase()),
    ),
  )
  const all = record?.recipients ?? []
  const found = all.length === 1 ? all[0] : all.find(({ address }) => named.has(address.toLowerCase()))
  return found === undefined ? null : store.recipient(found.id)
}

/**
 * Where recipients share a transaction, its ENVID is signed for the first of them and returns with the reports of all:
 * it then speaks for those whom the report names. Answers whether they do.
 */
const addSiblings = async (
  { store }: TrustParts,
  report: Report,
  owners: Map<string, RecipientOwner>,
): Promise<boolean> => {
  const [first] = owners.values()
  if (first === undefined) return false
  const pool = await poolInForce(store, first.accountId, first.poolId)
  if (pool?.returnPath !== 'fixed') return false
  const { accountId, workspaceId } = first
  const record = await store.email({ accountId, workspaceId, mode: null }, first.emailId)
  const all = record?.recipients ?? []
  for (const { id } of all) {
    const owner = owners.has(id) ? null : await store.recipient(id)
    if (owner !== null && groupsNaming(report.recipients, owner).length > 0) owners.set(id, owner)
  }
  return all.length > 1
}

/** Who signed references in the report itself; each recipient once. */
const referred = async (
  parts: TrustParts,
  report: Report,
  now: number,
): Promise<Omit<ReportStanding, 'tier'>> => {
  const complaining = report.kind === 'arf' ? report.refs : []
  const candidates: readonly (readonly [TokenPurpose, Token | null])[] = [
    ['envid', report.envid === null ? null : readRef('envid', report.envid)],
    ...report.refs.map((ref) => ['ref', readRef('ref', ref)] as const),
    ...complaining.map((ref) => ['complaint', readRef('complaint', ref)] as const),
    ...report.returnPathHints.map((hint) => ['return-path', readReturnPath(hint)] as const),
  ]
  const owners = new Map<string, RecipientOwner>()
  for (const [purpose, token] of candidates) {
    const owner = await ownerOf(parts, purpose, token, now)
    if (owner !== null) owners.set(owner.recipientId, owner)
  }
  const shared = await addSiblings(parts, report, owners)
  return { owners: [...owners.values()], shared }
}

/** `envelopeRecipient` is where the report was delivered to: the only address that counts for T1. */
export const standingOf = async (
  parts: TrustParts,
  envelopeRecipient: string,
  report: Report,
  now: number,
): Promise<ReportStanding> => {
  const path = returnPathAt(envelopeRecipient, parts.domain)
  const first = await ownerOf(parts, 'return-path', path, now)
  if (first !== null) return { tier: 'T1', owners: [first], shared: false }
  const found = await referred(parts, report, now)
  if (found.owners.length > 0) return { tier: 'T2', ...found }
  const owner = await guess(parts, report)
  return owner === null
    ? { tier: 'T4', owners: [], shared: false }
    : { tier: 'T3', owners: [owner], shared: false }
}
