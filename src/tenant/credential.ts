/**
 * NAME      credential - SMTP names and passwords that people chose
 * DESCRIPTION
 *   A user name with a password (made up by a person, or brought along from
 *   another provider), or an address range or a client certificate without one. They open
 *   the SMTP door only. How secrets are kept: credential/secret-hash.ts.
 *   bcrypt takes some 50 ms by design, so a proved password is remembered as a
 *   keyed hash. The memory holds proofs, never permission: the row is read anew
 *   each time, and its hash is part of the proof.
 */
import { LRUCache } from 'lru-cache'
import { Fault, type FieldError, invalid } from '../base/fault.js'
import { newId } from '../base/id.js'
import { isPrivateRange, parseRange, rangesOf } from '../base/network.js'
import { keyedHash } from '../base/secret.js'
import type { Mode } from '../lifecycle/page.js'
import type { CredentialRow } from '../store/port/tenants.js'
import { hashChosen, isChosenSecret, isKeyedSecret } from './credential/secret-hash.js'
import type { TenantDeps } from './principal.js'

interface NewCredential {
  /** Id or slug. */
  readonly workspace: string
  readonly mode?: Mode | undefined
  readonly username?: string | null | undefined
  readonly password?: string | null | undefined
  readonly cidr?: string | null | undefined
  /** SHA-256 of a client certificate, as openssl prints it or without colons. */
  readonly certificateFingerprint?: string | null | undefined
}

/** `sha256 Fingerprint=AB:CD:…`, `AB:CD:…` or `abcd…` as we keep it; null when it is no SHA-256. */
const plainFingerprint = (text: string): string | null => {
  const plain = text
    .trim()
    .toLowerCase()
    .replace(/^sha-?256 fingerprint=/, '')
    .replaceAll(':', '')
  return /^[0-9a-f]{64}$/.test(plain) ? plain : null
}

/** What it is known by. */
export const loginText = (row: Pick<CredentialRow, 'username' | 'cidr' | 'certificateFingerprint'>): string =>
  row.username ?? row.cidr ?? row.certificateFingerprint ?? ''

/** All that is wrong with a wish. */
export const checkNewCredential = (
  wish: Omit<NewCredential, 'workspace'> & { readonly imported?: boolean },
): readonly FieldError[] => {
  const errors: FieldError[] = []
  const wrong = (field: string, kind: FieldError['kind'], message: string) =>
    errors.push({ field: `body.${field}`, kind, message })
  if (wish.certificateFingerprint != null) {
    for (const field of ['username', 'password', 'cidr'] as const)
      if (wish[field] != null) wrong(field, 'forbidden', 'does not go with a certificate')
    if (plainFingerprint(wish.certificateFingerprint) === null)
      wrong('certificate_fingerprint', 'format', 'must be a SHA-256 fingerprint: 64 hexadecimal digits')
    return errors
  }
  if (wish.cidr != null) {
    if (wish.username != null) wrong('username', 'forbidden', 'an address range has no user name')
    if (wish.password != null) wrong('password', 'forbidden', 'an address range has no password')
    const range = parseRange(wish.cidr)
    if (range === null) wrong('cidr', 'format', 'must be a range such as 192.168.7.0/24')
    else if (!isPrivateRange(range)) {
      wrong('cidr', 'forbidden', 'must lie within loopback or private address space')
    }
    return errors
  }
  if (wish.username == null) wrong('username', 'missing', 'is required')
  else if (wish.username === '' || wish.username.length > 255) {
    wrong('username', 'length', 'must have 1 to 255 characters')
  } else if (/[\p{Cc}]/u.test(wish.username)) {
    wrong('username', 'format', 'must not contain control characters')
  }
  if (wish.password == null) wrong('password', 'missing', 'is required')
  else if (wish.password.length < 8 && wish.imported !== true) {
    wrong('password', 'length', 'must have at least 8 characters')
  } else if (wish.password === '') wrong('password', 'empty', 'must not be empty')
  return errors
}

/** Throws validation.request_invalid or workspace.not_found; the password is kept as a hash only. */
export const createCredential = async (
  { store, clock }: TenantDeps,
  accountId: string,
  wish: NewCredential,
): Promise<CredentialRow> => {
  const errors = checkNewCredential(wish)
  if (errors.length > 0) throw invalid(errors)
  const workspace = await store.workspace(accountId, wish.workspace)
  if (workspace === null) throw new Fault('workspace.not_found')
  const now = clock.now()
  const row: CredentialRow = {
    id: newId('cred', now),
    accountId,
    workspaceId: workspace.id,
    mode: wish.mode ?? 'live',
    username: wish.username ?? null,
    hash: wish.password == null ? null : await hashChosen(wish.password),
    cidr: wish.cidr?.trim() ?? null,
    certificateFingerprint: plainFingerprint(wish.certificateFingerprint ?? ''),
    imported: false,
    createdAt: now,
    lastUsedAt: null,
    lastUsedFrom: null,
  }
  if ((await store.createCredential(row)) === 'not_unique') {
    if (row.certificateFingerprint !== null) {
      const message = 'is already a credential'
      throw invalid([{ field: 'body.certificate_fingerprint', kind: 'not_unique', message }])
    }
    const field = row.cidr === null ? 'body.username' : 'body.cidr'
    throw invalid([{ field, kind: 'not_unique', message: 'is already taken in this workspace' }])
  }
  return row
}

/** At once and for good; throws credential.not_found. */
export const revokeCredential = async (
  { store }: TenantDeps,
  accountId: string,
  id: string,
): Promise<void> => {
  if (!(await store.revokeCredential(accountId, id))) throw new Fault('credential.not_found')
}

/** Finds the row that a user name and password prove. `guard` runs before any slow work and may throw. */
type VerifyPassword = (username: string, password: string, guard: () => void) => Promise<CredentialRow | null>

export const createPasswordProof = ({ store, pepper }: TenantDeps): VerifyPassword => {
  const proofs = new LRUCache<string, true>({ max: 10_000, ttl: 3_600_000 })
  const proofOf = (row: CredentialRow, password: string): string =>
    keyedHash(pepper, 'credential-proof', row.id, row.hash ?? '', password).toString('base64')
  return async (username, password, guard) => {
    const rows = (await store.credentialsByUsername(username)).filter((row) => row.hash !== null)
    const known = rows.find(
      (row) => proofs.has(proofOf(row, password)) || isKeyedSecret(pepper, row, password),
    )
    if (known !== undefined) return known
    guard()
    if (rows.length === 0) await isChosenSecret(null, password)
    for (const row of rows) {
      if (!(await isChosenSecret(row.hash, password))) continue
      proofs.set(proofOf(row, password), true)
      return row
    }
    return null
  }
}

/** Made once for each row that the store remembers. */
const rangeOfRow = new WeakMap<CredentialRow, (ip: string) => boolean>()

const holds = (row: CredentialRow, ip: string): boolean => {
  const known = rangeOfRow.get(row) ?? rangesOf(row.cidr === null ? [] : [row.cidr])
  rangeOfRow.set(row, known)
  return known(ip)
}

/** The narrowest range credential that holds this address, or null. */
export const credentialOfAddress = async (
  { store }: TenantDeps,
  ip: string,
): Promise<CredentialRow | null> => {
  let best: CredentialRow | null = null
  const width = (row: CredentialRow) => parseRange(row.cidr ?? '')?.prefix ?? -1
  for (const row of await store.credentialsByRange()) {
    if (!holds(row, ip)) continue
    if (best === null || width(row) > width(best)) best = row
  }
  return best
}
