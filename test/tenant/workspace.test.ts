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
})

t.test('a slug is what is left of a name', async (t) => {
  t.equal(slugify('Shop EU'), 'shop-eu')
  t.equal(slugify('  Äpfel & Birnen  '), 'apfel-birnen')
  t.equal(slugify('日本'), 'workspace')
})

t.test('a fresh account has a default workspace and two pools', async (t) => {
  const { tenants, account, store } = await openHouse(t)
  t.match(await tenants.findWorkspace(account.id, 'default'), {
    isDefault: true,
    name: 'Default',
    poolId: null,
  })
  t.match(await tenants.findPool(account.id, 'sandbox'), { kind: 'sandbox' })
  t.match(await tenants.findPool(account.id, 'default'), { kind: 'relay', upstreams: [] })
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

t.test('which workspace a request means', async (t) => {
  const { tenants, account } = await openHouse(t)
  const shop = await tenants.createWorkspace(account.id, { name: 'Shop' })
  const foreign = await tenants.findWorkspace((await tenants.createAccount('other')).id, 'default')
  const all = principal(account.id, null)
  const own = principal(account.id, shop.id)
  t.equal((await tenants.workspaceForSend(all, shop.id)).id, shop.id)
  t.equal((await tenants.workspaceForSend(own, null)).id, shop.id)
  t.equal((await tenants.workspaceForSend(own, shop.id)).id, shop.id)
  t.equal(await codeOf(tenants.workspaceForSend(all, null)), 'validation.workspace_header_required')
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
    t.equal(await codeOf(tenants.workspaceForSend(who, ref)), 'workspace.not_found')
  }
})
