/**
 * NAME      contract-identity - people, links and sessions
 */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type {
  FactorRow,
  IdentityRow,
  LinkRow,
  SessionOidc,
  SessionRow,
  SignIn,
  UserRow,
} from '../../src/store/port/identity.js'
import type { Store } from '../../src/store/port/store.js'
import { eventually } from '../parts/eventually.js'
import { HOUR, newAccount, type OpenStore, page, T0, type TestAccount } from './fixture.js'

const KEEP = { bodiesMs: HOUR, emailsMs: HOUR }

export const userFor = (at: TestAccount, over: Partial<UserRow> = {}): UserRow => ({
  id: newId('usr'),
  accountId: at.accountId,
  email: 'ana@acme.test',
  name: 'Ana',
  role: 'owner',
  hash: null,
  timeZone: null,
  views: [],
  disabledAt: null,
  roleFrom: null,
  hasFactor: false,
  createdAt: T0,
  lastSignInAt: null,
  ...over,
})

export const identityOf = (
  { accountId, id: userId }: UserRow,
  over: Partial<IdentityRow> = {},
): IdentityRow => ({
  ...{ accountId, userId, provider: 'corp', issuer: 'https://id.test', subject: '42', byRule: true },
  ...{ createdAt: T0, lastSignInAt: null, ...over },
})

export const factorOf = (
  { accountId, id: userId }: Pick<UserRow, 'accountId' | 'id'>,
  over: Partial<FactorRow> = {},
): FactorRow => {
  const id = newId('fac')
  return {
    ...{ id, accountId, userId, kind: 'totp', name: 'Phone', lookup: id, secret: 'sealed', counter: 7 },
    ...{ createdAt: T0, lastUsedAt: null, ...over },
  }
}

export const codesOf = (user: UserRow, n: number): readonly FactorRow[] =>
  Array.from({ length: n }, () => factorOf(user, { kind: 'recovery', name: '', secret: '', counter: 0 }))

export const linkFor = (at: TestAccount, over: Partial<LinkRow> = {}): LinkRow => {
  const id = newId('lnk')
  return {
    ...{ id, accountId: at.accountId, kind: 'invitation', role: 'member', email: null, userId: null },
    ...{ lookup: id, hash: Buffer.alloc(32, 1), createdAt: T0, expiresAt: T0 + HOUR, usedAt: null },
    createdBy: 'cli:0',
    ...over,
  }
}

export const sessionFor = (at: TestAccount, over: Partial<SessionRow> = {}): SessionRow => {
  const id = newId('ses')
  return {
    ...{ id, accountId: at.accountId, userId: null, role: 'owner', provider: 'local' },
    ...{ address: '192.0.2.7', userAgent: 'Firefox', lookup: id, hash: Buffer.alloc(32, 2) },
    ...{ createdAt: T0, lastSeenAt: T0, expiresAt: T0 + 10 * HOUR, idleMs: 2 * HOUR, oidc: null },
    ...over,
  }
}

const signInOf = (session: SessionRow, over: Partial<SignIn> = {}): SignIn => ({
  ...{ linkId: null, newUser: null, identity: null, change: null, session, instead: null, now: T0 },
  ...over,
})

const peopleTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('people: by id and address, one for each address, changed', async (t) => {
    const at = await newAccount(store)
    const ana = userFor(at, { hash: '$2b$x', views: [{ title: 'Bounced', path: '/emails?status=bounced' }] })
    t.equal(await store.createUser(ana), 'done')
    t.equal(await store.createUser(userFor(at)), 'not_unique')
    const other = await newAccount(store)
    t.equal(await store.createUser(userFor(other)), 'done', 'the same address in another account')
    t.same(await store.user(at.accountId, ana.id), ana)
    t.same(await store.user(at.accountId, ana.email), ana)
    t.equal(await store.user(other.accountId, ana.id), null)
    const bo = userFor(at, { email: 'bo@acme.test', role: 'viewer' })
    await store.createUser(bo)
    t.match((await store.users(at.accountId, page())).rows, [{ id: bo.id }, { id: ana.id }])
    const change = { name: 'Bo', role: 'member', timeZone: 'Europe/Prague', views: [] } as const
    t.equal(await store.updateUser(at.accountId, bo.id, change), 'done')
    t.match(await store.user(at.accountId, bo.id), change)
    t.equal(await store.updateUser(at.accountId, bo.id, { email: ana.email }), 'not_unique')
    t.equal(await store.updateUser(other.accountId, bo.id, change), 'not_found')
  })

  await t.test('the last enabled owner stays one, also when two ask at once', async (t) => {
    const at = await newAccount(store)
    const ana = userFor(at)
    const bo = userFor(at, { email: 'bo@acme.test' })
    await store.createUser(ana)
    t.equal(await store.updateUser(at.accountId, ana.id, { role: 'viewer' }), 'last_owner')
    t.equal(await store.updateUser(at.accountId, ana.id, { disabledAt: T0 }), 'last_owner')
    t.equal(await store.updateUser(at.accountId, ana.id, { name: 'A', role: 'owner' }), 'done')
    await store.createUser(bo)
    const both = [ana, bo].map(({ id }) => store.updateUser(at.accountId, id, { role: 'member' }))
    t.same((await Promise.all(both)).sort(), ['done', 'last_owner'])
    const [left] = (await store.users(at.accountId, page())).rows.filter(({ role }) => role === 'owner')
    const demoted = left?.id === ana.id ? bo : ana
    await store.updateUser(at.accountId, demoted.id, { role: 'owner', disabledAt: T0 })
    t.equal(
      await store.updateUser(at.accountId, left?.id ?? '', { disabledAt: T0 }),
      'last_owner',
      'one that is disabled does not count',
    )
  })

  await t.test('being disabled, or another password, ends sessions in the same commit', async (t) => {
    const at = await newAccount(store)
    const ana = userFor(at)
    const bo = userFor(at, { email: 'bo@acme.test', role: 'viewer' })
    await store.createUser(ana)
    await store.createUser(bo)
    const open = async (userId: string) => {
      const session = sessionFor(at, { userId })
      t.equal(await store.signIn(signInOf(session)), 'done')
      return session
    }
    const [mine, , theirs] = [await open(ana.id), await open(ana.id), await open(bo.id)]
    await store.updateUser(at.accountId, ana.id, { name: 'Anna' })
    t.equal((await store.sessions(at.accountId, ana.id, page())).rows.length, 2)
    await store.updateUser(at.accountId, ana.id, { hash: '$2b$new' }, mine.id)
    t.match((await store.sessions(at.accountId, null, page())).rows, [{ id: theirs.id }, { id: mine.id }])
    await store.updateUser(at.accountId, bo.id, { disabledAt: T0 })
    t.same((await store.sessions(at.accountId, bo.id, page())).rows, [])
    t.equal(await store.signIn(signInOf(sessionFor(at, { userId: bo.id }))), 'disabled')
  })
}

const factorTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('second factors: the first ends other sessions and brings recovery codes', async (t) => {
    const at = await newAccount(store)
    const ana = userFor(at)
    await store.createUser(ana)
    const [mine, other] = [sessionFor(at, { userId: ana.id }), sessionFor(at, { userId: ana.id })]
    for (const session of [mine, other]) await store.signIn(signInOf(session))
    const phone = factorOf(ana)
    const codes = codesOf(ana, 3)
    t.equal(await store.addFactor(phone, codes, mine.id), 'done')
    t.same(await store.factors(ana.id), [phone, ...codes])
    t.match(await store.user(at.accountId, ana.id), { hasFactor: true })
    t.match((await store.sessions(at.accountId, ana.id, page())).rows, [{ id: mine.id }])
    t.equal(await store.addFactor(phone, codes, mine.id), 'not_unique')
    const again = factorOf(ana, { lookup: phone.lookup })
    t.equal(await store.addFactor(again, [], null), 'not_unique', 'the same under another id')
    await store.signIn(signInOf(other))
    const stick = factorOf(ana, { kind: 'passkey', counter: 0 })
    t.equal(await store.addFactor(stick, codesOf(ana, 2), null), 'done')
    t.same(await store.factors(ana.id), [phone, ...codes, stick], 'the second brings none')
    t.equal((await store.sessions(at.accountId, ana.id, page())).rows.length, 2, 'and ends none')
    const bo = userFor(at, { email: 'bo@acme.test', role: 'viewer' })
    t.equal(await store.addFactor(factorOf(bo), [], null), 'disabled', 'who is not there')
    await store.createUser(bo)
    await store.updateUser(at.accountId, bo.id, { disabledAt: T0 })
    t.equal(await store.addFactor(factorOf(bo), [], null), 'disabled')
    const cy = userFor(at, { email: 'cy@acme.test' })
    await store.createUser(cy)
    const stolen = factorOf(cy, { kind: 'passkey', lookup: stick.lookup })
    t.equal(await store.addFactor(stolen, codesOf(cy, 1), null), 'not_unique', 'a passkey is of one person')
    t.same(await store.factors(cy.id), [])
    const foreign = await newAccount(store)
    t.equal(await store.removeFactor(foreign.accountId, ana.id, phone.id), false)
    t.equal(await store.removeFactor(at.accountId, bo.id, phone.id), false, 'of somebody else')
    t.equal(await store.removeFactor(at.accountId, ana.id, codes[0]?.id ?? ''), false, 'a code is none')
    t.equal(await store.removeFactor(at.accountId, ana.id, phone.id), true)
    t.match(await store.user(at.accountId, ana.id), { hasFactor: true })
    t.equal(await store.removeFactor(at.accountId, ana.id, stick.id), true)
    t.same(await store.factors(ana.id), [], 'with the last one the codes go')
    t.match(await store.user(at.accountId, ana.id), { hasFactor: false })
  })

  await t.test('second factors: each use is one, and a count only rises', async (t) => {
    const at = await newAccount(store)
    const [ana, bo] = [userFor(at), userFor(at, { email: 'bo@acme.test' })]
    for (const user of [ana, bo]) await store.createUser(user)
    const [phone, quiet] = [factorOf(ana), factorOf(ana, { kind: 'passkey', counter: 0 })]
    const codes = codesOf(ana, 2)
    await store.addFactor(phone, codes, null)
    await store.addFactor(quiet, [], null)
    const take = (id: string, counter: number, userId = ana.id) =>
      store.takeFactor(at.accountId, userId, id, counter, T0 + 5)
    t.equal(await take(phone.id, 7), false, 'the step that it was added with')
    t.same((await Promise.all([take(phone.id, 8), take(phone.id, 8)])).sort(), [false, true])
    t.equal(await take(phone.id, 6), false)
    t.equal(await take(phone.id, 9, bo.id), false, 'of another person')
    t.match((await store.factors(ana.id))[0], { counter: 8, lastUsedAt: T0 + 5 })
    t.same([await take(quiet.id, 0), await take(quiet.id, 0)], [true, true], 'one that does not count')
    t.same([await take(quiet.id, 4), await take(quiet.id, 0)], [true, false], 'one that began to')
    const [code, left] = codes
    t.same((await Promise.all([take(code?.id ?? '', 0), take(code?.id ?? '', 0)])).sort(), [false, true])
    t.same(
      (await store.factors(ana.id)).filter(({ kind }) => kind === 'recovery'),
      [left],
    )
    const fresh = codesOf(ana, 3)
    t.equal(await store.replaceRecoveryCodes(at.accountId, ana.id, fresh), true)
    t.equal(await take(left?.id ?? '', 0), false, 'those before are gone')
    t.equal(await store.replaceRecoveryCodes(at.accountId, bo.id, codesOf(bo, 1)), false)
    await store.updateUser(at.accountId, ana.id, { disabledAt: T0 })
    t.equal(await take(phone.id, 20), false, 'of somebody who is disabled')
    t.equal(await take(fresh[0]?.id ?? '', 0), false)
    t.equal(await store.resetFactors(at.accountId, ana.id), 2)
    t.equal(await store.resetFactors(at.accountId, ana.id), 0)
    t.same(await store.factors(ana.id), [])
    t.match(await store.user(at.accountId, ana.id), { hasFactor: false })
  })
}

const signInTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('a link lets in once, and with it everything or nothing happens', async (t) => {
    const at = await newAccount(store)
    const link = linkFor(at)
    await store.createLink(link)
    const ana = userFor(at, { role: 'member' })
    const once = (over: Partial<SignIn> = {}, user = ana) =>
      store.signIn(
        signInOf(sessionFor(at, { userId: user.id }), {
          ...{ linkId: link.id, newUser: user, identity: identityOf(user), ...over },
        }),
      )
    t.equal(await once({ now: T0 + HOUR }), 'link_used', 'its time is over')
    t.equal(await store.user(at.accountId, ana.id), null)
    const many = await Promise.all(
      [ana, userFor(at, { email: 'bo@acme.test' })].map((user) => once({}, user)),
    )
    t.same(many.sort(), ['done', 'link_used'])
    t.match(await store.linkByLookup(link.lookup), { usedAt: T0 })
    const { rows } = await store.users(at.accountId, page())
    t.match(rows, [{ lastSignInAt: T0 }])
    t.equal(rows.length, 1)
    const id = rows[0]?.id ?? ''
    t.match(await store.userByIdentity(at.accountId, 'https://id.test', '42'), { id })
    t.match(await store.identities(id), [{ provider: 'corp', lastSignInAt: T0 }])
    t.equal((await store.sessions(at.accountId, id, page())).rows.length, 1)

    const second = linkFor(at)
    await store.createLink(second)
    const cleo = userFor(at, { email: 'cleo@acme.test' })
    t.equal(await once({ linkId: second.id }, cleo), 'not_unique', 'that identity is somebody else')
    const same = userFor(at, { email: rows[0]?.email ?? '' })
    t.equal(await once({ linkId: second.id, identity: null }, same), 'not_unique')
    t.match(await store.linkByLookup(second.lookup), { usedAt: null }, 'the link is still good')
    t.match((await store.links(at.accountId, 'invitation', page())).rows, [
      { id: second.id },
      { id: link.id },
    ])
    t.same((await store.links(at.accountId, 'setup', page())).rows, [])
    t.equal(await store.revokeLink(at.accountId, link.id), false, 'a used one stays as a record')
    t.equal(await store.revokeLink('acct_x', second.id), false)
    t.equal(await store.revokeLink(at.accountId, second.id), true)
    t.equal(await once({ linkId: second.id }, cleo), 'link_used')
  })

  await t.test('a sign-in takes what the provider says, and the place of the old session', async (t) => {
    const at = await newAccount(store)
    const ana = userFor(at)
    await store.createUser(ana)
    const old = sessionFor(at, { userId: ana.id })
    const first = { identity: identityOf(ana), change: { role: 'viewer', name: 'A' } } as const
    t.equal(await store.signIn(signInOf(old, first)), 'done')
    t.match(await store.user(at.accountId, ana.id), { name: 'A', role: 'owner' }, 'the last owner stays one')
    await store.createUser(userFor(at, { email: 'bo@acme.test' }))
    const fresh = sessionFor(at, { userId: ana.id })
    t.equal(await store.signIn(signInOf(fresh, { ...first, instead: old.id, now: T0 + 5 })), 'done')
    t.match(await store.user(at.accountId, ana.id), { role: 'viewer', lastSignInAt: T0 + 5 })
    t.equal(await store.session(at.accountId, old.id), null)
    t.match(await store.identities(ana.id), [{ createdAt: T0, lastSignInAt: T0 + 5 }])
    const reset = sessionFor(at, { userId: ana.id })
    await store.signIn(signInOf(reset, { change: { hash: '$2b$1' } }))
    t.match((await store.sessions(at.accountId, ana.id, page())).rows, [{ id: reset.id }])
    t.equal(await store.signIn(signInOf(sessionFor(at, { userId: 'usr_gone' }))), 'disabled')
  })
}

const OIDC: SessionOidc = {
  ...{ issuer: 'https://id.test', subject: '42', sid: 's1', sealed: 'x', checkedAt: T0 },
}

const sessionTests = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await t.test('sessions: found, seen, ended', async (t) => {
    const at = await newAccount(store)
    const one = sessionFor(at)
    await store.createSession(one)
    t.same(await store.sessionByLookup(one.lookup), one)
    t.same(await store.session(at.accountId, one.id), one)
    t.equal(await store.session('acct_x', one.id), null)
    store.touch('session', one.id, T0 + 7, null)
    await eventually(
      'it was seen',
      async () => (await store.session(at.accountId, one.id))?.lastSeenAt === T0 + 7,
    )
    t.equal(await store.updateSession(at.accountId, one.id, OIDC), true)
    t.same((await store.session(at.accountId, one.id))?.oidc, OIDC)
    t.equal(await store.updateSession('acct_x', one.id, OIDC), false)
    t.equal(await store.revokeSession('acct_x', one.id), false)
    t.equal(await store.revokeSession(at.accountId, one.id), true)
    t.equal(await store.revokeSession(at.accountId, one.id), false)
    t.equal(await store.sessionByLookup(one.lookup), null)
  })

  await t.test('many sessions end together, by whose they are', async (t) => {
    const at = await newAccount(store)
    const add = async (over: Partial<SessionRow>) => {
      const row = sessionFor(at, over)
      await store.createSession(row)
      return row.id
    }
    const a1 = await add({ userId: 'usr_a', oidc: OIDC })
    const a2 = await add({ userId: 'usr_a', oidc: { ...OIDC, sid: 's2' } })
    const b = await add({ userId: 'usr_b', oidc: { ...OIDC, issuer: 'https://other.test' } })
    const nobody = await add({})
    const left = async () => (await store.sessions(at.accountId, null, page())).rows.map(({ id }) => id)
    t.equal(await store.revokeSessions(at.accountId, { issuer: OIDC.issuer, sid: 's1' }), 1)
    t.same(await left(), [nobody, b, a2])
    t.equal(await store.revokeSessions(at.accountId, { issuer: OIDC.issuer, subject: '42' }), 1)
    t.same(await left(), [nobody, b])
    t.equal(await store.revokeSessions('acct_x', {}), 0)
    t.equal(await store.revokeSessions(at.accountId, { userId: 'usr_b', exceptId: b }), 0)
    t.equal(await store.revokeSessions(at.accountId, { exceptId: nobody }), 1)
    t.same(await left(), [nobody])
    t.not(a1, a2)
  })

  await t.test('what is over goes with the sweep; a value is remembered once', async (t) => {
    const fresh = await open(t)
    const at = await newAccount(fresh)
    const [old, idle, good] = [
      sessionFor(at, { expiresAt: T0 + 1 }),
      sessionFor(at, { idleMs: 1 }),
      sessionFor(at),
    ]
    for (const one of [old, idle, good]) await fresh.createSession(one)
    const link = linkFor(at, { expiresAt: T0 + 1 })
    await fresh.createLink(link)
    t.equal(await fresh.rememberOnce('jti', 'a', T0 + 1), true)
    t.equal(await fresh.rememberOnce('jti', 'a', T0 + 1), false)
    t.equal(await fresh.rememberOnce('other', 'a', T0 + HOUR), true)
    await fresh.sweep(T0 + 2, KEEP)
    t.match((await fresh.sessions(at.accountId, null, page())).rows, [{ id: good.id }])
    t.equal(await fresh.linkByLookup(link.lookup), null)
    t.equal(await fresh.rememberOnce('jti', 'a', T0 + 1), true)
    t.equal(await fresh.rememberOnce('other', 'a', T0 + HOUR), false)
  })
}

export const identityContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await peopleTests(t, store)
  await factorTests(t, store)
  await signInTests(t, store)
  await sessionTests(t, store, open)
}
