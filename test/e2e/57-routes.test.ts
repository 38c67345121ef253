/**
 * One mail to people at two places: each gets it through the pool of their domain. What
 * waits follows when the routes change; a test mail stays in the sandbox.
 */
import t from 'tap'
import { here } from '../cli/desk.js'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'

const daemon = new Postern({ relay: { poll: '100ms' } })
const [main, eu] = [await new PlainMx().start(), await new PlainMx().start()]
t.teardown(async () => {
  await daemon.remove()
  await Promise.all([main.stop(), eu.stop()])
})
await daemon.start()
const json = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await here([...args, '--json', '--config', daemon.configFile])
  if (code !== 0) throw new Error(`postern ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}
const url = ({ port }: PlainMx) => `smtp://127.0.0.1:${port}?tls=none`
const pools = {
  main: await json('pool', 'create', 'main', '--upstream', url(main)),
  eu: await json('pool', 'create', 'eu', '--upstream', url(eu)),
}
await json('workspace', 'update', 'default', '--pool', 'main')
const platform = (await json('key', 'create', '--platform')).secret as string
const workspace = (await daemon.api('GET', '/v1/workspaces/default', platform)).body
const key = (await json('key', 'create', '--workspace', 'default')).secret as string
const testKey = (await json('key', 'create', '--workspace', 'default', '--mode', 'test')).secret as string

const change = (routes: unknown) =>
  daemon.api('PATCH', `/v1/workspaces/${workspace.id}`, platform, { routes })
const send = async (by: string, to: readonly string[], more = {}) => {
  const mail = { from: 'a@acme.test', to, subject: 'Hello', text: 'hello', ...more }
  const answer = await daemon.api('POST', '/v1/emails', by, mail)
  if (answer.status !== 202) throw new Error(answer.text)
  return answer.body.id as string
}
/** Which recipient went to which pool, by the events of attempts. */
const ways = async (id: string, by = platform) => {
  const { data } = (await daemon.api('GET', `/v1/emails/${id}/events`, by)).body
  const attempts = data.filter(({ mta }: { mta: unknown }) => mta !== null)
  return Object.fromEntries(
    attempts.map(({ recipient, mta }: { recipient: string; mta: { pool_id: string } }) => [
      recipient,
      mta.pool_id,
    ]),
  )
}

t.test('bad ones are refused, each by its place', async (t) => {
  t.same(workspace.routes, [])
  const { status, body } = await change([
    { domain: 'eu.test', egress_pool_id: 'eu' },
    { domain: 'EU.test', egress_pool_id: 'nowhere' },
    { domain: 'not a domain', egress_pool_id: 'eu' },
  ])
  t.equal(status, 422)
  t.equal((await change([{}, null, { domain: 'eu.test' }])).status, 422)
  t.same(body.errors.map(({ field }: { field: string }) => field).sort(), [
    'body.routes[1].domain',
    'body.routes[1].egress_pool_id',
    'body.routes[2].domain',
  ])
})

t.test('each recipient its own way', async (t) => {
  const routes = [{ domain: '.eu.test', egress_pool_id: 'eu' }]
  const { status, body } = await change(routes)
  t.equal(status, 200)
  t.same(body.routes, [{ domain: '.eu.test', egress_pool_id: pools.eu.id }])
  t.equal((await change(body.routes)).status, 200, 'as it was read')
  const id = await send(key, ['ana@shop.eu.test', 'bo@us.test'])
  await daemon.until(platform, id, ['sent'])
  t.same(await ways(id), { 'ana@shop.eu.test': pools.eu.id, 'bo@us.test': pools.main.id })
  t.equal(eu.messages.length, 1)
  t.equal(main.messages.length, 1)
  t.equal((await daemon.api('DELETE', `/v1/egress-pools/${pools.eu.id}`, platform)).status >= 400, true)
})

t.test('a test mail stays here', async (t) => {
  const id = await send(testKey, ['delivered@shop.eu.test'])
  await daemon.until(testKey, id, ['delivered'])
  t.equal(eu.messages.length, 1)
})

t.test('what waits follows', async (t) => {
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString()
  const id = await send(key, ['ana@shop.eu.test'], { scheduled_at })
  const poolOf = async () =>
    (await json('queue', 'list')).find(({ email_id }: { email_id: string }) => email_id === id)
      ?.egress_pool_id
  t.equal(await poolOf(), pools.eu.id)
  t.equal((await change([])).status, 200)
  t.equal(await poolOf(), pools.main.id)
})
