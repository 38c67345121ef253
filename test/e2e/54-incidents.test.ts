/**
 * A server that refuses everybody for a while, in front of the built daemon: nobody whom it refused is
 * suppressed, a person decides, and unknown users among good mails are suppressed as ever.
 */
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'

t.setTimeout(300_000)
const upstream = new UpstreamServer()
const port = await upstream.listen()
upstream.script.act = (stage, line) =>
  stage === 'rcpt' && /@full\.test|<nobody/.test(line)
    ? `550 5.1.1 ${/<[^>]*>/.exec(line)?.[0]}: user unknown in table ${Math.random()}`
    : undefined
const daemon = new Postern({
  relay: { poll: '100ms', retry: ['1s'] },
  rate_limit: { per_minute: 1_000_000 },
})
t.teardown(async () => {
  await daemon.remove()
  await upstream.close()
})
await daemon.start()
await daemon.route(`smtp://127.0.0.1:${port}?tls=none`)
const { secret: key } = await daemon.json('key', 'create', '--workspace', 'default')

const send = async (addresses: readonly string[]): Promise<void> => {
  for (let at = 0; at < addresses.length; at += 50) {
    const mails = addresses
      .slice(at, at + 50)
      .map((to) => ({ from: 'a@acme.test', to, subject: 'x', text: 'x' }))
    const { status, text } = await daemon.api('POST', '/v1/emails/batch', key, mails)
    if (status !== 202) throw new Error(text)
  }
}
const get = async (path: string) => (await daemon.api('GET', path, key)).body.data
const names = (n: number, name: string, at: string) =>
  Array.from({ length: n }, (_, i) => `${name}${i}@${at}`)

t.test('unknown users among good mails are suppressed', async (t) => {
  const good = names(120, 'good', 'mixed.test')
  await send(good)
  await eventually('good mail', async () => upstream.received.length === 120)
  await send(names(30, 'nobody', 'mixed.test'))
  await eventually('the list', async () => (await get('/v1/suppressions?limit=100')).length === 30)
  t.same(await get('/v1/incidents'), [])
})

t.test('whom a full server refuses lives on', async (t) => {
  const people = names(60, 'person', 'full.test')
  await send(people)
  await eventually(
    'all of them',
    async () => (await get('/v1/suppressions?status=pending&limit=100')).length === 60,
  )
  t.equal((await get('/v1/suppressions?limit=100')).length, 30, 'those before')
  const [incident, ...more] = await get('/v1/incidents?open=true')
  t.same(more, [])
  t.match(incident, { domain: 'full.test', said: 'user unknown in table', pending: 60 })
  t.equal((await get('/v1/emails?status=bounced&limit=100')).length, 90, 'what bounced has bounced')
  const [told] = await get('/v1/events?type=suppression.incident')
  t.match(told, { data: { incident_id: incident.id, domain: 'full.test' } })
  const metrics = await (await fetch(`http://127.0.0.1:${daemon.ports.management}/metrics`)).text()
  t.match(metrics, /^postern_suppression_incidents 1$/m)
  t.match(metrics, /^postern_suppressions_pending 60$/m)
  t.equal(daemon.output.filter((line) => line.includes('suppression incident')).length, 1)
})

t.test('killed, the daemon remembers; and a person decides', async (t) => {
  await daemon.stop('SIGKILL')
  await daemon.start()
  await send(['late@full.test'])
  await eventually(
    'one more',
    async () => (await get('/v1/suppressions?status=pending&limit=100')).length === 61,
  )
  const [{ id }] = await get('/v1/incidents?open=true')
  t.match(await daemon.json('suppression', 'dismiss', id), { decision: 'dismissed', pending: 0 })
  t.same(await get('/v1/suppressions?status=pending'), [])
  t.equal((await get('/v1/suppressions?limit=100')).length, 30)
})
