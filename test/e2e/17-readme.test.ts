/**
 * Every command of the papers is run, with a real daemon: each fenced `sh` block must have its trial here,
 * or a reason why it cannot be run. A new block without either fails. The README stays a door: its chapters
 * stand in order, and what is long is in the other papers. Each link between papers leads to a file and a chapter.
 */
import { execFile, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { paperFiles } from '../../src/dashboard/pages/docs/paper-files.js'
import { authority } from '../parts/certificates.js'
import { eventually } from '../parts/eventually.js'
import { here } from '../parts/here.js'
import { BIN, cleanEnv, Postern, ROOT } from '../parts/postern.js'
import { freePort } from '../parts/postfix.js'
import { FREE, type Ran, untilSaid } from '../parts/run.js'
import { UpstreamServer } from '../relay/upstream-server.js'

t.setTimeout(900_000)

const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
/** All that /docs shows, and what only the repository has. */
const OWN = ['README.md', 'test/README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']
const PAPERS = [...OWN, ...paperFiles(ROOT).keys()]
const LONGEST = 150
const paper = (name: string): string => readFileSync(join(ROOT, name), 'utf8')
const blocksOf = (text: string): string[] =>
  [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)
/** One that stands in two papers is run once. */
const blocks = [...new Set(PAPERS.flatMap((name) => blocksOf(paper(name))))]
const folder = (t: Test): string => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-readme-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const shell = (script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Ran> =>
  new Promise((resolve) =>
    execFile('/bin/sh', ['-ec', script], { cwd, env: cleanEnv(env) }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    ),
  )

/** `postern` is the built one, with this configuration. */
const path = (dir: string): string => {
  const bin = join(dir, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'postern'), `#!/bin/sh\nexec ${process.execPath} ${BIN} "$@"\n`)
  chmodSync(join(bin, 'postern'), 0o755)
  return `${bin}:${process.env.PATH}`
}

/** The daemon that all blocks of senders and operators are tried at, with a tenant `shop` whose mail waits in the pool `main`. */
const daemon = new Postern({ http: { host: '127.0.0.1', port: 0, trusted_proxies: ['127.0.0.1'] } })
t.teardown(() => daemon.remove())
await daemon.start()
await daemon.json('workspace', 'create', 'shop')
await daemon.json('pool', 'create', 'main', '--upstream', 'smtp://127.0.0.1:9?tls=none')
await daemon.json('workspace', 'update', 'shop', '--pool', 'main')

let senders = 0
/** A test key of a workspace in which nothing was sent yet. */
const newSender = async (): Promise<string> => {
  const slug = `sender-${++senders}`
  await daemon.json('workspace', 'create', slug)
  return (await daemon.json('key', 'create', '--workspace', slug, '--mode', 'test')).secret
}

/** An operator's block, line by line. */
const operates = async (t: Test, block: string): Promise<void> => {
  const key = await daemon.json('key', 'create', '--workspace', 'shop')
  const mail = { from: 'a@acme.test', to: 'you@example.com', subject: 'x', text: 'x' }
  t.equal((await daemon.api('POST', '/v1/emails', key.secret, mail)).status, 202)
  const dir = folder(t)
  const env = { POSTERN_CONFIG: daemon.configFile, PATH: path(dir), KEY_ID: key.id }
  const files = {
    'users.csv': 'printer,sesame sesame\n',
    's1.pem': PEM,
  }
  for (const [name, text] of Object.entries({ ...files, 'shop.key': key.secret }))
    writeFileSync(join(dir, name), text, { mode: 0o600 })
  // the configured port is any free one here
  const door = `postern sendmail --server 127.0.0.1:${daemon.ports.submission[0]}`
  for (const line of block.trim().split('\n')) {
    const ran = await shell(line.replace('postern sendmail', door), dir, env)
    // what doctor finds here is the test's: no DNS, an upstream that does not answer
    if (line !== 'postern doctor') t.equal(ran.code, 0, `${line}\n${ran.stdout}\n${ran.stderr}`)
  }
}

const PEM = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
}).privateKey

/** Of each provider and mail program, in the forms in which they write them. */
const moved = (): Readonly<Record<string, string>> => ({
  'bounces.csv': 'address,code,error,created_at\na@x.test,550,gone,"Tue, 14 Nov 2023 22:13:20 UTC"\n',
  'spam_reports.csv': 'ip,email,created\n192.0.2.1,y@example.com,1700000000\n',
  'complaints.csv': 'address,created_at\nb@x.test,"Tue, 14 Nov 2023 22:13:20 UTC"\n',
  'unsubscribes.csv': 'address,tags,created_at\nc@x.test,*,"Tue, 14 Nov 2023 22:13:20 UTC"\n',
  'suppression_bounces.csv': 'status,reason,email,created\n5.1.1,gone,d@x.test,1700000000\n',
  'suppression_spam_reports.csv': 'ip,email,created\n192.0.2.1,e@x.test,1700000000\n',
  'suppression_unsubscribes.csv': 'email,created\nf@x.test,1700000000\n',
  'suppressed.json':
    '{"SuppressedDestinationSummaries":[{"EmailAddress":"g@x.test","Reason":"BOUNCE","LastUpdateTime":"2023-11-14T22:13:20+00:00"}]}\n',
  'dump.json':
    '{"Suppressions":[{"EmailAddress":"h@x.test","SuppressionReason":"HardBounce","Origin":"Recipient","CreatedAt":"2023-11-14T22:13:20Z"}]}\n',
  'blockedContacts.json':
    '{"count":1,"contacts":[{"email":"i@x.test","senderEmail":"","reason":{"code":"hardBounce","message":"gone"},"blockedAt":"2023-11-14T22:13:20Z"}]}\n',
  'mandrill.csv':
    'email,reason,detail,created_at,expires_at,last_event_at,expires_at,subaccount\nj@x.test,hard-bounce,gone,2023-11-14 22:13:20,,,,\n',
  'sparkpost.csv':
    'recipient,type,source,description,created,updated\nk@x.test,transactional,Bounce Rule,gone,2023-11-14T22:13:20Z,\n',
  'resend.json':
    '{"object":"list","data":[{"id":"1","email":"l@x.test","origin":"complaint","created_at":"2023-11-14 22:13:20"}]}\n',
  'suppressions.tsv':
    'id\ttype\taddress\treason\ttimestamp\tkeep_until\n1\trecipient\tm@x.test\thard bounce\t1700000000.0\tNULL\n',
  'domains.tsv': `id\tname\tdkim_private_key\tdkim_identifier_string\n1\tpostal.example\t${PEM.replaceAll('\n', '\\n')}\tABCDEF\n`,
  'credentials.tsv':
    'id\tserver_id\tkey\ttype\tname\toptions\thold\n1\t1\tAbCdEfGhIjKlMnOpQrStUvWx\tSMTP\tOnline shop\tNULL\t0\n',
  'main.cf':
    'relayhost = [smtp.mail.example]:587\nsmtp_sasl_auth_enable = yes\nsmtp_sasl_password_maps = hash:/etc/postfix/sasl_passwd\nsmtp_tls_security_level = encrypt\n',
  sasl_passwd: '[smtp.mail.example]:587 apikey:sesame\n',
  '.msmtprc':
    'account default\nhost smtp.mail.example\nport 587\nauth on\ntls on\nuser ana\npasswordeval pass show mail\n',
  'relay.env': 'RELAYHOST=[smtp.mail.example]:587\nRELAYHOST_USERNAME=ana\nRELAYHOST_PASSWORD=sesame\n',
})

/** One installation without a daemon for all blocks of moving in: each brings something of its own. */
const movesTo = mkdtempSync(join(tmpdir(), 'postern-moving-'))
t.teardown(() => rmSync(movesTo, { recursive: true, force: true }))

/** A block of moving in, line by line; the files are beside it. */
const moves = async (t: Test, block: string): Promise<void> => {
  const configFile = join(movesTo, 'postern.yaml')
  const env = { POSTERN_CONFIG: configFile, PATH: path(movesTo) }
  if (!existsSync(configFile)) {
    writeFileSync(configFile, `hostname: gw.postern.test\ndata_dir: ${join(movesTo, 'data')}\n`)
    for (const [name, text] of Object.entries(moved()))
      writeFileSync(join(movesTo, name), text, { mode: 0o600 })
    const made = await here(['workspace', 'create', 'shop', '--config', configFile])
    t.equal(made.code, 0, made.stderr)
  }
  const script = block.replaceAll('/etc/postfix/', '')
  const ran = await shell(`set -x\n${script}`, movesTo, env)
  t.equal(ran.code, 0, `${ran.stdout}\n${ran.stderr}`)
  t.notMatch(ran.stdout + ran.stderr, /^0 of|sesame/m, 'something was added, and no secret said')
}

/** A block against a daemon on free ports: only the ports are changed in it. */
const sends = async (t: Test, block: string, to = ['you@example.com']): Promise<Ran> => {
  const script = block
    .replaceAll(':8080', `:${daemon.ports.http}`)
    .replaceAll(':2587', `:${daemon.ports.submission[0]}`)
  const key = await newSender()
  const ran = await shell(script, folder(t), { POSTERN_KEY: key })
  t.equal(ran.code, 0, ran.stderr)
  const { data } = (await daemon.api('GET', '/v1/emails', key)).body
  const addresses = data.flatMap((mail: { to: readonly string[] }) => mail.to)
  t.same(addresses.map((text: string) => text.replace(/^.*<(.*)>$/, '$1')).sort(), to)
  for (const { id } of data) await daemon.until(key, id, ['sent', 'delivered'])
  return ran
}

/** Both pages of a list that has one mail: the first has it, and nothing is older. */
const lists = async (t: Test, block: string): Promise<void> => {
  const key = await newSender()
  const mail = { from: 'a@acme.test', to: 'you@example.com', text: 'x' }
  const { id } = (await daemon.api('POST', '/v1/emails', key, mail)).body
  const script = block.replaceAll(':8080', `:${daemon.ports.http}`).replace(/^(curl.*)$/gm, '$1; echo')
  const ran = await shell(script, folder(t), { POSTERN_KEY: key, EMAIL_ID: id })
  const pages = ran.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).data)
  t.match(pages, [[{ id }], []], ran.stderr)
}

/** The way of a checkout: a folder of its own, an upstream of ours, free ports. */
const goesLive = async (t: Test, block: string): Promise<void> => {
  const dir = folder(t)
  const upstream = new UpstreamServer({ extensions: ['AUTH PLAIN', 'DSN'] })
  const port = await upstream.listen()
  t.teardown(() => upstream.close())
  mkdirSync(join(dir, 'run/secrets'), { recursive: true })
  writeFileSync(join(dir, 'run/secrets/mta1'), 'sesame\n', { mode: 0o600 })
  const lines = block
    .replaceAll('/run/secrets', join(dir, 'run/secrets'))
    // its certificate is not to be verified: the test's upstream has none
    .replace('mta1.example.com:587?tls=verify', `127.0.0.1:${port}?tls=none`)
    .trim()
    .split('\n')
  const env = {
    ...FREE,
    POSTERN_CONFIG: join(dir, 'postern.yaml'),
    PATH: path(dir),
  }
  t.equal(lines[0], 'export POSTERN_CONFIG=$PWD/postern.yaml')
  let said = ''
  for (const line of lines.slice(1, -1)) {
    const ran = await shell(line, dir, env)
    // doctor asks the real DNS, where bounces.example.com is nobody's
    const failed = ran.stdout.split('\n').filter((one) => /^ *\d+ fail (?!bounce domain)/.test(one))
    if (line.startsWith('postern doctor')) t.strictSame(failed, [], ran.stdout)
    else t.equal(ran.code, 0, `${line}\n${ran.stderr}`)
    said += ran.stdout
  }
  const key = /^svc_live_.*$/m.exec(said)?.[0] ?? ''
  t.ok(key, said)
  const child = spawn('/bin/sh', ['-c', `exec ${lines.at(-1)}`], {
    cwd: dir,
    env: cleanEnv(env),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.includes('"listening"')) continue
    const { http } = JSON.parse(line) as { http: number }
    const body = JSON.stringify({ from: 'a@acme.test', to: 'you@example.com', subject: 'x', text: 'x' })
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    t.equal(
      (await fetch(`http://127.0.0.1:${http}/v1/emails`, { method: 'POST', headers, body })).status,
      202,
    )
    await eventually('the upstream has the mail', () => upstream.received.length > 0)
    child.kill()
  }
  t.match(upstream.received, [{ rcpt: [/you@example\.com/] }], 'the upstream has the mail')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/** Upstreams that take tokens, and services, are added as the README says it, each with secrets of its own kind. */
const addsUpstreams = async (t: Test, block: string): Promise<void> => {
  const dir = folder(t)
  const account = {
    type: 'service_account',
    client_email: 'gateway@acme.example',
    private_key: PEM,
    token_uri: 'https://oauth2.googleapis.com/token',
  }
  const secrets = {
    ...{ m365: 'a', google: 'b', 'google-refresh': 'c', 'google.json': JSON.stringify(account) },
    ...{ ses: 'AKIDEXAMPLE:sesame', mailgun: 'key-sesame' },
  }
  for (const [name, text] of Object.entries(secrets)) writeFileSync(join(dir, name), text, { mode: 0o600 })
  const postern = `${process.execPath} ${BIN}`
  const script = block.replaceAll(/\/run\/secrets|\/etc\/postern/g, dir).replaceAll(/^postern/gm, postern)
  const env = { ...FREE, POSTERN_CONFIG: join(dir, 'postern.yaml') }
  writeFileSync(env.POSTERN_CONFIG, `data_dir: ${join(dir, 'data')}\n`)
  const config = ['--config', env.POSTERN_CONFIG]
  const made = await here(['pool', 'create', 'main', '--upstream', 'smtp://127.0.0.1:25?tls=none', ...config])
  t.equal(made.code, 0, made.stderr)
  const ran = await shell(script, dir, env)
  t.equal(ran.code, 0, ran.stderr)
  const listed = await here(['pool', 'show', 'main', ...config])
  const hosts = [...block.matchAll(/\/\/(?:\S+@)?([a-z\d.-]+)[:?]/g)].flatMap(([, host]) => host ?? [])
  t.ok(hosts.length > 1)
  for (const host of hosts) t.match(listed.stdout, host)
}

/** The setup of the paper, on a new installation; the second apply has nothing to do. */
const applies = async (t: Test, block: string): Promise<void> => {
  const dir = folder(t)
  const [, yaml = ''] = /^```yaml\n(setup: .*?)^```$/ms.exec(paper('config/SETUP.md')) ?? []
  writeFileSync(join(dir, 'mta1'), 'sesame\n', { mode: 0o600 })
  writeFileSync(join(dir, 'suppressed.csv'), 'email,reason\nx@example.com,gone\n')
  writeFileSync(join(dir, 'shop.yaml'), yaml.replace('/run/secrets/mta1', 'mta1'))
  writeFileSync(join(dir, 'postern.yaml'), `data_dir: ${join(dir, 'data')}\n`)
  const ran = await shell(block, dir, { POSTERN_CONFIG: join(dir, 'postern.yaml'), PATH: path(dir) })
  t.equal(ran.code, 0, ran.stderr)
  t.match(ran.stderr, /8 done[\s\S]*nothing to do/)
  t.match(readFileSync(join(dir, 'all/postern.yaml'), 'utf8'), /shop\/orders/)
}

/** `postern dev` says what the README shows; e2e 03 runs `npm start` itself. */
const starts = async (t: Test): Promise<void> => {
  const ran = await untilSaid([process.execPath, BIN, 'dev'], folder(t), /^Watch:/)
  t.equal(ran.code, 0, ran.stdout)
  // what the README shows is what is seen
  const shown = /^```\n(Postern .*?)^```$/ms.exec(README)?.[1] ?? ''
  for (const line of shown.split('\n').filter((one) => one !== '')) {
    const word = line.trim().split(/\s+/)[0] ?? ''
    t.ok(
      ran.stdout.split('\n').some((said) => said.trim().startsWith(word)),
      `it says ${word}`,
    )
  }
}

/** nginx as the paper sets it up passes a mail of more than the 1 MB at which it stops by itself. */
t.test(
  'the nginx of the paper',
  { skip: !existsSync('/usr/sbin/nginx') && 'nginx is not installed' },
  async (t) => {
    const [, block = ''] = /^```nginx\n(.*?)^```$/ms.exec(paper('config/README.md')) ?? []
    const ca = await authority(t)
    const { key: pem, cert } = await ca.issue('mail.example.com')
    const dir = folder(t)
    writeFileSync(join(dir, 'fullchain.pem'), cert)
    writeFileSync(join(dir, 'privkey.pem'), pem, { mode: 0o600 })
    const port = await freePort()
    const server = block
      .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
      .replaceAll('/etc/letsencrypt/live/mail.example.com', dir)
      .replace('127.0.0.1:8080', `127.0.0.1:${daemon.ports.http}`)
    const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (one) => `${one}_temp_path ${dir}/${one};`,
    )
    const file = join(dir, 'nginx.conf')
    const http = `http { access_log off; ${kept.join(' ')}\n${server}}`
    // its workers write bodies to the folder of this test
    const user = process.getuid?.() === 0 ? 'user root; ' : ''
    writeFileSync(file, `${user}daemon off; pid ${dir}/pid; error_log stderr; events {}\n${http}\n`)
    const child = spawn('/usr/sbin/nginx', ['-p', dir, '-c', file], { stdio: 'inherit' })
    t.teardown(() => void child.kill())
    const key = await newSender()
    const body = { from: 'a@acme.test', to: 'you@example.com', text: 'x'.repeat(3_000_000) }
    const post = (): Promise<number> =>
      new Promise((resolve, reject) => {
        const options = {
          host: '127.0.0.1',
          port,
          servername: 'mail.example.com',
          agent: false,
          method: 'POST',
        }
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
        request({ ...options, path: '/v1/emails', headers, ca: readFileSync(ca.caFile) }, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
          .on('error', reject)
          .end(JSON.stringify(body))
      })
    t.equal(await eventually('nginx answers', () => post().catch(() => null)), 202)
  },
)

const programs = (block: string): string | false => {
  const lacking = ['curl', 'swaks'].filter(
    (name) => block.startsWith(name) && !existsSync(`/usr/bin/${name}`),
  )
  return lacking.length > 0 ? `${lacking.join()} is not installed` : false
}

/** The secrets of the compose files, by root in place of sudo: what the daemon takes them for. */
const makesSecrets = async (t: Test, block: string): Promise<void> => {
  if (process.getuid?.() !== 0) return t.comment('not tried: files of other users need root')
  const dir = folder(t)
  const { cert, key } = await (await authority(t)).issue('mail.example.com')
  writeFileSync(join(dir, 'fullchain.pem'), cert)
  writeFileSync(join(dir, 'privkey.pem'), key)
  const next = blocks[blocks.indexOf(block) + 1] ?? ''
  const text = (name: string): string => readFileSync(join(dir, 'secrets', name), 'utf8')
  const script = `${block}${next}`
    .replaceAll('sudo ', '')
    .replaceAll('docker run --rm postern:VERSION', 'postern')
  t.match(await shell(script, dir, { PATH: path(dir) }), { code: 0 })
  t.match(text('app.key'), /^svc_live_\w{44}\n$/)
  t.match(readFileSync(join(dir, '.env'), 'utf8'), /^POSTERN_UPSTREAM=smtp:\/\/user@\S+\n$/m)
  t.equal(statSync(join(dir, 'secrets/pepper')).size, 32)
  t.equal(text('haproxy.pem'), `${cert}${key}`)
  t.equal(new URL(text('database.url').trim()).password, text('database.password'))
  for (const [name, owner] of Object.entries({
    pepper: 10001,
    'tls.key': 10001,
    'haproxy.pem': 99,
    'database.url': 10001,
    'database.password': 999,
    'upstream.password': 10001,
    'app.key': 10001,
  }))
    t.match(statSync(join(dir, 'secrets', name)), { uid: owner, mode: 0o100400 }, name)
}

interface Trial {
  readonly begins: string
  /** Tries it, or says why it can not be run here. */
  readonly run: ((t: Test, block: string) => Promise<unknown>) | string
}

const TRIALS: readonly Trial[] = [
  { begins: 'npm ci && npm start', run: starts },
  {
    begins: 'npm ci && npm test',
    run: 'it is the command that runs this test; .ci/run runs it in a clean tree',
  },
  { begins: 'npm ci && npm run build', run: 'it is what the command above begins with' },
  {
    begins: 'curl http://127.0.0.1:8080/v1/emails/batch',
    run: (t, block) => sends(t, block, ['ana@example.com', 'bo@example.com']),
  },
  {
    begins: 'curl http://127.0.0.1:8080/v1/emails',
    run: async (t, block) => t.match((await sends(t, block)).stdout, /"id":"em_/),
  },
  { begins: 'export POSTERN_KEY', run: 'the reader puts a key of his own there' },
  { begins: 'curl "http://127.0.0.1:8080/v1/emails?limit=100"', run: lists },
  {
    begins: 'swaks --server 127.0.0.1:2587',
    run: async (t, block) => t.match((await sends(t, block)).stdout, /queued as em_/),
  },
  { begins: 'postern upstream add', run: addsUpstreams },
  { begins: 'npm run deb', run: 'test/e2e/13-packages, 15-executable and 16-walk build and use them' },
  { begins: 'sudo apt install', run: 'test/e2e/16-walk types each of its lines' },
  {
    begins: 'sudo install -D -m 755 systemd/examples/certbot',
    run: 'test/e2e/12-renewal runs the hook when a certificate was renewed',
  },
  {
    begins: 'docker',
    run: 'test/e2e/19-image runs the image as a container is run, with the variables of compose.yaml',
  },
  {
    begins: 'head -c 32 /dev/urandom >pepper',
    run: 'no cluster is here; test/config/container holds the manifests against their fields',
  },
  { begins: "printf 'POSTERN_HOSTNAME", run: makesSecrets },
  { begins: 'password=$(head', run: 'it is tried together with the block before it' },
  { begins: 'npm run sea', run: 'test/e2e/15-executable builds and uses it' },
  { begins: 'export POSTERN_CONFIG', run: goesLive },
  { begins: 'postern queue top', run: operates },
  { begins: 'postern queue throttles', run: operates },
  { begins: 'postern workspace suspend', run: operates },
  { begins: 'postern doctor', run: operates },
  { begins: 'postern key rotate', run: operates },
  { begins: '(umask 077; postern key create --workspace default --name agent', run: operates },
  { begins: 'postern domain add moved.example', run: operates },
  {
    begins: 'postern webhook create https://app.example/hook --format',
    run: 'test/e2e/47-webhook-formats makes one of each format, and posts to it',
  },
  { begins: 'postern import', run: moves },
  { begins: '(umask 077; postern key secret', run: applies },
  {
    begins: '(umask 077; postern key create --workspace shop --name web --ses',
    run: 'test/e2e/46-ses makes such a key, and the client of AWS signs with what it said',
  },
  { begins: 'postern credential import', run: operates },
  { begins: "printf 'To: you@example.com", run: operates },
  {
    begins: 'sudo systemctl stop postern',
    run: 'test/e2e/13-upgrade puts a copy of before a migration back; 16-walk installs, stops and starts the package',
  },
]

for (const block of blocks) {
  const name = block.split('\n')[0] ?? ''
  const trial = TRIALS.find(({ begins }) => block.startsWith(begins))
  t.test(name, { skip: programs(block) }, async (t) => {
    if (trial === undefined) t.fail('a block of the papers without a trial')
    else if (typeof trial.run === 'string') t.pass(`not run here: ${trial.run}`)
    else await trial.run(t, block)
  })
}

t.test('one command to a sent mail, another one to a green test run', async (t) => {
  const [first] = blocksOf(README)
  t.equal(first, 'npm ci && npm start\n')
  t.ok(blocksOf(README).includes('npm ci && npm test\n'))
  for (const { begins } of TRIALS)
    t.ok(
      blocks.some((block) => block.startsWith(begins)),
      `there still is ${begins}`,
    )
})

t.test('the README is short, and its chapters stand in order', async (t) => {
  const lines = README.split('\n').length
  t.ok(lines <= LONGEST, `${lines} lines, at most ${LONGEST}: what is long goes into another paper`)
  t.strictSame(
    [...README.matchAll(/^## (.*)$/gm)].map(([, title = '']) => title),
    ['Start', 'Send', 'See', 'Test', 'Is it for me?', 'How it compares', 'Papers', 'Security', 'Licence'],
  )
})

/** A chapter's name as an address, the way hosting services make it. */
const anchor = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')

t.test('each link of a paper leads to a file, and to a chapter that is there', async (t) => {
  for (const name of PAPERS)
    for (const [, to = '', chapter] of paper(name).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const file = to === '' ? name : join(dirname(name), to)
      if (!t.ok(existsSync(join(ROOT, file)), `${name} leads to ${file}`) || chapter === undefined) continue
      const chapters = [...paper(file).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => anchor(title))
      t.ok(chapters.includes(chapter), `${name} leads to ${file}#${chapter}`)
    }
})
