/**
 * Behind a real HAProxy, which sends the PROXY protocol in both versions: clients
 * keep their addresses, TLS comes after the header, its health checks succeed;
 * and nobody talks to such a listener without it.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { authority } from '../parts/certificates.js'
import { eventually } from '../parts/eventually.js'
import { Postern, ROOT } from '../parts/postern.js'
import { freePort } from '../parts/postfix.js'

const CLIENT = '127.0.0.77'
const BEHIND = { proxy_protocol: true, trusted_proxies: ['127.0.0.1'] }

/** All that is heard until the other side ends; `bytes` are written one by one where `slowly`. */
const talk = (port: number, bytes: string | Buffer, slowly = false): Promise<string> =>
  new Promise((resolve) => {
    let heard = ''
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, async () => {
      if (!slowly) return socket.write(bytes)
      for (const byte of Buffer.from(bytes)) {
        socket.write(Buffer.from([byte]))
        await new Promise(setImmediate)
      }
    })
    socket.on('data', (chunk: Buffer) => {
      heard += chunk.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(heard))
  })

/** `show stat` of HAProxy: the state of each server by its backend. */
const stateOf = (path: string): Promise<Record<string, string>> =>
  new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(path, () => socket.end('show stat\n'))
    socket.on('data', (chunk: Buffer) => {
      text += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => {
      const rows = text.split('\n').map((line) => line.split(','))
      const servers = rows.filter(([, name]) => name === 's')
      const state = (row: string[]) => `${row[17]} ${row[36]}`
      resolve(Object.fromEntries(servers.map((row) => [row[0] ?? '', state(row)])))
    })
  })

if (spawnSync('haproxy', ['-v']).status !== 0) t.plan(0, 'skipped: haproxy is not installed')
else {
  t.setTimeout(120_000)
  const postern = new Postern({
    submission: [
      { host: '127.0.0.1', port: 0, tls: 'starttls', ...BEHIND },
      { host: '127.0.0.1', port: 0, tls: 'implicit', ...BEHIND },
      { host: '127.0.0.1', port: 0, tls: 'starttls' },
    ],
    bounce: { host: '127.0.0.1', port: 0, domain: 'bounce.test', ...BEHIND },
  })
  await postern.start()
  const [starttls = 0, implicit = 0, plain = 0] = postern.ports.submission
  const fronts: Record<string, { port: number; to: number; send: string; check: string }> = {}
  const targets = [
    ['starttls', starttls, 'check check-send-proxy'],
    ['implicit', implicit, 'check check-send-proxy check-ssl verify none'],
    ['bounce', postern.ports.bounce, 'check check-send-proxy'],
  ] as const
  for (const [name, to, check] of targets)
    for (const send of ['send-proxy', 'send-proxy-v2'])
      fronts[`${name}-${send}`] = { port: await freePort(), to, send, check }
  const socket = join(postern.dir, 'haproxy.sock')
  const config = join(postern.dir, 'haproxy.cfg')
  writeFileSync(
    config,
    [
      'global',
      `  stats socket ${socket} mode 600`,
      'defaults',
      '  mode tcp',
      '  timeout connect 5s',
      '  timeout client 30s',
      '  timeout server 30s',
      '  option smtpchk EHLO check.test',
      ...Object.entries(fronts).flatMap(([name, { port, to, send, check }]) => [
        `listen ${name}`,
        `  bind 127.0.0.1:${port}`,
        `  server s 127.0.0.1:${to} ${send} ${check} inter 200ms`,
      ]),
      '',
    ].join('\n'),
  )
  const haproxy: ChildProcess = spawn('haproxy', ['-db', '-f', config], { stdio: 'inherit' })
  t.teardown(async () => {
    haproxy.kill()
    await postern.remove()
  })
  const key = await postern.key('--mode', 'test')
  const portOf = (name: string): number => fronts[name]?.port ?? 0
  t.test('the health checks of HAProxy, LOCAL and UNKNOWN, succeed', async (t) => {
    const all = (state: Record<string, string>) => Object.values(state).every((one) => one === 'UP L7OK')
    const states = await eventually('every server is up', async () => {
      const now = await stateOf(socket).catch(() => ({}))
      return Object.keys(now).length > 0 && all(now) ? now : null
    })
    t.strictSame(Object.keys(states).sort(), Object.keys(fronts).sort())
  })

  for (const send of ['send-proxy', 'send-proxy-v2']) {
    for (const secure of [false, true]) {
      const name = `${secure ? 'implicit' : 'starttls'}-${send}`
      t.test(`${name}: mail passes, and the client keeps its address`, async (t) => {
        const transport = (pass: string) =>
          createTransport({
            host: '127.0.0.1',
            port: portOf(name),
            localAddress: CLIENT,
            secure,
            requireTLS: !secure,
            tls: { rejectUnauthorized: false },
            auth: { user: 'x', pass },
          })
        const good = transport(key)
        const { response } = await good.sendMail({ from: 'a@b.test', to: 'c@d.test', text: 'x' })
        t.match(response, /^250 2\.6\.0 Ok: queued as em_/)
        good.close()
        const before = postern.output.length
        const bad = transport('svc_test_wrong')
        await t.rejects(bad.sendMail({ from: 'a@b.test', to: 'c@d.test', text: 'x' }), /535 5\.7\.8 /)
        bad.close()
        const said = () => postern.output.slice(before).find((line) => line.includes('smtp_refused'))
        t.match(await eventually('the refusal is in the log', said), `"ip":"${CLIENT}"`)
      })
    }
    t.test(`bounce-${send}: a report comes in`, async (t) => {
      const heard = await talk(
        portOf(`bounce-${send}`),
        'EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<x@bounce.test>\r\nQUIT\r\n',
      )
      t.match(heard, /^220 [\s\S]*250 2\.1\.0 Ok\r\n550 5\.1\.1 No such return path\r\n221 /)
    })
  }

  const V1 = 'PROXY TCP4 203.0.113.7 127.0.0.1 40000 25\r\n'
  const V2 = Buffer.from('0d0a0d0a000d0a515549540a2111000ccb0071077f0000019c400019', 'hex')

  t.test('a header in single octets, and one that is followed at once', async (t) => {
    for (const header of [Buffer.from(V1), V2]) {
      for (const slowly of [true, false]) {
        const heard = await talk(starttls, Buffer.concat([header, Buffer.from('QUIT\r\n')]), slowly)
        t.match(heard, /^220 [^\r]*\r\n221 2\.0\.0 Bye\r\n$/)
      }
    }
  })

  t.test('without a header, with half of one, with too much of one', async (t) => {
    const REFUSED = '421 4.7.0 This listener is for its proxies, which begin with a PROXY header\r\n'
    const long = Buffer.concat([V2.subarray(0, 14), Buffer.from([0xff, 0xff]), Buffer.alloc(40)])
    for (const bytes of [
      'EHLO x\r\n',
      'PROXY TCP4 localhost 127.0.0.1 1 2\r\n',
      `PROXY ${'x'.repeat(200)}`,
      long,
    ]) {
      t.equal(await talk(starttls, bytes), REFUSED)
      t.equal(await talk(implicit, bytes), '', 'before TLS nothing can be said')
    }
    t.equal(await talk(starttls, V1.slice(0, 20)), REFUSED, 'after five seconds')
    const told = postern.output.filter((line) => line.includes('smtp_no_proxy_header'))
    t.equal(told.length, 2, 'each listener complains once a minute')
    t.match(told[0], /"level":"warn".*"key":"submission\.0".*did not begin with a PROXY header/)
  })

  t.test('a listener that stands behind no proxy never looks for a header', async (t) => {
    t.match(await talk(plain, `${V1}QUIT\r\n`), /^220 [^\r]*\r\n500 5\.5\.2 [^\r]*\r\n221 /)
  })

  t.test('who comes from elsewhere is turned away', async (t) => {
    const heard = await new Promise<string>((resolve) => {
      let text = ''
      const client = connect({ port: starttls, host: '127.0.0.1', localAddress: CLIENT })
      client.on('data', (chunk: Buffer) => {
        text += chunk
      })
      client.on('error', () => {})
      client.on('close', () => resolve(text))
      client.write(V1)
    })
    t.match(heard, /^421 4\.7\.0 This listener is for its proxies/)
  })

  t.test('it takes the file of config/container', async (t) => {
    const pair = await (await authority(t)).issue('mail.example.com')
    const pem = join(postern.dir, 'haproxy.pem')
    writeFileSync(pem, `${pair.cert}\n${pair.key}\n`)
    const text = readFileSync(join(ROOT, 'config/container/haproxy.cfg'), 'utf8')
    const file = join(postern.dir, 'container.cfg')
    writeFileSync(file, text.replace('/run/secrets/haproxy.pem', pem))
    const { status, stderr } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' })
    t.equal(status, 0, stderr)
    t.notMatch(stderr, /WARNING|ALERT/)
  })

  t.test('a mail in test mode comes to its end: the sandbox needs no proxy', async () => {
    const { body } = await postern.api('POST', '/v1/emails', key, {
      from: 'a@b.test',
      to: 'delivered@d.test',
      text: 'x',
    })
    await postern.until(key, body.id, ['delivered'])
  })
}
