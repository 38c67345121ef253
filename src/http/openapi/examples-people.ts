/**
 * NAME      examples-people - people, sessions, links and the audit
 */
import { type Example, KEY, LATER, list, MADE, removed, TOMORROW, WORKSPACE } from './example-parts.js'

const USER = 'usr_01k9f2e8tz6w4v2s0q8p6n4m2k'
const SESSION = 'ses_01k9f2e8tz6w4v2s0q8p6n4m2m'
const LINK = 'lnk_01k9f2e8tz6w4v2s0q8p6n4m2n'
const EMAIL = 'ana@shop.example'
const SECRET = '5kZ0sYb3Qx7L2mWc9RtV4hJd8NfPaG1eUo6iTqXzCvBn'

const user = {
  id: USER,
  object: 'user',
  email: EMAIL,
  name: 'Ana',
  role: 'member',
  role_from: null,
  has_password: true,
  second_factor: true,
  disabled: false,
  disabled_at: null,
  last_sign_in_at: LATER,
  created_at: MADE,
}

const identity = {
  ...{ provider: 'corp', issuer: 'https://id.shop.example', subject: '248289761001', last_sign_in_at: LATER },
}
const FACTOR = 'fac_01k9f2e8tz6w4v2s0q8p6n4m2q'
const factor = {
  ...{ id: FACTOR, object: 'factor', kind: 'totp', name: 'Phone', created_at: MADE, last_used_at: LATER },
}
const inFull = { ...user, factors: [factor], recovery_codes_left: 10, identities: [identity] }
const SEED = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const PASSWORD = { current_password: 'a sentence that nobody guesses' }
const CODES = ['k3m9x-p7wqd', 'hn4tz-2rvbc']

const link = (object: string) => ({
  ...{ id: LINK, object, email: EMAIL, role: 'member', state: 'open', created_by: 'owner@shop.example' },
  ...{ created_at: MADE, expires_at: TOMORROW, used_at: null },
})
const invitation = link('invitation')

const who = { id: USER, email: EMAIL, name: 'Ana' }
const view = { title: 'Bounced today', path: '/emails?status=bounced' }

const session = {
  id: SESSION,
  object: 'session',
  person: who,
  role: 'member',
  provider: 'corp',
  address: '192.0.2.7',
  user_agent: 'Mozilla/5.0 Firefox/140.0',
  current: true,
  created_at: MADE,
  last_seen_at: LATER,
  expires_at: TOMORROW,
}

const mine = {
  object: 'session',
  ...{ via: 'session', id: SESSION, person: { ...who, time_zone: 'Europe/Prague', views: [view] } },
  role: 'member',
  permissions: ['read', 'subjects', 'bodies', 'write'],
  ...{ scope: 'platform', workspace_id: null, mode: null, expires_at: TOMORROW },
  limits: { rate_limit_per_minute: 600 },
}

const entry = {
  id: 'aud_01k9f2e8tz6w4v2s0q8p6n4m2p',
  object: 'audit_entry',
  action: 'api_key.revoked',
  actor: { kind: 'person', id: USER, name: EMAIL, address: '192.0.2.7' },
  target: { type: 'api_key', id: KEY },
  workspace_id: WORKSPACE,
  detail: { name: 'shop', prefix: 'svc_live_4vG7pQ2mXc9R', scope: 'workspace' },
  created_at: LATER,
}

export const PEOPLE: Readonly<Record<string, Example>> = {
  listUsers: { answer: list(user) },
  getUser: { answer: inFull },
  createUser: { request: { email: EMAIL, name: 'Ana', role: 'member' }, answer: inFull },
  updateUser: { request: { role: 'member', disabled: false }, answer: inFull },
  createUserSetupLink: {
    answer: { ...link('setup_link'), url: `https://mail.shop.example/setup/${SECRET}` },
  },
  resetUserFactors: { answer: { ...inFull, second_factor: false, factors: [], recovery_codes_left: 0 } },
  beginFactor: {
    request: { kind: 'totp', ...PASSWORD },
    answer: {
      ...{ object: 'factor_enrolment', kind: 'totp', secret: SEED },
      uri: `otpauth://totp/Postern%20mail.shop.example:ana%40shop.example?issuer=Postern%20mail.shop.example&secret=${SEED}`,
      enrolment: 'q0n7T4…',
    },
  },
  addFactor: {
    request: { enrolment: 'q0n7T4…', name: 'Phone', code: '492039' },
    answer: { ...factor, last_used_at: null, recovery_codes: CODES },
  },
  removeFactor: { request: PASSWORD, answer: removed(factor) },
  replaceRecoveryCodes: {
    request: PASSWORD,
    answer: { object: 'recovery_codes', recovery_codes: CODES },
  },
  createInvitation: {
    request: { email: EMAIL, role: 'member' },
    answer: { ...invitation, url: `https://mail.shop.example/invitation/${SECRET}`, email_id: null },
  },
  listInvitations: { answer: list(invitation) },
  revokeInvitation: { answer: removed(invitation) },
  getSession: { answer: mine },
  updateSession: { request: { time_zone: 'Europe/Prague', views: [view] }, answer: mine },
  listSessions: { answer: list(session) },
  revokeSession: { answer: removed(session) },
  revokeSessions: { answer: { object: 'session', deleted: true, changed: 3 } },
  listAudit: { answer: list(entry) },
}
