/**
 * NAME      identity - people, second factors, sessions, links and the audit as the public sees them
 * DESCRIPTION
 *   No hash, no secret. A link's address is told once, beside its record.
 */
import { timeOrNull, toRfc3339 } from '../../base/clock.js'
import type {
  AuditRow,
  FactorRow,
  IdentityRow,
  LinkRow,
  SessionRow,
  UserRow,
} from '../../store/port/identity.js'

export const person = (row: UserRow) => ({
  id: row.id,
  object: 'user' as const,
  email: row.email,
  name: row.name,
  role: row.role,
  role_from: row.roleFrom,
  has_password: row.hash !== null,
  second_factor: row.hasFactor,
  disabled: row.disabledAt !== null,
  disabled_at: timeOrNull(row.disabledAt),
  last_sign_in_at: timeOrNull(row.lastSignInAt),
  created_at: toRfc3339(row.createdAt),
})

/** Without what proves it. */
export const factor = (row: FactorRow) => ({
  id: row.id,
  object: 'factor' as const,
  kind: row.kind === 'totp' ? ('totp' as const) : ('passkey' as const),
  name: row.name,
  created_at: toRfc3339(row.createdAt),
  last_used_at: timeOrNull(row.lastUsedAt),
})

/** With the providers that know him, and what he proves beside the password. */
export const personInFull = (
  row: UserRow,
  identities: readonly IdentityRow[],
  factors: readonly FactorRow[],
) => ({
  ...person(row),
  factors: factors.filter(({ kind }) => kind !== 'recovery').map(factor),
  recovery_codes_left: factors.filter(({ kind }) => kind === 'recovery').length,
  identities: identities.map((one) => ({
    provider: one.provider,
    issuer: one.issuer,
    subject: one.subject,
    last_sign_in_at: timeOrNull(one.lastSignInAt),
  })),
})

/** `user` is the person of the session, `current` whether it asks. */
export const openSession = (row: SessionRow, user: UserRow | null, current: boolean) => ({
  id: row.id,
  object: 'session' as const,
  person: user && { id: user.id, email: user.email, name: user.name },
  role: user?.role ?? row.role,
  provider: row.provider,
  address: row.address,
  user_agent: row.userAgent,
  current,
  created_at: toRfc3339(row.createdAt),
  last_seen_at: toRfc3339(row.lastSeenAt),
  expires_at: toRfc3339(Math.min(row.expiresAt, row.lastSeenAt + row.idleMs)),
})

const stateOf = ({ usedAt, expiresAt }: LinkRow, now: number): 'open' | 'used' | 'expired' => {
  if (usedAt !== null) return 'used'
  return now < expiresAt ? 'open' : 'expired'
}

export const link = (row: LinkRow, now: number) => ({
  id: row.id,
  object: row.kind === 'setup' ? ('setup_link' as const) : ('invitation' as const),
  email: row.email,
  role: row.role,
  state: stateOf(row, now),
  created_by: row.createdBy,
  created_at: toRfc3339(row.createdAt),
  expires_at: toRfc3339(row.expiresAt),
  used_at: timeOrNull(row.usedAt),
})

export const auditEntry = ({ actor, object, ...row }: AuditRow) => ({
  id: row.id,
  object: 'audit_entry' as const,
  action: row.action,
  actor: { kind: actor.kind, id: actor.id, name: actor.name, address: actor.address },
  target: { type: object.type, id: object.id },
  workspace_id: row.workspaceId,
  detail: row.detail,
  created_at: toRfc3339(row.at),
})

export type Person = ReturnType<typeof person>
export type PersonInFull = ReturnType<typeof personInFull>
export type Factor = ReturnType<typeof factor>
export type OpenSession = ReturnType<typeof openSession>
export type Link = ReturnType<typeof link>
export type AuditEntry = ReturnType<typeof auditEntry>
