import t from 'tap'
import { linkUrl } from '../../../src/tenant/people.js'
import { codeOf, fieldsOf, openHouse } from '../house.js'

const HALF_HOUR = 30 * 60_000

t.test('a link is good for its kind and its time, and its token is nowhere kept', async (t) => {
  const { tenants, account, clock, store } = await openHouse(t)
  const made = await tenants.createLink(account.id, { kind: 'setup', role: 'owner', createdBy: 'cli:0' })
  t.match(made.token, /^[0-9A-Za-z]{44}$/)
  t.equal((await tenants.openLink('setup', made.token))?.id, made.row.id)
  t.equal(await tenants.openLink('invitation', made.token), null)
  const neighbour = `${made.token.slice(0, -1)}${made.token.endsWith('a') ? 'b' : 'a'}`
  for (const text of [neighbour, '', 'x', `${made.token}0`, made.row.lookup]) {
    t.equal(await tenants.openLink('setup', text), null)
  }
  const kept = JSON.stringify(await store.linkByLookup(made.row.lookup))
  t.notOk(kept.includes(made.token.slice(12)))
  t.equal(linkUrl('https://mail.test/post/', made.row, 'T'), 'https://mail.test/post/setup/T')
  clock.pass(HALF_HOUR)
  t.equal(await tenants.openLink('setup', made.token), null)
})

t.test('invitations and setup links of people', async (t) => {
  const { tenants, account, clock } = await openHouse(t)
  const wish = { kind: 'invitation', role: 'member', createdBy: 'ana' } as const
  t.same(await fieldsOf(tenants.createLink(account.id, { ...wish, email: 'no address' })), [
    'body.email format',
  ])
  const { row, token } = await tenants.createLink(account.id, { ...wish, email: 'Bo@acme.test' })
  t.equal(row.email, 'bo@acme.test')
  clock.pass(6 * 86_400_000)
  t.ok(await tenants.openLink('invitation', token))
  await tenants.revokeInvitation(account.id, row.id)
  t.equal(await tenants.openLink('invitation', token), null)
  t.equal(await codeOf(tenants.revokeInvitation(account.id, row.id)), 'invitation.not_found')
  t.equal(await codeOf(tenants.createSetupLink(account.id, 'x@acme.test', 'cli:0')), 'user.not_found')
  await tenants.createPerson(account.id, { email: 'o@acme.test', role: 'owner' })
  const bo = await tenants.createPerson(account.id, { email: 'bo@acme.test', role: 'viewer' })
  const setup = await tenants.createSetupLink(account.id, 'bo@acme.test', 'cli:0')
  t.match(setup.row, { kind: 'setup', userId: bo.id, role: 'viewer' })
  await tenants.deps.store.updateUser(account.id, bo.id, { disabledAt: 1 })
  t.equal(await codeOf(tenants.createSetupLink(account.id, bo.id, 'cli:0')), 'resource.conflict')
})

t.test('a session of a person ends when it is idle, and at its last hour', async (t) => {
  const { tenants, account, clock, store } = await openHouse(t)
  const ana = await tenants.createPerson(account.id, { email: 'ana@acme.test', role: 'owner' })
  const { row, token } = tenants.newSession(account.id, {
    ...{ userId: ana.id, provider: 'local', address: '192.0.2.7', userAgent: 'x'.repeat(300) },
  })
  t.equal(row.userAgent?.length, 200)
  const parts = { linkId: null, newUser: null, identity: null, change: null, instead: null }
  await store.signIn({ ...parts, session: row, now: clock.now() })
  const hour = 3_600_000
  clock.pass(12 * hour - 1)
  t.match(await tenants.authenticateBearer(token), { via: 'session', person: { id: ana.id }, role: 'owner' })
  await store.close()
  await store.open()
  clock.pass(12 * hour - 1)
  t.match(await tenants.authenticateBearer(token), { via: 'session' }, 'it was seen meanwhile')
  store.touch('session', row.id, clock.now(), null)
  await store.close()
  await store.open()
  clock.pass(12 * hour)
  t.equal(await codeOf(tenants.authenticateBearer(token)), 'auth.credentials_invalid')
})
