/**
 * NAME      domain - sending domains
 * DESCRIPTION
 *   A domain is added with its keys and signs at once; it is verified when DNS
 *   shows them. Rotation overlaps: new keys wait until DNS shows them too, then
 *   they sign, and the old records stay published while mail signed with them is
 *   still under way.
 */
import { domainToASCII } from 'node:url'
import { Fault, type FieldError, invalid } from '../../base/fault.js'
import { isId, newId } from '../../base/id.js'
import type { Notice } from '../../store/port/log.js'
import type { DkimKeyRow, DomainRow, Domains, WorkspaceRow } from '../../store/port/tenants.js'
import type { TenantDeps } from '../principal.js'
import { findWorkspace } from '../workspace.js'
import { type Brought, broughtKey, makeKeys } from './keys.js'

export interface DomainDeps extends TenantDeps {
  readonly store: TenantDeps['store'] & Domains
}

/** Mail may be checked by its signature for this long after it was signed. */
export const RETIRED_KEPT_MS = 7 * 86_400_000

/** Its last label is no number: that would be an address. */
const NAME =
  /^(?=.{3,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*\.(?!\d+$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** Lower case and in A-labels; null when it is no domain. */
export const normalDomain = (text: string): string | null => {
  const name = domainToASCII(text.trim().replace(/\.$/, '')).toLowerCase()
  return NAME.test(name) ? name : null
}

interface DomainWish {
  readonly name: string
  /** Id or slug; all of the account when it is left out. */
  readonly workspace?: string | undefined
  /** Else two are made. */
  readonly brought?: readonly Brought[] | undefined
}

/** All that is wrong with the name of a new one. */
export const wrongWithDomain = async (
  { store }: Pick<DomainDeps, 'store'>,
  accountId: string,
  wish: Partial<DomainWish>,
): Promise<readonly FieldError[]> => {
  if (wish.name === undefined) return []
  const name = normalDomain(wish.name)
  if (name === null)
    return [{ field: 'body.name', kind: 'format', message: 'must be a domain such as shop.example' }]
  return (await store.domain(accountId, name)) === null ? [] : [NAME_TAKEN]
}

const NAME_TAKEN: FieldError = {
  field: 'body.name',
  kind: 'not_unique',
  message: 'is a sending domain already',
}

/** With two fresh signing keys, or those that are brought, in force from now on. */
export const addDomain = async (
  deps: DomainDeps,
  accountId: string,
  wish: DomainWish,
): Promise<DomainRow> => {
  const wrong = await wrongWithDomain(deps, accountId, wish)
  const name = normalDomain(wish.name)
  if (name === null || wrong.length > 0) throw invalid(wrong)
  const workspace = wish.workspace === undefined ? null : await findWorkspace(deps, accountId, wish.workspace)
  const now = deps.clock.now()
  const row: DomainRow = {
    id: newId('dom', now),
    accountId,
    workspaceId: workspace?.id ?? null,
    name,
    keys:
      wish.brought === undefined
        ? await makeKeys(deps.pepper, 'active', [], now)
        : wish.brought.map((one) => broughtKey(deps.pepper, one, now)),
    verifiedAt: null,
    checkedAt: null,
    createdAt: now,
    updatedAt: now,
  }
  if ((await deps.store.createDomain(row)) === 'not_unique') throw invalid([NAME_TAKEN])
  return row
}

/** By id or name; throws domain.not_found, also for what can be neither. */
export const findDomain = async (
  { store }: Pick<DomainDeps, 'store'>,
  accountId: string,
  ref: string,
): Promise<DomainRow> => {
  const name = isId('dom', ref) ? ref : normalDomain(ref)
  const row = name === null ? null : await store.domain(accountId, name)
  if (row === null) throw new Fault('domain.not_found')
  return row
}

/** Its mail leaves unsigned from now on; throws domain.not_found. */
export const removeDomain = async (deps: DomainDeps, accountId: string, ref: string): Promise<DomainRow> => {
  const row = await findDomain(deps, accountId, ref)
  if (!(await deps.store.removeDomain(accountId, row.id))) throw new Fault('domain.not_found')
  return row
}

/** The waiting keys sign from now on; the old ones retire. */
export const activate = (keys: readonly DkimKeyRow[], now: number): readonly DkimKeyRow[] =>
  keys
    .filter(({ retiredAt }) => retiredAt === null || now - retiredAt < RETIRED_KEPT_MS)
    .map((key) => {
      if (key.state === 'next') return { ...key, state: 'active' as const }
      return key.state === 'active' ? { ...key, state: 'retired' as const, retiredAt: now } : key
    })

/** What tells that a domain has become verified, or is so no longer; null where that did not change. */
export const domainNotice = (
  before: DomainRow,
  after: DomainRow,
  now: number,
  why: Readonly<Record<string, unknown>>,
): Notice | null => {
  const isVerified = after.verifiedAt !== null
  if (isVerified === (before.verifiedAt !== null)) return null
  const { id, accountId, workspaceId, name } = after
  return {
    type: isVerified ? 'domain.verified' : 'domain.failed',
    accountId,
    workspaceId,
    mode: 'live',
    now,
    data: { domain_id: id, name, ...(isVerified ? {} : why) },
  }
}

/** Makes new keys. They wait for DNS (see check.ts), unless `atOnce`. */
export const rotateKeys = async (
  deps: DomainDeps,
  accountId: string,
  ref: string,
  atOnce: boolean,
): Promise<DomainRow> => {
  for (;;) {
    const old = await findDomain(deps, accountId, ref)
    const now = deps.clock.now()
    const fresh = await makeKeys(deps.pepper, 'next', old.keys, now)
    const keys = [...old.keys.filter(({ state }) => state !== 'next'), ...fresh]
    const row: DomainRow = {
      ...old,
      keys: atOnce ? activate(keys, now) : keys,
      verifiedAt: atOnce ? null : old.verifiedAt,
      updatedAt: Math.max(now, old.updatedAt + 1),
    }
    const notice = domainNotice(old, row, now, { reason: 'keys_rotated' })
    if (await deps.store.updateDomain(row, old.updatedAt, notice)) return row
  }
}

/** `a.b.c`, `b.c`: a domain speaks for those under it (relaxed alignment, RFC 7489). */
export const lineage = (domain: string): readonly string[] => {
  const labels = domain.split('.')
  return labels.slice(0, -1).map((_, i) => labels.slice(i).join('.'))
}

/** Whether a workspace that restricts its senders may send from an address: only from its verified domains. */
export const createSenderAllowed =
  (store: Pick<Domains, 'domain'>) =>
  async (workspace: WorkspaceRow, address: string): Promise<boolean> => {
    const domain = domainToASCII(address.slice(address.lastIndexOf('@') + 1)).toLowerCase()
    for (const name of lineage(domain)) {
      const row = await store.domain(workspace.accountId, name)
      if (row === null || row.verifiedAt === null) continue
      if (row.workspaceId === null || row.workspaceId === workspace.id) return true
    }
    return false
  }
