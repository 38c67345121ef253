/** A mail of test mode, sent for real. */
import t from 'tap'
import { fieldsOf, MAIL, openKit } from './kit.js'

const kit = await openKit({ releaseTo: ['QA@example.com', 'ana@example.com'] })
t.teardown(() => kit.stop())
const { secret: test } = await kit.tenants.createKey(kit.accountId, { name: 't', mode: 'test' })
const headers = { 'x-workspace-id': kit.workspaceId }

const send = async (key: string): Promise<string> =>
  (await kit.ask('/v1/emails', { body: { ...MAIL, to: 'ana@example.com' }, key, headers })).json.id
const release = (id: string, body: object, key = kit.session) =>
  kit.ask(`/v1/emails/${id}/resend`, { method: 'POST', body: { release: true, ...body }, key })

t.test('to addresses that the settings name', async (t) => {
  const id = await send(test)
  const made = await release(id, {})
  t.equal(made.status, 202)
  t.match(made.json, { mode: 'live', resent_from: id, to: ['ana@example.com'], status: 'queued' })
  const pool = (
    await kit.store.email({ accountId: kit.accountId, workspaceId: null, mode: null }, made.json.id)
  )?.poolId
  t.not(pool, (await kit.store.pool(kit.accountId, 'sandbox'))?.id)
  t.match((await release(id, { to: 'qa@example.com' })).json, { mode: 'live', to: ['qa@example.com'] })
  t.match((await kit.ask(`/v1/emails/${id}`, { key: kit.session })).json, { mode: 'test' })
})

t.test('to nobody else, of nothing else, by no key', async (t) => {
  const id = await send(test)
  const other = await release(id, { to: ['qa@example.com', 'boss@example.com'] })
  t.equal(other.status, 422)
  t.same(fieldsOf(other), ['body.release forbidden'])
  t.match(other.json.errors[0].message, /boss@example.com/)
  t.match(await release(await send(kit.key), {}), { status: 409, json: { reason: 'not_test' } })
  for (const key of [test, kit.key, kit.platform])
    t.match(await release(id, {}, key), { status: 403, json: { code: 'auth.session_required' } })
})
