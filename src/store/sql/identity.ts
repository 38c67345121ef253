/**
 * NAME      identity - people, sessions, links and second factors
 *   An address is unique within its account. Sessions refer to no table: a person's end with the person, by the verbs.
 *   A sign-in looks at everything before it changes anything, so a refusal leaves nothing behind in the commit that it
 *   shares with others.
 */
import {
  FACTOR_ROW,
  type FactorRow,
  IDENTITY_ROW,
  type Identity,
  type IdentityRow,
  LINK_ROW,
  type LinkRow,
  SESSION_ROW,
  type SessionRow,
  type SessionsOf,
  type SignedIn,
  type SignIn,
  USER_ROW,
  type UserChange,
  type UserRow,
} from '../port/identity.js'
import { addressesOf, endsOwner, judgeSignIn, keepingOwner, locksOut } from '../rules/tenants.js'
import { type AskedReads, type AskedWrites, type Asking, first, run } from './query.js'
import { allOf, change, insertInto, insertNew, isThere, oneOf, type Places, pagesOf, table } from './table.js'

export const USERS = table<UserRow>('users', USER_ROW)

const IDENTITIES = table<IdentityRow>('identities', IDENTITY_ROW)

export const FACTORS = table<FactorRow>('factors', FACTOR_ROW)

export const LINKS = table<LinkRow>('links', LINK_ROW)

export const SESSIONS = table<SessionRow>('sessions', SESSION_ROW)

const userById = oneOf(USERS, 'account_id = ? AND id = ?')
const userByEmail = oneOf(USERS, 'account_id = ? AND email = ?')
const pageOfUsers = pagesOf(USERS)
const pageOfLinks = pagesOf(LINKS)
const pageOfSessions = pagesOf(SESSIONS)

export const identityReads: AskedReads<Identity> = {
  /** No id has an @. */
  user: (accountId, ref) => (ref.includes('@') ? userByEmail : userById)(accountId, ref),
  users: (accountId, page) => pageOfUsers('account_id = ?', [accountId], page),
  userByIdentity: oneOf(
    USERS,
    'id = (SELECT user_id FROM identities WHERE account_id = ? AND issuer = ? AND subject = ?)',
  ),
  identities: allOf(IDENTITIES, 'user_id = ? ORDER BY ord'),
  factors: allOf(FACTORS, 'user_id = ? ORDER BY ord'),
  linkByLookup: oneOf(LINKS, 'lookup = ?'),
  links: (accountId, kind, page) => pageOfLinks('account_id = ? AND kind = ?', [accountId, kind], page),
  sessionByLookup: oneOf(SESSIONS, 'lookup = ?'),
  session: oneOf(SESSIONS, 'account_id = ? AND id = ?'),
  sessions: (accountId, userId, page) =>
    userId === null
      ? pageOfSessions('account_id = ?', [accountId], page)
      : pageOfSessions('user_id = ? AND account_id = ?', [userId, accountId], page),
}

const userOf = oneOf(USERS, 'account_id = ? AND id = ?')
const sessionsOf = allOf(SESSIONS, 'account_id = ?')

/** The sessions of a person, or of what a provider calls one. */
function* endSessions(accountId: string, of: SessionsOf): Asking<number> {
  const { userId, exceptId } = of
  const isMeant = (['issuer', 'subject', 'sid'] as const).filter((name) => of[name] !== undefined)
  const where = `account_id = ?${userId === undefined ? '' : ' AND user_id = ?'}${exceptId === undefined ? '' : ' AND id <> ?'}`
  const values = [accountId, userId, exceptId].filter((value) => value !== undefined)
  if (isMeant.length === 0) return yield* run(`DELETE FROM sessions WHERE ${where}`, ...values)
  let ended = 0
  for (const { id, oidc } of yield* sessionsOf(accountId)) {
    if (!isMeant.every((name) => oidc?.[name] === of[name])) continue
    ended += yield* run(`DELETE FROM sessions WHERE ${where} AND id = ?`, ...values, id)
  }
  return ended
}

function* revokeSession(accountId: string, id: string): Asking<boolean> {
  return (yield* run('DELETE FROM sessions WHERE account_id = ? AND id = ?', accountId, id)) === 1
}

function* takesLastOwner(user: UserRow, by: UserChange): Asking<boolean> {
  if (!endsOwner(user, by)) return false
  const other =
    "SELECT 1 FROM users WHERE account_id = ? AND role = 'owner' AND disabled_at IS NULL AND id <> ? LIMIT 1"
  return !(yield* isThere(other, user.accountId, user.id))
}

/** Whether another person of the account has one of these addresses. */
function* isTaken(accountId: string, id: string, emails: readonly string[]): Asking<boolean> {
  const other = 'SELECT 1 FROM users WHERE account_id = ? AND email = ? AND id <> ?'
  for (const email of emails) if (yield* isThere(other, accountId, email, id)) return true
  return false
}

function* apply(user: UserRow, by: UserChange, keepSession: string | null): Asking<void> {
  const { accountId, id } = user
  yield* change(USERS, by, 'id = ?', id)
  if (!locksOut(user, by)) return
  yield* run('DELETE FROM links WHERE account_id = ? AND user_id = ? AND used_at IS NULL', accountId, id)
  yield* endSessions(accountId, { userId: id, ...(keepSession !== null && { exceptId: keepSession }) })
}

const isOpen = (accountId: string, linkId: string, now: number): Asking<boolean> =>
  isThere(
    'SELECT 1 FROM links WHERE account_id = ? AND id = ? AND used_at IS NULL AND expires_at > ?',
    ...[accountId, linkId, now],
  )

function* boundTo({ accountId, issuer, subject }: IdentityRow): Asking<string | null> {
  const text = 'SELECT user_id FROM identities WHERE account_id = ? AND issuer = ? AND subject = ?'
  return ((yield* first(text, accountId, issuer, subject))?.user_id as string | undefined) ?? null
}

const signIn = (places: Places) => {
  const addUser = insertInto(USERS, places)
  const addIdentity = insertInto(IDENTITIES, places)
  const addSession = insertInto(SESSIONS, places)

  function* bind(one: IdentityRow, now: number): Asking<void> {
    const { accountId, issuer, subject, provider, byRule } = one
    const part = { lastSignInAt: now, provider, byRule }
    const where = 'account_id = ? AND issuer = ? AND subject = ?'
    const known = yield* change(IDENTITIES, part, where, accountId, issuer, subject)
    if (known === 0) yield* addIdentity({ ...one, lastSignInAt: now })
  }

  return function* (one: SignIn): Asking<SignedIn> {
    const { session, newUser, identity, linkId, now } = one
    const { accountId, userId } = session
    const user = newUser ?? (userId === null ? null : yield* userOf(accountId, userId))
    const refused = judgeSignIn(one, {
      user,
      isLinkOpen: linkId === null || (yield* isOpen(accountId, linkId, now)),
      isTaken: yield* isTaken(accountId, userId ?? '', addressesOf(one)),
      boundTo: identity && (yield* boundTo({ ...identity, accountId })),
    })
    if (refused !== 'done') return refused
    if (linkId !== null) yield* change(LINKS, { usedAt: now }, 'id = ?', linkId)
    if (newUser !== null) yield* addUser(newUser)
    if (user !== null) {
      const by = one.change ?? {}
      yield* apply(user, (yield* takesLastOwner(user, by)) ? keepingOwner(by) : by, null)
      if (identity !== null) yield* bind(identity, now)
      yield* change(USERS, { lastSignInAt: now }, 'id = ?', user.id)
    }
    if (one.instead !== null) yield* revokeSession(accountId, one.instead)
    yield* addSession(session)
    return 'done'
  }
}

/** What a person has beside recovery codes is what `hasFactor` says. */
function* noteFactors(accountId: string, userId: string): Asking<void> {
  const text = "SELECT 1 FROM factors WHERE user_id = ? AND kind <> 'recovery' LIMIT 1"
  const hasFactor = yield* isThere(text, userId)
  if (!hasFactor) yield* run('DELETE FROM factors WHERE account_id = ? AND user_id = ?', accountId, userId)
  yield* run(
    'UPDATE users SET has_factor = ? WHERE account_id = ? AND id = ?',
    Number(hasFactor),
    accountId,
    userId,
  )
}

const OWN = 'account_id = ? AND user_id = ?'

/** Of whoever: a passkey is of one person. */
const isSamePasskey = ({ kind, lookup }: FactorRow): Asking<boolean> =>
  isThere("SELECT 1 FROM factors WHERE kind = 'passkey' AND kind = ? AND lookup = ?", kind, lookup)

type FactorVerbs = 'addFactor' | 'removeFactor' | 'resetFactors' | 'replaceRecoveryCodes' | 'takeFactor'

const factorWrites = (places: Places): Pick<AskedWrites<Identity>, FactorVerbs> => {
  const addNew = insertNew(FACTORS, places)
  const add = insertInto(FACTORS, places)

  function* replace(accountId: string, userId: string, codes: readonly FactorRow[]): Asking<void> {
    yield* run(`DELETE FROM factors WHERE ${OWN} AND kind = 'recovery'`, accountId, userId)
    for (const code of codes) yield* add(code)
  }

  return {
    *addFactor(factor, codes, keepSession) {
      const { accountId, userId } = factor
      const user = yield* userOf(accountId, userId)
      if (user === null || user.disabledAt !== null) return 'disabled'
      if ((yield* isSamePasskey(factor)) || !(yield* addNew(factor))) return 'not_unique'
      if (user.hasFactor) return 'done'
      yield* replace(accountId, userId, codes)
      yield* noteFactors(accountId, userId)
      yield* endSessions(accountId, { userId, ...(keepSession !== null && { exceptId: keepSession }) })
      return 'done'
    },
    *removeFactor(accountId, userId, id) {
      const text = `DELETE FROM factors WHERE ${OWN} AND id = ? AND kind <> 'recovery'`
      if ((yield* run(text, accountId, userId, id)) === 0) return false
      yield* noteFactors(accountId, userId)
      return true
    },
    *resetFactors(accountId, userId) {
      const removed = yield* run(`DELETE FROM factors WHERE ${OWN} AND kind <> 'recovery'`, accountId, userId)
      yield* noteFactors(accountId, userId)
      return removed
    },
    *replaceRecoveryCodes(accountId, userId, codes) {
      if ((yield* userOf(accountId, userId))?.hasFactor !== true) return false
      yield* replace(accountId, userId, codes)
      return true
    },
    *takeFactor(accountId, userId, id, counter, now) {
      const user = yield* userOf(accountId, userId)
      if (user === null || user.disabledAt !== null) return false
      const where = `${OWN} AND id = ?`
      const own = [accountId, userId, id]
      const gone = yield* run(`DELETE FROM factors WHERE ${where} AND kind = 'recovery'`, ...own)
      if (gone === 1) return true
      const rises = `(counter < ? OR (kind = 'passkey' AND counter = 0 AND ? = 0))`
      const text = `UPDATE factors SET counter = ?, last_used_at = ? WHERE ${where} AND ${rises}`
      return (yield* run(text, counter, now, ...own, counter, counter)) === 1
    },
  }
}

export const identityWrites = (places: Places): AskedWrites<Identity> => {
  const addUser = insertNew(USERS, places)
  const addLink = insertInto(LINKS, places)
  const addSession = insertInto(SESSIONS, places)
  return {
    *createUser(user) {
      return (yield* addUser(user)) ? 'done' : 'not_unique'
    },
    *updateUser(accountId, id, by, keepSession = null) {
      const user = yield* userOf(accountId, id)
      if (user === null) return 'not_found'
      if (yield* takesLastOwner(user, by)) return 'last_owner'
      if (by.email !== undefined && (yield* isTaken(accountId, id, [by.email]))) return 'not_unique'
      yield* apply(user, by, keepSession)
      return 'done'
    },
    ...factorWrites(places),
    *createLink(link) {
      yield* addLink(link)
    },
    *revokeLink(accountId, id) {
      const text = 'DELETE FROM links WHERE account_id = ? AND id = ? AND used_at IS NULL'
      return (yield* run(text, accountId, id)) === 1
    },
    signIn: signIn(places),
    *createSession(session) {
      yield* addSession(session)
    },
    *updateSession(accountId, id, oidc) {
      return (yield* change(SESSIONS, { oidc }, 'account_id = ? AND id = ?', accountId, id)) === 1
    },
    revokeSession,
    revokeSessions: endSessions,
    *rememberOnce(kind, value, until) {
      const text = 'INSERT INTO remembered (kind, value, until) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
      return (yield* run(text, kind, value, until)) === 1
    },
  }
}

const OVER = [
  'DELETE FROM sessions WHERE expires_at < ?',
  'DELETE FROM sessions WHERE last_seen_at + idle_ms < ?',
  'DELETE FROM links WHERE expires_at < ?',
  'DELETE FROM remembered WHERE until < ?',
]

/** What is over goes; the number of rows. */
export function* sweepIdentity(now: number): Asking<number> {
  let removed = 0
  for (const text of OVER) removed += yield* run(text, now)
  return removed
}
