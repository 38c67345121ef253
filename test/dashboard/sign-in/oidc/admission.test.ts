/** Who gets in by which rule; and where claims are found. */
import t from 'tap'
import type { SignInProvider } from '../../../../src/config/identity.js'
import { readConfig } from '../../../../src/config/load.js'
import { addressIn, admit, type ToldPerson, valuesOf } from '../../../../src/dashboard/sign-in/admission.js'

const rules = (more: object): SignInProvider => {
  const one = { name: 'office', issuer: 'https://id.test', client_id: 'p', ...more }
  return readConfig({ name: 'p.yaml', text: JSON.stringify({ identity: { oidc: [one] } }) }).identity.oidc[0]!
}

const told = (idToken: object, userinfo: object = {}): ToldPerson => ({
  ...{ issuer: 'https://id.test', subject: '1' },
  ...{ idToken: idToken as ToldPerson['idToken'], userinfo: userinfo as ToldPerson['userinfo'] },
})

const ANA = { email: 'Ana@Acme.test', email_verified: true }
const DOMAIN = { allowed_domains: ['acme.test'] }
const GROUP = { allowed_groups: { claim: 'groups', values: ['mail', 'ops'] } }
const ROLES = { role_from: { claim: 'realm_access.roles', map: { boss: 'owner', dev: 'member' } } }

t.test('by rules', async (t) => {
  const cases: readonly (readonly [name: string, office: object, claims: object, answer: string])[] = [
    ['nobody by default', {}, ANA, 'not_invited'],
    ['a domain', DOMAIN, ANA, 'viewer'],
    [
      'a domain in another spelling',
      { allowed_domains: ['BÜCHER.test'] },
      { email: 'a@bücher.test', email_verified: true },
      'viewer',
    ],
    ['another domain', DOMAIN, { email: 'eve@evil.test', email_verified: true }, 'not_invited'],
    ['one that ends alike', DOMAIN, { email: 'eve@notacme.test', email_verified: true }, 'not_invited'],
    ['one below', DOMAIN, { email: 'eve@x.acme.test', email_verified: true }, 'not_invited'],
    [
      'two addresses in one',
      DOMAIN,
      { email: 'eve@evil.test,a@acme.test', email_verified: true },
      'not_invited',
    ],
    ['a quoted one', DOMAIN, { email: '"a@evil.test "@acme.test', email_verified: true }, 'not_invited'],
    ['a list of them', DOMAIN, { email: ['a@acme.test'], email_verified: true }, 'not_invited'],
    ['not verified', DOMAIN, { email: 'ana@acme.test', email_verified: false }, 'not_verified'],
    ['no word about it', DOMAIN, { email: 'ana@acme.test' }, 'not_verified'],
    ['another word about it', DOMAIN, { email: 'ana@acme.test', email_verified: 'yes' }, 'not_verified'],
    ['verified, as text', DOMAIN, { email: 'ana@acme.test', email_verified: 'true' }, 'viewer'],
    ['trusted', { ...DOMAIN, trust_email: true }, { email: 'ana@acme.test' }, 'viewer'],
    ['no address', DOMAIN, {}, 'not_invited'],
    ['a group', GROUP, { groups: ['x', 'ops'] }, 'viewer'],
    ['a group as one word', GROUP, { groups: 'mail' }, 'viewer'],
    ['groups as keys', GROUP, { groups: { mail: {} } }, 'viewer'],
    ['no group', GROUP, { groups: ['x', 7, null] }, 'not_invited'],
    ['either is enough', { ...DOMAIN, ...GROUP }, { groups: ['mail'], email: 'eve@evil.test' }, 'viewer'],
    ['a role of its own', { ...DOMAIN, default_role: 'member' }, ANA, 'member'],
    [
      'the highest role',
      { ...DOMAIN, ...ROLES },
      { ...ANA, realm_access: { roles: ['dev', 'boss'] } },
      'owner',
    ],
    ['no role', { ...DOMAIN, ...ROLES }, { ...ANA, realm_access: { roles: ['x', 'toString'] } }, 'no_role'],
    ['a role lets nobody in', ROLES, { ...ANA, realm_access: { roles: ['boss'] } }, 'not_invited'],
  ]
  for (const [name, office, claims, answer] of cases) {
    const said = admit(rules(office), { told: told(claims), invited: null, known: null }, 'viewer')
    t.equal(said.refused ?? said.firstRole, answer, name)
  }
})

t.test('an invitation counts whatever the address; a role does not come with it', async (t) => {
  const anybody = { told: told({}), invited: { role: 'member' as const }, known: null }
  t.match(admit(rules({}), anybody, 'viewer'), {
    refused: null,
    firstRole: 'member',
    role: null,
    byRule: false,
  })
  t.match(admit(rules(ROLES), anybody, 'viewer'), { refused: 'no_role' })
})

t.test('who came by a rule must still be named by one', async (t) => {
  const again = (known: 'by_rule' | 'by_invitation') =>
    admit(rules(GROUP), { told: told({ groups: [] }), invited: null, known }, 'viewer').refused
  t.equal(again('by_rule'), 'not_invited')
  t.equal(again('by_invitation'), null)
})

t.test('the address and the word about it come from one place', async (t) => {
  const mixed = told({ email: 'ana@acme.test' }, { email: 'x@evil.test', email_verified: true })
  t.equal(admit(rules(DOMAIN), { told: mixed, invited: null, known: null }, 'viewer').refused, 'not_verified')
  t.equal(addressIn(told({}, { email: 'A@B.test' })), 'a@b.test')
  t.equal(addressIn(told({ email: 'a b@c.test' })), null)
  t.equal(addressIn(told({ email: `${'x'.repeat(300)}@c.test` })), null)
})

t.test('paths of claims', async (t) => {
  const claims = told(
    { 'https://acme.test/roles': ['a'], deep: { 'x.y': { z: ['b'] } }, list: ['c'] },
    { list: ['d'], only: ['e'] },
  )
  t.strictSame(valuesOf(claims, 'https://acme.test/roles'), ['a'])
  t.strictSame(valuesOf(claims, 'deep.x.y.z'), ['b'])
  t.strictSame(valuesOf(claims, 'list'), ['c'], 'the ID token first')
  t.strictSame(valuesOf(claims, 'only'), ['e'])
  t.strictSame(valuesOf(claims, '__proto__.constructor'), [])
  t.strictSame(valuesOf(claims, 'gone.away'), [])
})
