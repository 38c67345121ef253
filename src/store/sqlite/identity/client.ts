/**
 * NAME      client - the verbs about people, links and sessions
 */
import type { Identity } from '../../port/identity.js'
import type { Verbs } from '../session.js'

export const identityVerbs = (current: () => Verbs): Identity => ({
  createUser: async (user) => current().line.call('createUser', user),
  user: async (accountId, ref) => current().reads.user(accountId, ref),
  users: async (accountId, page) => current().reads.users(accountId, page),
  updateUser: async (accountId, id, change, keepSession = null) =>
    current().line.call('updateUser', accountId, id, change, keepSession),
  userByIdentity: async (...args) => current().reads.userByIdentity(...args),
  identities: async (userId) => current().reads.identities(userId),
  createLink: async (link) => current().line.call('createLink', link),
  linkByLookup: async (lookup) => current().reads.linkByLookup(lookup),
  links: async (accountId, kind, page) => current().reads.links(accountId, kind, page),
  revokeLink: async (accountId, id) => current().line.call('revokeLink', accountId, id),
  signIn: async (signIn) => current().line.call('signIn', signIn),
  createSession: async (session) => current().line.call('createSession', session),
  sessionByLookup: async (lookup) => current().reads.sessionByLookup(lookup),
  session: async (accountId, id) => current().reads.session(accountId, id),
  sessions: async (accountId, userId, page) => current().reads.sessions(accountId, userId, page),
  updateSession: async (accountId, id, oidc) => current().line.call('updateSession', accountId, id, oidc),
  revokeSession: async (accountId, id) => current().line.call('revokeSession', accountId, id),
  revokeSessions: async (accountId, of) => current().line.call('revokeSessions', accountId, of),
  rememberOnce: async (kind, value, until) => current().line.call('rememberOnce', kind, value, until),
})
