/**
 * NAME      client - the verbs about people, links and sessions
 */
import type { Identity } from '../../port/tenants/identity.js'
import type { Verbs } from '../session.js'

export const identityVerbs = (current: () => Verbs): Identity => ({
  createUser: async (user) => current().client.call('createUser', user),
  user: async (accountId, ref) => current().reads.user(accountId, ref),
  users: async (accountId, page) => current().reads.users(accountId, page),
  updateUser: async (accountId, id, change, keepSession = null) =>
    current().client.call('updateUser', accountId, id, change, keepSession),
  userByIdentity: async (...args) => current().reads.userByIdentity(...args),
  identities: async (userId) => current().reads.identities(userId),
  createLink: async (link) => current().client.call('createLink', link),
  linkByLookup: async (lookup) => current().reads.linkByLookup(lookup),
  links: async (accountId, kind, page) => current().reads.links(accountId, kind, page),
  revokeLink: async (accountId, id) => current().client.call('revokeLink', accountId, id),
  signIn: async (signIn) => current().client.call('signIn', signIn),
  createSession: async (session) => current().client.call('createSession', session),
  sessionByLookup: async (lookup) => current().reads.sessionByLookup(lookup),
  session: async (accountId, id) => current().reads.session(accountId, id),
  sessions: async (accountId, userId, page) => current().reads.sessions(accountId, userId, page),
  updateSession: async (accountId, id, oidc) => current().client.call('updateSession', accountId, id, oidc),
  revokeSession: async (accountId, id) => current().client.call('revokeSession', accountId, id),
  revokeSessions: async (accountId, of) => current().client.call('revokeSessions', accountId, of),
  rememberOnce: async (kind, value, until) => current().client.call('rememberOnce', kind, value, until),
})
