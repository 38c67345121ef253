/**
 * NAME      domain - sending domains
 * DESCRIPTION
 *   A domain is added with its keys and signs at once; it is verified when DNS
 *   shows them. Rotation overlaps: new keys wait until DNS shows them too, then
 *   they sign, and the old records stay published while mail signed with them is
 *   still under way.
 */
import { domainToASCII } from 'node:url'
import { Fault, invalid } from '../../base/fault.js'
import { newId } from '../../base/id.js'
import type { DkimKeyRow, DomainRow, Domains } from '../../store/port-domains.js'
import type { WorkspaceRow } from '../../store/port-tenants.js'
import type { TenantGround } from '../principal.js'
import { findWorkspace } from '../workspace.js'
import { makeKeys } from './keys.js'

export interface DomainGround extends TenantGround {
  readonly store: TenantGround['store'] & Domains
}

/** Mail may be checked by its signature for this long after it was signed. */
export const RETIRED_KEPT_MS = 7 * 86_400_000

const NAME = /^(?=.{3,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/

const normalDomain = (text: string): string => {
  const name = domainToASCII(text.trim().replace(/\.$/, '')).toLowerCase()
  if (NAME.test(name)) return name
  throw invalid([{ field: 'body.name', kind: 'format', message: 'must be a domain such as shop.example' }])
}

/** With two fresh signing keys, in force from now on. */
export const addDomain = async (
  ground: DomainGround,
  accountId: string,
  wish: { readonly name: string; readonly workspace?: string | undefined },
): Promise<DomainRow> => {
  const name = normalDomain(wish.name)
  const workspace =
    wish.workspace === undefined ? null : await findWorkspace(ground, accountId, wish.workspace)
  const now = ground.clock.now()
  const row: DomainRow = {
    id: newId('dom', now),
    accountId,
    workspaceId: workspace?.id ?? null,
    name,
    keys: makeKeys(ground.pepper, 'active', [], now),
    verifiedAt: null,
    checkedAt: null,
    createdAt: now,
    updatedAt: now,
  }
  if ((await ground.store.createDomain(row)) === 'not_unique') {
    throw invalid([{ field: 'body.name', kind: 'not_unique', message: 'is a sending domain already' }])
  }
  return row
}

/** By id or name. */
export const findDomain = async (
  { store }: Pick<DomainGround, 'store'>,
  accountId: string,
  ref: string,
): Promise<DomainRow> => {
  const row = await store.domain(accountId, ref.startsWith('dom_') ? ref : normalDomain(ref))
  if (row === null) throw new Fault('domain.not_found')
  return row
}

/** Its mail leaves unsigned from now on; throws domain.not_found. */
export const removeDomain = async (
  ground: DomainGround,
  accountId: string,
  ref: string,
): Promise<DomainRow> => {
  const row = await findDomain(ground, accountId, ref)
  if (!(await ground.store.removeDomain(accountId, row.id))) throw new Fault('domain.not_found')
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

/** Makes new keys. They wait for DNS (see check.ts), unless `atOnce`. */
export const rotateKeys = async (
  ground: DomainGround,
  accountId: string,
  ref: string,
  atOnce: boolean,
): Promise<DomainRow> => {
  const old = await findDomain(ground, accountId, ref)
  const now = ground.clock.now()
  const fresh = makeKeys(ground.pepper, 'next', old.keys, now)
  const keys = [...old.keys.filter(({ state }) => state !== 'next'), ...fresh]
  const row: DomainRow = {
    ...old,
    keys: atOnce ? activate(keys, now) : keys,
    verifiedAt: atOnce ? null : old.verifiedAt,
    updatedAt: now,
  }
  await ground.store.updateDomain(row)
  return row
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
