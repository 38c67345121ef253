/**
 * NAME      links - let somebody in once
 * DESCRIPTION
 *   44 characters, 12 public and 32 secret, of which a peppered hash is kept. A
 *   setup link is good for half an hour: for whoever runs this installation, or
 *   for a person who needs another password. An invitation is good for a week.
 *   Using one up is part of the sign-in (store/port/identity.ts).
 */
import { Fault, invalid } from '../../base/fault.js'
import { newId } from '../../base/id.js'
import { keyedHash, randomText, sameBytes } from '../../base/secret.js'
import type { Role } from '../../config/identity.js'
import type { LinkKind, LinkRow } from '../../store/port/identity.js'
import type { TenantDeps } from '../principal.js'
import { readEmail } from './people.js'

const SHAPE = /^([0-9A-Za-z]{12})[0-9A-Za-z]{32}$/
const NO_HASH = Buffer.alloc(32)
const MINUTE = 60_000
const LASTS: Record<LinkKind, number> = { setup: 30 * MINUTE, invitation: 7 * 24 * 60 * MINUTE }

const hashToken = (pepper: Uint8Array, token: string): Buffer => keyedHash(pepper, 'link', token)

interface NewLink {
  readonly kind: LinkKind
  readonly role: Role
  readonly email?: string | null | undefined
  readonly userId?: string | null | undefined
  readonly createdBy: string
}

/** Makes a link. The token is shown once and is nowhere kept. */
export const createLink = async (
  { store, pepper, clock }: TenantDeps,
  accountId: string,
  { kind, role, email, userId, createdBy }: NewLink,
): Promise<{ readonly row: LinkRow; readonly token: string }> => {
  const now = clock.now()
  const address = email == null ? null : readEmail(email)
  if (address === undefined) {
    throw invalid([{ field: 'body.email', kind: 'format', message: 'must be an email address' }])
  }
  const lookup = randomText(12)
  const token = `${lookup}${randomText(32)}`
  const row: LinkRow = {
    id: newId('lnk', now),
    accountId,
    kind,
    role,
    email: address,
    userId: userId ?? null,
    lookup,
    hash: hashToken(pepper, token),
    createdAt: now,
    expiresAt: now + LASTS[kind],
    usedAt: null,
    createdBy,
  }
  await store.createLink(row)
  return { row, token }
}

/** A link for a person who needs another password; throws user.not_found, and resource.conflict for one who is disabled. */
export const createSetupLink = async (
  deps: TenantDeps,
  accountId: string,
  ref: string,
  createdBy: string,
): Promise<{ readonly row: LinkRow; readonly token: string }> => {
  const user = await deps.store.user(accountId, ref.trim().toLowerCase())
  if (user === null) throw new Fault('user.not_found')
  if (user.disabledAt !== null) throw new Fault('resource.conflict', { reason: 'disabled' })
  const { role, email, id: userId } = user
  return createLink(deps, accountId, { kind: 'setup', role, email, userId, createdBy })
}

/** The link of a token, while it is good; or null. */
export const openLink = async (
  { store, pepper, clock }: TenantDeps,
  kind: LinkKind,
  token: string,
): Promise<LinkRow | null> => {
  const shape = SHAPE.exec(token)
  if (shape === null) return null
  const row = await store.linkByLookup(shape[1] ?? '')
  const same = sameBytes(hashToken(pepper, token), row?.hash ?? NO_HASH)
  const isGood = row !== null && row.kind === kind && row.usedAt === null && clock.now() < row.expiresAt
  return same && isGood ? row : null
}

/** Where a link leads; what follows the second slash is secret. */
export const linkUrl = (baseUrl: string, { kind }: Pick<LinkRow, 'kind'>, token: string): string =>
  `${baseUrl.replace(/\/+$/, '')}/${kind}/${token}`

/** Throws invitation.not_found, also for one that was used. */
export const revokeInvitation = async (
  { store }: TenantDeps,
  accountId: string,
  id: string,
): Promise<void> => {
  if (!(await store.revokeLink(accountId, id))) throw new Fault('invitation.not_found')
}
