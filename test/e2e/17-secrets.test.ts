/**
 * Canaries: a daemon at its most talkative, both doors, good and bad clients and an upstream that refuses.
 * Afterwards no secret stands in a log, an answer, a number, a file name, a process title or the database,
 * and no address, subject or body in a log; every log line is one JSON object, whatever strangers sent.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern, runCli } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'

const postern = new Postern({ log: { level: 'trace' }, relay: { retry: ['1s'] } })
t.teardown(() => postern.remove())
await postern.start()

const WORDS = [
  '\u001b[31mcanarywild\u009b',
  'a\r\n{"level":"fatal","msg":"canarywild"}',
  'x\u2028canarywild\u202e',
  '\u0000canarywild\u007f',
]
const answers: string[] = []
const secrets: string[] = []
const secret = <T extends string>(text: T): T => {
  secrets.push(text)
  return text
}
/** What belongs to people: not in logs, but in the database and in their own answers. */
const PRIVATE = [
  'canaryaddress',
  'canarysubject',
  'canarybody',
  'canarytag',
  'canaryidempotent',
  'canarywild',
  'canarylogin',
]

const key = secret(await postern.key())
const session = secret((await postern.json('session', 'create')).token as string)
const login = 'canarylogin'
const password = secret('canary-smtp-password-1')
const credential = [
  'credential',
  'create',
  '--workspace',
  'default',
  '--username',
  login,
  '--config',
  postern.configFile,
]
if (
  (
    await runCli(
      credential,
      `${password}
`,
    )
  ).code !== 0
)
  throw new Error('no credential')
const upstreamPassword = secret('canary-upstream-password-2')
const passwordFile = join(postern.dir, 'upstream')
writeFileSync(passwordFile, upstreamPassword, { mode: 0o600 })
const upstream = new UpstreamServer({
  extensions: ['AUTH PLAIN LOGIN'],
  act: (stage) => (stage === 'auth' ? '535 5.7.8 no' : undefined),
})
const upstreamPort = await upstream.listen()
t.teardown(() => upstream.close())
await postern.route(`smtp://gw@127.0.0.1:${upstreamPort}?tls=none&password_file=${passwordFile}`)
await postern.json('domain', 'add', 'acme.test')
const pepper = readFileSync(join(postern.dir, 'data', 'pepper'))
for (const form of ['hex', 'base64', 'base64url', 'latin1'] as const) secret(pepper.toString(form))
secret(readFileSync(join(postern.dir, 'data', 'self-signed.key'), 'utf8').split('\n')[1] ?? '')
secret('PRIVATE KEY')
for (const user of ['gw', login]) {
  for (const pass of [upstreamPassword, password])
    secret(Buffer.from(`\0${user}\0${pass}`).toString('base64'))
}
for (const plain of [password, upstreamPassword]) secret(Buffer.from(plain).toString('base64'))

const say = (port: number, ...parts: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    let all = ''
    const socket = connect(port, '127.0.0.1')
    socket.on('data', (chunk) => {
      all += chunk
    })
    socket.on('close', () => resolve(all)).on('error', () => resolve(all))
    socket.setTimeout(1_000, () => socket.destroy())
    socket.write(parts.join(''))
  })

t.test('over HTTP: good, bad and hostile', async (t) => {
  const ask = async (...args: Parameters<typeof postern.api>): Promise<number> => {
    const { text, status } = await postern.api(...args)
    answers.push(text)
    return status
  }
  const mail = {
    from: 'a@acme.test',
    to: 'canaryaddress@example.com',
    subject: 'canarysubject',
    text: 'canarybody',
  }
  const good = { ...mail, tags: [{ name: 'k', value: 'canarytag' }] }
  t.equal(await ask('POST', '/v1/emails', key, good, { 'idempotency-key': 'canaryidempotent' }), 202)
  t.equal(
    await ask(
      'POST',
      '/v1/emails',
      key,
      { ...mail, subject: 'y' },
      { 'idempotency-key': 'canaryidempotent' },
    ),
    409,
  )
  for (const word of WORDS) {
    await ask('POST', '/v1/emails', key, { ...mail, subject: word, headers: { [word]: word } })
    await ask('POST', '/v1/emails', key, { ...mail, to: `${word}@example.com`, [word]: 1 })
    await ask(
      'GET',
      `/v1/emails/${encodeURIComponent(word)}?to=${encodeURIComponent(word)}&canarysubject=1`,
      key,
    )
    await ask('GET', `/canarysubject/${encodeURIComponent(word)}`, key)
  }
  await ask('POST', '/v1/emails', key, '{"from":"canaryaddress@x.test","text":"canarybody')
  await ask('POST', '/v1/emails', secret('svc_live_canarybadkey0000000000000000000000000000'), mail)
  await ask('GET', '/v1/emails', null, undefined, { authorization: `Basic ${secret('Y2FuYXJ5OmJhc2lj')}` })
  await ask('GET', '/v1/api-keys', session)
  await ask('GET', '/v1/egress-pools', session)
  await ask('GET', '/v1/credentials', session)
  const member = {
    host: 'mta.test',
    tls: 'none',
    auth: { user: 'canarylogin', pass: secret('canary-pool-password-3') },
  }
  await ask('POST', '/v1/egress-pools', session, { name: 'bad', members: [member] })
  await ask('POST', '/v1/egress-pools', session, { name: 'good', members: [{ ...member, tls: 'required' }] })
  const raw = [
    `GET /v1/emails HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nX-Bad: a\u0001canarywild\r\n\r\n`,
    `GET /${'canarysubject'.repeat(3_000)} HTTP/1.1\r\n\r\n`,
    `BREW /v1/emails HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nX-Request-Id: \u001b[31mcanaryid\r\n\r\n`,
    `canarywild\u001b[31m\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  ]
  for (const bytes of raw) answers.push(await say(postern.ports.http, bytes))
})

t.test('over SMTP: good, bad and hostile', async (t) => {
  const transport = (user: string, pass: string) =>
    createTransport({
      host: '127.0.0.1',
      port: postern.ports.submission[0] ?? 0,
      auth: { user, pass },
      tls: { rejectUnauthorized: false },
    })
  const mail = {
    from: 'a@acme.test',
    to: 'canaryaddress@example.com',
    subject: 'canarysubject',
    text: 'canarybody',
  }
  const good = transport(login, password)
  t.match(
    (await good.sendMail({ ...mail, headers: { 'idempotency-key': 'canaryidempotent2' } })).response,
    /queued as em_/,
  )
  await good.sendMail({ ...mail, subject: `canarysubject ${WORDS.join(' ')}` })
  await t.rejects(
    good.sendMail({
      envelope: { from: 'a@acme.test', to: 'canaryaddress@example.com' },
      raw: 'canarybody without a head',
    }),
  )
  good.close()
  await t.rejects(transport(login, secret('canary-wrong-password-4')).sendMail(mail))
  await t.rejects(
    transport('apikey', secret('svc_live_canarysmtp000000000000000000000000000000')).sendMail(mail),
  )
  for (const word of WORDS) {
    answers.push(
      await say(
        postern.ports.submission[0] ?? 0,
        `EHLO ${word}\r\nAUTH PLAIN ${password}\r\nMAIL FROM:<${word}>\r\nQUIT\r\n`,
      ),
    )
    answers.push(
      await say(
        postern.ports.bounce,
        `EHLO ${word}\r\nMAIL FROM:<canaryaddress@x.test>\r\nRCPT TO:<${word}@bounce.test>\r\nQUIT\r\n`,
      ),
    )
  }
})

t.test('faults: an upstream that refuses the login, a bad file on SIGHUP', async () => {
  const told = (what: string) => postern.output.some((line) => line.includes(what))
  await eventually('the upstream was asked', () => told('"attempted"'))
  const before = readFileSync(postern.configFile, 'utf8')
  const bad = {
    ...JSON.parse(before),
    base_url: `https://gw:${secret('canary-url-password-5')}@x.test`,
    smtp_password: secret('canary-config-6'),
  }
  writeFileSync(postern.configFile, JSON.stringify(bad))
  process.kill(postern.pid, 'SIGHUP')
  await eventually('the reload is refused', () => told('reload refused'))
  const { stdout, stderr } = await postern.cli('config', 'check')
  answers.push(stdout, stderr)
  writeFileSync(postern.configFile, before)
})

t.test('afterwards: nothing tells', async (t) => {
  const base = `http://127.0.0.1:${postern.ports.management}`
  for (const path of ['/metrics', '/readyz', '/healthz', '/canarywild'])
    answers.push(await (await fetch(base + path)).text())
  for (const words of [
    ['config', 'print'],
    ['key', 'list'],
    ['credential', 'list'],
    ['pool', 'list'],
    ['upstream', 'list'],
    ['domain', 'list'],
    ['doctor'],
  ]) {
    const { stdout, stderr } = await postern.cli(...words)
    answers.push(stdout, stderr)
  }
  const proc = `/proc/${postern.pid}`
  const titles = [readFileSync(`${proc}/cmdline`, 'latin1'), readFileSync(`${proc}/environ`, 'latin1')]
  for (const thread of readdirSync(`${proc}/task`))
    titles.push(readFileSync(`${proc}/task/${thread}/comm`, 'latin1'))
  const names = readdirSync(join(postern.dir, 'data'), { recursive: true }).join('\n')
  await postern.stop()
  const log = postern.output.join('\n')
  const told: Record<string, string> = { log, answers: answers.join('\n'), titles: titles.join('\n'), names }
  for (const [where, text] of Object.entries(told)) {
    const found = secrets.filter((one) => one !== '' && text.includes(one))
    t.strictSame(found, [], `secrets in ${where}`)
  }
  for (const name of ['postern.db', 'postern.db-wal']) {
    let bytes = ''
    try {
      bytes = readFileSync(join(postern.dir, 'data', name), 'latin1')
    } catch {
      continue // folded into the database at the end
    }
    t.strictSame(
      secrets.filter((one) => one.length > 3 && bytes.includes(one)),
      [],
      `secrets in ${name}`,
    )
  }
  t.strictSame(
    PRIVATE.filter((one) => log.includes(one) || names.includes(one) || titles.join().includes(one)),
    [],
    'people in the log',
  )
  t.ok(postern.output.length > 30)
  for (const line of postern.output) {
    t.notMatch(line, /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e]/)
    t.match(JSON.parse(line), { level: /^(trace|debug|info|warn|error)$/, time: /^\d{4}-/ })
  }
  t.notOk(
    postern.output.some((line) => JSON.parse(line).level === 'fatal'),
    'nobody has written a line of ours',
  )
})
