/**
 * NAME      domain - sending domains, and their DKIM keys
 *   A domain is added with its keys and signs at once; it is verified when DNS shows them. Rotation overlaps: new keys
 *   wait until DNS shows them too, then they sign, and the old records stay published while mail signed with them is
 *   still under way.
 *   Keys come in pairs, RSA-2048 and Ed25519 (RFC 8463), each under a selector of its own: receivers that know only RSA
 *   ignore the other signature. Private halves are sealed with the pepper.
 */
import { generateKeyPair, type KeyObject } from 'node:crypto'
import { domainToASCII } from 'node:url'
import { promisify } from 'node:util'
import { Fault, type FieldError, invalid, orFault } from '../../base/fault.js'
import { isId, newId } from '../../base/id.js'
import { seal } from '../../base/secret.js'
import { dkimRecord, loadDkimKey } from '../../mail/dkim.js'
import type { EventNotice } from '../../store/port/log.js'
import type { DkimKeyRow, DomainRow, Domains, WorkspaceRow } from '../../store/port/tenants.js'
import type { TenantDeps } from '../principal.js'
import { findWorkspace } from '../workspace.js'

/** The purpose under which DKIM keys are sealed; relay/ unseals with the same. */
export const DKIM_SEAL = 'dkim-key'

type Algorithm = DkimKeyRow['algorithm']

const make = promisify(generateKeyPair)

/** Beside the event loop: an RSA key takes a tenth of a second and more. */
const generate = async (algorithm: Algorithm): Promise<KeyObject> =>
  (algorithm === 'rsa' ? await make('rsa', { modulusLength: 2048 }) : await make('ed25519')).privateKey

/** `pn20261121r`, and `pn20261121br` when that day has seen a rotation already. */
const selectorFor = (algorithm: Algorithm, now: number, taken: ReadonlySet<string>): string => {
  const day = new Date(now).toISOString().slice(0, 10).replaceAll('-', '')
  for (let n = 0; ; n++) {
    const turn = n === 0 ? '' : n < 26 ? String.fromCharCode(97 + n) : `${n}x`
    const selector = `pn${day}${turn}${algorithm === 'rsa' ? 'r' : 'e'}`
    if (!taken.has(selector)) return selector
  }
}

/** A private key that is published already, under its selector. */
export interface Brought {
  readonly selector: string
  readonly pem: string
}

/** RFC 6376, section 3.1: labels as in a domain. */
const SELECTOR = /^(?=.{1,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i

export const isSelector = (text: string): boolean => SELECTOR.test(text)

/** A key that somebody brings; throws where DKIM can not use it, and never says it. */
const broughtKey = (pepper: Uint8Array, { selector, pem }: Brought, now: number): DkimKeyRow => {
  const key = loadDkimKey(pem)
  return {
    selector: selector.toLowerCase(),
    algorithm: key.asymmetricKeyType === 'ed25519' ? 'ed25519' : 'rsa',
    sealed: seal(pepper, DKIM_SEAL, key.export({ type: 'pkcs8', format: 'pem' }) as string),
    record: dkimRecord(key),
    ...{ state: 'active', createdAt: now, retiredAt: null },
  }
}

/** A fresh pair, its selectors unlike those of `old`. */
const makeKeys = async (
  pepper: Uint8Array,
  state: DkimKeyRow['state'],
  old: readonly DkimKeyRow[],
  now: number,
): Promise<readonly DkimKeyRow[]> => {
  const taken = new Set(old.map(({ selector }) => selector))
  const fresh = async (algorithm: Algorithm): Promise<DkimKeyRow> => {
    const key = await generate(algorithm)
    const pem = key.export({ type: 'pkcs8', format: 'pem' }) as string
    return {
      selector: selectorFor(algorithm, now, taken),
      algorithm,
      sealed: seal(pepper, DKIM_SEAL, pem),
      record: dkimRecord(key),
      state,
      createdAt: now,
      retiredAt: null,
    }
  }
  return Promise.all([fresh('rsa'), fresh('ed25519')])
}

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
  return orFault(name === null ? null : await store.domain(accountId, name), 'domain.not_found')
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
): EventNotice | null => {
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
