import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { codeOf, openHouse } from './house.js'

const IP = '192.0.2.7'

t.test('a bearer key', async (t) => {
  const { tenants, account, clock, store } = await openHouse(t)
  const { row, secret } = await tenants.createKey(account.id, {
    name: 'ci',
    mode: 'test',
    workspace: 'default',
  })
  t.match(secret, /^svc_test_[0-9A-Za-z]{44}$/)
  const principal = await tenants.authenticateBearer(secret, IP)
  t.match(principal, {
    accountId: account.id,
    via: 'key',
    id: row.id,
    scope: 'workspace',
    mode: 'test',
    limitPerMinute: 600,
  })
  t.equal(principal.workspaceId, row.workspaceId)

  t.test('is not known by a neighbour of it', async (t) => {
    const wrong = `${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`
    for (const text of [wrong, secret.replace('test', 'live'), `${secret}x`, '', 'svc_test_', 'ses_x']) {
      t.equal(await codeOf(tenants.authenticateBearer(text)), 'auth.credentials_invalid', text.slice(0, 12))
    }
  })

  t.test('is noted as used, at most once a minute', async (t) => {
    clock.pass(1000)
    await tenants.authenticateBearer(secret)
    const used = async () => (await store.key(account.id, row.id))?.lastUsedAt
    t.type(await eventually('it is noted', used), 'number')
  })

  t.test('ends at its time, and at once when revoked', async (t) => {
    const until = clock.now() + 1000
    const short = await tenants.createKey(account.id, { name: 'short', expiresAt: until })
    const kept = await tenants.authenticateBearer(short.secret)
    t.equal(kept.scope, 'platform')
    t.equal(await tenants.stillValid(kept), true)
    clock.pass(1000)
    t.equal(await codeOf(tenants.authenticateBearer(short.secret)), 'auth.credentials_invalid')
    t.equal(await tenants.stillValid(kept), false)
    await tenants.revokeKey(account.id, row.id)
    t.equal(await codeOf(tenants.authenticateBearer(secret)), 'auth.credentials_invalid')
    t.equal(await tenants.stillValid(principal), false)
    t.equal(await codeOf(tenants.revokeKey(account.id, row.id)), 'api_key.not_found')
  })
})

t.test('a session acts for its account until it is over', async (t) => {
  const { tenants, account, clock } = await openHouse(t)
  const { row, token } = await tenants.createSession(account.id, { lastsMs: 60_000 })
  t.match(token, /^ses_[0-9A-Za-z]{44}$/)
  t.match(await tenants.authenticateBearer(token), { via: 'session', scope: 'platform', workspaceId: null })
  const guess = `${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`
  t.equal(await codeOf(tenants.authenticateBearer(guess)), 'auth.credentials_invalid', 'a neighbour of it')
  clock.pass(60_000)
  t.equal(await codeOf(tenants.authenticateBearer(token)), 'auth.credentials_invalid')
  const other = await tenants.createSession(account.id)
  await tenants.revokeSession(account.id, other.row.id)
  t.equal(await codeOf(tenants.authenticateBearer(other.token)), 'auth.credentials_invalid')
  t.not(row.id, other.row.id)
})

t.test('over SMTP the password decides, and the user name says where', async (t) => {
  const { tenants, account } = await openHouse(t)
  const shop = await tenants.createWorkspace(account.id, { name: 'Shop EU' })
  const own = await tenants.createKey(account.id, { name: 'own', workspace: 'shop-eu' })
  const all = await tenants.createKey(account.id, { name: 'all' })
  const into = async (user: string, secret: string) =>
    (await tenants.authenticatePassword(user, secret, IP)).workspace.id

  for (const user of ['apikey', 'resend', 'XX', '', own.secret, shop.id, 'shop-eu', 'SHOP-EU']) {
    t.equal(await into(user, own.secret), shop.id, `a workspace key as ${user.slice(0, 12)}`)
  }
  t.equal(await codeOf(into('default', own.secret)), 'workspace.not_found')
  t.equal(await codeOf(into('ws_01k9f3m2zq8v6t4r2p0nxcwbha', own.secret)), 'workspace.not_found')
  t.equal(await into(shop.id, all.secret), shop.id)
  t.equal(await into('shop-eu', all.secret), shop.id)
  t.equal(await codeOf(into('apikey', all.secret)), 'validation.workspace_header_required')
  t.equal(await codeOf(into('', all.secret)), 'validation.workspace_header_required')
  t.equal(await codeOf(into('ws_01k9f3m2zq8v6t4r2p0nxcwbha', all.secret)), 'workspace.not_found')
})

t.test('a password credential', async (t) => {
  const { tenants, account, clock, store } = await openHouse(t)
  await tenants.createWorkspace(account.id, { name: 'Other' })
  const long = `${'x'.repeat(80)}`
  const first = await tenants.createCredential(account.id, {
    workspace: 'default',
    username: 'crm',
    password: `${long}1`,
  })
  const second = await tenants.createCredential(account.id, {
    workspace: 'other',
    username: 'crm',
    password: 'correct horse',
    mode: 'test',
  })
  t.match(first.hash, /^\$2b\$/)
  const login = (password: string) => tenants.authenticatePassword('crm', password, IP)

  t.equal((await login(`${long}1`)).id, first.id)
  t.match(await login('correct horse'), {
    id: second.id,
    via: 'credential',
    scope: 'workspace',
    mode: 'test',
  })
  t.equal(await codeOf(login(`${long}2`)), 'auth.credentials_invalid', 'what follows byte 72 counts')
  t.equal(
    await codeOf(tenants.authenticateBearer('correct horse')),
    'auth.credentials_invalid',
    'never over HTTP',
  )

  t.test('is limited per address, unless it is proved already', async (t) => {
    for (let i = 0; i < 4; i++) await codeOf(login('wrong'))
    t.equal(await codeOf(login('wrong')), 'rate_limit.auth_failures')
    t.equal((await login('correct horse')).id, second.id, 'a proof at hand needs no bcrypt')
    const fresh = { workspace: 'default', username: 'new', password: 'battery staple' }
    const { id } = await tenants.createCredential(account.id, fresh)
    const right = () => tenants.authenticatePassword('new', fresh.password, IP)
    t.equal(await codeOf(right()), 'rate_limit.auth_failures', 'no guess more, not even a right one')
    t.equal(
      await codeOf(tenants.authenticatePassword('crm', 'wrong', '192.0.2.8')),
      'auth.credentials_invalid',
    )
    clock.pass(60_000)
    t.equal(await codeOf(login('wrong')), 'auth.credentials_invalid')
    t.equal((await right()).id, id)
  })

  t.test('is gone at once when revoked, whatever is cached', async (t) => {
    const principal = await login('correct horse')
    await tenants.revokeCredential(account.id, second.id)
    t.equal(await store.credential(second.id), null)
    t.equal(await tenants.stillValid(principal), false)
    t.equal(await codeOf(login('correct horse')), 'auth.credentials_invalid')
  })
})

t.test('a range credential takes private addresses, the narrowest first', async (t) => {
  const { tenants, account } = await openHouse(t)
  const make = (cidr: string) => tenants.createCredential(account.id, { workspace: 'default', cidr })
  const wide = await make('127.0.0.0/8')
  const narrow = await make('127.0.0.1')
  for (const cidr of ['0.0.0.0/0', '8.8.8.8', '10.0.0.0/7', '::/0', 'nonsense']) {
    t.equal(await codeOf(make(cidr)), 'validation.request_invalid', cidr)
  }
  t.equal((await tenants.authenticateRange('127.0.0.1'))?.id, narrow.id)
  t.equal((await tenants.authenticateRange('::ffff:127.0.0.2'))?.id, wide.id)
  t.equal(await tenants.authenticateRange('10.1.2.3'), null)
})
