/**
 * NAME      tables - people, what providers call them, second factors, links and sessions
 */
import type { FactorRow, IdentityRow, LinkRow, SessionRow, UserRow } from '../../port/identity.js'
import { table } from '../table.js'

export const USERS = table<UserRow>('users', {
  id: 'plain',
  accountId: 'plain',
  email: 'plain',
  name: 'plain',
  role: 'plain',
  hash: 'plain',
  timeZone: 'plain',
  views: 'json',
  disabledAt: 'plain',
  roleFrom: 'plain',
  hasFactor: 'bool',
  createdAt: 'plain',
  lastSignInAt: 'plain',
})

export const IDENTITIES = table<IdentityRow>('identities', {
  accountId: 'plain',
  userId: 'plain',
  provider: 'plain',
  issuer: 'plain',
  subject: 'plain',
  byRule: 'bool',
  createdAt: 'plain',
  lastSignInAt: 'plain',
})

export const FACTORS = table<FactorRow>('factors', {
  id: 'plain',
  accountId: 'plain',
  userId: 'plain',
  kind: 'plain',
  name: 'plain',
  lookup: 'plain',
  secret: 'plain',
  counter: 'plain',
  createdAt: 'plain',
  lastUsedAt: 'plain',
})

export const LINKS = table<LinkRow>('links', {
  id: 'plain',
  accountId: 'plain',
  kind: 'plain',
  role: 'plain',
  email: 'plain',
  userId: 'plain',
  lookup: 'plain',
  hash: 'plain',
  createdAt: 'plain',
  expiresAt: 'plain',
  usedAt: 'plain',
  createdBy: 'plain',
})

export const SESSIONS = table<SessionRow>('sessions', {
  id: 'plain',
  accountId: 'plain',
  userId: 'plain',
  role: 'plain',
  provider: 'plain',
  address: 'plain',
  userAgent: 'plain',
  lookup: 'plain',
  hash: 'plain',
  createdAt: 'plain',
  lastSeenAt: 'plain',
  expiresAt: 'plain',
  idleMs: 'plain',
  oidc: 'json',
})
