/**
 * NAME      identity - people, second factors, links and sessions
 */
import type {
  FactorRow,
  Identity,
  IdentityRow,
  SessionRow,
  SessionsOf,
  UserChange,
  UserRow,
} from '../../../src/store/port/identity.js'
import {
  addressesOf,
  endsOwner,
  judgeSignIn,
  keepingOwner,
  locksOut,
} from '../../../src/store/rules/tenants.js'
import type { Plain } from '../plain.js'
import type { State } from '../state.js'
import { addUnless, listed, owned, removed } from '../tenants.js'

const keyOf = ({ accountId, issuer, subject }: Pick<IdentityRow, 'accountId' | 'issuer' | 'subject'>) =>
  `${accountId} ${issuer} ${subject}`

const isOf =
  (accountId: string, of: SessionsOf) =>
  ({ id, userId, oidc, ...row }: SessionRow): boolean =>
    row.accountId === accountId &&
    (of.userId === undefined || userId === of.userId) &&
    (of.exceptId === undefined || id !== of.exceptId) &&
    (['issuer', 'subject', 'sid'] as const).every(
      (name) => of[name] === undefined || oidc?.[name] === of[name],
    )

const createPeople = ({ users, links, sessions }: State) => {
  const isTaken = (accountId: string, id: string | null, email: string): boolean =>
    users.where((row) => row.accountId === accountId && row.email === email && row.id !== id).length > 0
  const takesLastOwner = (user: UserRow, change: UserChange): boolean =>
    endsOwner(user, change) &&
    users.where(
      ({ id, accountId, role, disabledAt }) =>
        accountId === user.accountId && id !== user.id && role === 'owner' && disabledAt === null,
    ).length === 0
  const apply = (user: UserRow, change: UserChange, keepSession: string | null): void => {
    users.change(user.id, change)
    if (!locksOut(user, change)) return
    links.drop(({ userId, usedAt }) => userId === user.id && usedAt === null)
    sessions.drop(({ id, userId }) => userId === user.id && id !== keepSession)
  }
  return { isTaken, takesLastOwner, apply }
}

const createSignIn = (state: State): Plain<Identity>['signIn'] => {
  const { users, links, sessions, identities } = state
  const { isTaken, takesLastOwner, apply } = createPeople(state)
  return (one) => {
    const { session, newUser, identity, change, linkId, instead, now } = one
    const { accountId, userId } = session
    const user = newUser ?? (userId === null ? null : owned(users, accountId, userId))
    const link = linkId === null ? null : owned(links, accountId, linkId)
    const refused = judgeSignIn(one, {
      user,
      isLinkOpen: link !== null && link.usedAt === null && link.expiresAt > now,
      isTaken: addressesOf(one).some((email) => isTaken(accountId, userId, email)),
      boundTo: identity && (identities.get(keyOf({ ...identity, accountId }))?.userId ?? null),
    })
    if (refused !== 'done') return refused
    if (linkId !== null) links.change(linkId, { usedAt: now })
    if (newUser !== null) users.add(newUser.id, newUser)
    if (user !== null) {
      if (change !== null) apply(user, takesLastOwner(user, change) ? keepingOwner(change) : change, null)
      if (identity !== null) {
        const { provider, byRule } = identity
        if (!identities.change(keyOf(identity), { lastSignInAt: now, provider, byRule }))
          identities.add(keyOf(identity), { ...identity, lastSignInAt: now })
      }
      users.change(user.id, { lastSignInAt: now })
    }
    if (instead !== null) removed(sessions, accountId, instead)
    sessions.add(session.id, session)
    return 'done'
  }
}

const isOwn = (accountId: string, id: string) => (row: FactorRow) =>
  row.accountId === accountId && row.userId === id

const noteFactors = ({ users, factors }: State, accountId: string, userId: string): void => {
  if (owned(users, accountId, userId) === null) return
  const hasFactor = factors.where((row) => row.userId === userId && row.kind !== 'recovery').length > 0
  users.change(userId, { hasFactor })
  if (!hasFactor) factors.drop(isOwn(accountId, userId))
}

const replaceCodes = (
  { factors }: State,
  accountId: string,
  userId: string,
  codes: readonly FactorRow[],
): void => {
  factors.drop((row) => isOwn(accountId, userId)(row) && row.kind === 'recovery')
  for (const code of codes) factors.add(code.id, code)
}

const createFactors = (
  state: State,
): Pick<Plain<Identity>, 'factors' | 'addFactor' | 'removeFactor' | 'resetFactors'> => {
  const { users, factors, sessions } = state
  return {
    factors: (userId) => factors.where((row) => row.userId === userId),
    addFactor(factor, codes, keepSession) {
      const { accountId, userId, lookup } = factor
      const user = owned(users, accountId, userId)
      if (user === null || user.disabledAt !== null) return 'disabled'
      const isTaken = (row: FactorRow) =>
        row.id === factor.id ||
        (row.lookup === lookup &&
          (row.userId === userId || (row.kind === 'passkey' && factor.kind === 'passkey')))
      if (factors.where(isTaken).length > 0) return 'not_unique'
      factors.add(factor.id, factor)
      if (user.hasFactor) return 'done'
      replaceCodes(state, accountId, userId, codes)
      noteFactors(state, accountId, userId)
      sessions.drop((row) => row.userId === userId && row.id !== keepSession)
      return 'done'
    },
    removeFactor(accountId, userId, id) {
      const row = factors.get(id)
      if (row === null || row.kind === 'recovery' || !isOwn(accountId, userId)(row)) return false
      factors.delete(id)
      noteFactors(state, accountId, userId)
      return true
    },
    resetFactors(accountId, userId) {
      const removed = factors.drop((row) => isOwn(accountId, userId)(row) && row.kind !== 'recovery')
      noteFactors(state, accountId, userId)
      return removed
    },
  }
}

const createFactorUses = (state: State): Pick<Plain<Identity>, 'replaceRecoveryCodes' | 'takeFactor'> => {
  const { users, factors } = state
  return {
    replaceRecoveryCodes(accountId, userId, codes) {
      if (owned(users, accountId, userId)?.hasFactor !== true) return false
      replaceCodes(state, accountId, userId, codes)
      return true
    },
    takeFactor(accountId, userId, id, counter, now) {
      const row = factors.get(id)
      if (row === null || !isOwn(accountId, userId)(row)) return false
      if (owned(users, accountId, userId)?.disabledAt !== null) return false
      if (row.kind === 'recovery') return factors.delete(id)
      const doesNotCount = row.kind === 'passkey' && row.counter === 0 && counter === 0
      if (counter <= row.counter && !doesNotCount) return false
      return factors.change(id, { counter, lastUsedAt: now })
    },
  }
}

export const createIdentity = (state: State): Plain<Identity> => {
  const { users, links, sessions, identities, remembered } = state
  const { isTaken, takesLastOwner, apply } = createPeople(state)
  return {
    createUser: (row) =>
      addUnless(users, row, ({ accountId, email }) => accountId === row.accountId && email === row.email),
    user: (accountId, ref) =>
      users.where((row) => row.accountId === accountId && (row.id === ref || row.email === ref))[0] ?? null,
    users: (accountId, page) => listed(users, (row) => row.accountId === accountId, page),
    updateUser(accountId, id, change, keepSession = null) {
      const user = owned(users, accountId, id)
      if (user === null) return 'not_found'
      if (takesLastOwner(user, change)) return 'last_owner'
      if (change.email !== undefined && isTaken(accountId, id, change.email)) return 'not_unique'
      apply(user, change, keepSession)
      return 'done'
    },
    userByIdentity: (accountId, issuer, subject) =>
      users.get(identities.get(keyOf({ accountId, issuer, subject }))?.userId ?? ''),
    identities: (userId) => identities.where((row) => row.userId === userId),
    ...createFactors(state),
    ...createFactorUses(state),
    createLink: (row) => void links.add(row.id, row),
    linkByLookup: (lookup) => links.where((row) => row.lookup === lookup)[0] ?? null,
    links: (accountId, kind, page) =>
      listed(links, (row) => row.accountId === accountId && row.kind === kind, page),
    revokeLink: (accountId, id) => owned(links, accountId, id)?.usedAt === null && links.delete(id),
    signIn: createSignIn(state),
    createSession: (row) => void sessions.add(row.id, row),
    sessionByLookup: (lookup) => sessions.where((row) => row.lookup === lookup)[0] ?? null,
    session: (accountId, id) => owned(sessions, accountId, id),
    sessions: (accountId, userId, page) =>
      listed(sessions, isOf(accountId, userId === null ? {} : { userId }), page),
    updateSession: (accountId, id, oidc) =>
      owned(sessions, accountId, id) !== null && sessions.change(id, { oidc }),
    revokeSession: (accountId, id) => removed(sessions, accountId, id),
    revokeSessions: (accountId, of) => sessions.drop(isOf(accountId, of)),
    rememberOnce(kind, value, until) {
      if (remembered.get(`${kind} ${value}`) !== null) return false
      remembered.add(`${kind} ${value}`, { until })
      return true
    },
  }
}

export const sweepIdentity = ({ sessions, links, remembered }: State, now: number): number =>
  sessions.drop((row) => row.expiresAt < now || row.lastSeenAt + row.idleMs < now) +
  links.drop(({ expiresAt }) => expiresAt < now) +
  remembered.drop(({ until }) => until < now)
