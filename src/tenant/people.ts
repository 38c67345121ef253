/**
 * NAME      people - who works here, links that let a person in once, and sessions
 *   An owner makes people, and says what they may do; everybody may change what is his own. Nobody is deleted: a person
 *   who is disabled is out at once, and what he did stands under his name.
 *   A token of a link or a session has 12 public and 32 secret characters, and is kept like an API key: as a peppered
 *   HMAC under its lookup id. A setup link is good for half an hour: for whoever runs this installation, or for a
 *   person who needs another password. An invitation is good for a week. Using one up is part of the sign-in
 *   (store/port/identity.ts).
 *   A session ends when it is idle for too long, at its last hour in any case, and with its person. Role and name are
 *   the person's of this moment; a session without a person, as the command line opens them, has a role of its own. It
 *   acts with platform scope over its account and is the only credential that may make keys.
 */
import { Fault, type FieldError, invalidField, orFault, throwInvalid } from '../base/fault.js'
import { newId } from '../base/id.js'
import { keyedHash, randomText, sameBytes } from '../base/secret.js'
import type { Role } from '../config/identity.js'
import { isAddress, normalizeAddress } from '../mail/address.js'
import type {
  LinkKind,
  LinkRow,
  SavedView,
  SessionOidc,
  SessionRow,
  UserChange,
  UserRow,
} from '../store/port/identity.js'
import { checkPassword, hashPassword } from './credential.js'
import { isCurrent } from './key.js'
import { noteUse, type Principal, type TenantDeps } from './principal.js'
import { isPerson, requireRight } from './rights.js'

/** As it is compared: in lower case. Undefined for what is no address. */
const readEmail = (text: string): string | undefined => {
  const address = text.trim()
  return isAddress(address) ? normalizeAddress(address) : undefined
}

interface NewPerson {
  readonly email: string
  readonly name?: string | null | undefined
  readonly role: Role
  /** Without one only a provider, or a setup link, lets him in. */
  readonly password?: string | null | undefined
}

const wrongName = (name: string | null | undefined): readonly FieldError[] =>
  name != null && (name.trim() === '' || name.length > 200 || /\p{Cc}/u.test(name))
    ? [{ field: 'body.name', kind: 'length', message: 'must have 1 to 200 characters' }]
    : []

export const checkNewPerson = ({ email, name, password }: Partial<NewPerson>): readonly FieldError[] => {
  const address = email === undefined ? '' : readEmail(email)
  return [
    ...(address === undefined
      ? [{ field: 'body.email', kind: 'format', message: 'must be an email address' } as const]
      : []),
    ...wrongName(name),
    ...(password == null ? [] : checkPassword(password, { email: address ?? '' })),
  ]
}

/** The row of a person who is not stored yet, for a sign-in that makes him. Throws validation.request_invalid. */
export const newPerson = async (
  { clock }: TenantDeps,
  accountId: string,
  wish: NewPerson,
): Promise<UserRow> => {
  throwInvalid(checkNewPerson(wish))
  const now = clock.now()
  return {
    id: newId('usr', now),
    accountId,
    email: readEmail(wish.email) ?? '',
    name: wish.name?.trim() ?? null,
    role: wish.role,
    hash: wish.password == null ? null : await hashPassword(wish.password),
    timeZone: null,
    views: [],
    disabledAt: null,
    roleFrom: null,
    hasFactor: false,
    createdAt: now,
    lastSignInAt: null,
  }
}

const emailTaken = (): Fault => invalidField('body.email', 'not_unique', 'somebody has this address already')

export const createPerson = async (
  deps: TenantDeps,
  accountId: string,
  wish: NewPerson,
): Promise<UserRow> => {
  const row = await newPerson(deps, accountId, wish)
  if ((await deps.store.createUser(row)) !== 'done') throw emailTaken()
  return row
}

/** By id or address; throws user.not_found. */
export const findPerson = async ({ store }: TenantDeps, accountId: string, ref: string): Promise<UserRow> =>
  orFault(await store.user(accountId, ref.trim().toLowerCase()), 'user.not_found')

interface PersonChange {
  readonly name?: string | null | undefined
  readonly role?: Role | undefined
  readonly disabled?: boolean | undefined
  readonly password?: string | undefined
}

/** Changes a person, whoever asks. `keepSession` outlives another password. Throws resource.conflict. */
export const changePerson = async (
  deps: TenantDeps,
  user: UserRow,
  { name, role, disabled, password }: PersonChange,
  keepSession: string | null = null,
): Promise<UserRow> => {
  throwInvalid([...wrongName(name), ...(password === undefined ? [] : checkPassword(password, user))])
  if (role !== undefined && role !== user.role && user.roleFrom !== null)
    throw new Fault('resource.conflict', {
      reason: 'role_from_provider',
      detail: `The role comes from the provider ${user.roleFrom}, at each sign-in`,
    })
  const isDisabled = user.disabledAt !== null
  const change: UserChange = {
    ...(name !== undefined && { name: name === null ? null : name.trim() }),
    ...(role !== undefined && { role }),
    ...(disabled !== undefined &&
      disabled !== isDisabled && { disabledAt: disabled ? deps.clock.now() : null }),
    ...(password !== undefined && { hash: await hashPassword(password) }),
  }
  const done = await deps.store.updateUser(user.accountId, user.id, change, keepSession)
  if (done === 'last_owner')
    throw new Fault('resource.conflict', {
      reason: 'last_owner',
      detail: 'Somebody must stay who may manage people: make another person an owner first',
    })
  if (done === 'not_found') throw new Fault('user.not_found')
  return findPerson(deps, user.accountId, user.id)
}

interface AskedChange extends PersonChange {
  readonly currentPassword?: string | undefined
}

const forbidden = (detail: string): Fault => new Fault('auth.role_forbidden', { detail })

const RESET_MS = 1_800_000

/** Whether this session may set its person's password without the one of now: a setup link opened it a moment ago. */
export const mayResetPassword = ({ provider, userId, createdAt }: SessionRow, now: number): boolean =>
  provider === 'link' && userId !== null && now - createdAt < RESET_MS

/** Whether this is the password of now; guesses are counted as those of a sign-in are. */
export type ProveAgain = (email: string, password: string) => Promise<boolean>

/**
 * Who has none signs in with a provider, and what that says of him each time must go on to count: only an owner's
 * setup link gives him one.
 */
export const provePassword = async (
  { store, clock }: TenantDeps,
  { accountId, id }: Principal,
  { email, hash }: UserRow,
  currentPassword: string,
  prove: ProveAgain,
): Promise<void> => {
  const session = await store.session(accountId, id)
  if (session !== null && mayResetPassword(session, clock.now())) return
  if (hash === null) throw forbidden('you have no password here: an owner can give you a setup link')
  if (await prove(email, currentPassword)) return
  throw invalidField('body.current_password', 'forbidden', 'is not the password you have now')
}

/** A person's change as another, or he himself, asks for it. */
export const updatePerson = async (
  deps: TenantDeps,
  principal: Principal,
  ref: string,
  { currentPassword, ...change }: AskedChange,
  prove: ProveAgain,
): Promise<UserRow> => {
  const isOwn = isPerson(principal, ref)
  requireRight(principal, 'updateUser', { isOwn })
  if (change.role !== undefined || change.disabled !== undefined) requireRight(principal, 'changeUserRole')
  const user = await findPerson(deps, principal.accountId, ref)
  if (change.password !== undefined) {
    if (!isOwn) throw forbidden('the password of somebody else is not set here: give a setup link')
    await provePassword(deps, principal, user, currentPassword ?? '', prove)
  }
  return changePerson(deps, user, change, principal.via === 'session' ? principal.id : null)
}

interface OwnSettings {
  readonly timeZone?: string | null | undefined
  readonly views?: readonly SavedView[] | undefined
}

const isTimeZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

export const checkOwnSettings = ({ timeZone, views = [] }: OwnSettings): readonly FieldError[] => [
  ...(timeZone != null && !isTimeZone(timeZone)
    ? [
        {
          field: 'body.time_zone',
          kind: 'format',
          message: 'must be a time zone such as Europe/Prague',
        } as const,
      ]
    : []),
  ...views.flatMap(({ path }, i): readonly FieldError[] =>
    /^\/(?![/\\])[^\\\p{Cc}]*$/u.test(path)
      ? []
      : [{ field: `body.views[${i}].path`, kind: 'format', message: 'must be a path of the dashboard' }],
  ),
]

/** Throws validation.request_invalid. */
export const changeOwnSettings = async (
  { store }: TenantDeps,
  { accountId, id }: UserRow,
  wish: OwnSettings,
): Promise<void> => {
  throwInvalid(checkOwnSettings(wish))
  const { timeZone, views } = wish
  const change: UserChange = {
    ...(timeZone !== undefined && { timeZone }),
    ...(views !== undefined && { views }),
  }
  await store.updateUser(accountId, id, change)
}

const NO_HASH = Buffer.alloc(32)

/** A new token, to be shown once; of it only what finds its row and a peppered hash are kept. */
const newToken = (pepper: Uint8Array, kind: 'session' | 'link', prefix = '') => {
  const lookup = randomText(12)
  const token = `${prefix}${lookup}${randomText(32)}`
  return { token, lookup, hash: keyedHash(pepper, kind, token) }
}

const isToken = (
  pepper: Uint8Array,
  kind: 'session' | 'link',
  token: string,
  hash = NO_HASH as Uint8Array,
): boolean => sameBytes(keyedHash(pepper, kind, token), hash)

const LINK = /^([0-9A-Za-z]{12})[0-9A-Za-z]{32}$/
const MINUTE = 60_000
const LASTS: Record<LinkKind, number> = { setup: 30 * MINUTE, invitation: 7 * 24 * 60 * MINUTE }

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
  if (address === undefined) throw invalidField('body.email', 'format', 'must be an email address')
  const { token, lookup, hash } = newToken(pepper, 'link')
  const row: LinkRow = {
    id: newId('lnk', now),
    accountId,
    kind,
    role,
    email: address,
    userId: userId ?? null,
    lookup,
    hash,
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
  const user = orFault(await deps.store.user(accountId, ref.trim().toLowerCase()), 'user.not_found')
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
  const shape = LINK.exec(token)
  if (shape === null) return null
  const row = await store.linkByLookup(shape[1] ?? '')
  const same = isToken(pepper, 'link', token, row?.hash)
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

const SESSION = /^ses_([0-9A-Za-z]{12})[0-9A-Za-z]{32}$/

const HOUR = 3_600_000
/** What holds where the configuration is not asked. */
const LIMITS = { idle: 12 * HOUR, lifetime: 7 * 24 * HOUR }
const LONGEST_AGENT = 200

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

export const newSession = (deps: TenantDeps, accountId: string, wish: NewSession = {}): OpenedSession => {
  const now = deps.clock.now()
  const { token, lookup, hash } = newToken(deps.pepper, 'session', 'ses_')
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
    hash,
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
  const shape = SESSION.exec(token)
  if (shape === null) return null
  const row = await deps.store.sessionByLookup(shape[1] ?? '')
  const same = isToken(deps.pepper, 'session', token, row?.hash)
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
