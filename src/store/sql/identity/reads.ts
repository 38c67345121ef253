/**
 * NAME      reads - people, second factors, links and sessions
 */
import type { Identity } from '../../port/identity.js'
import type { AskedReads } from '../query.js'
import { allOf, oneOf, pagesOf } from '../rows.js'
import { FACTORS, IDENTITIES, LINKS, SESSIONS, USERS } from './tables.js'

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
