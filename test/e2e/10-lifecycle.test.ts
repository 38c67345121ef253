/**
 * The life of the daemon as its supervisor sees it: notices, the watchdog, a
 * reload, a nearly full disk, a taken port, a bug, a drain and a hurried end.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { BIN, cleanEnv, Postern, runCli } from '../parts/postern.js'

const settings = (postern: Postern): Record<string, unknown> =>
  JSON.parse(readFileSync(postern.configFile, 'utf8'))
const configure = (postern: Postern, more: Record<string, unknown>): void =>
  writeFileSync(postern.configFile, JSON.stringify({ ...settings(postern), ...more }))
const line = (postern: Postern, pattern: RegExp): Promise<string> =>
  eventually(`${pattern} in its log`, () => postern.output.find((one) => pattern.test(one)), {
    seen: () => postern.output,
  })
const ready = async (postern: Postern) => {
  const answer = await fetch(`http://127.0.0.1:${postern.ports.management}/readyz`)
  return { status: answer.status, checks: ((await answer.json()) as { checks: object }).checks }
}

/** A supervisor's end of $NOTIFY_SOCKET: what arrives there, one line per datagram. Node has no Unix datagrams. */
const supervisor = async (path: string): Promise<{ heard: string[]; child: ChildProcess }> => {
  const program = [
    'import socket,sys',
    's=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)',
    's.bind(sys.argv[1])',
    'print("bound",flush=True)',
    'while True: print(s.recv(4096).decode().strip().replace(chr(10)," "),flush=True)',
  ].join('\n')
  const child = spawn('/usr/bin/python3', ['-c', program, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const heard: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => heard.push(line))
  await eventually('the supervisor hears', () => heard.includes('bound'))
  return { heard, child }
}

const lacking = ['/usr/bin/systemd-notify', '/usr/bin/python3'].filter((file) => !existsSync(file))

t.test(
  'systemd hears of each step',
  { skip: lacking.length > 0 ? `${lacking.join(' and ')} not installed` : false },
  async (t) => {
    const postern = new Postern()
    t.teardown(() => postern.remove())
    const path = join(postern.dir, 'notify')
    const { heard, child } = await supervisor(path)
    t.teardown(() => child.kill())
    await postern.start({ NOTIFY_SOCKET: path, WATCHDOG_USEC: '600000' })
    const said = (pattern: RegExp): Promise<string> =>
      eventually(String(pattern), () => heard.find((one) => pattern.test(one)), { seen: () => heard })
    t.match(await said(/READY=1/), /STATUS=http \d+, submission \d+ \d+, bounce \d+/)
    await said(/WATCHDOG=1/)
    process.kill(postern.pid, 'SIGHUP')
    t.match(await said(/RELOADING=1/), /MONOTONIC_USEC=\d+/)
    await eventually('ready again', () => heard.filter((one) => /^READY=1/.test(one)).length === 2)
    t.equal(await postern.stop(), 0)
    const last = await said(/STATUS=stopped/)
    const stopping = await said(/STOPPING=1 STATUS=draining/)
    t.ok(heard.indexOf(stopping) < heard.indexOf(last))
  },
)

t.test('a port that is taken: one line with the key and the remedy, and nothing left behind', async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  const other = createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  for (const [key, more] of [
    ['http', { http: { host: '127.0.0.1', port } }],
    ['submission.0', { submission: [{ host: '127.0.0.1', port }] }],
  ] as const) {
    const free = settings(postern)
    configure(postern, more)
    const { code, stderr } = await runCli(['serve', '--config', postern.configFile])
    t.equal(code, 75, key)
    t.match(stderr, new RegExp(`^postern: ${key}: 127\\.0\\.0\\.1:${port} is in use .* set ${key}\\.port `))
    t.equal(stderr.trim().split('\n').length, 1)
    writeFileSync(postern.configFile, JSON.stringify(free))
  }
  await postern.start()
  t.equal((await ready(postern)).status, 200)
})

t.test(
  'SIGHUP: certificate, level and limits at once; the rest is named; a bad file changes nothing',
  async (t) => {
    const postern = new Postern()
    t.teardown(() => postern.remove())
    configure(postern, { http: { host: '127.0.0.1', port: 0, tls: true } })
    await postern.start()
    const shown = (port: number): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
          resolve(socket.getPeerCertificate().fingerprint256)
          socket.destroy()
        })
        socket.on('error', reject)
      })
    const tlsPorts = [postern.ports.http, postern.ports.submission[1] as number]
    const before = await Promise.all(tlsPorts.map(shown))
    t.equal(before[0], before[1])

    const good = readFileSync(postern.configFile, 'utf8')
    writeFileSync(postern.configFile, '{"log": {"level": "loud"}, "relay": {"retri": []}}')
    process.kill(postern.pid, 'SIGHUP')
    const refused = JSON.parse(await line(postern, /reload refused/))
    t.match(refused.error, /log\.level: expected one of /)
    t.match(refused.error, /relay\.retri: is not a setting; did you mean retry\?/)
    t.strictSame(await Promise.all(tlsPorts.map(shown)), before)

    writeFileSync(postern.configFile, good)
    const fresh = new Postern({ hostname: 'gw.postern.test' })
    t.teardown(() => fresh.remove())
    await fresh.start() // makes a pair of its own
    const data = join(fresh.dir, 'data')
    configure(postern, {
      tls: { cert_file: join(data, 'self-signed.crt'), key_file: join(data, 'self-signed.key') },
      log: { level: 'debug' },
      limits: { recipients: 7 },
    })
    process.kill(postern.pid, 'SIGHUP')
    const reloaded = JSON.parse(await line(postern, /"reloaded"/))
    t.strictSame(reloaded.changed.sort(), ['log.level', 'tls.cert_file', 'tls.key_file'])
    t.strictSame(JSON.parse(await line(postern, /after a restart/)).keys, ['limits.recipients'])
    const after = await Promise.all(tlsPorts.map(shown))
    t.equal(after[0], after[1])
    t.not(after[0], before[0])
  },
)

t.test(
  'SIGHUP: own bounce rules count for the next reply and the next report; bad ones change nothing',
  async (t) => {
    const postern = new Postern()
    t.teardown(() => postern.remove())
    const rules = join(postern.dir, 'rules.yaml')
    writeFileSync(rules, '[]')
    configure(postern, { bounce: { host: '127.0.0.1', port: 0, rules_file: rules } })
    await postern.start()
    const key = await postern.key('--mode', 'test')
    const why = async (to: string): Promise<string> => {
      const mail = { from: 'a@acme.test', to, subject: 'x', text: 'x' }
      const { id } = (await postern.api('POST', '/v1/emails', key, mail)).body
      return (await postern.until(key, id, ['bounced'])).recipients[0].reason
    }
    const both = async () => [await why('bounced@example.com'), await why('bounced-later@example.com')]
    t.strictSame(await both(), ['unknown_user', 'unknown_user'])
    writeFileSync(rules, '- category: policy\n  text: no such user\n')
    process.kill(postern.pid, 'SIGHUP')
    await line(postern, /"reloaded"/)
    t.strictSame(await both(), ['policy', 'policy'])
    writeFileSync(rules, '- category: nonsense\n  text: no such user\n')
    process.kill(postern.pid, 'SIGHUP')
    t.match(JSON.parse(await line(postern, /reload refused/)).error, /nonsense/)
    t.strictSame(await both(), ['policy', 'policy'])
  },
)

t.test('a nearly full disk: 503 and 452, reads go on, and it recovers by itself', async (t) => {
  const postern = new Postern({ limits: { min_free_disk: '900000GiB' } })
  t.teardown(() => postern.remove())
  await postern.start()
  t.match(await line(postern, /disk nearly full/), /limits\.min_free_disk/)
  const red = await ready(postern)
  t.match(red, { status: 503, checks: { disk: 'low', db: 'ok', listeners: 'ok' } })
  const key = await postern.key('--mode', 'test')
  const mail = { from: 'a@acme.test', to: 'delivered@example.com', subject: 'x', text: 'x' }
  const refused = await postern.api('POST', '/v1/emails', key, mail)
  t.equal(refused.status, 503)
  t.match(refused.body, { code: 'service.unavailable' })
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  t.equal((await postern.api('GET', '/v1/emails', key)).status, 200, 'reads go on')

  configure(postern, { limits: { min_free_disk: '1KiB' } })
  process.kill(postern.pid, 'SIGHUP')
  await line(postern, /there is room on the disk again/)
  t.equal((await postern.api('POST', '/v1/emails', key, mail)).status, 202)
  t.equal((await ready(postern)).status, 200)
})

t.test('a database that another file replaces: 74, and nothing is promised that is not in it', async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  await postern.start()
  const key = await postern.key('--mode', 'test')
  const copy = join(postern.dir, 'copy.db')
  await postern.json('backup', copy)
  renameSync(copy, join(postern.dir, 'data', 'postern.db'))
  const mail = { from: 'a@acme.test', to: 'b@example.test', subject: 'x', text: 'x' }
  const answered = await postern.api('POST', '/v1/emails', key, mail).catch(() => null) // or the door is closed
  t.not(answered?.status, 202)
  t.equal(await postern.ended, 74)
  await line(postern, /no longer the database that was opened: another file has taken its place/)
  await postern.start()
  t.equal((await postern.api('POST', '/v1/emails', key, mail)).status, 202, 'a restart serves what is there')
})

t.test('an error that nobody expected: 70, one fatal line without secrets', async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  const canary = 'svc_live_CANARYcanaryCANARYcanary42'
  const bug = join(postern.dir, 'bug.mjs')
  writeFileSync(
    bug,
    `process.on('SIGUSR2', () => { Promise.reject(new Error('with ${canary} for bob@example.com')) })`,
  )
  await postern.start({ NODE_OPTIONS: `--import=${bug}` })
  t.equal(await postern.stop('SIGUSR2'), 70)
  const fatal = JSON.parse(postern.output.find((one) => one.includes('"fatal"')) ?? '{}')
  t.match(fatal, { msg: /bug/, error: 'Error: with svc_[cut] for [address]' })
  t.notMatch(postern.output.join('\n'), /CANARY|bob@/)
})

t.test('links of an API without a base_url name the port that was taken', async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  await postern.start()
  const { body } = await postern.api('GET', '/v1/nothing', null)
  t.equal(body.type, `${postern.url}/errors/${body.code}`)
  t.equal((await fetch(body.type)).status, 200)
})

/** An SMTP client in the middle of a message. */
const inData = async (postern: Postern, key: string): Promise<Socket> => {
  const port = postern.ports.submission[1] as number
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
  let said = ''
  socket.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const auth = Buffer.from(`\0apikey\0${key}`).toString('base64')
  const steps = ['EHLO me', `AUTH PLAIN ${auth}`, 'MAIL FROM:<a@acme.test>', 'RCPT TO:<b@acme.test>', 'DATA']
  await eventually('a greeting', () => /^220 /m.test(said))
  for (const step of steps) {
    said = ''
    socket.write(`${step}\r\n`)
    await eventually(`an answer to ${step}`, () => /^\d{3} /m.test(said))
  }
  socket.write('From: a@acme.test\r\nSubject: half')
  return socket
}

t.test('SIGTERM finishes what is coming in; red before anything else', async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  await postern.start()
  const socket = await inData(postern, await postern.key('--mode', 'test'))
  let rest = ''
  socket.on('data', (chunk: Buffer) => {
    rest += chunk.toString()
  })
  const gone = postern.stop()
  await eventually('readiness is red', async () => (await ready(postern)).status === 503)
  t.match((await ready(postern)).checks, { daemon: 'draining' })
  socket.write('\r\n\r\nwhole\r\n.\r\n')
  t.equal(await gone, 0)
  t.match(rest, /^250 2\.6\.0 Ok: queued as em_/m)
  const drained = postern.output.slice(postern.output.findIndex((one) => one.includes('"draining"')))
  t.ok(drained.length > 1)
  t.same(
    drained.filter((one) => /"level":"(?:error|fatal)"/.test(one)),
    [],
    'nothing that is normal at a stop is an error',
  )
})

t.test('a second SIGTERM ends it now', async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  await postern.start()
  const socket = await inData(postern, await postern.key('--mode', 'test'))
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  const gone = postern.stop()
  await line(postern, /"draining"/)
  process.kill(postern.pid, 'SIGTERM')
  await gone
  t.match(postern.output.join('\n'), /stopped at once/)
})

t.test('what must not be served ends with 78', async (t) => {
  const postern = new Postern({ management: { host: '0.0.0.0', port: 0 } })
  t.teardown(() => postern.remove())
  const { code, stderr } = await runCli(['serve', '--config', postern.configFile])
  t.equal(code, 78)
  t.match(stderr, /management\.host/)
  const child = spawn(process.execPath, [BIN, 'serve', '--config', '/nowhere.yaml'], { env: cleanEnv() })
  t.equal((await once(child, 'exit'))[0], 78)
})
