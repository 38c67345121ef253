/**
 * NAME      people - people, what lets them in and what they prove, their sessions, and who changed what
 *   No hash, no secret. A link's address is told once, beside its record.
 */
import { toRfc3339 } from '../base/clock.js'
import { ROLES } from '../config/identity.js'
import type {
  AuditRow,
  FactorRow,
  IdentityRow,
  LinkRow,
  SessionRow,
  UserRow,
} from '../store/port/identity.js'
import {
  constant,
  flag,
  id,
  list,
  MANAGED,
  own,
  type Rights,
  record,
  recordsOf,
  text,
  time,
  words,
} from './member.js'

export const PERSON = {
  id: id('usr'),
  object: constant('user'),
  email: text(),
  name: text({ none: true }),
  role: words(ROLES),
  role_from: text({ none: true, says: 'The identity provider that says the role at each sign-in' }),
  has_password: flag({ of: ({ hash }: UserRow) => hash !== null }),
  second_factor: flag({
    from: 'hasFactor',
    says: 'Whether the password alone does not sign in: a second factor is asked for, too',
  }),
  disabled: flag({ of: ({ disabledAt }: UserRow) => disabledAt !== null }),
  disabled_at: time({ none: true }),
  last_sign_in_at: time({ none: true }),
  created_at: time(),
  managed: MANAGED,
}
export const person = recordsOf<UserRow>()(PERSON)

/** Without what proves it. */
export const FACTOR = {
  id: id('fac'),
  object: constant('factor'),
  kind: words(['totp', 'passkey'], {
    of: ({ kind }: FactorRow) => (kind === 'totp' ? ('totp' as const) : ('passkey' as const)),
    says: '`totp`: an authenticator app',
  }),
  name: text(),
  created_at: time(),
  last_used_at: time({ none: true }),
}
export const factor = recordsOf<FactorRow>()(FACTOR)

interface Whole extends UserRow {
  readonly identities: readonly IdentityRow[]
  readonly proofs: readonly FactorRow[]
}

/** With the providers that know him, and what he proves beside the password. */
export const PERSON_IN_FULL = {
  ...PERSON,
  factors: own({ of: ({ proofs }: Whole) => proofs.filter(({ kind }) => kind !== 'recovery').map(factor) }),
  recovery_codes_left: own({
    of: ({ proofs }: Whole) => proofs.filter(({ kind }) => kind === 'recovery').length,
  }),
  identities: list({
    provider: text(),
    issuer: text(),
    subject: text(),
    last_sign_in_at: time({ none: true }),
  }),
}
const inFull = recordsOf<Whole>()(PERSON_IN_FULL)
export const personInFull = (
  row: UserRow,
  identities: readonly IdentityRow[],
  proofs: readonly FactorRow[],
) => inFull({ ...row, identities, proofs })

export const WHO = { id: text(), email: text(), name: text({ none: true }) }

interface Asked extends SessionRow {
  /** The person of the session, and whether it is the one that asks. */
  readonly person: UserRow | null
  readonly current: boolean
}

export const OPEN_SESSION = {
  id: id('ses'),
  object: constant('session'),
  person: record(WHO, { none: true }),
  role: words(ROLES, { of: ({ person: one, role }: Asked) => one?.role ?? role }),
  provider: text({ says: '`local`, `link`, `cli`, or the name of an identity provider' }),
  address: text({ none: true, says: 'From where it was opened' }),
  user_agent: text({ none: true }),
  current: flag({ says: 'Whether it is the one that asks' }),
  created_at: time(),
  last_seen_at: time(),
  expires_at: time({
    of: (row: Asked) => toRfc3339(Math.min(row.expiresAt, row.lastSeenAt + row.idleMs)),
    says: 'If it is not used until then',
  }),
}
const asked = recordsOf<Asked>()(OPEN_SESSION)
export const openSession = (row: SessionRow, of: UserRow | null, current: boolean) =>
  asked({ ...row, person: of, current })

const LINK_STATES = ['open', 'used', 'expired'] as const

interface Seen extends LinkRow {
  readonly now: number
}

const stateOf = ({ usedAt, expiresAt, now }: Seen): (typeof LINK_STATES)[number] => {
  if (usedAt !== null) return 'used'
  return now < expiresAt ? 'open' : 'expired'
}

const linkOf = <const T extends string>(object: T) => ({
  id: id('lnk'),
  object: constant(object),
  email: text({ none: true }),
  role: words(ROLES),
  state: words(LINK_STATES, { of: stateOf }),
  created_by: text(),
  created_at: time(),
  expires_at: time(),
  used_at: time({ none: true }),
})
export const INVITATION = linkOf('invitation')
export const SETUP_LINK = linkOf('setup_link')
const invitation = recordsOf<Seen>()(INVITATION)
const setupLink = recordsOf<Seen>()(SETUP_LINK)
export const link = (row: LinkRow, now: number) =>
  row.kind === 'setup' ? setupLink({ ...row, now }) : invitation({ ...row, now })

export const AUDIT_ENTRY = {
  id: id('aud'),
  object: constant('audit_entry'),
  action: text(),
  actor: record({
    kind: words(['person', 'key', 'credential', 'cli', 'link', 'system']),
    id: text(),
    name: text({ none: true }),
    address: text({ none: true }),
  }),
  target: record({ type: text(), id: text({ none: true }) }, { from: 'object' }),
  workspace_id: text({ none: true }),
  detail: own(),
  created_at: time({ from: 'at' }),
}
export const auditEntry = recordsOf<AuditRow>()(AUDIT_ENTRY)

export type Person = ReturnType<typeof person>
export type PersonInFull = ReturnType<typeof personInFull>
export type Factor = ReturnType<typeof factor>
export type OpenSession = ReturnType<typeof openSession>
export type Link = ReturnType<typeof link>
export type AuditEntry = ReturnType<typeof auditEntry>

export const PEOPLE_RIGHTS = {
  getSession: 'viewer',
  updateSession: 'viewer',
  listSessions: { own: 'viewer', others: 'owner' },
  revokeSession: { own: 'viewer', others: 'owner' },
  revokeSessions: { own: 'viewer', others: 'owner' },
  createUser: 'owner',
  listUsers: 'owner',
  getUser: { own: 'viewer', others: 'owner' },
  updateUser: { own: 'viewer', others: 'owner' },
  /** Members `role` and `disabled` of updateUser, also of oneself. */
  changeUserRole: 'owner',
  createUserSetupLink: 'owner',
  /** Of one's own second factors. */
  beginFactor: 'viewer',
  addFactor: 'viewer',
  removeFactor: 'viewer',
  replaceRecoveryCodes: 'viewer',
  resetUserFactors: 'owner',
  createInvitation: 'owner',
  listInvitations: 'owner',
  revokeInvitation: 'owner',
  listAudit: 'owner',
} as const satisfies Rights
