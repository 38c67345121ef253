/**
 * NAME      contract-tenants - who is who, suppressions and the rate window
 */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import { suppressionList } from '../../src/lifecycle/suppress.js'
import type { Store } from '../../src/store/port/store.js'
import type {
  CredentialRow,
  KeyRow,
  PoolRow,
  SuppressionRow,
  UpstreamRow,
} from '../../src/store/port/tenants.js'
import { eventually } from '../parts/eventually.js'
import { sessionFor } from './contract-identity.js'
import {
  accepted,
  addWorkspace,
  claimOne,
  newAccount,
  type OpenStore,
  ofLease,
  page,
  T0,
  type TestAccount,
} from './fixture.js'

export const keyFor = (at: TestAccount, over: Partial<KeyRow> = {}): KeyRow => ({
  id: newId('key'),
  accountId: at.accountId,
  name: 'ci',
  mode: 'live',
  scope: 'workspace',
  workspaceId: at.workspace.id,
  lookup: at.accountId.slice(-12),
  hash: new Uint8Array(32).fill(7),
  createdAt: T0,
  lastUsedAt: null,
  lastUsedFrom: null,
  expiresAt: null,
  rateLimitPerMinute: 5,
  permission: 'full_access',
  sesSalt: null,
  ...over,
})

export const credentialFor = (at: TestAccount, over: Partial<CredentialRow> = {}): CredentialRow => ({
  id: newId('cred'),
  accountId: at.accountId,
  workspaceId: at.workspace.id,
  mode: 'live',
  username: 'apikey',
  hash: '$2b$10$x',
  cidr: null,
  certificateFingerprint: null,
  imported: true,
  createdAt: T0,
  lastUsedAt: null,
  lastUsedFrom: null,
  ...over,
})

const upstream: UpstreamRow = {
  id: 'up_1',
  host: 'mta1',
  port: 25,
  tls: 'required',
  fingerprint: null,
  user: null,
  sealedPassword: null,
  clientCertFile: null,
  clientKeyFile: null,
  weight: 10,
  priority: 0,
  maxConnections: 5,
  messagesPerConnection: 100,
  rate: null,
  state: 'active',
}

export const poolFor = (at: TestAccount, over: Partial<PoolRow> = {}): PoolRow => ({
  id: newId('pool'),
  accountId: at.accountId,
  name: 'main',
  kind: 'relay',
  returnPath: 'verp',
  notifySuccess: true,
  relayedMeans: 'delivered',
  upstreams: [upstream],
  createdAt: T0,
  updatedAt: T0,
  ...over,
})

const whoTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('accounts and workspaces', async (t) => {
    const at = await newAccount(store)
    t.match(await store.account(at.accountId), { id: at.accountId, name: 'test' })
    t.ok((await store.accounts()).some((account) => account.id === at.accountId))
    t.equal(await store.account('acct_x'), null)
    t.match(at.workspace, { slug: 'default', isDefault: true })
    const shop = await addWorkspace(store, at, 'shop')
    t.equal(await store.createWorkspace({ ...shop.workspace, id: newId('ws') }), 'not_unique')
    t.same(await store.workspace(at.accountId, 'shop'), shop.workspace)
    t.same(await store.workspace(at.accountId, shop.workspace.id), shop.workspace)
    t.equal(await store.workspace('acct_x', shop.workspace.id), null)
    const change = { name: 'Shop EU', ambiguous: 'hold', senderDsn: true, poolId: at.poolId } as const
    t.equal(await store.updateWorkspace(shop.workspace.id, change), 'done')
    t.same(await store.workspace(at.accountId, 'shop'), { ...shop.workspace, ...change })
    t.equal(await store.updateWorkspace(shop.workspace.id, { slug: 'default' }), 'not_unique')
    const listed = await store.workspaces(at.accountId, page({ countUpTo: 10 }))
    t.match(listed, { rows: [{ slug: 'shop' }, { slug: 'default' }], total: 2, hasOlder: false })
  })

  await t.test('keys: found by lookup, gone at once when revoked', async (t) => {
    const at = await newAccount(store)
    const key = keyFor(at)
    await store.createKey(key)
    const found = await store.keyByLookup(key.lookup)
    t.same({ ...found, hash: Buffer.from(found?.hash ?? []) }, { ...key, hash: Buffer.from(key.hash) })
    t.equal((await store.key(at.accountId, key.id))?.id, key.id)
    t.equal(await store.key('acct_x', key.id), null)
    await store.createKey(
      keyFor(at, { lookup: `o${at.accountId.slice(-11)}`, scope: 'platform', workspaceId: null }),
    )
    t.match(await store.keys(at.accountId, page({ limit: 1 })), {
      rows: [{ scope: 'platform' }],
      hasOlder: true,
    })
    const next = keyFor(at, { lookup: `i${at.accountId.slice(-11)}` })
    t.equal(await store.rotateKey('acct_x', key.id, next, T0 + 5), false)
    t.equal(await store.keyByLookup(next.lookup), null, 'nothing follows a key that is not there')
    t.equal(await store.rotateKey(at.accountId, key.id, next, T0 + 5), true)
    t.equal((await store.key(at.accountId, key.id))?.expiresAt, T0 + 5)
    t.match(await store.keyByLookup(next.lookup), { id: next.id, expiresAt: null, sesSalt: null })
    const signing = keyFor(at, { lookup: `u${at.accountId.slice(-11)}`, sesSalt: new Uint8Array(32).fill(3) })
    await store.createKey(signing)
    const { sesSalt } = (await store.keyByLookup(signing.lookup)) ?? {}
    t.same(Buffer.from(sesSalt ?? []), Buffer.alloc(32, 3))
    const third = keyFor(at, { lookup: `l${at.accountId.slice(-11)}` })
    t.equal(await store.rotateKey(at.accountId, key.id, third, T0 + 9), true)
    t.equal(
      (await store.key(at.accountId, key.id))?.expiresAt,
      T0 + 5,
      'never later than it would have ended',
    )
    t.equal(await store.revokeKey('acct_x', key.id), false)
    t.equal(await store.revokeKey(at.accountId, key.id), true)
    t.equal(await store.revokeKey(at.accountId, key.id), false)
    t.equal(await store.keyByLookup(key.lookup), null)
  })

  await t.test('credentials: by name, by range', async (t) => {
    const at = await newAccount(store)
    const shop = await addWorkspace(store, at, 'shop')
    const one = credentialFor(at)
    t.equal(await store.createCredential(one), 'done')
    t.equal(await store.createCredential(credentialFor(at)), 'not_unique')
    t.equal(await store.createCredential(credentialFor(shop)), 'done', 'the same name elsewhere')
    const brought = credentialFor(shop, { id: newId('cred'), username: 'brought', imported: true })
    const again = { ...brought, id: newId('cred') }
    t.same(await store.importCredentials([brought, again]), { changed: 1, taken: [again.id] })
    t.equal(await store.revokeCredential(shop.accountId, brought.id), true)
    const range = credentialFor(at, { username: null, hash: null, cidr: '10.0.0.0/8' })
    t.equal(await store.createCredential(range), 'done')
    t.equal((await store.credentialsByUsername('apikey')).length, 2)
    t.same(await store.credentialsByRange(), [range])
    const shown = credentialFor(at, { username: null, hash: null, certificateFingerprint: 'ab'.repeat(32) })
    t.equal(await store.createCredential(shown), 'done')
    t.equal(await store.createCredential({ ...shown, id: newId('cred') }), 'not_unique')
    t.same(await store.credentialByCertificate('ab'.repeat(32)), shown)
    t.equal(await store.credentialByCertificate('cd'.repeat(32)), null)
    t.same(await store.credentialsByRange(), [range])
    t.same(await store.credential(one.id), one)
    t.equal((await store.credentials(at.accountId, page())).rows.length, 4)
    t.equal(await store.revokeCredential('acct_x', one.id), false)
    t.equal(await store.revokeCredential(at.accountId, one.id), true)
    t.equal(await store.credential(one.id), null)
  })
}

const poolTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('a pool of a workspace alone, and whom it follows', async (t) => {
    const at = await newAccount(store)
    const workspace = { ...at.workspace, id: newId('ws'), slug: 'shop', isDefault: false }
    const make = (over: object, name: string) => {
      const own = poolFor(at, { name, upstreams: [] })
      return { own, row: { ...workspace, poolId: own.id, ...over } }
    }
    const first = make({}, 'sandbox')
    t.equal(await store.createWorkspace(first.row, first.own), 'done')
    const leader = at.workspace.poolId
    t.match(await store.pool(at.accountId, first.own.id), { name: 'sandbox-2', follows: leader })
    const taken = make({ id: newId('ws') }, 'kiosk')
    t.equal(await store.createWorkspace(taken.row, taken.own), 'not_unique')
    t.equal(await store.pool(at.accountId, 'kiosk'), null, 'a refusal leaves no pool')
    t.equal((await store.pool(at.accountId, leader))?.follows, null)

    const fresh = () => poolFor(at, { name: 'shop', upstreams: [] })
    t.equal(await store.ownPool(workspace.id, fresh()), first.own.id, 'the one that it has')
    await store.createPool(poolFor(at, { name: 'shop' }))
    const other = poolFor(at, { name: 'other' })
    await store.createPool(other)
    await store.updateWorkspace(workspace.id, { poolId: other.id })
    const second = fresh()
    t.equal(await store.ownPool(workspace.id, second), second.id)
    t.match(await store.pool(at.accountId, second.id), { name: 'shop-2', follows: leader })
    t.equal(await store.ownPool(workspace.id, fresh()), second.id, 'one that nobody uses')

    await store.updateWorkspace(at.workspace.id, { poolId: other.id })
    const follows = async (id: string) => (await store.pool(at.accountId, id))?.follows
    t.equal(await follows(second.id), other.id, 'the pool that the default workspace has now')
    t.equal(await follows(leader), other.id)
    t.equal(await follows(other.id), null)
    t.equal(await follows(at.poolId), null, 'a sandbox follows nobody')
    const all = (await store.allPools()).filter((row) => row.accountId === at.accountId)
    t.equal(all.find(({ id }) => id === second.id)?.follows, other.id)
  })

  await t.test('pools: by id or name, changed, deleted when nobody needs them', async (t) => {
    const at = await newAccount(store)
    const pool = poolFor(at)
    t.equal(await store.createPool(pool), 'done')
    t.equal(await store.createPool(poolFor(at)), 'not_unique')
    t.same(await store.pool(at.accountId, 'main'), { ...pool, follows: null })
    t.same(await store.pool(at.accountId, pool.id), { ...pool, follows: null })
    const changed = { ...pool, relayedMeans: 'sent', upstreams: [], updatedAt: T0 + 1 } as const
    t.equal(await store.updatePool(changed), 'done')
    t.same(await store.pool(at.accountId, 'main'), { ...changed, follows: at.workspace.poolId })
    t.equal(await store.updatePool({ ...changed, name: 'sandbox' }), 'not_unique')
    t.same((await store.pools(at.accountId, page())).rows.map((row) => row.name).sort(), [
      'default',
      'main',
      'sandbox',
    ])
    const everyone = (await store.allPools()).filter((row) => row.accountId === at.accountId)
    t.same(everyone.map((row) => row.name).sort(), ['default', 'main', 'sandbox'])

    await store.updateWorkspace(at.workspace.id, { poolId: pool.id })
    t.equal(await store.deletePool(at.accountId, pool.id), 'in_use', 'a workspace sends by it')
    await store.updateWorkspace(at.workspace.id, { poolId: at.workspace.poolId })
    const mail = await accepted(store, { ...at, poolId: pool.id })
    t.equal(await store.deletePool(at.accountId, pool.id), 'in_use', 'mail waits in it')
    const claimed = await claimOne(store, { ...at, poolId: pool.id }, T0)
    t.equal(await store.deletePool(at.accountId, pool.id), 'in_use', 'mail is being sent by it')
    await store.settle([ofLease(claimed)])
    t.equal(await store.deletePool('acct_x', pool.id), 'not_found')
    t.equal(await store.deletePool(at.accountId, pool.id), 'done')
    t.equal(await store.deletePool(at.accountId, pool.id), 'not_found')
    t.equal(await store.pool(at.accountId, 'main'), null)
    const oauth = {
      ...{ tokenFile: null, serviceAccountFile: null, tokenUrl: 'https://id.test/token', clientId: 'gw' },
      ...{ sealedSecret: 'c2VjcmV0', sealedRefreshToken: 'b25l', scope: null },
    }
    const tokens = poolFor(at, { upstreams: [{ ...upstream, user: 'u', oauth }] })
    t.equal(await store.createPool(tokens), 'done', 'its name is free')
    t.equal(await store.rotateToken('b25l', 'dHdv'), true)
    t.equal(await store.rotateToken('b25l', 'dHJlZQ'), false, 'somebody else was first')
    const [rotated] = (await store.pool(at.accountId, 'main'))?.upstreams ?? []
    t.same(rotated, { ...upstream, user: 'u', oauth: { ...oauth, sealedRefreshToken: 'dHdv' } })
    const scope = { accountId: at.accountId, workspaceId: null, mode: null }
    t.equal((await store.email(scope, mail.id))?.poolId, pool.id, 'old mail still names it')
    t.equal(await store.deletePool(at.accountId, at.poolId), 'in_use', 'the sandbox stays')
  })
}

const suppressionTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('suppressions: one per address, found by id and address, expiring', async (t) => {
    const at = await newAccount(store)
    const ws = at.workspace.id
    const row = (over: Partial<SuppressionRow>): SuppressionRow => ({
      id: newId('sup'),
      accountId: at.accountId,
      list: ws,
      email: 'x@y.z',
      origin: 'manual',
      sourceId: null,
      reason: null,
      expiresAt: null,
      createdAt: T0,
      ...over,
    })
    const first = row({})
    t.same(await store.addSuppression(first), first)
    t.same(await store.addSuppression(row({ origin: 'bounce' })), first, 'what is there stays')
    const brief = row({ email: 'brief@y.z', origin: 'bounce', expiresAt: T0 + 10 })
    await store.addSuppression(brief)
    t.same(await store.suppression(ws, 'x@y.z'), first)
    t.same(await store.suppression(ws, first.id), first)
    t.equal(await store.suppression('ws_other', first.id), null)
    const all = ['x@y.z', 'brief@y.z', 'free@y.z']
    t.same(await store.suppressed(ws, all, T0), ['x@y.z', 'brief@y.z'])
    t.same(await store.suppressed(ws, all, T0 + 10), ['x@y.z'])
    t.same(await store.suppressed('ws_other', all, T0), [])
    t.same((await store.suppressions(ws, 'bounce', page())).rows, [brief])
    t.equal((await store.suppressions(ws, null, page({ countUpTo: 5 }))).total, 2)
    const again = row({ email: 'brief@y.z', createdAt: T0 + 20 })
    t.same(await store.addSuppression(again), again, 'an expired one is replaced')
    await t.test('an import', async (t) => {
      const list = suppressionList(ws, 'test')
      const ended = row({ list, email: 'ended@y.z', expiresAt: T0 + 5 })
      await store.addSuppression(ended)
      const many = Array.from({ length: 230 }, (_, i) =>
        row({ list, email: `i${i}@y.z`, origin: 'import', createdAt: T0 + 9 }),
      )
      const back = row({ list, email: 'ended@y.z', createdAt: T0 + 9 })
      t.same(await store.importSuppressions([...many.slice(0, 150), back]), { added: 151, changed: 151 })
      t.same(await store.suppression(list, 'ended@y.z'), back, 'an expired one is replaced')
      t.same(await store.importSuppressions(many), { added: 80, changed: 80 }, 'what is there stays')
      t.same(await store.suppression(list, 'i7@y.z'), many[7])
      const twice = row({ list, email: 'twice@y.z' })
      const both = [twice, row({ list, email: 'twice@y.z' })]
      t.same(await store.importSuppressions(both), { added: 1, changed: 1 })
      t.same(await store.suppression(list, 'twice@y.z'), twice, 'the first counts')
      t.same(await store.importSuppressions([]), { added: 0, changed: 0 })
      t.equal((await store.suppressions(list, null, page({ countUpTo: 999 }))).total, 232)
      t.same(
        (await store.suppressions(list, 'import', page({ limit: 3 }))).rows.map(({ email }) => email),
        ['i229@y.z', 'i228@y.z', 'i227@y.z'],
        'in the order in which they were given',
      )
      for (const { email } of [...many, back, twice]) await store.removeSuppression(list, email)
    })
    await t.test('an import only adds', async (t) => {
      const list = suppressionList(ws, 'test')
      const of = (origin: SuppressionRow['origin'], more: Partial<SuppressionRow> = {}) =>
        row({ list, email: 'kept@y.z', origin, reason: `a ${origin}`, sourceId: `import:${origin}`, ...more })
      const bounce = of('bounce', { expiresAt: T0 + 1e12 })
      const there = async () => store.suppression(list, 'kept@y.z')
      await store.importSuppressions([bounce])
      const given = async (...rows: readonly SuppressionRow[]) => store.importSuppressions(rows)
      t.same(await given(of('manual', { expiresAt: T0 + 1e12 })), { added: 0, changed: 0 }, 'weaker')
      t.same(await there(), bounce)
      t.same(await given(of('complaint', { createdAt: T0 - 5 }), of('unsubscribe')), { added: 0, changed: 1 })
      const complaint = { ...of('complaint'), id: bounce.id, createdAt: T0 - 5 }
      t.same(await there(), complaint, 'a stronger why, an older date, no end')
      t.same(await given(of('unsubscribe', { createdAt: T0 - 9 }), of('bounce', { createdAt: T0 })), {
        ...{ added: 0, changed: 1 },
      })
      t.same(await there(), { ...complaint, createdAt: T0 - 9 }, 'of a weaker one only the date')
      t.same(await given(of('complaint'), of('bounce')), { added: 0, changed: 0 }, 'twice is once')
      const both = [
        of('bounce', { email: 'both@y.z', createdAt: T0 - 7 }),
        of('complaint', { email: 'both@y.z' }),
      ]
      t.same(await given(...both), { added: 1, changed: 1 })
      t.match(await store.suppression(list, 'both@y.z'), { origin: 'complaint', createdAt: T0 - 7 })
      for (const email of ['kept@y.z', 'both@y.z']) await store.removeSuppression(list, email)
    })
    const listed = (list: string, email: string) => store.addSuppression(row({ list, email }))
    await listed(suppressionList(ws, 'test'), 'tested@y.z')
    await listed(at.accountId, 'everywhere@y.z')
    const others = ['tested@y.z', 'everywhere@y.z']
    t.same(
      await store.suppressed(ws, others, T0),
      ['everywhere@y.z'],
      'the account speaks for its workspaces',
    )
    t.same(await store.suppressed(suppressionList(ws, 'test'), others, T0), ['tested@y.z'], 'tests are apart')
    t.equal((await store.suppressions(ws, null, page({ countUpTo: 9 }))).total, 2, 'each list is its own')
    t.same(await store.removeSuppression(ws, 'x@y.z'), first)
    t.equal(await store.removeSuppression(ws, 'x@y.z'), null)
    t.same(await store.suppressed(ws, all, T0 + 20), ['brief@y.z'])
  })
}

const windowTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('the rate window is exact under concurrency', async (t) => {
    const results = await Promise.all(Array.from({ length: 100 }, () => store.consume('key_1', 7, 1, 60)))
    t.equal(results.filter((result) => result.allowed).length, 60)
    t.equal(Math.max(...results.map((result) => result.used)), 60)
    t.same(await store.consume('key_1', 7, 0, 60), { allowed: true, used: 60 })
    t.same(await store.consume('key_2', 7, 1, 60), { allowed: true, used: 1 }, 'buckets are apart')
    t.same(await store.consume('key_1', 8, 59, 60), { allowed: true, used: 59 }, 'so are windows')
    t.same(await store.consume('key_1', 8, 2, 60), { allowed: false, used: 59 }, 'all or nothing')
    t.same(await store.consume('key_1', 8, 1, 60), { allowed: true, used: 60 })
    t.same(await store.consume('key_1', 7, 1, 60), { allowed: false, used: 60 }, 'the last one is kept')
  })
}

export const tenantsContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await whoTests(t, store)
  await poolTests(t, store)
  await suppressionTests(t, store)
  await windowTests(t, store)

  await t.test('a fresh store can send at once', async (t) => {
    const store = await open(t)
    const accounts = await store.accounts()
    t.match(accounts, [{ name: 'default' }])
    const accountId = accounts[0]?.id ?? ''
    const own = await store.pool(accountId, 'default')
    t.match(own, { kind: 'relay', upstreams: [], follows: null })
    t.match(await store.workspace(accountId, 'default'), { isDefault: true, poolId: own?.id })
    t.match(await store.pool(accountId, 'sandbox'), { kind: 'sandbox', upstreams: [] })
  })

  await t.test('touch is gathered and kept', async (t) => {
    const at = await newAccount(store)
    const key = keyFor(at)
    await store.createKey(key)
    for (let i = 0; i < 1000; i++) store.touch('key', key.id, T0 + i, `192.0.2.${i % 7}`)
    const used = async () => {
      const { lastUsedAt = null, lastUsedFrom } = (await store.key(at.accountId, key.id)) ?? {}
      return lastUsedAt === null ? null : { lastUsedAt, lastUsedFrom }
    }
    const last = { lastUsedAt: T0 + 999, lastUsedFrom: '192.0.2.5' }
    t.same(await eventually('it is kept', used), last)
    store.touch('key', key.id, T0 + 1_001, null)
    store.touch('session', 'ses_none', T0, '192.0.2.9')
    await eventually('the latest counts', async () => (await used())?.lastUsedAt === T0 + 1_001)
    store.touch('key', key.id, T0 + 5, '192.0.2.6')
    const credential = credentialFor(at)
    await store.createCredential(credential)
    store.touch('credential', credential.id, T0 + 7, '192.0.2.7')
    await eventually(
      'a credential too',
      async () => (await store.credential(credential.id))?.lastUsedFrom === '192.0.2.7',
    )
    t.same(await used(), { lastUsedAt: T0 + 1_001, lastUsedFrom: null }, 'an older use changes nothing')
    const session = sessionFor(at, { lastSeenAt: T0 + 9 })
    await store.createSession(session)
    store.touch('credential', credential.id, T0 + 3, '192.0.2.8')
    store.touch('session', session.id, T0 + 5, null)
    store.touch('key', key.id, T0 + 2_000, null)
    await eventually('these as well', async () => (await used())?.lastUsedAt === T0 + 2_000)
    t.match(await store.credential(credential.id), { lastUsedAt: T0 + 7, lastUsedFrom: '192.0.2.7' })
    t.match(await store.sessionByLookup(session.lookup), { lastSeenAt: T0 + 9 })
  })
}
