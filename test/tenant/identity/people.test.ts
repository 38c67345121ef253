import t from 'tap'
import { changePerson } from '../../../src/tenant/people.js'
import { codeOf, fieldsOf, openHouse } from '../house.js'

const GOOD = 'violet river under glass'

t.test('a person is made, found and changed', async (t) => {
  const { tenants, account } = await openHouse(t)
  const ana = await tenants.createPerson(account.id, {
    ...{ email: ' Ana@Acme.TEST ', name: ' Ana ', role: 'owner', password: GOOD },
  })
  t.match(ana, { id: /^usr_/, email: 'ana@acme.test', name: 'Ana', role: 'owner', hash: /^\$2b\$/ })
  t.equal((await tenants.findPerson(account.id, 'ANA@acme.test')).id, ana.id)
  t.equal(await codeOf(tenants.findPerson(account.id, 'bo@acme.test')), 'user.not_found')
  const again = tenants.createPerson(account.id, { email: 'ana@acme.test', role: 'viewer' })
  t.same(await fieldsOf(again), ['body.email not_unique'])
  const { deps } = tenants
  t.equal(await codeOf(changePerson(deps, ana, { disabled: true })), 'resource.conflict')
  t.match(await changePerson(deps, ana, { name: null }), { name: null, role: 'owner' })
  await deps.store.updateUser(account.id, ana.id, { roleFrom: 'corp' })
  const held = await tenants.findPerson(account.id, ana.id)
  t.equal(await codeOf(changePerson(deps, held, { role: 'viewer' })), 'resource.conflict')
})

t.test('passwords: long ones, but not those that everybody tries', async (t) => {
  const { tenants, account } = await openHouse(t)
  let n = 0
  const wrong = (password: string) =>
    fieldsOf(tenants.createPerson(account.id, { email: `p${n++}.long@acme.test`, role: 'viewer', password }))
  for (const password of ['short', '12345678901', 'x'.repeat(257)]) {
    t.same(await wrong(password), ['body.password length'], password.slice(0, 12))
  }
  for (const password of [
    ...['passwordpassword', 'Password1234!', 'P4ssw0rd2026', '123456789012', 'aaaaaaaaaaaaaaaa'],
    ...['posternpostern', 'qwertyuiop12', 'abababababab', 'correct horse battery staple'],
  ]) {
    t.same(await wrong(password), ['body.password forbidden'], password)
  }
  t.same(await wrong(`p${n}.long@acme.test`), ['body.password forbidden'], 'the own address')
  for (const password of [
    GOOD,
    '839201746652',
    `${'\u{1f600}'.repeat(8)}abcd`,
    `${'x'.repeat(200)}${GOOD}`,
  ]) {
    t.same(await wrong(password), [], password.slice(0, 12))
  }
})

t.test('people change what is theirs; an owner the rest', async (t) => {
  const { tenants, account } = await openHouse(t)
  const owner = await tenants.createPerson(account.id, { email: 'o@acme.test', role: 'owner' })
  const bo = await tenants.createPerson(account.id, {
    ...{ email: 'bo@acme.test', role: 'member', password: GOOD },
  })
  const sessionOf = async (userId: string) => {
    const { row, token } = tenants.newSession(account.id, { userId, provider: 'local' })
    await tenants.deps.store.signIn({
      ...{ linkId: null, newUser: null, identity: null, change: null, session: row, instead: null },
      now: row.createdAt,
    })
    return { token, principal: await tenants.authenticateBearer(token) }
  }
  const his = await sessionOf(bo.id)
  const other = await sessionOf(bo.id)
  const hers = await sessionOf(owner.id)
  t.match(his.principal, { role: 'member', person: { id: bo.id }, actor: { kind: 'person', name: bo.email } })
  const prove = async (email: string, password: string) =>
    (await tenants.provePerson(account.id, { email, password, address: '192.0.2.1', device: null })) !== null
  const update = (by: typeof his, id: string, wish: object) =>
    tenants.updatePerson(by.principal, id, wish, prove)
  t.match(await update(his, bo.id, { name: 'Bo' }), { name: 'Bo' })
  t.equal(await codeOf(update(his, owner.id, { name: 'X' })), 'auth.role_forbidden')
  t.equal(await codeOf(update(his, bo.id, { role: 'owner' })), 'auth.role_forbidden')
  t.equal(await codeOf(update(hers, bo.id, { password: `${GOOD}!` })), 'auth.role_forbidden')
  const fresh = { password: `${GOOD} two` }
  t.same(await fieldsOf(update(his, bo.id, fresh)), ['body.current_password forbidden'])
  await update(his, bo.id, { ...fresh, currentPassword: GOOD })
  t.equal(await codeOf(tenants.authenticateBearer(other.token)), 'auth.credentials_invalid', 'others end')
  const guest = await tenants.createPerson(account.id, { email: 'guest@acme.test', role: 'viewer' })
  const by = await sessionOf(guest.id)
  t.equal(await codeOf(update(by, guest.id, fresh)), 'auth.role_forbidden', 'a provider vouches for him')
  t.match(await tenants.authenticateBearer(his.token), { role: 'member' }, 'his own stays')
  await update(hers, bo.id, { role: 'viewer' })
  t.match(await tenants.authenticateBearer(his.token), { role: 'viewer' }, 'at once')
  await update(hers, bo.id, { disabled: true })
  t.equal(await codeOf(tenants.authenticateBearer(his.token)), 'auth.credentials_invalid')
  const wrong = { timeZone: 'Mars/Base', views: [{ title: 'x', path: '//evil.test' }] }
  t.same(await fieldsOf(tenants.changeOwnSettings(owner, wrong)), [
    'body.time_zone format',
    'body.views[0].path format',
  ])
  await tenants.changeOwnSettings(owner, {
    ...{ timeZone: 'Asia/Tokyo', views: [{ title: 'Bounced', path: '/emails?status=bounced' }] },
  })
  t.match(await tenants.findPerson(account.id, owner.id), {
    timeZone: 'Asia/Tokyo',
    views: [{ title: 'Bounced' }],
  })
})
