/** doctor against planted faults: it finds each, names the remedy, and ends with its exit code. */
import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { newId } from '../../src/base/id.js'
import { loadConfig } from '../../src/config/load.js'
import { loadCertificate } from '../../src/keys/certificate.js'
import { needsFile, openStoreIn } from '../parts/store.js'
import { UpstreamServer } from '../relay/upstream-server.js'
import { accepted } from '../store/fixture.js'
import { openDesk, QUIET } from './desk.js'

interface Row {
  readonly number: number
  readonly check: string
  readonly result: 'ok' | 'warn' | 'fail'
  readonly detail: string
  readonly remedy: string | null
}

const examine = async (t: Test, settings = QUIET, prepare?: (dir: string) => void | Promise<void>) => {
  const desk = openDesk(t, settings.replace('submission: []', 'submission: [{ host: 127.0.0.1, port: 0 }]'))
  await prepare?.(desk.dir)
  const look = async (...more: readonly string[]) => {
    const { code, stdout, stderr } = await desk.run(['doctor', '--json', ...more])
    const rows = JSON.parse(stdout) as Row[]
    t.same(
      rows.map(({ number }) => number),
      rows.map((_, i) => i + 1),
      'numbered',
    )
    for (const { result, remedy } of rows)
      t.equal(remedy === null, result === 'ok', 'a remedy where one is due')
    return { code, stderr, rows, of: (check: string) => rows.find((row) => row.check === check) }
  }
  return { ...desk, look }
}

t.test('a fresh installation has warnings, no failure', async (t) => {
  const { look, run } = await examine(t)
  const before = await look()
  t.equal(before.code, 0)
  t.match(before.of('database'), { result: 'warn', detail: /does not exist|has no tables/ })
  await run(['key', 'list'])
  const { code, of, stderr } = await look()
  t.equal(code, 0)
  t.match(of('database'), { result: 'ok' })
  t.match(of('file modes'), { result: 'ok' })
  t.match(of('workspace'), { result: 'warn', remedy: 'postern pool update default --upstream URL' })
  t.match(stderr, /0 failures/)
  const text = await run(['doctor'])
  t.match(text.stdout, /^ 1 ok {3}configuration: /)
})

t.test('1 a configuration that can not be read', async (t) => {
  const { look } = await examine(t, 'http: { prt: 1 }\n')
  t.match(await look(), {
    code: 78,
    rows: [{ check: 'configuration', detail: /:1:9: http.prt/, remedy: /did you mean port/ }],
  })
})

t.test('2 a secret that others can read', async (t) => {
  const { look, run, dir } = await examine(t)
  await run(['key', 'list'])
  chmodSync(join(dir, 'data', 'pepper'), 0o644)
  const loose = await look()
  t.equal(loose.code, 77)
  t.match(loose.of('file modes'), { result: 'fail', remedy: `chmod 600 ${join(dir, 'data', 'pepper')}` })
})

t.test('a checkout has a file of its own in the data folder', async (t) => {
  const { look, run, dir } = await examine(t, QUIET, (dir) => {
    mkdirSync(join(dir, 'data'))
    writeFileSync(join(dir, 'data', '.gitkeep'), '', { mode: 0o644 })
    chmodSync(join(dir, 'data'), 0o755)
  })
  const fresh = await look()
  t.equal(fresh.code, 0)
  t.match(fresh.of('data folder'), {
    result: 'warn',
    detail: /is empty, and open to others/,
    remedy: /first start/,
  })
  await run(['key', 'list'])
  writeFileSync(join(dir, 'data', '.gitkeep'), '', { mode: 0o644 })
  t.match((await look()).of('file modes'), { result: 'ok' })
})

t.test('3 a database from a newer version', { skip: needsFile }, async (t) => {
  const { look, run, dir } = await examine(t)
  await run(['key', 'list'])
  const { openWriter } = await import('../../src/store/sqlite/connect.js')
  const db = openWriter(join(dir, 'data', 'postern.db'))
  db.pragma('user_version = 99')
  db.close()
  const newer = await look()
  t.equal(newer.code, 78)
  t.match(newer.of('database'), {
    result: 'fail',
    detail: /newer Postern/,
    remedy: /^install Postern \d+\.\d+\.\d+ or newer$/,
  })
})

t.test('what its own user may not open is opened again, not restored', { skip: needsFile }, async (t) => {
  const { look, run, dir } = await examine(t)
  await run(['key', 'list'])
  const data = join(dir, 'data')
  const database = join(data, 'postern.db')
  chmodSync(database, 0o400)
  const { code, of } = await look()
  t.equal(code, 77)
  t.match(of('file modes'), { detail: /closed to its own user \(0400\)/, remedy: `chmod 600 ${database}` })
  chmodSync(database, 0o600)
  chmodSync(data, 0o500)
  t.match((await look()).of('data folder'), { result: 'fail', remedy: `chmod 700 ${data}` })
  chmodSync(data, 0o700)
  t.equal((await look()).code, 0, 'mended')
})

t.test('less room than the daemon wants', async (t) => {
  const { look } = await examine(t, `${QUIET}limits: { min_free_disk: 9007199254740991 }\n`)
  t.match((await look()).of('disk'), { result: 'fail', detail: /below limits.min_free_disk/ })
})

t.test('4 a damaged database', { skip: needsFile }, async (t) => {
  const { look, dir, file } = await examine(t)
  mkdirSync(join(dir, 'data'), { mode: 0o700 })
  file('data/postern.db', 'this is no database, whatever its name says')
  t.match(await look(), { code: 74 })
})

const pair = async (from: number, to: number, name: string) => {
  const made = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    notBeforeDate: new Date(from),
    notAfterDate: new Date(to),
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: name }] }],
  })
  return { key: made.private, cert: made.cert }
}

const DAY = 86_400_000
const withPair = (t: Test, made: { key: string; cert: string }) =>
  examine(t, `${QUIET}tls: { cert_file: c.pem, key_file: k.pem }\n`, (dir) => {
    writeFileSync(join(dir, 'c.pem'), made.cert)
    writeFileSync(join(dir, 'k.pem'), made.key, { mode: 0o600 })
  })

t.test('5 an expired certificate, 6 one for another name, soon over', async (t) => {
  const now = Date.now()
  const expired = await withPair(t, await pair(now - 30 * DAY, now - 9 * DAY, 'gw.postern.test'))
  const { code, of } = await expired.look()
  t.equal(code, 78)
  t.match(of('certificate'), { result: 'fail', detail: /expired 9 d ago/, remedy: /renew/ })
  const odd = await withPair(t, await pair(now - DAY, now + 5 * DAY, 'other.test'))
  const { rows } = await odd.look()
  t.match(
    rows.filter(({ check }) => check === 'certificate'),
    [
      { result: 'warn', detail: /expires in 5 d/ },
      { result: 'warn', detail: /does not name gw.postern.test/ },
    ],
  )
})

t.test('a self-signed one that is no good: doctor changes nothing, the next start does', async (t) => {
  const now = Date.now()
  const spans = [
    [now - 30 * DAY, now - 9 * DAY, /expired 9 d ago/],
    [now + 9 * DAY, now + 800 * DAY, /is not valid before/],
  ] as const
  for (const [from, to, detail] of spans) {
    const { look, dir } = await examine(t)
    const data = join(dir, 'data')
    mkdirSync(data, { recursive: true, mode: 0o700 })
    const made = await pair(from, to, 'gw.postern.test')
    writeFileSync(join(data, 'self-signed.crt'), made.cert)
    writeFileSync(join(data, 'self-signed.key'), made.key, { mode: 0o600 })
    const { code, of } = await look()
    t.equal(code, 78)
    t.match(of('certificate'), { result: 'fail', detail, remedy: 'systemctl reload-or-restart postern' })
    t.equal(readFileSync(join(data, 'self-signed.crt'), 'utf8'), made.cert, 'as it was')
    await loadCertificate({ ...loadConfig({ file: join(dir, 'postern.yaml'), env: {} }), data_dir: data })
    t.match((await look()).of('certificate'), { result: 'warn', detail: /self-signed until/ })
  }
})

t.test("a data folder that is none, or everybody's", { skip: needsFile }, async (t) => {
  const { look, dir, file } = await examine(t)
  const path = file('data', '')
  t.match((await look()).of('data folder'), { detail: `${path} is no folder`, remedy: /^set data_dir/ })
  rmSync(path)
  mkdirSync(join(dir, 'data'))
  chmodSync(join(dir, 'data'), 0o1777)
  t.match((await look()).of('data folder'), { detail: /shared by all/, remedy: /^set data_dir/ })
})

t.test('a certificate that a reload would not renew', async (t) => {
  const held = '/run/credentials/postern.service'
  const { look } = await examine(
    t,
    `${QUIET}\ntls: { cert_file: ${held}/tls.crt, key_file: $CREDENTIALS_DIRECTORY/tls.key }`,
  )
  const { rows } = await look()
  const warned = rows.find(({ check, result }) => check === 'certificate' && result === 'warn')
  t.match(warned?.detail, `${held}/tls.crt, ${held}/tls.key: a credential is not read again by a reload`)
  t.match(warned?.remedy, /certbot-deploy-hook/)
})

t.test('7 the certificate that a library publishes', async (t) => {
  const require = createRequire(import.meta.url)
  const published = require(join(dirname(require.resolve('smtp-server')), 'tls-options.js')) as {
    default: (given?: object) => { key: string; cert: string }
  }
  const { look } = await withPair(t, published.default({}))
  const { code, of } = await look()
  t.equal(code, 78)
  t.match(of('certificate'), { result: 'fail', detail: /published/ })
})

t.test('what an upstream says is told once, and steers no terminal', async (t) => {
  const { run } = await examine(t)
  const hostile = new UpstreamServer({
    act: (stage) => (stage === 'connect' ? '554 no \u001b[8mway\u202e \u0000here' : undefined),
  })
  const port = await hostile.listen()
  t.teardown(() => hostile.close())
  await run(['pool', 'update', 'default', '--upstream', `smtp://127.0.0.1:${port}?tls=none`])
  const { stdout } = await run(['doctor'])
  t.match(stdout, /greeting failed: Invalid greeting: 554 no \?\[8mway.* \?here$/m, 'said once')
  t.notMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u202e]/, 'and it steers no terminal')
})

t.test('8 a closed upstream, 9 one without DSN, 10 one that refuses the login', async (t) => {
  const { look, run, file } = await examine(t)
  const right = Buffer.from('\0gw\0open').toString('base64')
  const plain = new UpstreamServer({ extensions: ['PIPELINING'] })
  const strict = new UpstreamServer({
    extensions: ['AUTH PLAIN', 'DSN'],
    act: (stage, line) => (stage === 'auth' && !line.endsWith(right) ? '535 5.7.8 not you' : undefined),
  })
  const [noDsn, noLogin] = [await plain.listen(), await strict.listen()]
  t.teardown(() => Promise.all([plain.close(), strict.close()]))
  const secret = file('mta', 'sesame\n')
  const urls = [
    'smtp://127.0.0.1:1?tls=none',
    `smtp://127.0.0.1:${noDsn}?tls=none`,
    `smtp://gw@127.0.0.1:${noLogin}?tls=none&password_file=${secret}`,
  ]
  await run(['pool', 'create', 'main', ...urls.flatMap((url) => ['--upstream', url])])
  await run(['workspace', 'update', 'default', '--pool', 'main'])
  const { code, rows, of } = await look()
  t.equal(code, 69, 'of the first failure')
  t.match(
    rows.filter(({ check }) => check === 'upstream'),
    [
      {
        result: 'fail',
        detail: /127\.0\.0\.1:1: connect failed/,
        remedy: /name another in: .*--upstream 'smtp:\/\/127\.0\.0\.1:1\?tls=/,
      },
      { result: 'warn', detail: /offers no DSN/ },
      { result: 'fail', detail: /auth failed/, remedy: /password_file/ },
    ],
  )
  t.equal(of('workspace'), undefined)
  t.same([...plain.received, ...strict.received], [], 'no mail was sent')
  t.notMatch(JSON.stringify(rows), /sesame/)
  const tested = await run(['upstream', 'test', '--json'])
  t.equal(tested.code, 69)
  t.match(JSON.parse(tested.stdout), [
    { ok: false, stage: 'connect' },
    { ok: true, dsn: false },
    { ok: false, stage: 'auth' },
  ])

  // the command, as a shell would take it apart: it mends that one and leaves the others as they were
  const { remedy } = rows.filter(({ check }) => check === 'upstream')[2] ?? {}
  const words = `${remedy}`.replaceAll("'", '').replace('FILE', file('new', 'open\n')).split(' ')
  t.match(await run(words.slice(1)), { code: 0 })
  t.match(
    (await look()).rows.filter(({ check }) => check === 'upstream'),
    [
      { detail: /connect failed/ },
      { detail: /offers no DSN/ },
      { result: 'ok', detail: /in clear, signed in/ },
    ],
  )
})

t.test(
  'an upstream that nobody knows, one without STARTTLS, a password file that is not there',
  async (t) => {
    const { look, run } = await examine(t)
    const plain = new UpstreamServer({ extensions: ['PIPELINING'] })
    const port = await plain.listen()
    t.teardown(() => plain.close())
    const urls = ['smtp://nowhere.invalid:25?tls=none', `smtp://127.0.0.1:${port}?tls=required`]
    await run(['pool', 'create', 'main', ...urls.flatMap((url) => ['--upstream', url])])
    const { rows } = await look()
    t.match(
      rows.filter(({ check }) => check === 'upstream'),
      [
        { result: 'fail', remedy: /^no name server (?:knows this host|answers)/ },
        { result: 'fail', detail: /tls failed/, remedy: /^it offers no STARTTLS: .*tls=none/ },
      ],
    )
    t.match(
      await run(['pool', 'update', 'main', '--upstream', 'smtp://u@127.0.0.1?password_file=/nowhere/mta1']),
      {
        code: 74,
        stderr: /password_file \/nowhere\/mta1: no such file/,
      },
    )
    t.match(
      await run(['upstream', 'add', 'main', 'smtp://u@127.0.0.1', '--client-secret-file', '/nowhere/s']),
      {
        code: 74,
        stderr: /client_secret_file \/nowhere\/s: no such file/,
      },
    )
  },
)

/** A name server that knows nothing (NXDOMAIN), or answers an MX and the addresses of all. */
const nameServer = async (t: Test, knows: boolean): Promise<string> => {
  const socket = createSocket('udp4')
  socket.on('message', (query, peer) => {
    const end = query.indexOf(0, 12) + 5
    const question = query.subarray(12, end)
    const type = query.readUInt16BE(end - 4)
    const record = (data: Buffer) =>
      Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]), data])
    const answers = !knows
      ? []
      : type === 15
        ? [record(Buffer.from([0, 10, 2, 0x6d, 0x78, 0xc0, 12]))]
        : type === 1
          ? [record(Buffer.from([127, 0, 0, 1]))]
          : []
    const head = Buffer.from([
      query[0] ?? 0,
      query[1] ?? 0,
      0x81,
      knows ? 0x80 : 0x83,
      0,
      1,
      0,
      answers.length,
      0,
      0,
      0,
      0,
    ])
    socket.send(Buffer.concat([head, question, ...answers]), peer.port, peer.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())))
  return `127.0.0.1:${socket.address().port}`
}

t.test('a name server that is none', async (t) => {
  for (const wrong of ['nope', 'dns.google', '127.0.0.1:99999'])
    t.match(await openDesk(t).run(['doctor', '--resolver', wrong]), {
      code: 64,
      stderr: /^postern: --resolver: /,
    })
})

t.test('11 a bounce domain without MX', async (t) => {
  const { look } = await examine(t)
  const missing = await look('--resolver', await nameServer(t, false))
  t.equal(missing.code, 78)
  t.match(missing.of('bounce domain'), {
    result: 'fail',
    remedy: /bounces\.postern\.test\. IN MX 10 gw\.postern\.test\./,
  })
  const there = await look('--resolver', await nameServer(t, true))
  t.match(there.of('bounce domain'), { result: 'ok', detail: /has MX mx\.bounces\.postern\.test/ })
  t.match((await look()).of('bounce domain'), { result: 'warn', detail: /no server elsewhere can look up/ })
})

t.test('12 a port that another program has', async (t) => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const { port } = other.address() as { port: number }
  const { look } = await examine(t, QUIET.replace('http: { port: 0 }', `http: { port: ${port} }`))
  const { code, of } = await look()
  t.equal(code, 69)
  t.match(of('ports'), { result: 'fail', detail: `http 127.0.0.1:${port} is taken`, remedy: /ss -ltnp/ })
})

t.test('13 a clock that has gone back, and a lock that nobody holds any more', async (t) => {
  const { look, run, dir, file } = await examine(t)
  await run(['key', 'list'])
  const store = await openStoreIn(join(dir, 'data'), { daemon: false })
  await store.open()
  const [account] = await store.accounts()
  const workspace = account === undefined ? null : await store.workspace(account.id, 'default')
  const pool = account === undefined ? null : await store.pool(account.id, 'sandbox')
  if (account === undefined || workspace === null || pool === null) throw new Error('nothing was made')
  const later = Date.now() + 3 * 3_600_000
  await accepted(
    store,
    { accountId: account.id, workspace, poolId: pool.id },
    { id: newId('em', later), createdAt: later },
  )
  await store.close()
  file('data/daemon.lock', '')
  const { code, rows } = await look()
  t.equal(code, 75)
  t.match(
    rows.find(({ check, result }) => check === 'clock' && result === 'fail'),
    { detail: /3 h in the future/ },
  )
  t.match(
    rows.find(({ check }) => check === 'daemon'),
    { result: 'ok', detail: 'is not running' },
  )
})

t.test('endpoints of webhooks that take nothing', async (t) => {
  const { look, json, dir } = await examine(t)
  const create = async (url: string): Promise<string> => (await json(['webhook', 'create', url])).id
  const ids = [await create('https://1.1.1.1/hook'), await create('https://1.0.0.1/hook')] as const
  const asked = await create('https://9.9.9.9/hook')
  await json(['webhook', 'update', asked, '--disable'])
  t.equal((await look()).of('webhook'), undefined, 'neither a healthy one nor one that is off by request')
  const store = await openStoreIn(join(dir, 'data'))
  await store.open()
  const now = Date.now()
  const [account] = await store.accounts()
  const known = (await store.allEndpoints()).find(({ id }) => id === ids[0])
  if (known === undefined || account === undefined) throw new Error('it was not stored')
  const failing = { ...known.state, health: 'failing' as const, failingSince: now - 7_200_000 }
  await store.keepPlaces([{ endpointId: ids[0], state: failing, was: null, brief: [] }])
  await store.disableEndpoint(account.id, ids[1], 'gone', now)
  await store.close()
  const { rows } = await look()
  t.match(
    rows.filter(({ check }) => check === 'webhook'),
    [
      {
        result: 'warn',
        detail: /1\.0\.0\.1.* is disabled: it answered 410/,
        remedy: `postern webhook update ${ids[1]} --enable`,
      },
      {
        result: 'warn',
        detail: /1\.1\.1\.1.* takes nothing; it began 2 h/,
        remedy: `postern webhook events ${ids[0]} --failed`,
      },
    ],
  )
})

const MOUNT = ['-t', 'tmpfs', '-o', 'size=8m,mode=0700', 'none']
const canMount = ((): boolean => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-mount-'))
  try {
    execFileSync('mount', [...MOUNT, dir], { stdio: 'ignore' })
    execFileSync('umount', [dir], { stdio: 'ignore' })
    return true
  } catch {
    return false
  } finally {
    rmdirSync(dir)
  }
})()

const skip = canMount ? false : 'a small file system can not be mounted here (needs root)'
t.test('a file system that is read-only', { skip: skip || needsFile }, async (t) => {
  const { look, dir, json } = await examine(t)
  await json(['workspace', 'list'])
  const data = join(dir, 'data')
  execFileSync('mount', ['--bind', data, data])
  t.teardown(() => execFileSync('umount', ['--lazy', data]))
  execFileSync('mount', ['-o', 'remount,bind,ro', data])
  const { code, of } = await look()
  t.equal(code, 73)
  t.match(of('database'), { result: 'fail', detail: /the file system is read-only/, remedy: /mount/ })
})

t.test('14 a disk that is nearly full', { skip: skip || needsFile }, async (t) => {
  const { look, dir } = await examine(t)
  const data = join(dir, 'data')
  mkdirSync(data, { mode: 0o700 })
  execFileSync('mount', [...MOUNT, data])
  t.teardown(() => execFileSync('umount', [data]))
  const { code, of } = await look()
  t.equal(code, 74)
  t.match(of('disk'), { result: 'fail', detail: /8 MiB free .*below limits.min_free_disk/ })
})
