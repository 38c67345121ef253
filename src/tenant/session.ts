/**
 * NAME      session - a person at work
 * DESCRIPTION
 *   `ses_`, 12 public and 32 secret characters, kept like an API key: as a
 *   peppered HMAC under its lookup id. It ends when it is idle for too long, at
 *   its last hour in any case, and with its person. Role and name are the
 *   person's of this moment; a session of nobody in particular, as the command
 *   line opens them, has a role of its own.
 *   A session acts with platform scope over its account and is the only
 *   credential that may make keys.
 */
import { Fault } from '../base/fault.js'
import { newId } from '../base/id.js'
import { keyedHash, randomText, sameBytes } from '../base/secret.js'
import type { Role } from '../config/identity.js'
import type { SessionOidc, SessionRow, UserRow } from '../store/port/identity.js'
import { isCurrent } from './key.js'
import { noteUse, type TenantDeps } from './principal.js'

const SHAPE = /^ses_([0-9A-Za-z]{12})[0-9A-Za-z]{32}$/
const NOBODY = Buffer.alloc(32)

const HOUR = 3_600_000
/** What holds where the configuration is not asked. */
const LIMITS = { idle: 12 * HOUR, lifetime: 7 * 24 * HOUR }
const LONGEST_AGENT = 200

const hashToken = (pepper: Uint8Array, token: string): Buffer => keyedHash(pepper, 'session', token)

interface NewSession {
  readonly userId?: string | null | undefined
  /** Of a session of nobody in particular. */
  readonly role?: Role | undefined
  /** `local`, `link`, `cli`, or the name of an identity provider. */
  readonly provider?: string | undefined
  readonly address?: string | null | undefined
  readonly userAgent?: string | null | undefined
  readonly oidc?: SessionOidc | null | undefined
  /** For so long, used or not; by default as the configuration has it. */
  readonly lastsMs?: number | undefined
}

interface OpenedSession {
  readonly row: SessionRow
  /** Shown once and nowhere kept. */
  readonly token: string
}

/** A session that is not stored yet. */
export const newSession = (deps: TenantDeps, accountId: string, wish: NewSession = {}): OpenedSession => {
  const now = deps.clock.now()
  const lookup = randomText(12)
  const token = `ses_${lookup}${randomText(32)}`
  const { idle, lifetime } = deps.sessions ?? LIMITS
  const row: SessionRow = {
    id: newId('ses', now),
    accountId,
    userId: wish.userId ?? null,
    role: wish.role ?? 'owner',
    provider: wish.provider ?? 'cli',
    address: wish.address ?? null,
    userAgent: wish.userAgent?.slice(0, LONGEST_AGENT) ?? null,
    lookup,
    hash: hashToken(deps.pepper, token),
    createdAt: now,
    lastSeenAt: now,
    expiresAt: now + (wish.lastsMs ?? lifetime),
    idleMs: wish.lastsMs ?? idle,
    oidc: wish.oidc ?? null,
  }
  return { row, token }
}

/** Opens a session of nobody in particular. */
export const createSession = async (
  deps: TenantDeps,
  accountId: string,
  wish: Omit<NewSession, 'userId' | 'oidc'> = {},
): Promise<OpenedSession> => {
  const made = newSession(deps, accountId, { lastsMs: LIMITS.idle, ...wish })
  await deps.store.createSession(made.row)
  return made
}

export interface LiveSession {
  readonly row: SessionRow
  /** null: of nobody in particular. */
  readonly user: UserRow | null
}

/** How long a provider's word of its person counts when it is not asked again. */
const PROVIDER_WORD_MS = 12 * HOUR

const isOver = ({ lastSeenAt, idleMs, oidc, ...row }: SessionRow, now: number): boolean =>
  !isCurrent(row, now) ||
  now - lastSeenAt >= idleMs ||
  (oidc !== null && now - oidc.checkedAt >= PROVIDER_WORD_MS)

/** A session that is real and not over, with its person; or null. */
export const verifySession = async (deps: TenantDeps, token: string): Promise<LiveSession | null> => {
  const shape = SHAPE.exec(token)
  if (shape === null) return null
  const row = await deps.store.sessionByLookup(shape[1] ?? '')
  const same = sameBytes(hashToken(deps.pepper, token), row?.hash ?? NOBODY)
  const now = deps.clock.now()
  if (row === null || !same || isOver(row, now)) return null
  const user = row.userId === null ? null : await deps.store.user(row.accountId, row.userId)
  if (row.userId !== null && (user === null || user.disabledAt !== null)) return null
  noteUse(deps, 'session', { id: row.id, lastUsedAt: row.lastSeenAt }, now, null)
  return { row, user }
}

/** At once; throws session.not_found. */
export const revokeSession = async ({ store }: TenantDeps, accountId: string, id: string): Promise<void> => {
  if (!(await store.revokeSession(accountId, id))) throw new Fault('session.not_found')
}
