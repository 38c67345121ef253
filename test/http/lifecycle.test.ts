/** Starting, draining, stopping; TLS; proxies; the management listener. */
import { request } from 'node:https'
import { createConnection } from 'node:net'
import t from 'tap'
import { silentLog } from '../../src/base/log.js'
import { createHttp } from '../../src/http/http.js'
import { createManagement } from '../../src/http/management.js'
import { loadCertificate } from '../../src/keys/certificate.js'
import { createSubmission } from '../../src/submission/submission.js'
import { ask, MAIL, openKit } from './kit.js'
import { raw } from './raw.js'

t.test('drain: new requests get 503, those under way are finished', async (t) => {
  const kit = await openKit()
  const { accept } = kit.store
  let release = () => {}
  let reached = () => {}
  const underWay = new Promise<void>((resolve) => {
    reached = resolve
  })
  kit.store.accept = async (batch) => {
    await new Promise<void>((resolve) => {
      release = resolve
      reached()
    })
    return accept(batch)
  }
  const sending = kit.ask('/v1/emails', { body: MAIL })
  await underWay
  kit.http.drain()
  const refused = await kit.ask('/v1/emails')
  t.equal(refused.json.code, 'service.unavailable')
  t.match(refused.headers.get('retry-after'), /^[1-9]/)
  t.equal(refused.headers.get('connection'), 'close')
  t.match(refused.headers.get('x-ratelimit-limit'), /^\d+$/)
  const stopping = kit.http.stop()
  release()
  t.equal((await sending).status, 202)
  await stopping
  await kit.http.stop()
  await t.rejects(ask(`${kit.url}/errors`), 'nobody listens')
  await kit.stop()
})

t.test('stop before start, start twice, start again', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  await kit.http.start()
  await kit.http.stop()
  await kit.http.start()
  t.equal((await ask(`http://127.0.0.1:${kit.http.address.port}/errors`)).status, 200)
  const inside = await kit.http.inject({ url: '/v1/emails', headers: { authorization: `Bearer ${kit.key}` } })
  t.equal(inside.statusCode, 200)
  t.match(inside.headers['x-request-id'], /^req_/)
})

t.test('an upload that breaks off disturbs nobody', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const head = `POST /v1/emails HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${kit.key}\r\nContent-Length: 100\r\n\r\n{`
  for (let i = 0; i < 5; i++) {
    const socket = createConnection(kit.port, '127.0.0.1')
    await new Promise<void>((resolve) => socket.write(head, () => resolve()))
    socket.resetAndDestroy()
  }
  t.equal((await kit.ask('/v1/emails', { body: MAIL })).status, 202)
})

/** A wrong key, sent by way of these. */
const guessing = (kit: Awaited<ReturnType<typeof openKit>>) => (forwarded: string) =>
  kit.ask('/v1/emails', { key: 'x', headers: { 'x-forwarded-for': forwarded } })

t.test('behind trusted proxies the caller is who they say', async (t) => {
  const kit = await openKit({ authFailures: 1, trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] })
  t.teardown(() => kit.stop())
  const guess = guessing(kit)
  t.equal((await guess('203.0.113.1, 10.1.1.1')).status, 401)
  t.equal((await guess('203.0.113.1')).status, 429, 'the same caller by a shorter way')
  t.equal((await guess('203.0.113.2')).status, 401)
  t.equal(
    (await guess('203.0.113.3, 203.0.113.2')).status,
    429,
    'what an untrusted hop claims does not count',
  )
  t.equal((await guess('203.0.113.2:5678')).status, 429, 'with the port of the caller, too')
  t.equal((await guess('[2001:db8::1]:5678')).status, 401)
  t.equal((await guess('2001:db8::1')).status, 429, 'the same caller, however it is written')
  t.equal((await guess('<b>')).status, 401)
  t.equal(
    (await guess('unknown, 10.1.1.1')).status,
    401,
    'what is no address is not followed: it is the proxy',
  )
  t.equal((await guess('<i>, 10.1.1.1')).status, 429)
})

t.test('without them, the header is only a claim', async (t) => {
  const kit = await openKit({ authFailures: 1 })
  t.teardown(() => kit.stop())
  const guess = guessing(kit)
  t.equal((await guess('203.0.113.1')).status, 401)
  t.equal((await guess('203.0.113.2')).status, 429)
})

t.test('TLS, and another certificate while it runs', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const first = await loadCertificate(kit.config)
  const { store, tenants, config, clock } = kit
  const http = createHttp({
    ...{ store, tenants, config, clock, log: silentLog(), tls: first, pepper: Buffer.alloc(32) },
    submission: createSubmission({ store, config, clock }),
  })
  await http.start()
  t.teardown(() => http.stop())
  const { port } = http.address
  const status = await new Promise((resolve, reject) => {
    const call = request({ port, path: '/errors', rejectUnauthorized: false, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    call.on('error', reject).end()
  })
  t.equal(status, 200)
  http.renew(first)
  const plain = await raw(port, 'GET / HTTP/1.1\r\n\r\n')
  t.notMatch(plain.all, /HTTP\/1\.1 200/)
})

t.test('management', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  let draining = false
  let dbFails = false
  let woken = 0
  let smtp: () => string | Promise<string> = () => 'ok'
  const management = createManagement({
    config: { management: { host: '127.0.0.1', port: 0, token_file: null, allow_networks: [] } },
    store: { ...kit.store, nextDue: async () => (dbFails ? Promise.reject(new Error('no')) : null) },
    draining: () => draining,
    checks: { smtp: () => smtp() },
    wake: () => woken++,
  })
  await management.start()
  t.teardown(() => management.stop())
  const url = `http://127.0.0.1:${management.address.port}`
  t.strictSame((await ask(`${url}/healthz`)).json, { status: 'ok' })
  t.strictSame((await ask(`${url}/livez`)).json, { status: 'ok' })
  t.strictSame((await ask(`${url}/readyz`)).json, { status: 'ok', checks: { db: 'ok', smtp: 'ok' } })
  await kit.ask('/v1/emails', { body: MAIL })
  const metrics = await ask(`${url}/metrics`)
  t.match(metrics.headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  t.match(metrics.text, /^# HELP postern_queue_recipients .+\n# TYPE postern_queue_recipients gauge\n/m)
  t.match(metrics.text, /^process_resident_memory_bytes \d+$/m)
  smtp = () => 'full: 2000 of 2000 connections are taken'
  const full = await ask(`${url}/readyz`)
  t.equal(full.status, 503)
  t.strictSame(full.json, {
    status: 'fail',
    checks: { db: 'ok', smtp: 'full' },
    reasons: ['smtp is full: 2000 of 2000 connections are taken'],
  })
  smtp = () => Promise.reject(new Error('smtp://a:canary@b is gone'))
  t.match((await ask(`${url}/readyz`)).json, {
    checks: { smtp: 'fail' },
    reasons: [/^smtp is fail: .* is gone$/],
  })
  smtp = () => new Promise(() => {})
  t.match((await ask(`${url}/readyz`)).json, { checks: { smtp: 'slow' } })
  smtp = () => 'ok'
  dbFails = true
  t.match(await ask(`${url}/readyz`), { status: 503, json: { checks: { db: 'fail' } } })
  dbFails = false
  draining = true
  const red = await ask(`${url}/readyz`)
  t.strictSame([red.status, red.json.status, red.json.checks.daemon], [503, 'fail', 'draining'])
  t.equal((await ask(`${url}/healthz`)).status, 200)
  t.equal((await ask(`${url}/nope`)).status, 404)
  t.equal((await ask(`${url}/healthz`, { method: 'POST' })).status, 405)
  t.equal((await ask(`${url}/wake`)).status, 404, 'looking wakes nobody')
  t.equal((await ask(`${url}/wake`, { method: 'POST' })).status, 200)
  t.equal(woken, 1)
})
