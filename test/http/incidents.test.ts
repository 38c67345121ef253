/** Addresses that bounced for good at the same time: seen, accepted and dismissed, by whom they belong to. */
import t from 'tap'
import { openIncident, REFUSED } from '../parts/incident.js'
import { fieldsOf, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const begun = () => openIncident(kit.store, kit, kit.clock.now())
const open = async (key = kit.key) => (await kit.ask('/v1/incidents?open=true', { key })).json.data

t.test('seen, and accepted', async (t) => {
  const id = await begun()
  const [first] = await open()
  t.match(first, {
    id,
    object: 'incident',
    domain: 'refused.test',
    addresses: 20,
    pending: 20,
    decision: null,
  })
  t.match((await kit.ask(`/v1/incidents/${id}`)).json, { id, said: 'no such user' })
  t.same((await kit.ask('/v1/suppressions')).json.data, [])
  const pending = await kit.ask('/v1/suppressions?status=pending&limit=100')
  t.equal(pending.json.data.length, 20)
  t.match(pending.json.data[0], { status: 'pending', incident_id: id, origin: 'bounce' })
  t.match((await kit.ask(`/v1/suppressions/${REFUSED[3]}`)).json, { status: 'pending' })
  const done = await kit.ask(`/v1/incidents/${id}/accept`, { method: 'POST' })
  t.match(done.json, { id, decision: 'accepted', pending: 0 })
  t.equal((await kit.ask('/v1/suppressions?limit=100')).json.data.length, 20)
  t.equal((await kit.ask(`/v1/incidents/${id}/accept`, { method: 'POST' })).status, 200, 'again')
  const other = await kit.ask(`/v1/incidents/${id}/dismiss`, { method: 'POST' })
  t.match(other, { status: 409, json: { code: 'resource.conflict', reason: 'accepted' } })
  t.same(await open(), [])
  for (const email of REFUSED) await kit.ask(`/v1/suppressions/${email}`, { method: 'DELETE' })
})

t.test('dismissed; one of them by its address before', async (t) => {
  const id = await begun()
  t.equal((await kit.ask(`/v1/suppressions/${REFUSED[0]}`, { method: 'DELETE' })).status, 200)
  t.equal((await kit.ask('/v1/suppressions', { body: { email: REFUSED[1] } })).status, 201)
  t.match(await open(), [{ pending: 18 }])
  t.match((await kit.ask(`/v1/incidents/${id}/dismiss`, { method: 'POST' })).json, { decision: 'dismissed' })
  const { data } = (await kit.ask('/v1/suppressions')).json
  t.match(data, [{ email: REFUSED[1], origin: 'manual' }])
  await kit.ask(`/v1/suppressions/${REFUSED[1]}`, { method: 'DELETE' })
})

t.test('nobody sees those of another workspace', async (t) => {
  const id = await begun()
  const other = await kit.ask('/v1/workspaces', { key: kit.platform, body: { name: 'Other' } })
  const made = await kit.ask('/v1/api-keys', {
    key: kit.session,
    body: { name: 'ci', mode: 'live', scope: 'workspace', workspace_id: other.json.id },
  })
  const key = made.json.secret as string
  t.same(await open(key), [])
  t.match(await kit.ask(`/v1/incidents/${id}`, { key }), {
    status: 404,
    json: { code: 'incident.not_found' },
  })
  t.equal((await kit.ask(`/v1/incidents/${id}/accept`, { key, method: 'POST' })).status, 404)
  t.match(await open(kit.platform), [{ id }])
})

t.test('what is pending has bounced', async (t) => {
  t.same(fieldsOf(await kit.ask('/v1/suppressions?status=pending&origin=manual')), [
    'query.origin unsupported',
  ])
  t.equal((await kit.ask('/v1/suppressions?status=pending&origin=bounce')).status, 200)
  t.same(fieldsOf(await kit.ask('/v1/suppressions?status=active')), ['query.status unsupported'])
})
