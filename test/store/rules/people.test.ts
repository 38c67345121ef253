/** Who may sign in, who stays an owner, whose sessions end. */
import t from 'tap'
import type { SignIn, UserRow } from '../../../src/store/port/identity.js'
import {
  addressesOf,
  endsOwner,
  judgeSignIn,
  keepingOwner,
  locksOut,
  type SignInFacts,
} from '../../../src/store/rules/tenants.js'

const ANA = {
  id: 'usr_a',
  role: 'owner',
  disabledAt: null,
  hash: 'x',
  email: 'ana@x.test',
} as unknown as UserRow

t.test('an owner ends by another role or by being disabled, and nobody else does', async (t) => {
  t.equal(endsOwner(ANA, { role: 'viewer' }), true)
  t.equal(endsOwner(ANA, { disabledAt: 5 }), true)
  t.equal(endsOwner(ANA, { role: 'owner', name: 'A', disabledAt: null }), false)
  t.equal(endsOwner({ ...ANA, role: 'member' }, { role: 'viewer' }), false)
  t.equal(endsOwner({ ...ANA, disabledAt: 1 }, { role: 'viewer' }), false)
  t.same(keepingOwner({ role: 'viewer', disabledAt: 5, name: 'A' }), { name: 'A' })
})

t.test('sessions end with another password or with a disabled person', async (t) => {
  t.equal(locksOut(ANA, { hash: 'y' }), true)
  t.equal(locksOut(ANA, { hash: null }), true)
  t.equal(locksOut(ANA, { disabledAt: 5 }), true)
  t.equal(locksOut(ANA, { hash: 'x', name: 'A', disabledAt: null }), false)
})

t.test('a sign-in is refused before it changes anything', async (t) => {
  const signIn = (over: object): SignIn =>
    ({
      linkId: null,
      newUser: null,
      change: null,
      identity: null,
      session: { userId: 'usr_a' },
      ...over,
    }) as SignIn
  const facts = (over: Partial<SignInFacts> = {}): SignInFacts => ({
    user: ANA,
    isLinkOpen: true,
    isTaken: false,
    boundTo: null,
    ...over,
  })
  t.equal(judgeSignIn(signIn({}), facts()), 'done')
  t.same(addressesOf(signIn({ newUser: ANA, change: { email: 'bo@x.test' } })), ['ana@x.test', 'bo@x.test'])
  t.same(addressesOf(signIn({ change: { name: 'A' } })), [])
  t.equal(judgeSignIn(signIn({ linkId: 'l' }), facts({ isLinkOpen: false })), 'link_used')
  t.equal(judgeSignIn(signIn({}), facts({ user: null })), 'disabled')
  t.equal(judgeSignIn(signIn({}), facts({ user: { ...ANA, disabledAt: 1 } })), 'disabled')
  t.equal(judgeSignIn(signIn({ session: { userId: null } }), facts({ user: null })), 'done', 'of nobody')
  t.equal(judgeSignIn(signIn({}), facts({ isTaken: true })), 'not_unique')
  t.equal(judgeSignIn(signIn({}), facts({ boundTo: 'usr_b' })), 'not_unique')
  t.equal(judgeSignIn(signIn({}), facts({ boundTo: 'usr_a' })), 'done')
})
