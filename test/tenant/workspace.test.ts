import t from 'tap'
import type { Principal } from '../../src/tenant/principal.js'
import { slugify } from '../../src/tenant/workspace.js'
import { codeOf, fieldsOf, openHouse } from './house.js'

const principal = (accountId: string, workspaceId: string | null): Principal => ({
  accountId,
  via: 'key',
  id: 'key_x',
  scope: workspaceId === null ? 'platform' : 'workspace',
  workspaceId,
  mode: 'live',
  limitPerMinute: 600,
  ...{ role: null, person: null, actor: { kind: 'key', id: 'key_1', name: null } },
})

t.test('a slug is what is left of a name', async (t) => {
  t.equal(slugify('Shop EU'), 'shop-eu')
  t.equal(slugify('  Äpfel & Birnen  '), 'apfel-birnen')
  t.equal(slugify('日本'), 'workspace')
})

t.test('a fresh account has a default workspace and two pools', async (t) => {
  const { tenants, account, store } = await openHouse(t)
  t.match(await tenants.findPool(account.id, 'sandbox'), { kind: 'sandbox', follows: null })
  const own = await tenants.findPool(account.id, 'default')
  t.match(own, { kind: 'relay', upstreams: [], follows: null })
  t.match(await tenants.findWorkspace(account.id, 'default'), {
    isDefault: true,
    name: 'Default',
    poolId: own.id,
  })
  t.equal((await tenants.ensureAccount()).id, account.id)
  t.equal((await store.accounts()).length, 1)
})

t.test('making and changing', async (t) => {
  const { tenants, account } = await openHouse(t)
  const shop = await tenants.createWorkspace(account.id, {
    name: 'Shop EU',
    defaultFrom: 'Shop <no-reply@shop.test>',
  })
  t.match(shop, { slug: 'shop-eu', isDefault: false, defaultFrom: 'Shop <no-reply@shop.test>' })
  t.equal((await tenants.createWorkspace(account.id, { name: 'Shop EU' })).slug, 'shop-eu-2')
  const taken = tenants.createWorkspace(account.id, { name: 'X', slug: 'shop-eu' })
  t.strictSame(await fieldsOf(taken), ['body.slug not_unique'])
  const wrong = tenants.createWorkspace(account.id, { name: ' ', slug: 'A b', defaultFrom: 'nobody' })
  t.strictSame(await fieldsOf(wrong), ['body.name empty', 'body.slug format', 'body.default_from format'])
  t.strictSame(await fieldsOf(tenants.updateWorkspace(account.id, shop.id, { pool: 'main' })), [
    'body.egress_pool_id unknown',
  ])
  const pool = await tenants.createPool(account.id, { name: 'main', members: [{ host: 'mta1.test' }] })
  t.equal(
    (await tenants.updateWorkspace(account.id, 'shop-eu', { pool: 'main', restrictSenders: true })).poolId,
    pool.id,
  )
  t.match(await tenants.findWorkspace(account.id, shop.id), {
    poolId: pool.id,
    restrictSenders: true,
    name: 'Shop EU',
  })
  t.strictSame(await fieldsOf(tenants.updateWorkspace(account.id, shop.id, { slug: 'default' })), [
    'body.slug not_unique',
  ])
  t.equal(await codeOf(tenants.deletePool(account.id, 'main')), 'resource.conflict', 'in use')
})

t.test('every workspace has a pool of its own, named after its slug', async (t) => {
  const { tenants, account } = await openHouse(t)
  const poolOf = async (ref: string) =>
    tenants.findPool(account.id, (await tenants.findWorkspace(account.id, ref)).poolId)
  const builtIn = await poolOf('default')
  const shop = await tenants.createWorkspace(account.id, { name: 'Shop' })
  t.match(await poolOf('shop'), { id: shop.poolId, name: 'shop', upstreams: [], follows: builtIn.id })
  await tenants.createWorkspace(account.id, { name: 'Sandbox' })
  t.match(await poolOf('sandbox'), { name: 'sandbox-2', kind: 'relay' }, 'a name that is taken')
  const long = 'x'.repeat(63)
  await tenants.createPool(account.id, { name: long })
  await tenants.createWorkspace(account.id, { name: 'Long', slug: long })
  t.equal((await poolOf(long)).name, `${'x'.repeat(61)}-2`)

  t.strictSame(await fieldsOf(tenants.createWorkspace(account.id, { name: 'Other', slug: 'shop' })), [
    'body.slug not_unique',
  ])
  t.equal(await codeOf(tenants.findPool(account.id, 'shop-2')), 'egress_pool.not_found', 'nothing is left')
  t.equal((await tenants.createWorkspace(account.id, { name: 'Shop' })).slug, 'shop-2')
  t.equal((await poolOf('shop-2')).name, 'shop-2')

  const main = await tenants.createPool(account.id, { name: 'main', members: [{ host: 'mta1.test' }] })
  t.equal(main.follows, null, 'it has members of its own')
  await tenants.updateWorkspace(account.id, 'default', { pool: 'main' })
  t.equal((await poolOf('shop')).follows, main.id, 'whatever the default workspace has')
  t.equal((await tenants.findPool(account.id, 'default')).follows, main.id, 'its former one, too')
  const given = await tenants.updatePool(account.id, 'shop', { members: [{ host: 'mta2.test' }] })
  t.equal(given.follows, null)
  t.equal((await tenants.updatePool(account.id, 'shop', { members: [] })).follows, main.id)

  t.equal(
    (await tenants.updateWorkspace(account.id, 'shop', { pool: null })).poolId,
    shop.poolId,
    'it has one',
  )
  await tenants.updateWorkspace(account.id, 'shop', { pool: 'main' })
  t.equal(
    (await tenants.updateWorkspace(account.id, 'shop', { pool: null })).poolId,
    shop.poolId,
    'back to it',
  )
  await tenants.updateWorkspace(account.id, 'shop', { pool: null, slug: 'store' })
  t.equal((await poolOf('store')).name, 'shop', 'a pool keeps its name')
  await tenants.updateWorkspace(account.id, 'shop-2', { pool: 'shop' })
  await tenants.updateWorkspace(account.id, 'store', { pool: null })
  t.equal((await poolOf('store')).name, 'store', 'one that is shared is not its own')
  await tenants.updateWorkspace(account.id, 'default', { pool: null })
  t.equal((await poolOf('default')).id, builtIn.id)
})

t.test('which workspace a request means', async (t) => {
  const { tenants, account } = await openHouse(t)
  const shop = await tenants.createWorkspace(account.id, { name: 'Shop' })
  const foreign = await tenants.findWorkspace((await tenants.createAccount('other')).id, 'default')
  const all = principal(account.id, null)
  const own = principal(account.id, shop.id)
  t.equal((await tenants.workspaceForSend(all, shop.id)).id, shop.id)
  t.equal((await tenants.workspaceForSend(own, null)).id, shop.id)
  t.equal((await tenants.workspaceForSend(own, shop.id)).id, shop.id)
  t.equal(
    await codeOf(Promise.resolve(tenants.workspaceForSend(all, null))),
    'validation.workspace_header_required',
  )
  t.equal(await tenants.workspaceForRead(all, null), null)
  t.equal(await tenants.workspaceForRead(own, null), shop.id)
  t.equal(await tenants.workspaceForRead(all, 'shop'), shop.id)
  for (const [who, ref] of [
    [own, 'default'],
    [own, foreign.id],
    [all, foreign.id],
    [all, 'ws_nonsense'],
    [all, ''],
  ] as const) {
    t.equal(await codeOf(tenants.workspaceForRead(who, ref)), 'workspace.not_found')
    t.equal(await codeOf(Promise.resolve(tenants.workspaceForSend(who, ref))), 'workspace.not_found')
  }
})
