import { createHmac } from 'node:crypto'
import t from 'tap'
import { codeOf, fieldsOf, openHouse } from './house.js'

t.test('making a key', async (t) => {
  const { tenants, account, store, clock } = await openHouse(t)
  const make = (wish: Parameters<typeof tenants.createKey>[1]) => tenants.createKey(account.id, wish)
  const { row, secret } = await make({ name: ' ci ' })
  t.match(row, { name: 'ci', mode: 'live', scope: 'platform', workspaceId: null, rateLimitPerMinute: null })
  t.match(secret, new RegExp(`^svc_live_${row.lookup}[0-9A-Za-z]{32}$`))
  t.notOk(Buffer.from(row.hash).includes(Buffer.from(secret.slice(-32))))
  t.equal((await store.keyByLookup(row.lookup))?.id, row.id)
  t.strictSame(
    await fieldsOf(make({ name: '', scope: 'workspace', expiresAt: clock.now(), rateLimitPerMinute: 0 })),
    [
      'body.name empty',
      'body.workspace_id missing',
      'body.expires_at past',
      'body.rate_limit_per_minute range',
    ],
  )
  t.strictSame(await fieldsOf(make({ name: 'x', scope: 'platform', workspace: 'default' })), [
    'body.workspace_id forbidden',
  ])
  t.equal(await codeOf(make({ name: 'x', workspace: 'nowhere' })), 'workspace.not_found')
  const other = await tenants.createAccount('other')
  t.equal(
    await codeOf(tenants.revokeKey(other.id, row.id)),
    'api_key.not_found',
    'not with a foreign account',
  )
})

t.test(
  'a key for clients of SES: its secret follows from the pepper and the row, and is kept nowhere',
  async (t) => {
    const { tenants, account, store, pepper } = await openHouse(t)
    const make = (wish: object) => tenants.createKey(account.id, { name: 'ses', ...wish })
    const { row, sesSecret } = await make({ workspace: 'default', ses: true })
    const stored = await store.keyByLookup(row.lookup)
    t.equal(stored?.sesSalt?.length, 32)
    const input = Buffer.concat([Buffer.from(`ses\0${row.id}\0`), stored?.sesSalt ?? Buffer.alloc(0)])
    t.equal(sesSecret, createHmac('sha256', pepper).update(input).digest('base64'))
    t.equal((await make({ workspace: 'default' })).sesSecret, null)
    t.strictSame(
      await fieldsOf(make({ ses: true })),
      ['body.ses forbidden'],
      'a platform key sends for nobody',
    )
    const next = await tenants.rotateKey(account.id, row.id, 0)
    t.not(next.sesSecret, null, 'the next key signs, too')
    t.not(next.sesSecret, sesSecret)
  },
)

t.test('suppressions', async (t) => {
  const { tenants, account, store, clock } = await openHouse(t)
  const workspace = await tenants.findWorkspace(account.id, 'default')
  const row = await tenants.addSuppression(workspace, { email: 'Ana@Example.COM' })
  t.match(row, { email: 'ana@example.com', origin: 'manual', sourceId: null })
  t.equal(
    (await tenants.addSuppression(workspace, { email: 'ana@example.com', origin: 'bounce' })).id,
    row.id,
  )
  t.equal((await tenants.findSuppression(workspace, 'ANA@example.com')).id, row.id)
  t.strictSame(await store.suppressed(workspace.id, ['ana@example.com', 'bo@example.com'], clock.now()), [
    'ana@example.com',
  ])
  t.strictSame(await fieldsOf(tenants.addSuppression(workspace, { email: 'nobody' })), ['body.email format'])
  t.equal((await tenants.removeSuppression(workspace, row.id)).row.id, row.id)
  t.equal(await codeOf(tenants.removeSuppression(workspace, row.id)), 'suppression.not_found')
})
