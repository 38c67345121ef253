/**
 * NAME      port/identity - the store's verbs about people, links and sessions, and about who changed what
 *   A person is known by an address, and by what identity providers call him (issuer and subject). A link lets
 *   somebody in once. A session is an open door: ended, its row is gone, and the next request is refused.
 *   Whoever signs in does it in one verb: the link is used up, the person made, the provider's name for him
 *   bound and the session opened, or nothing. A second factor of a person is used with `takeFactor`, which is
 *   true for one caller only: so a code opens one session, whoever else saw it.
 *   The last enabled owner can be neither disabled nor made less, whoever asks; the verbs decide it, so two at
 *   once can not do it either.
 *   Who changed what: `by(actor)` is the same store, in which every verb that changes what people own also
 *   writes down who did it, in the same commit. What is not done by anybody (sweeps, relay, reports) goes
 *   without. Mail that is accepted is not written down here: it is its own record. An order that goes over many
 *   rows in small steps has one entry, whose `changed` grows with each step. Nothing secret is ever in an entry.
 */
import type { Role } from '../../config/identity.js'
import type { Page, Rows } from '../../lifecycle/page.js'
import { bool, json, plain, type RowOf } from './row.js'
import type { Written } from './tenants.js'

/** A page of the dashboard that somebody keeps at hand. */
export interface SavedView {
  readonly title: string
  readonly path: string
}

export const USER_ROW = {
  /** `usr_...` */
  id: plain<string>(),
  accountId: plain<string>(),
  /** In lower case; nobody else in the account has it. */
  email: plain<string>(),
  name: plain<string | null>(),
  role: plain<Role>(),
  /** bcrypt, or null when only an identity provider may vouch. */
  hash: plain<string | null>(),
  timeZone: plain<string | null>(),
  views: json<readonly SavedView[]>(),
  /** People are not deleted: what they did stands under their names. */
  disabledAt: plain<number | null>(),
  /** The provider whose word about the role wins at each sign-in. */
  roleFrom: plain<string | null>(),
  /** Whether a password alone does not sign in. Kept by the verbs of factors, and by nobody else. */
  hasFactor: bool,
  createdAt: plain<number>(),
  lastSignInAt: plain<number | null>(),
}
export interface UserRow extends RowOf<typeof USER_ROW> {}

export type UserChange = Partial<
  Omit<UserRow, 'id' | 'accountId' | 'hasFactor' | 'createdAt' | 'lastSignInAt'>
>

/** `recovery` is a code that is used once, in place of the others; it makes nobody have a factor. */
export type FactorKind = 'totp' | 'passkey' | 'recovery'

export const FACTOR_ROW = {
  /** `fac_...` */
  id: plain<string>(),
  accountId: plain<string>(),
  userId: plain<string>(),
  kind: plain<FactorKind>(),
  name: plain<string>(),
  /** What it is found by: the id of the passkey's credential, which one person has; the hash of a code, unique for its person. */
  lookup: plain<string>(),
  /** The seed of an authenticator app, sealed with the pepper; the public key of a passkey; empty for a code. */
  secret: plain<string>(),
  /** The last step of time whose code was taken, or the passkey's own count; it only rises. */
  counter: plain<number>(),
  createdAt: plain<number>(),
  lastUsedAt: plain<number | null>(),
}
export interface FactorRow extends RowOf<typeof FACTOR_ROW> {}

/** What a provider calls a person. Nobody else of the account has this issuer and subject. */
export const IDENTITY_ROW = {
  accountId: plain<string>(),
  userId: plain<string>(),
  /** Its name in the configuration when it was bound. */
  provider: plain<string>(),
  issuer: plain<string>(),
  subject: plain<string>(),
  /** Let in by a rule of the configuration, which is looked at again each time; false: by an invitation. */
  byRule: bool,
  createdAt: plain<number>(),
  lastSignInAt: plain<number | null>(),
}
export interface IdentityRow extends RowOf<typeof IDENTITY_ROW> {}

/** `setup` lets in whoever runs this installation, or a certain person; `invitation` somebody new. */
export type LinkKind = 'setup' | 'invitation'

export const LINK_ROW = {
  /** `lnk_...` */
  id: plain<string>(),
  accountId: plain<string>(),
  kind: plain<LinkKind>(),
  role: plain<Role>(),
  /** Whom it is meant for; it binds nobody. */
  email: plain<string | null>(),
  /** The person who is let in, to set a password. */
  userId: plain<string | null>(),
  lookup: plain<string>(),
  hash: plain<Uint8Array>(),
  createdAt: plain<number>(),
  expiresAt: plain<number>(),
  usedAt: plain<number | null>(),
  /** Who made it, in words. */
  createdBy: plain<string>(),
}
export interface LinkRow extends RowOf<typeof LINK_ROW> {}

/** What is kept of the provider's side of a session. */
export interface SessionOidc {
  readonly issuer: string
  readonly subject: string
  /** Its own id of the session, when it gave one. */
  readonly sid: string | null
  /** ID token and refresh token, sealed with the pepper. */
  readonly sealed: string | null
  /** When groups and roles were last asked. */
  readonly checkedAt: number
}

export const SESSION_ROW = {
  id: plain<string>(),
  accountId: plain<string>(),
  /** null: of nobody in particular, with `role`. */
  userId: plain<string | null>(),
  /** Of a session of nobody; of a person's the person's own holds. */
  role: plain<Role>(),
  /** `local`, `link`, `cli`, or the name of an identity provider. */
  provider: plain<string>(),
  /** Where it was opened, and with what; at most 200 characters. */
  address: plain<string | null>(),
  userAgent: plain<string | null>(),
  lookup: plain<string>(),
  hash: plain<Uint8Array>(),
  createdAt: plain<number>(),
  lastSeenAt: plain<number>(),
  expiresAt: plain<number>(),
  /** It ends when it is not used for so long. */
  idleMs: plain<number>(),
  oidc: json<SessionOidc | null>(),
}
export interface SessionRow extends RowOf<typeof SESSION_ROW> {}

export interface SignIn {
  /** The open link that is used up by this. */
  readonly linkId: string | null
  /** The person to make; his id is the session's. */
  readonly newUser: UserRow | null
  /** Is bound to the session's person, or was before. */
  readonly identity: IdentityRow | null
  /** What changes with the person. A password ends his other sessions; a role is left where he is the last owner. */
  readonly change: UserChange | null
  readonly session: SessionRow
  /** The kind of the second factor that was proved, for the audit. */
  readonly factor?: FactorKind | undefined
  /** The session that this browser had. */
  readonly instead: string | null
  readonly now: number
}

/** `not_unique`: the address, or what the provider calls him, is another person's. `disabled`: the person is, or is not there. */
export type SignedIn = 'done' | 'link_used' | 'not_unique' | 'disabled'

/** Which sessions: those to which every part applies that is given. */
export interface SessionsOf {
  readonly userId?: string
  readonly exceptId?: string
  readonly issuer?: string
  readonly subject?: string
  readonly sid?: string
}

type UserWritten = Written | 'not_found' | 'last_owner'

export interface Identity {
  createUser(user: UserRow): Promise<Written>
  /** By id or address, within an account. */
  user(accountId: string, ref: string): Promise<UserRow | null>
  users(accountId: string, page: Page): Promise<Rows<UserRow>>
  /** Whoever is disabled or gets another password loses his sessions and unused links with it, but for `keepSession`. */
  updateUser(
    accountId: string,
    id: string,
    change: UserChange,
    keepSession?: string | null,
  ): Promise<UserWritten>
  userByIdentity(accountId: string, issuer: string, subject: string): Promise<UserRow | null>
  identities(userId: string): Promise<readonly IdentityRow[]>

  /** Recovery codes too; the oldest first. */
  factors(userId: string): Promise<readonly FactorRow[]>
  /**
   * The first one of a person ends his sessions but for `keepSession`: none goes on that a password alone opened. `codes`
   * are kept with it. `disabled`: the person is, or is not there.
   */
  addFactor(
    factor: FactorRow,
    codes: readonly FactorRow[],
    keepSession: string | null,
  ): Promise<Written | 'disabled'>
  /** With the last one the recovery codes go, too. */
  removeFactor(accountId: string, userId: string, id: string): Promise<boolean>
  /** All of a person; resolves with how many there were, without recovery codes. */
  resetFactors(accountId: string, userId: string): Promise<number>
  /** In place of those that there were; false where the person has no factor. */
  replaceRecoveryCodes(accountId: string, userId: string, codes: readonly FactorRow[]): Promise<boolean>
  /**
   * True once for each use: a recovery code is gone then, and of the others `counter` must be above the one before
   * (a passkey that does not count has 0, always). False also for a person who is disabled.
   */
  takeFactor(accountId: string, userId: string, id: string, counter: number, now: number): Promise<boolean>

  createLink(link: LinkRow): Promise<void>
  /** Used or expired ones, too: the caller looks. */
  linkByLookup(lookup: string): Promise<LinkRow | null>
  links(accountId: string, kind: LinkKind, page: Page): Promise<Rows<LinkRow>>
  revokeLink(accountId: string, id: string): Promise<boolean>

  signIn(signIn: SignIn): Promise<SignedIn>
  /** Opens a session of nobody in particular. */
  createSession(session: SessionRow): Promise<void>
  sessionByLookup(lookup: string): Promise<SessionRow | null>
  session(accountId: string, id: string): Promise<SessionRow | null>
  /** Of all, or of one person. */
  sessions(accountId: string, userId: string | null, page: Page): Promise<Rows<SessionRow>>
  updateSession(accountId: string, id: string, oidc: SessionOidc): Promise<boolean>
  revokeSession(accountId: string, id: string): Promise<boolean>
  /** Resolves with how many it ended. */
  revokeSessions(accountId: string, of: SessionsOf): Promise<number>

  /** True the first time; kept until then. */
  rememberOnce(kind: string, value: string, until: number): Promise<boolean>
}

export interface Actor {
  readonly kind: 'person' | 'key' | 'credential' | 'cli' | 'link' | 'system'
  /** Of the person, key or credential; of a session of nobody in particular its own; `cli:<uid>`. */
  readonly id: string
  /** As people know it, when it was done. */
  readonly name: string | null
  readonly address: string | null
  /** Why, where that is said; it stands in the detail of the entry. */
  readonly reason?: string
}

export type AuditValue = string | number | boolean | null | readonly string[]

/** Names of fields with their values, or with what they were and are. */
export type AuditDetail = Readonly<
  Record<string, AuditValue | { readonly before: AuditValue; readonly after: AuditValue }>
>

export interface AuditRow {
  /** `aud_...` */
  readonly id: string
  readonly accountId: string
  readonly at: number
  readonly actor: Actor
  /** Such as `api_key.created`. */
  readonly action: string
  readonly object: { readonly type: string; readonly id: string | null }
  readonly workspaceId: string | null
  readonly detail: AuditDetail
}

export interface AuditFilter {
  /** An action, or how it begins: `api_key`. */
  readonly action: string | null
  readonly actorId: string | null
  readonly objectId: string | null
  readonly workspaceId: string | null
  readonly since: number | null
  readonly until: number | null
}

export interface Audit {
  audit(accountId: string, filter: AuditFilter, page: Page): Promise<Rows<AuditRow>>
}

/** How long entries are kept. */
export const AUDIT_KEPT_MS = 400 * 86_400_000
