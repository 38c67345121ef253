/**
 * A workspace of its own, and the way out: a new one sends at once through the
 * default workspace's upstream, a real Postfix where there is one; without an
 * upstream every place that can be asked says so, and its mail leaves within
 * seconds once there is one. Two pools on one upstream stay within its limits.
 */
import t from 'tap'
import { here } from '../cli/desk.js'
import { eventually } from '../parts/eventually.js'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'
import { freePort, noPostfix, Postfix } from '../parts/postfix.js'
import { type UpstreamScript, UpstreamServer } from '../relay/upstream-server.js'

const start = async (settings: Record<string, unknown> = {}) => {
  const postern = new Postern({ relay: { poll: '100ms', retry: ['1h'] }, ...settings })
  t.teardown(() => postern.remove())
  await postern.start()
  const cli = (...args: readonly string[]) => here([...args, '--config', postern.configFile])
  const json = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await cli(...args, '--json')
    if (code !== 0) throw new Error(`postern ${args.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }
  const platform = (await json('key', 'create', '--platform')).secret as string
  const send = async (to: string, slug: string) => {
    const answer = await postern.api(
      'POST',
      '/v1/emails',
      platform,
      { from: 'a@acme.test', to, subject: 'Hello', text: 'hello' },
      { 'x-workspace-id': slug, 'idempotency-key': to },
    )
    if (answer.status !== 202) throw new Error(answer.text)
    return answer
  }
  const logged = (msg: string) =>
    postern.output.flatMap((line) => {
      if (!line.startsWith('{')) return []
      const said = JSON.parse(line) as Record<string, unknown>
      return said.msg === msg ? [said] : []
    })
  return {
    postern,
    cli,
    json,
    platform,
    send,
    logged,
    workspace: (name: string) => postern.api('POST', '/v1/workspaces', platform, { name }),
  }
}

const upstream = async (script: UpstreamScript = {}) => {
  const server = new UpstreamServer(script)
  const port = await server.listen()
  t.teardown(() => server.close())
  return { server, url: `smtp://127.0.0.1:${port}?tls=none` }
}

const why = noPostfix()
t.test('a new workspace sends at once', { skip: why ?? false }, async (t) => {
  const bouncePort = await freePort()
  const mx = await new PlainMx().start()
  const postfix = await new Postfix().start({ bouncePort, plainMxPort: mx.port })
  t.teardown(async () => {
    postfix.stop()
    await mx.stop()
  })
  const bounce = { host: '127.0.0.1', port: bouncePort, domain: 'bounce.test' }
  const { postern, json, platform, send, workspace } = await start({ bounce })
  await json('pool', 'create', 'main', '--upstream', `smtp://127.0.0.1:${postfix.port}?tls=none`)
  await json('workspace', 'update', 'default', '--pool', 'main')
  const { status, body } = await workspace('Shop EU')
  t.equal(status, 201)
  const pool = await json('pool', 'show', 'shop-eu')
  t.match(pool, { id: body.egress_pool_id, members: [], follows: (await json('pool', 'show', 'main')).id })
  const { body: sent } = await send('ok@deliver.test', 'shop-eu')
  const record = await postern.until(platform, sent.id, ['delivered'])
  t.equal(record.waiting, null)
  t.match(record.recipients, [{ waiting: null }])
  const [first] = (await postern.api('GET', `/v1/emails/${sent.id}/events`, platform)).body.data.filter(
    (event: { attempt: number | null }) => event.attempt !== null,
  )
  t.match(first.mta, { pool_id: body.egress_pool_id }, 'the figures are those of its own pool')
})

t.test('without an upstream all say so, and mend it', async (t) => {
  const { postern, cli, json, platform, send, logged, workspace } = await start()
  const { body: shop } = await workspace('Shop')
  const accepted = await send('ana@example.com', 'shop')
  t.notOk('waiting' in accepted.body, 'not in the 202')
  const replayed = await send('ana@example.com', 'shop')
  t.equal(replayed.headers.get('idempotent-replayed'), 'true')
  t.equal(replayed.text, accepted.text)
  const { id } = accepted.body
  const read = async (key: string) => (await postern.api('GET', `/v1/emails/${id}`, key)).body
  const told = {
    reason: 'no_upstream',
    detail:
      'pool shop has no upstream; nor has default, the pool of the default workspace; ' +
      'an operator runs: postern pool update default --upstream URL',
    until: null,
  }
  const record = await read(platform)
  t.same(record.waiting, told)
  t.same(record.recipients[0].waiting, told)
  const { secret: own } = await json('key', 'create', '--workspace', 'shop')
  t.same((await read(own)).waiting, { ...told, detail: 'pool shop has no upstream' }, 'no word of others')
  const listed = await postern.api('GET', '/v1/emails', own)
  t.match(listed.body.data, [{ id, waiting: { reason: 'no_upstream' } }])

  const shown = (await cli('email', 'show', id)).stdout
  t.match(shown, /waits: pool shop has no upstream/)
  t.match(shown, /→ postern pool update default --upstream URL/)
  t.notMatch(shown, /next try/, 'nothing is promised for the past')
  t.match((await json('email', 'show', id)).waiting, told)
  t.match(await json('queue', 'top'), [{ workspace_id: shop.id, due: 1, waiting_for: told }])
  const top = await cli('queue', 'top')
  t.match(top.stdout, /no upstream/)
  t.match(top.stderr, /postern pool update default --upstream URL/)
  t.match(await json('queue', 'list'), [{ email_id: id, waiting: told }])
  const examined = await cli('doctor', '--json')
  t.equal(examined.code, 69, 'mail waits: that is a failure')
  t.match(
    JSON.parse(examined.stdout).find(
      ({ check, result }: { check: string; result: string }) => check === 'workspace' && result === 'fail',
    ),
    {
      detail: /^1 recipient of shop waits: pool shop has no upstream/,
      remedy: 'postern pool update default --upstream URL',
    },
  )
  t.match((await cli('workspace', 'show', 'shop')).stdout, /pool +shop, which sends through default/)

  const standing = await eventually('a line in the log', () => logged('pool stands still')[0])
  t.match(standing, {
    pool_name: 'shop',
    why: 'no upstream',
    remedy: 'postern pool update default --upstream URL',
  })
  const metrics = async () => (await fetch(`http://127.0.0.1:${postern.ports.management}/metrics`)).text()
  const gauge = (value: number) => `postern_pool_no_upstream{pool="${shop.egress_pool_id}"} ${value}`
  await eventually('the gauge rises', async () => (await metrics()).includes(gauge(1)))

  const { server, url } = await upstream()
  await json('pool', 'update', 'default', '--upstream', url)
  t.equal((await postern.until(platform, id, ['sent'])).waiting, null)
  t.equal(server.received.length, 1)
  await eventually('the end of it in the log', () => logged('pool moves again').length === 1)
  await eventually('the gauge falls', async () => (await metrics()).includes(gauge(0)))
  t.equal(logged('pool stands still').length, 1, 'once')
  t.notMatch((await cli('doctor', '--json')).stdout, /no upstream/)
})

t.test('paused, down, held, later', async (t) => {
  // the commands ask the management listener, where the configuration says that it is
  const management = { host: '127.0.0.1', port: await freePort() }
  const { postern, json, platform, send } = await start({ management })
  const { server, url } = await upstream()
  await json('pool', 'update', 'default', '--upstream', url)
  const reasonOf = async (id: string) =>
    (await postern.api('GET', `/v1/emails/${id}`, platform)).body.waiting?.reason
  // from its start on the relay knows; a running one looks once a second
  await postern.stop()
  await json('upstream', 'pause', 'default')
  await postern.start()
  const first = (await send('paused@example.com', 'default')).body.id
  t.equal(await reasonOf(first), 'paused')
  const held = await json('queue', 'hold', '--workspace', 'default', '--reason', 'a look at it first')
  t.match((await postern.api('GET', `/v1/emails/${first}`, platform)).body.waiting, {
    reason: 'held',
    detail: /a look at it first/,
  })
  t.ok(held.id)
  await json('queue', 'release', '--workspace', 'default', '--reason', 'fine')
  await json('upstream', 'resume', 'default')
  await postern.until(platform, first, ['sent'])

  await server.close()
  const many = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => send(`down${n}@example.com`, 'default')))
  const ids = many.map(({ body }) => body.id as string)
  await eventually('nobody answers', async () =>
    (await Promise.all(ids.map(reasonOf))).every((reason) => reason === 'upstreams_down'),
  )
  t.match((await json('queue', 'top'))[0].waiting_for, { reason: 'upstreams_down', detail: /ECONNREFUSED/ })

  const again = await upstream({ act: (stage) => (stage === 'rcpt' ? '451 4.3.0 not now' : undefined) })
  await json('pool', 'update', 'default', '--upstream', again.url)
  const late = (await send('later@example.com', 'default')).body.id
  await postern.until(platform, late, ['deferred'])
  const { waiting } = (await postern.api('GET', `/v1/emails/${late}`, platform)).body
  t.match(waiting, { reason: 'backoff', until: /^20/ })
})

t.test('two pools share one upstream: its connections and its rate', async (t) => {
  const { postern, json, send, workspace } = await start()
  const { server, url } = await upstream({
    hold: (stage, answer) => {
      if (stage === 'dot') setTimeout(answer, 5)
      return stage === 'dot'
    },
  })
  await json('pool', 'update', 'default', '--upstream', `${url}&max_connections=2`)
  await workspace('Shop')
  const sendBoth = (tag: string, n: number) =>
    Promise.all(
      Array.from({ length: n }, (_, i) => send(`${tag}${i}@example.com`, i % 2 === 0 ? 'default' : 'shop')),
    )
  await sendBoth('a', 60)
  await eventually('all have left', () => server.received.length === 60)
  t.equal(server.mostOpen, 2, 'both together')

  await postern.stop()
  await json('pool', 'update', 'default', '--upstream', `${url}&max_connections=2&rate=10`)
  await postern.start()
  const began = performance.now()
  await sendBoth('b', 40)
  await eventually('all have left', () => server.received.length === 100)
  const seconds = (performance.now() - began) / 1_000
  // a lower bound of the time, so a slow machine changes nothing; one second's worth is there at the start
  t.ok(40 <= 10 * (seconds + 1) + 1, `40 messages took ${seconds} s at 10 a second`)
})

t.test(
  'an upstream is reached from an address of its own, under its own name',
  { skip: why ?? false },
  async (t) => {
    const mx = await new PlainMx().start()
    const postfix = await new Postfix().start({ bouncePort: await freePort(), plainMxPort: mx.port })
    t.teardown(async () => {
      postfix.stop()
      await mx.stop()
    })
    const { postern, json, platform, send } = await start()
    const url = `smtp://127.0.0.1:${postfix.port}?tls=none`
    await json('pool', 'create', 'main', '--upstream', `${url}&bind=127.0.0.7&helo=mta7.postern.test`)
    await json('workspace', 'update', 'default', '--pool', 'main')
    const { body } = await send('ana@mx.test', 'default')
    await postern.until(platform, body.id, ['sent', 'delivered'])
    await eventually('the mail', () => mx.messages.length === 1)
    t.match(mx.messages[0], /^Received: from mta7\.postern\.test \(.*\[127\.0\.0\.7\]\)/m)
    t.match((await json('upstream', 'list'))[0], { bind: ['127.0.0.7'], helo: 'mta7.postern.test' })
  },
)

t.test('an address that is not on this machine', async (t) => {
  const { server, url } = await upstream()
  const { postern, cli, json, platform, send } = await start()
  const wrong = async (bind: string, says: RegExp) => {
    const { code, stderr } = await cli('pool', 'create', 'odd', '--upstream', `${url}&${bind}`)
    t.equal(code, 65, bind)
    t.match(stderr, says)
  }
  await wrong('bind=eth0', /bind\[0\].*must be an IPv4 or IPv6 address/)
  await wrong('bind=0.0.0.0', /bind\[0\]/)
  await wrong('bind=::', /bind\[0\]/)
  await wrong('bind=fe80::1%25eth0', /bind\[0\]/)
  await wrong('bind=127.0.0.1,', /bind\[1\]/)
  await wrong('helo=-', /helo.*must be a host name in full/)
  await wrong('helo=a%0d%0aMAIL', /helo/)

  await json('pool', 'create', 'main', '--upstream', `${url}&bind=192.0.2.77`)
  await json('workspace', 'update', 'default', '--pool', 'main')
  const { body } = await send('ana@example.com', 'default')
  const read = async () => (await postern.api('GET', `/v1/emails/${body.id}`, platform)).body
  await eventually('a reason', async () => (await read()).waiting?.reason === 'upstreams_down')
  t.match(
    (await read()).waiting.detail,
    /this machine has none of the addresses to connect from \(192\.0\.2\.77\)/,
  )
  const examined = await cli('doctor', '--json')
  t.match(
    JSON.parse(examined.stdout).find(({ check }: { check: string }) => check === 'upstream'),
    { result: 'fail', detail: /none of the addresses/, remedy: /ip address add/ },
  )
  t.equal(server.received.length, 0)
  t.equal((await read()).recipients[0].attempts, 0, 'nothing was tried')

  await json('pool', 'update', 'main', '--upstream', `${url}&bind=192.0.2.77,127.0.0.9`)
  await postern.until(platform, body.id, ['sent'])
  t.equal(server.received.length, 1)
})
