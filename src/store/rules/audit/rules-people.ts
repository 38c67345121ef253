/**
 * NAME      rules-people - people, second factors, links and sessions
 * DESCRIPTION
 *   What people keep for themselves, their time zone and their saved views, is
 *   nobody's business.
 */
import type { AuditDetail } from '../../port/tenants/audit.js'
import type { LinkRow, UserChange, UserRow } from '../../port/tenants/identity.js'
import { changed, type Entry, isEmpty, type Look, type Rules } from './entry.js'

const ofUser = ({ id, accountId }: UserRow, action: string): Entry => ({
  accountId,
  action: `user.${action}`,
  object: { type: 'user', id },
})

const actionOf = (before: UserRow, { disabledAt }: UserChange): string => {
  if (disabledAt === undefined || (disabledAt === null) === (before.disabledAt === null)) return 'updated'
  return disabledAt === null ? 'enabled' : 'disabled'
}

const ofFactor = (
  look: Look,
  accountId: string,
  userId: string,
  action: string,
  detail: AuditDetail = {},
): Entry => ({
  accountId,
  action,
  object: { type: 'user', id: userId },
  detail: { user: look('users', userId)?.email ?? null, ...detail },
})

const typeOf = ({ kind }: LinkRow): string => (kind === 'setup' ? 'setup_link' : 'invitation')

/** Whose it is, as people know him. */
const ownerOf = (look: Look, userId: string | null | undefined): AuditDetail => ({
  user_id: userId ?? null,
  user: userId == null ? null : (look('users', userId)?.email ?? null),
})

const ofSession = (accountId: string, id: string | null, action: string): Entry => ({
  accountId,
  action: `session.${action}`,
  object: { type: 'session', id },
})

export const PEOPLE_RULES: Rules = {
  createUser: (_look, user) => (result) =>
    result !== 'done'
      ? null
      : { ...ofUser(user, 'created'), detail: { email: user.email, role: user.role, name: user.name } },
  updateUser(look, _accountId, id, change) {
    const before = look('users', id)
    return (result) => {
      if (result !== 'done' || before === null) return null
      const detail = {
        ...changed(before, change, ['email', 'name', 'role']),
        ...(change.hash !== undefined && change.hash !== before.hash && { password_changed: true }),
      }
      const action = actionOf(before, change)
      return action === 'updated' && isEmpty(detail)
        ? null
        : { ...ofUser(before, action), detail: { user: before.email, ...detail } }
    }
  },
  addFactor:
    (look, { accountId, userId, kind, name }) =>
    (result) =>
      result === 'done' ? ofFactor(look, accountId, userId, 'second_factor.added', { kind, name }) : null,
  removeFactor(look, accountId, userId, id) {
    const factor = look('factors', id)
    return (gone) =>
      gone
        ? ofFactor(look, accountId, userId, 'second_factor.removed', {
            kind: factor?.kind ?? null,
            name: factor?.name ?? null,
          })
        : null
  },
  resetFactors: (look, accountId, userId) => (count) =>
    count === 0 ? null : ofFactor(look, accountId, userId, 'second_factor.reset', { changed: count }),
  replaceRecoveryCodes: (look, accountId, userId) => (done) =>
    done ? ofFactor(look, accountId, userId, 'recovery_codes.replaced') : null,
  takeFactor(look, accountId, userId, id) {
    const isCode = look('factors', id)?.kind === 'recovery'
    return (taken) => (taken && isCode ? ofFactor(look, accountId, userId, 'recovery_code.used') : null)
  },
  createLink: (_look, link) => () => ({
    accountId: link.accountId,
    action: `${typeOf(link)}.created`,
    object: { type: typeOf(link), id: link.id },
    detail: { role: link.role, email: link.email, user_id: link.userId },
  }),
  revokeLink(look, accountId, id) {
    const link = look('links', id)
    return (gone) =>
      !gone || link === null
        ? null
        : { accountId, action: `${typeOf(link)}.revoked`, object: { type: typeOf(link), id } }
  },
  signIn:
    (look, { session, newUser, linkId, change, factor }) =>
    (result) =>
      result !== 'done'
        ? null
        : {
            ...ofSession(session.accountId, session.id, 'created'),
            detail: {
              provider: session.provider,
              ...ownerOf(look, session.userId),
              ...(linkId !== null && { link: linkId }),
              ...(factor !== undefined && { second_factor: factor }),
              ...(newUser !== null && { person_created: newUser.email, role: newUser.role }),
              ...(change?.hash !== undefined && { password_changed: true }),
            },
          },
  createSession: (_look, session) => () => ({
    ...ofSession(session.accountId, session.id, 'created'),
    detail: { provider: session.provider, role: session.role },
  }),
  revokeSession(look, accountId, id) {
    const session = look('sessions', id)
    return (gone) =>
      gone ? { ...ofSession(accountId, id, 'revoked'), detail: ownerOf(look, session?.userId) } : null
  },
  revokeSessions: (look, accountId, of) => (count) =>
    count === 0
      ? null
      : {
          ...ofSession(accountId, null, 'revoked'),
          detail: { changed: count, ...ownerOf(look, of.userId), issuer: of.issuer ?? null },
        },
}
