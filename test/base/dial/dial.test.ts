/** The dialler against real servers: a name server that changes its mind, redirects, slow and broken answers, bad certificates, a proxy. */

import { Resolver } from 'node:dns'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  createDialler,
  DialError,
  type Dialler,
  type DialOptions,
  type Lookup,
} from '../../../src/base/dial.js'
import { authority } from '../../parts/certificates.js'
import { DnsServer } from '../../parts/dns-server.js'
import { eventually } from '../../parts/eventually.js'
import { answer, receiver } from '../../parts/receiver.js'

const dns = await new DnsServer().start()
t.teardown(() => dns.stop())
const ca = await authority(t)
const trusted = readFileSync(ca.caFile, 'utf8')

/** The system's resolver cannot be told whom to ask; this one asks our server, over the network. */
const lookup: Lookup = (name, _options, done) => {
  const resolver = new Resolver({ timeout: 1000, tries: 2 })
  resolver.setServers([`127.0.0.1:${dns.port}`])
  resolver.resolve4(name, (error, found) =>
    done(
      error,
      (found ?? []).map((address) => ({ address, family: 4 })),
    ),
  )
}

const dialler = (t: Test, options: Partial<DialOptions> = {}): Dialler => {
  const made = createDialler({ allow: [], ownPorts: () => [], ca: trusted, lookup, ...options })
  t.teardown(() => made.close())
  return made
}

const get = (from: Dialler, url: string) =>
  from.request({ url, method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'hello' })

const failure = async (work: Promise<unknown>): Promise<DialError> => {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof DialError)) throw new Error(`no DialError: ${String(error)}`)
  return error
}

t.test('calls what it may, by TLS that it verifies', async (t) => {
  const tls = await ca.issue('hook.test')
  dns.a.set('hook.test', () => '127.0.0.2')
  dns.a.set('other.test', () => '127.0.0.2')
  const end = await receiver(t, { host: '127.0.0.2', tls, behave: answer(201, 'thanks', { 'X-One': '1' }) })
  const dial = dialler(t, { allow: ['127.0.0.2/32'] })
  const got = await get(dial, `https://hook.test:${end.port}/a/b?c=d`)
  t.equal(got.status, 201)
  t.equal(Buffer.from(got.body).toString(), 'thanks')
  t.equal(got.headers['x-one'], '1')
  t.match(end.received, [{ path: '/a/b?c=d', body: 'hello', headers: { host: `hook.test:${end.port}` } }])
  t.match((await failure(get(dial, `https://other.test:${end.port}/`))).message, /for another name/)
  const stranger = dialler(t, { allow: ['127.0.0.2/32'], ca: (await ca.issue('x.test')).cert })
  t.match((await failure(get(stranger, `https://hook.test:${end.port}/`))).message, /certificate/)
  const old = await receiver(t, { host: '127.0.0.2', tls: await ca.issue('hook.test', -1) })
  t.match((await failure(get(dial, `https://hook.test:${old.port}/`))).message, /certificate has expired/)
  t.equal(end.received.length, 1)
})

/** Answers each request with these octets, in pieces that arrive one by one. */
const rawEnd = async (t: Test, pieces: () => readonly string[]) => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.setNoDelay(true)
    socket.on('data', async (chunk) => {
      if (!String(chunk).endsWith('hello')) return
      for (const piece of pieces()) {
        await new Promise((written) => socket.write(piece, written))
        await turn()
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

t.test('a 100 Continue that nobody asked for is passed over, however it arrives', async (t) => {
  const interim = 'HTTP/1.1 100 Continue\r\nX-Hint: a\r\n\r\n'
  const final = 'HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok'
  const ways: readonly (readonly string[])[] = [
    [interim + final],
    [interim, final],
    [...interim, final],
    [interim + interim.slice(0, 5), interim.slice(5), final.slice(0, 3), final.slice(3)],
    ['HTTP/1.1 100\r\n\r\n', final],
    [final],
  ]
  let way: readonly string[] = []
  const port = await rawEnd(t, () => way)
  const dial = dialler(t, { allow: ['127.0.0.0/8'] })
  for (way of ways) {
    const { status, body } = await get(dial, `http://127.0.0.1:${port}/`)
    t.same([status, String(body)], [202, 'ok'], JSON.stringify(way))
  }
  way = [`HTTP/1.1 200 OK\r\nContent-Length: ${interim.length}\r\n\r\n`, interim]
  t.equal(String((await get(dial, `http://127.0.0.1:${port}/`)).body), interim, 'a body is what it is')
})

t.test('over TLS, too', async (t) => {
  dns.a.set('hook.test', () => '127.0.0.2')
  const behave = (response: ServerResponse) => {
    response.writeContinue()
    response.end('ok')
  }
  const end = await receiver(t, { host: '127.0.0.2', tls: await ca.issue('hook.test'), behave })
  const dial = dialler(t, { allow: ['127.0.0.2/32'] })
  t.match(await get(dial, `https://hook.test:${end.port}/`), { status: 200 })
})

t.test('a verdict on TLS does not hang on the environment', async (t) => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.teardown(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED)
  dns.a.set('hook.test', () => '127.0.0.2')
  const end = await receiver(t, { host: '127.0.0.2', tls: await ca.issue('wrong.test') })
  t.match(await failure(get(dialler(t, { allow: ['127.0.0.2/32'] }), `https://hook.test:${end.port}/`)), {
    failure: 'network',
  })
  t.equal(end.received.length, 0)
})

t.test('a name server that changes its answer between check and connect wins nothing', async (t) => {
  const inside = await receiver(t)
  const outside = await receiver(t, { host: '127.0.0.2', port: inside.port })
  let asked = 0
  dns.a.set('rebind.test', () => (asked++ === 0 ? '127.0.0.2' : '127.0.0.1'))
  const dial = dialler(t, { allow: ['127.0.0.2/32'] })
  const url = `http://rebind.test:${inside.port}/`
  t.equal(await dial.refusal(url), null, 'the check sees the good address')
  const refused = await failure(get(dial, url))
  t.match(refused, { failure: 'forbidden', message: /leads to a private or reserved address/ })
  t.notMatch(refused.message, '127.0.0.1', 'and does not tell where a name leads')
  t.equal(asked, 2, 'the connection asked anew')
  t.equal(inside.connections, 0)

  dns.a.set('rebind.test', () => (asked++ % 2 === 0 ? '127.0.0.2' : '127.0.0.1'))
  t.equal(
    (await get(dial, url)).status,
    200,
    'what is judged good is what is connected to: no second question',
  )
  t.equal(outside.received.length, 1)
  t.equal(inside.connections, 0)
})

t.test('literal addresses, in every spelling, and names of this machine are judged', async (t) => {
  const end = await receiver(t)
  const dial = dialler(t, {
    lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
  })
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0',
    '[::1]',
    '[::]',
    'localhost',
  ]
  for (const host of [...hosts, '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', 'localhost.']) {
    for (const scheme of ['http', 'https']) {
      const url = `${scheme}://${host}:${end.port}/`
      t.match(await failure(get(dial, url)), { failure: 'forbidden', message: /private or reserved/ }, url)
      t.match(await dial.refusal(url), /private or reserved/, url)
    }
  }
  t.match(await dial.refusal('http://169.254.169.254/latest/meta-data/'), /private or reserved/)
  for (const url of [
    'ftp://example.com/',
    'file:///etc/passwd',
    'https://user:pass@example.com/',
    'https://user@example.com/',
    'example.com',
    '',
    'https://',
  ]) {
    t.type(await dial.refusal(url), 'string', url)
    t.match(await failure(get(dial, url)), { failure: 'forbidden' }, url)
  }
  t.equal(end.connections, 0)
})

t.test('one refused address refuses the name; one without an address is told at the call', async (t) => {
  const found = ['203.0.113.1', '10.0.0.1'].map((address) => ({ address, family: 4 }))
  const both = dialler(t, { lookup: (_name, _options, done) => done(null, found) })
  t.match(await failure(get(both, 'https://two.test/')), { failure: 'forbidden' })
  const dial = dialler(t)
  t.equal(await dial.refusal('https://nowhere.test/'), null)
  t.match(await failure(get(dial, 'https://nowhere.test/')), { failure: 'network', message: /no address/ })
})

t.test('plain http is for ranges that an operator named', async (t) => {
  const end = await receiver(t)
  dns.a.set('plain.test', () => '203.0.113.9')
  t.match(await dialler(t).refusal('http://plain.test/'), /https only/)
  for (const allow of [[], ['10.0.0.0/8']])
    t.match(
      await dialler(t, { allow }).refusal('http://nowhere.test/'),
      /nowhere\.test leads to no address that is known, and plain http is for those of webhook\.allow_networks/,
    )
  t.match(await failure(get(dialler(t), 'http://203.0.113.9/')), { failure: 'forbidden' })
  t.equal((await get(dialler(t, { allow: ['127.0.0.0/8'] }), `http://127.0.0.1:${end.port}/`)).status, 200)
  const ours = dialler(t, { allow: ['127.0.0.0/8'], ownPorts: () => [end.port] })
  t.match(await failure(get(ours, `http://127.0.0.1:${end.port}/`)), { message: /this very server/ })
  t.equal(end.received.length, 1)
})

t.test('a redirect is an answer, and is not followed', async (t) => {
  const inside = await receiver(t)
  const end = await receiver(t, { host: '127.0.0.2' })
  const dial = dialler(t, { allow: ['127.0.0.2/32'] })
  for (const status of [301, 302, 303, 307, 308]) {
    for (const to of ['http://169.254.169.254/latest', `http://127.0.0.1:${inside.port}/`]) {
      end.behave = answer(status, '', { location: to })
      const got = await get(dial, `http://127.0.0.2:${end.port}/`)
      t.match(got, { status, headers: { location: to } })
    }
  }
  t.equal(inside.connections, 0)
})

t.test('slow, endless and broken answers end', async (t) => {
  const end = await receiver(t)
  const url = `http://127.0.0.1:${end.port}/`
  const hasty = dialler(t, { allow: ['127.0.0.0/8'], timeoutMs: 400 })
  const dial = dialler(t, { allow: ['127.0.0.0/8'] })

  end.behave = () => {}
  t.match(await failure(get(hasty, url)), {
    failure: 'timeout',
    status: null,
    message: /no answer within 0.4 s/,
  })
  end.behave = (response) => {
    response.writeHead(200)
    const drip = setInterval(() => response.write('.'), 20)
    response.on('close', () => clearInterval(drip))
  }
  t.match(await failure(get(hasty, url)), {
    failure: 'timeout',
    status: 200,
    message: /the answer did not end/,
  })
  end.behave = (response) => {
    response.writeHead(200, { 'content-length': '100' }).write('half')
    setImmediate(() => response.socket?.resetAndDestroy())
  }
  t.match(await failure(get(dial, url)), { failure: 'network', status: 200, message: /broke off/ })
  end.behave = (response) => response.socket?.resetAndDestroy()
  t.match(await failure(get(dial, url)), { failure: 'network', status: null, message: /without an answer/ })
  end.behave = (response) => response.socket?.end('SSH-2.0-OpenSSH\r\n\r\n')
  t.match(await failure(get(dial, url)), { failure: 'network', message: /did not answer in HTTP/ })

  let closed = false
  end.behave = (response) => {
    // a turn of the loop between two writes, or a socket that is gone would never be heard of
    const more = (): void => {
      if (!response.destroyed) response.write(Buffer.alloc(16_384, 120), () => setImmediate(more))
    }
    response.on('close', () => (closed = true))
    more()
  }
  const got = await get(dial, url)
  t.equal(got.body.length, 65_536, 'read to 64 kB, and no more')
  t.equal(got.status, 200)
  await eventually('it hears that nobody reads', () => closed)
})

t.test('who stops in the middle is told so', async (t) => {
  const end = await receiver(t, { behave: () => {} })
  const dial = dialler(t, { allow: ['127.0.0.0/8'] })
  const call = get(dial, `http://127.0.0.1:${end.port}/`)
  const heard = failure(call)
  await eventually('the request is there', () => end.received.length)
  await dial.close()
  t.match(await heard, { failure: 'stopped' })
  t.match(await failure(get(dial, `http://127.0.0.1:${end.port}/`)), { failure: 'stopped' })
  const stop = new AbortController()
  const other = dialler(t, { allow: ['127.0.0.0/8'] })
  const second = failure(
    other.request({
      url: `http://127.0.0.1:${end.port}/`,
      method: 'POST',
      headers: {},
      body: '',
      signal: stop.signal,
    }),
  )
  await eventually('the second is there', () => end.received.length === 2)
  stop.abort()
  t.match(await second, { failure: 'stopped' })
})

/** A proxy that leads every CONNECT to this port of ours; the URL of it, and what it was asked for. */
const tunnel = async (t: Test, port: number) => {
  const asked: string[] = []
  const proxy = createServer((client) => {
    client.once('data', (head) => {
      asked.push(String(head).split('\r\n')[0] ?? '')
      const server = connect(port, '127.0.0.1', () => client.write('HTTP/1.1 200 OK\r\n\r\n'))
      server.on('error', () => client.destroy())
      client.on('error', () => server.destroy())
      client.pipe(server).pipe(client)
    })
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => proxy.close())
  return { asked, proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }
}

t.test('through a proxy, which resolves names itself', async (t) => {
  const end = await receiver(t, { tls: await ca.issue('hook.test') })
  const { asked, proxy } = await tunnel(t, end.port)
  const dial = dialler(t, { proxy })
  t.equal((await get(dial, 'https://hook.test/x')).status, 200)
  t.match(end.received, [{ path: '/x' }])
  t.strictSame(asked, ['CONNECT hook.test:443 HTTP/1.1'])
  t.match(await failure(get(dial, 'https://10.0.0.1/')), { failure: 'forbidden' }, 'literals are judged here')
  t.match(await failure(get(dial, 'http://hook.test/')), { failure: 'forbidden' })
  t.equal(asked.length, 1)
})

t.test('through a proxy a 100 Continue is passed over, too', async (t) => {
  const behave = (response: ServerResponse) => {
    response.writeContinue()
    response.end('ok')
  }
  const ends = {
    'https://hook.test/': await receiver(t, { tls: await ca.issue('hook.test'), behave }),
    'http://10.0.0.1/': await receiver(t, { behave }),
  }
  for (const [url, { port, received }] of Object.entries(ends)) {
    const dial = dialler(t, { proxy: (await tunnel(t, port)).proxy, allow: ['10.0.0.0/8'] })
    const answers = [await get(dial, url), await get(dial, url)]
    t.same(
      answers.map(({ status, body }) => [status, String(body)]),
      [
        [200, 'ok'],
        [200, 'ok'],
      ],
      url,
    )
    t.equal(received.length, 2)
  }
})
