/**
 * NAME      write - people, links and sessions
 * DESCRIPTION
 *   A sign-in looks at everything before it changes anything, so a refusal leaves
 *   nothing behind in the commit that it shares with others.
 */
import type {
  Identity,
  IdentityRow,
  SessionsOf,
  SignedIn,
  SignIn,
  UserChange,
  UserRow,
} from '../../port/tenants/identity.js'
import type { Writes } from '../../port/verbs.js'
import { endsOwner, judgeSignIn, keepingOwner, locksOut } from '../../rules/people.js'
import type { Db, Row } from '../connect.js'
import { inserter, unlessTaken } from '../order/insert.js'
import type { WriteContext } from '../write/context.js'
import { IDENTITIES, LINKS, SESSIONS, USERS } from './step.js'

const prepare = (db: Db) => ({
  user: db.prepare<[string, string], Row>(
    `SELECT ${USERS.columns} FROM users WHERE account_id = ? AND id = ?`,
  ),
  emailTaken: db.prepare('SELECT 1 FROM users WHERE account_id = ? AND email = ? AND id <> ?'),
  otherOwner: db.prepare(
    "SELECT 1 FROM users WHERE account_id = ? AND role = 'owner' AND disabled_at IS NULL AND id <> ?",
  ),
  isOpen: db.prepare(
    'SELECT 1 FROM links WHERE account_id = ? AND id = ? AND used_at IS NULL AND expires_at > ?',
  ),
  useUp: db.prepare('UPDATE links SET used_at = ? WHERE id = ?'),
  endLinks: db.prepare('DELETE FROM links WHERE account_id = ? AND user_id = ? AND used_at IS NULL'),
  revokeLink: db.prepare('DELETE FROM links WHERE account_id = ? AND id = ? AND used_at IS NULL'),
  boundTo: db
    .prepare<[string, string, string], string>(
      'SELECT user_id FROM identities WHERE account_id = ? AND issuer = ? AND subject = ?',
    )
    .pluck(),
  seenIdentity: db.prepare(
    `UPDATE identities SET last_sign_in_at = ?, provider = ?, by_rule = ? WHERE account_id = ? AND issuer = ? AND subject = ?`,
  ),
  seenUser: db.prepare('UPDATE users SET last_sign_in_at = ? WHERE id = ?'),
  updateSession: db.prepare('UPDATE sessions SET oidc = ? WHERE account_id = ? AND id = ?'),
  revokeSession: db.prepare('DELETE FROM sessions WHERE account_id = ? AND id = ?'),
  remember: db.prepare('INSERT INTO remembered VALUES (?, ?, ?) ON CONFLICT DO NOTHING'),
})

/** The sessions of a person, or of what a provider calls one, and the values of the clause. */
const clauseOf = ({ userId, exceptId, issuer, subject, sid }: SessionsOf) => {
  const parts: readonly (readonly [string, string | undefined])[] = [
    ['user_id = ?', userId],
    ['id <> ?', exceptId],
    ["json_extract(oidc, '$.issuer') = ?", issuer],
    ["json_extract(oidc, '$.subject') = ?", subject],
    ["json_extract(oidc, '$.sid') = ?", sid],
  ]
  const given = parts.filter(([, value]) => value !== undefined)
  return { where: given.map(([text]) => ` AND ${text}`).join(''), values: given.map(([, value]) => value) }
}

const createPeople = (context: WriteContext) => {
  const { db } = context
  const sql = prepare(db)

  const find = (accountId: string, id: string): UserRow | null => {
    const row = sql.user.get(accountId, id)
    return row === undefined ? null : USERS.decode(row)
  }

  const endSessions = (accountId: string, of: SessionsOf): number => {
    const { where, values } = clauseOf(of)
    return db.prepare(`DELETE FROM sessions WHERE account_id = ?${where}`).run(accountId, ...values).changes
  }

  const takesLastOwner = (user: UserRow, change: UserChange): boolean =>
    endsOwner(user, change) && sql.otherOwner.get(user.accountId, user.id) === undefined

  const isTaken = (accountId: string, id: string, email: string | undefined): boolean =>
    email !== undefined && sql.emailTaken.get(accountId, email, id) !== undefined

  const apply = (user: UserRow, change: UserChange, keepSession: string | null): void => {
    const { accountId, id } = user
    const { set, values } = USERS.change(change)
    if (values.length > 0) db.prepare(`UPDATE users SET ${set} WHERE id = ?`).run(...values, id)
    if (!locksOut(user, change)) return
    sql.endLinks.run(accountId, id)
    endSessions(accountId, { userId: id, ...(keepSession !== null && { exceptId: keepSession }) })
  }

  return { sql, find, endSessions, takesLastOwner, isTaken, apply }
}

type People = ReturnType<typeof createPeople>

const createSignIn = (context: WriteContext, { sql, find, takesLastOwner, isTaken, apply }: People) => {
  const addUser = inserter(context, USERS)
  const addIdentity = inserter(context, IDENTITIES)
  const addSession = inserter(context, SESSIONS)

  const bind = (one: IdentityRow, now: number): void => {
    const { accountId, issuer, subject, provider, byRule } = one
    const known =
      sql.seenIdentity.run(now, provider, byRule ? 1 : 0, accountId, issuer, subject).changes === 1
    if (!known) addIdentity({ ...one, lastSignInAt: now })
  }

  return (one: SignIn): SignedIn => {
    const { session, newUser, identity, change, now } = one
    const { accountId, userId } = session
    const user = newUser ?? (userId === null ? null : find(accountId, userId))
    const refused = judgeSignIn(one, {
      user,
      isLinkOpen: (id) => sql.isOpen.get(accountId, id, now) !== undefined,
      isTaken: (email) => isTaken(accountId, userId ?? '', email),
      boundTo: ({ issuer, subject }) => sql.boundTo.get(accountId, issuer, subject) ?? null,
    })
    if (refused !== 'done') return refused
    if (one.linkId !== null) sql.useUp.run(now, one.linkId)
    if (newUser !== null) addUser(newUser)
    if (user !== null) {
      if (change !== null) apply(user, takesLastOwner(user, change) ? keepingOwner(change) : change, null)
      if (identity !== null) bind(identity, now)
      sql.seenUser.run(now, user.id)
    }
    if (one.instead !== null) sql.revokeSession.run(accountId, one.instead)
    addSession(session)
    return 'done'
  }
}

export const createIdentityWrites = (context: WriteContext): Writes<Identity> => {
  const people = createPeople(context)
  const { sql, find, endSessions, takesLastOwner, isTaken, apply } = people
  const addUser = inserter(context, USERS)
  const addLink = inserter(context, LINKS)
  const addSession = inserter(context, SESSIONS)
  return {
    createUser: (user) => unlessTaken(() => addUser(user)),
    updateUser(accountId, id, change, keepSession = null) {
      const user = find(accountId, id)
      if (user === null) return 'not_found'
      if (takesLastOwner(user, change)) return 'last_owner'
      if (isTaken(accountId, id, change.email)) return 'not_unique'
      apply(user, change, keepSession)
      return 'done'
    },
    createLink: (link) => void addLink(link),
    revokeLink: (accountId, id) => sql.revokeLink.run(accountId, id).changes === 1,
    signIn: createSignIn(context, people),
    createSession: (session) => void addSession(session),
    updateSession: (accountId, id, oidc) =>
      sql.updateSession.run(JSON.stringify(oidc), accountId, id).changes === 1,
    revokeSession: (accountId, id) => sql.revokeSession.run(accountId, id).changes === 1,
    revokeSessions: endSessions,
    rememberOnce: (kind, value, until) => sql.remember.run(kind, value, until).changes === 1,
  }
}

/** What is over goes; the number of rows. */
export const createIdentitySweep = (db: Db): ((now: number) => number) => {
  const over = [
    'DELETE FROM sessions WHERE expires_at < ?',
    'DELETE FROM sessions WHERE last_seen_at + idle_ms < ?',
    'DELETE FROM links WHERE expires_at < ?',
    'DELETE FROM remembered WHERE until < ?',
  ].map((text) => db.prepare(text))
  return (now) => over.reduce((sum, statement) => sum + statement.run(now).changes, 0)
}
