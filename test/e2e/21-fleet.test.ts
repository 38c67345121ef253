/**
 * Egress while the daemon runs: upstreams are paused, resumed, drained and
 * exchanged without a restart; and a tenant with thousands of queued mails
 * behind a slow upstream delays nobody's single mail.
 */
import t from 'tap'
import { here } from '../cli/desk.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'

const daemon = new Postern({ relay: { poll: '100ms' }, rate_limit: { per_minute: 100_000 } })
t.teardown(() => daemon.remove())
await daemon.start()
const key = await daemon.key()
const json = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await here([...args, '--json', '--config', daemon.configFile])
  if (code !== 0) throw new Error(`postern ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}
const body = (to: string) => ({ from: 'a@acme.test', to, subject: 'Hello', text: 'hello' })
const send = async (to: string, by = key): Promise<string> => {
  const answer = await daemon.api('POST', '/v1/emails', by, body(to))
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`)
  return answer.body.id as string
}
const started = async () => {
  const server = new UpstreamServer()
  const port = await server.listen()
  t.teardown(() => server.close())
  return { server, port, url: `smtp://127.0.0.1:${port}?tls=none` }
}

t.test('upstreams change under way', async (t) => {
  const [one, two] = [await started(), await started()]
  const pool = await json('pool', 'create', 'main', '--upstream', one.url, '--upstream', two.url)
  await json('workspace', 'update', 'default', '--pool', 'main')
  t.match(await json('upstream', 'test'), [{ ok: true, dsn: true }, { ok: true }])

  await json('upstream', 'pause', `127.0.0.1:${one.port}`)
  await daemon.relayHasRead()
  const before = one.server.received.length
  for (let i = 0; i < 6; i++) await daemon.until(key, await send(`p${i}@example.com`), ['sent'])
  t.equal(one.server.received.length, before, 'a paused one gets nothing')
  t.equal(two.server.received.length, 6)

  await json('upstream', 'drain', `127.0.0.1:${two.port}`)
  await daemon.relayHasRead()
  const id = await send('waits@example.com')
  t.match(await json('queue', 'top'), [{ egress_pool_id: pool.id }], 'it waits: nobody is active')
  await json('upstream', 'resume', `127.0.0.1:${one.port}`)
  await daemon.until(key, id, ['sent'])
  t.equal(one.server.received.length, before + 1)

  const liveOne = async () => {
    const live = await json('upstream', 'list')
    return live.find(({ port }: { port: number }) => port === one.port).live
  }
  // it is told once a second
  const live = await eventually('its success is told', async () => {
    const told = await liveOne()
    return told.last_success_at !== null && told
  })
  t.match(live, { breaker: 'closed', last_success_at: /^20/, last_error: null, under_way: 0 })
  // the daemon of this folder is asked where it listens; a port that nobody has shows that the option counts
  const nobody = ['--management', 'http://127.0.0.1:1']
  t.match(await json('upstream', 'list', ...nobody), [{ live: null }, { live: null }], 'no daemon there')
  const { code, stdout } = await here(['upstream', 'list', '--config', daemon.configFile])
  t.equal(code, 0)
  t.match(stdout, /closed.*took a mail/)
  const metrics = await (await fetch(`http://127.0.0.1:${daemon.ports.management}/metrics`)).text()
  t.match(metrics, /postern_pool_stalled\{pool="[^"]+"\} 0/)
  t.match(metrics, /postern_upstream_limit\{[^}]*\} \d/)

  const three = await started()
  await json('pool', 'update', 'main', '--upstream', three.url)
  await daemon.relayHasRead()
  await daemon.until(key, await send('new@example.com'), ['sent'])
  t.equal(three.server.received.length, 1)
})

t.test('a flood keeps nobody waiting', async (t) => {
  const slow = await started()
  slow.server.script.hold = (stage, go) => {
    if (stage === 'dot') setTimeout(go, 25)
    return stage === 'dot'
  }
  await json('pool', 'create', 'slow', '--upstream', `${slow.url}&max_connections=5`)
  for (const name of ['flood', 'single']) await json('workspace', 'create', name, '--pool', 'slow')
  const keyOf = async (workspace: string) =>
    (await json('key', 'create', '--workspace', workspace)).secret as string
  const [flood, single] = [await keyOf('flood'), await keyOf('single')]
  for (let n = 0; n < 30; n++) {
    const mails = Array.from({ length: 100 }, (_, i) => body(`f${n}.${i}@example.com`))
    t.equal((await daemon.api('POST', '/v1/emails/batch', flood, mails)).status, 202)
  }
  await eventually('the flood flows', () => slow.server.received.length > 20)
  const before = slow.server.received.length
  const began = Date.now()
  await send('reset@example.com', single)
  const arrived = () =>
    slow.server.received.findIndex(({ rcpt }) => rcpt.join().includes('reset@example.com'))
  await eventually('the single mail arrives', () => arrived() !== -1)
  t.comment(`after ${arrived() - before} others, ${Date.now() - began} ms`)
  t.ok(arrived() - before < 60, `${arrived() - before} of the flood went before it`)
  const waiting = (await json('queue', 'top')) as { due: number; leased: number }[]
  t.ok(waiting.reduce((sum, row) => sum + row.due + row.leased, 0) > 1_000, 'while the flood was still there')
})
