/**
 * NAME      suppression - addresses that a workspace no longer writes to
 *   Added by people, imports, hard bounces and complaints. Addresses are kept and compared in lower case. Adding one
 *   that is there already gives the row that is there. `*@example.com` is a whole domain: people and imports name one,
 *   a bounce or a complaint never does. Live and test mail have lists of their own; one more holds for the live mail of
 *   every workspace of an account, and only who may act for the account writes on it.
 */
import { Fault, invalidField, orFault } from '../base/fault.js'
import { newId } from '../base/id.js'
import { type Mode, pagesOf } from '../lifecycle/page.js'
import {
  entriesAgainst,
  entryOf,
  isSuppressing,
  isWholeDomain,
  MAILING_LIST,
  MAILING_LIST_FORM,
  partsOfEntry,
  suppressionList,
} from '../lifecycle/suppress.js'
import { domainOf, normalizeAddress, parseRecipient } from '../mail/address.js'
import type { Audit } from '../store/port/identity.js'
import type { SuppressionRow, WorkspaceRow } from '../store/port/tenants.js'
import type { Decision, Incidents, KnownIncident, PendingSuppression } from '../store/port/watch.js'
import type { TenantDeps } from './principal.js'

interface NewSuppression {
  readonly email: string
  /** Only for the mail of this mailing list. */
  readonly mailingList?: string | null | undefined
  readonly origin?: SuppressionRow['origin'] | undefined
  readonly sourceId?: string | null | undefined
  readonly reason?: string | null | undefined
  readonly expiresAt?: number | null | undefined
  /** Of what was suppressed elsewhere before. */
  readonly createdAt?: number | undefined
}

/** A list: `id` is as suppressionList names it. */
export type ListPlace = Pick<SuppressionRow, 'accountId'> & { readonly id: string }

/** The list of a workspace, for mail of that mode. */
export const listOfWorkspace = (
  { id, accountId }: Pick<WorkspaceRow, 'id' | 'accountId'>,
  mode: Mode,
): ListPlace => ({ accountId, id: suppressionList(id, mode) })

/** The list that holds for all workspaces. */
export const listOfAccount = (accountId: string): ListPlace => ({ accountId, id: accountId })

export interface SuppressDeps extends Pick<TenantDeps, 'clock'> {
  readonly store: Pick<TenantDeps['store'], 'addSuppression'>
}

const entryText = (address: string): string =>
  isWholeDomain(address) ? `*@${domainOf(address)}` : normalizeAddress(address)

/** An address or a whole domain as lists have it; null where it is neither. */
export const listedAddress = (text: string): string | null => {
  const mailbox = parseRecipient(text)
  return mailbox === null ? null : entryText(mailbox.address)
}

/** What lists take. */
export const ENTRY_FORM = 'must be an address, or *@example.com for a whole domain'

/** `email` is as lists have it. */
export const suppressionRow = (
  { accountId, id: list }: ListPlace,
  wish: NewSuppression,
  now: number,
): SuppressionRow => ({
  id: newId('sup', now),
  accountId,
  list,
  email: wish.email,
  origin: wish.origin ?? 'manual',
  sourceId: wish.sourceId ?? null,
  reason: wish.reason ?? null,
  expiresAt: wish.expiresAt ?? null,
  createdAt: wish.createdAt ?? now,
})

/** Why an address can not be kept from the mail of one mailing list. */
export const wrongList = (
  { accountId, id }: ListPlace,
  email: string,
  mailingList: string,
): string | null => {
  if (!MAILING_LIST.test(mailingList)) return `its list ${MAILING_LIST_FORM}`
  if (id === accountId) return 'a mailing list is of one workspace'
  return isWholeDomain(email) ? 'a whole domain is suppressed for all mail' : null
}

/** Throws validation.failed where it is about no address. */
export const suppressionOf = (
  place: ListPlace,
  wish: NewSuppression,
  now: number,
  field = 'body.email',
): SuppressionRow => {
  const email = listedAddress(wish.email)
  if (email === null) throw invalidField(field, 'format', ENTRY_FORM)
  const { mailingList = null } = wish
  const wrong = mailingList === null ? null : wrongList(place, email, mailingList)
  if (wrong !== null) throw invalidField(field, 'unsupported', wrong)
  return suppressionRow(place, { ...wish, email: entryOf(email, mailingList) }, now)
}

export const suppress = async (
  { store, clock }: SuppressDeps,
  workspace: ListPlace,
  wish: NewSuppression,
  field?: string,
): Promise<{ readonly row: SuppressionRow; readonly added: boolean }> => {
  const wanted = suppressionOf(workspace, wish, clock.now(), field)
  const row = await store.addSuppression(wanted)
  return { row, added: row.id === wanted.id }
}

/** An address that is listed keeps its row, which is the answer. */
export const addSuppression = async (
  deps: TenantDeps,
  workspace: ListPlace,
  wish: NewSuppression,
  field?: string,
): Promise<SuppressionRow> => (await suppress(deps, workspace, wish, field)).row

/** What names nothing. */
const NO_REF = ''

/** What names a suppression, in the form in which it is kept; a mailing list within the text is none of ours. */
export const refOf = (idOrEmail: string, mailingList: string | null = null): string => {
  if (!idOrEmail.includes('@')) return idOrEmail
  const isEntry = partsOfEntry(idOrEmail).mailingList !== null
  return isEntry ? NO_REF : entryOf(entryText(idOrEmail), mailingList)
}

/** The lists that hold for mail of one, which is first. */
const listsFor = ({ accountId, id }: ListPlace): readonly string[] =>
  id === accountId || id.endsWith(suppressionList('', 'test')) ? [id] : [id, accountId]

/** What stands against an address on lists that hold there, by itself or for its domain; an id stands for nothing else. */
export const standingAgainst = async (
  { store, clock }: Pick<TenantDeps, 'store' | 'clock'>,
  place: ListPlace,
  ref: string,
): Promise<SuppressionRow | null> => {
  const entries = ref.includes('@') && !isWholeDomain(ref) ? entriesAgainst(ref) : [ref]
  for (const entry of entries)
    for (const list of listsFor(place)) {
      const row = await store.suppression(list, entry)
      if (row !== null && isSuppressing(row.expiresAt, clock.now())) return row
    }
  return null
}

const entryOn = async ({ store }: TenantDeps, { id }: ListPlace, ref: string) =>
  (await store.suppression(id, ref)) ?? (await store.pendingSuppression(id, ref))

/** By id or address, also one that is pending; else what suppresses that address all the same. */
export const findSuppression = async (
  deps: TenantDeps,
  place: ListPlace,
  idOrEmail: string,
  mailingList: string | null = null,
): Promise<SuppressionRow | PendingSuppression> => {
  const ref = refOf(idOrEmail, mailingList)
  return orFault(
    (await entryOn(deps, place, ref)) ?? (await standingAgainst(deps, place, ref)),
    'suppression.not_found',
  )
}

/** The same of what stands on this very list, as it can be removed. */
export const findEntry = async (
  deps: TenantDeps,
  place: ListPlace,
  idOrEmail: string,
  mailingList: string | null = null,
): Promise<SuppressionRow | PendingSuppression> => {
  const ref = refOf(idOrEmail, mailingList)
  const row = await entryOn(deps, place, ref)
  if (row === null) throw await notListed(deps, place, ref)
  return row
}

const notListed = async (deps: TenantDeps, place: ListPlace, ref: string): Promise<Fault> => {
  const still = await standingAgainst(deps, place, ref)
  if (still === null) return new Fault('suppression.not_found')
  return new Fault('suppression.not_found', {
    detail: `${entryWords(ref)} has no entry of its own on this list: ${stillWords(still)}.`,
  })
}

/** `ana@example.com (list news)`. */
export const entryWords = (entry: string): string => {
  const { email, mailingList } = partsOfEntry(entry)
  return mailingList === null ? email : `${email} (list ${mailingList})`
}

/** For who took an address off a list, or found it on none. */
export const stillWords = ({ email, list, accountId }: SuppressionRow): string =>
  `${entryWords(email)}${list === accountId ? ', for every workspace,' : ''} suppresses it`

/** What it was, and what still suppresses the address. Throws suppression.not_found. */
export const removeSuppression = async (
  deps: TenantDeps,
  place: ListPlace,
  idOrEmail: string,
  mailingList: string | null = null,
): Promise<{ readonly row: SuppressionRow; readonly still: SuppressionRow | null }> => {
  const ref = refOf(idOrEmail, mailingList)
  const row = await deps.store.removeSuppression(place.id, ref)
  if (row === null) throw await notListed(deps, place, ref)
  return { row, still: await standingAgainst(deps, place, row.email) }
}

/** What was taken off a list and when, as long as the audit knows it: an import of older rows leaves it off. */
export const takenOff = async (
  store: Pick<Audit, 'audit'>,
  { accountId, id }: ListPlace,
): Promise<ReadonlyMap<string, number>> => {
  const found = new Map<string, number>()
  const [workspaceId = ''] = id.split('/')
  const filter = {
    ...{ action: 'suppression.removed', actorId: null, objectId: null, since: null, until: null },
    workspaceId: id === accountId ? null : workspaceId,
  }
  const isOfTests = id !== workspaceId
  for await (const { rows } of pagesOf((page) => store.audit(accountId, filter, page), undefined, 500))
    for (const { at, detail, workspaceId: of } of rows) {
      const { email, list = null } = detail as { readonly email?: unknown; readonly list?: string | null }
      const isHere = (of === null) === (id === accountId) && (detail.mode === 'test') === isOfTests
      if (!isHere || typeof email !== 'string') continue
      const entry = entryOf(email, list)
      if (!found.has(entry)) found.set(entry, at)
    }
  return found
}

/** One of the account, or of this workspace of it. Throws incident.not_found. */
export const findIncident = async (
  store: Pick<Incidents, 'incident'>,
  accountId: string,
  id: string,
  workspaceId: string | null,
): Promise<KnownIncident> => {
  const row = await store.incident(accountId, id)
  if (row === null || (workspaceId !== null && row.workspaceId !== workspaceId))
    throw new Fault('incident.not_found')
  return row
}

/** Resolves with how many suppressions it was about. Throws resource.conflict where somebody has decided otherwise. */
export const decideIncident = async (
  { store, clock }: Pick<TenantDeps, 'clock'> & { readonly store: Pick<Incidents, 'decideIncident'> },
  { accountId, id, decision: before }: KnownIncident,
  decision: Decision,
): Promise<number> => {
  if (before === decision) return 0
  const done = await store.decideIncident(accountId, id, decision, clock.now())
  if (done === 'not_found') throw new Fault('incident.not_found')
  if (done === 'decided') throw new Fault('resource.conflict', { reason: before ?? 'decided' })
  return done
}
