/** Settings of other mail programs become files for apply: what is carried, what is named as not carried, hostile files. */
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Desk, openDesk } from './desk.js'

t.setTimeout(300_000)

const moved = async (
  desk: Desk,
  files: Readonly<Record<string, string>>,
  first: string,
  ...more: readonly string[]
) => {
  const n = readdirSync(desk.dir).length
  const folder = join(desk.dir, `from${n}`)
  mkdirSync(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const out = join(desk.dir, `out${n}`)
  const { code, stdout, stderr } = await desk.run([
    ...['import', join(folder, first), '--out', out, '--resolver', '127.0.0.1:9'],
    ...[...more, '--json'],
  ])
  const record = stdout === '' ? null : JSON.parse(stdout)
  const names = existsSync(out) ? readdirSync(out).sort() : []
  const secret = (name: string): string => readFileSync(join(out, name), 'utf8')
  return { code, stderr, out, names, secret, text: String(record?.setup ?? ''), record }
}

t.test('a Postfix: the secret is in a file of its own, and nowhere else', async (t) => {
  const desk = openDesk(t)
  const files = {
    'main.cf':
      'relayhost = [smtp.mail.example]:587\nsmtp_sasl_auth_enable = yes\nsmtp_sasl_password_maps = hash:/etc/postfix/sasl_passwd\nsmtp_tls_security_level = encrypt\nsmtp_header_checks = regexp:/etc/postfix/h\nvirtual_alias_maps = hash:/etc/postfix/virtual\n',
    sasl_passwd: '[smtp.mail.example]:587 apikey:S3cr3t:x y\n',
  }
  const done = await moved(desk, files, 'main.cf', '--workspace', 'shop')
  t.match(done, { code: 0, names: ['postfix.yaml', 'smtp-mail-example.password'] })
  t.equal(done.secret('smtp-mail-example.password'), 'S3cr3t:x y\n')
  t.match(
    done.text,
    /smtp:\/\/apikey@smtp\.mail\.example:587\?tls=required&password_file=\.\/smtp-mail-example\.password/,
  )
  t.notMatch(done.text + done.stderr, /S3cr3t/)
  t.match(done.stderr, /smtp_header_checks is not taken: headers are not changed here/)
  t.match(done.stderr, /virtual_alias_maps is not taken: recipients are not rewritten here/)
  t.equal(statSync(done.out).mode & 0o777, 0o700)
  for (const name of done.names) t.equal(statSync(join(done.out, name)).mode & 0o777, 0o600, name)
  t.match(await desk.run(['apply', done.out, '--yes']), { code: 0 })
  const hosts = (await desk.json(['upstream', 'list'])).map(({ host }: { host: string }) => host)
  t.ok(hosts.includes('smtp.mail.example'))
  const again = await desk.run([
    'import',
    join(desk.dir, 'nowhere.cf'),
    '--from',
    'postfix',
    '--out',
    done.out,
  ])
  t.match(again, { code: 74, stderr: /nowhere\.cf: no such file/ })
  const there = join(done.out, '..', 'main.cf')
  writeFileSync(there, files['main.cf'])
  t.match(
    await desk.run(['import', there, '--out', done.out]),
    { code: 73, stderr: /exists|there already/i },
    'nothing is written over',
  )
})

t.test('a Postfix: what is not known is to be filled in, and apply refuses it until then', async (t) => {
  const desk = openDesk(t)
  const cf =
    'relayhost = [mx.example]\nsmtp_sasl_auth_enable = yes\nsmtp_sasl_password_maps = hash:/nowhere/sasl_passwd\nsmtp_tls_security_level = encrypt\n'
  const done = await moved(desk, { 'main.cf': cf }, 'main.cf')
  t.match(done, { code: 65, stderr: /smtp_sasl_password_maps: \/nowhere\/sasl_passwd is not there/ })
  t.match(done.text, /password_file=FILL-IN/)
  t.match(await desk.run(['apply', done.out, '--yes']), { code: 78, stderr: /FILL-IN/ })
  const direct = await moved(desk, { 'main.cf': 'myhostname = a.example\nrelayhost =\n' }, 'main.cf')
  t.match(direct, { code: 65, stderr: /relayhost is empty: this Postfix hands mail to the MX/ })
  const unknown = await moved(desk, { 'main.cf': 'relayhost = [mx.$mydomain]\n' }, 'main.cf')
  t.match(unknown, { code: 65, stderr: /\$mydomain is not known from this file/ })
})

t.test('networks are never taken without a person', async (t) => {
  const desk = openDesk(t)
  const cf =
    'relayhost = [10.0.0.5]\nmynetworks = 127.0.0.0/8 [::ffff:127.0.0.0]/104 10.0.0.0/8, 203.0.113.0/24 !10.0.0.9 hash:/x\n'
  const done = await moved(desk, { 'main.cf': cf }, 'main.cf')
  t.notMatch(done.text, /^credentials:/m)
  t.match(done.stderr, /127\.0\.0\.0\/8, 10\.0\.0\.0\/8 sent without a password there and may not here/)
  for (const odd of ['203.0.113.0/24', '!10.0.0.9', 'hash:/x'])
    t.ok(done.stderr.includes(`mynetworks: ${odd} is not taken`), odd)
})

t.test('msmtp: several accounts, no command is run', async (t) => {
  const desk = openDesk(t)
  const trap = join(desk.dir, 'ran')
  const rc = `# mine
defaults
auth on
tls on
tls_trust_file /etc/ssl/certs/ca-certificates.crt
logfile ~/.msmtp.log

account gmail
host smtp.gmail.example
port 587
from ana@gmail.example
user ana@gmail.example
passwordeval "touch ${trap}"

account work : gmail
host smtp.work.example
port 465
tls_starttls off
from ana@work.example
user ana
password "s3cret word"

account lan
host 10.0.0.2
auth off
tls off

account default : work
`
  const done = await moved(desk, { '.msmtprc': rc }, '.msmtprc')
  t.notOk(existsSync(trap), 'no command was run')
  t.match(done, { code: 65, stderr: /account gmail: passwordeval is a command and is never run/ })
  t.notMatch(done.stderr + done.text, /touch|s3cret/)
  t.match(
    done.text,
    /ana@smtp\.work\.example:465\?tls=implicit&password_file=\.\/smtp-work-example\.password/,
  )
  t.match(done.text, /ana%40gmail\.example@smtp\.gmail\.example:587\?tls=verify&password_file=FILL-IN/)
  t.match(done.text, /smtp:\/\/10\.0\.0\.2:25\?tls=none/)
  t.match(
    done.text,
    /default:\n {4}pool: smtp-work-example\n {2}gmail:\n {4}pool: smtp-gmail-example\n {4}default_from: ana@gmail\.example/,
  )
  t.equal(done.secret('smtp-work-example.password'), 's3cret word\n')
})

t.test('ssmtp and nullmailer', async (t) => {
  const desk = openDesk(t)
  const ssmtp =
    'root=postmaster\nmailhub=smtp.mail.example:587\nAuthUser=ana\nAuthPass=pa:ss\nUseSTARTTLS=YES\nrewriteDomain=x.example\n'
  const one = await moved(desk, { 'ssmtp.conf': ssmtp }, 'ssmtp.conf')
  t.match(one, {
    code: 0,
    text: /ana@smtp\.mail\.example:587\?tls=required&password_file/,
    stderr: /rewriteDomain is not taken/,
  })
  const remotes =
    'smtp.mail.example smtp --port=587 --starttls --user=ana --pass=secret\nback.example smtp --ssl\n'
  const two = await moved(desk, { remotes }, 'remotes')
  t.match(two, { code: 0, names: ['nullmailer.yaml', 'smtp-mail-example.password'] })
  t.match(two.text, /587\?tls=verify&password_file.*\n.*back\.example:465\?tls=implicit&priority=1/)
})

t.test('variables of relay images', async (t) => {
  const desk = openDesk(t)
  const IMAGES: readonly (readonly [string, RegExp])[] = [
    [
      'RELAYHOST=[smtp.mail.example]:587\nRELAYHOST_USERNAME=ana\nRELAYHOST_PASSWORD=s3cret\nPOSTFIX_message_size_limit=1000000\n',
      /ana@smtp\.mail\.example:587\?tls=required&password_file=\.\/smtp/,
    ],
    ['RELAYHOST=10.0.0.5:587\n', /smtp:\/\/10\.0\.0\.5:587\?tls=opportunistic/],
    [
      'export RELAYHOST="[smtp.mail.example]:587"\nRELAYHOST_USERNAME=ana\nRELAYHOST_PASSWORD_FILE=/run/secrets/relay\n',
      /password_file=\/run\/secrets\/relay/,
    ],
    [
      "RELAY_HOST=smtp.mail.example\nRELAY_PORT=2525\nRELAY_USERNAME=ana\nRELAY_PASSWORD='s3cret'\n",
      /ana@smtp\.mail\.example:2525\?tls=required/,
    ],
    [
      'SMARTHOST_ADDRESS=smtp.mail.example\nSMARTHOST_PORT=465\nSMARTHOST_USER=ana\nSMARTHOST_PASSWORD=s3cret\n',
      /smtp\.mail\.example:465\?tls=implicit/,
    ],
    [
      'EXIM4_SMARTHOST=smtp.mail.example::587\nEXIM4_SMARTHOST_USER=ana\nEXIM4_SMARTHOST_PASSWORD=s3cret\n',
      /example:587\?tls=required/,
    ],
    [
      'SMTP_SERVER=smtp.mail.example\nSMTP_PORT=587\nSMTP_USERNAME=ana\nSMTP_PASSWORD=s3cret\n',
      /example:587\?tls=required/,
    ],
    [
      'SES_USER=ana\nSES_PASSWORD=s3cret\nSES_REGION=eu-west-1\n',
      /ana@email-smtp\.eu-west-1\.amazonaws\.com:587\?tls=required/,
    ],
    ['GMAIL_USER=ana@x.example\nGMAIL_PASSWORD=s3cret\n', /ana%40x\.example@smtp\.gmail\.com:587/],
    [
      'POSTFIX_relayhost=[10.0.0.9]\nPOSTFIX_smtp_tls_security_level=none\n',
      /smtp:\/\/10\.0\.0\.9:25\?tls=none/,
    ],
  ]
  for (const [text, wanted] of IMAGES) {
    const done = await moved(desk, { env: text }, 'env')
    t.match(done, { code: 0, text: wanted }, text)
    t.notMatch(done.text + done.stderr, /s3cret/)
  }
  const trap = join(desk.dir, 'ran')
  const run = await moved(
    desk,
    {
      env: `RELAYHOST=10.0.0.5\nRELAYHOST_USERNAME=ana\nRELAYHOST_PASSWORD=$(touch ${trap})\nMYNETWORKS=10.0.0.0/8\n`,
    },
    'env',
  )
  t.match(run, {
    code: 65,
    stderr: /RELAYHOST_PASSWORD: holds what a shell would run or fill in; nothing is run/,
    text: /FILL-IN/,
  })
  t.match(run.stderr, /10\.0\.0\.0\/8 sent without a password there and may not here/)
  t.notOk(existsSync(trap))
})

t.test('Postal: its keys sign on, its clients keep their passwords', async (t) => {
  const desk = openDesk(t)
  const pem = (): string => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    return privateKey.export({ type: 'pkcs1', format: 'pem' }) as string
  }
  const key = pem()
  const domains = [
    'id\tname\tdkim_private_key\tdkim_identifier_string',
    `1\tshop.example\t${key.replaceAll('\n', '\\n')}\tABCDEF`,
    '2\tnone.example\tNULL\tNULL',
    '3\tbad.example\tno key\tXYZXYZ',
    '4\tno domain\tx\ty',
  ]
  const one = await moved(desk, { 'domains.tsv': `${domains.join('\n')}\n` }, 'domains.tsv')
  t.match(one, { code: 65, names: ['dkim-shop-example.pem', 'postal.yaml'] })
  t.equal(one.secret('dkim-shop-example.pem'), key)
  t.equal(statSync(join(one.out, 'dkim-shop-example.pem')).mode & 0o777, 0o600)
  t.notMatch(one.stderr + JSON.stringify(one.record), key.split('\n')[1] ?? '?')
  t.match(await desk.run(['apply', one.out, '--yes']), { code: 0 })
  t.match(await desk.json(['domain', 'show', 'shop.example']), {
    workspace_id: null,
    keys: [{ selector: 'postal-abcdef', algorithm: 'rsa', state: 'active' }],
    managed: { setup: 'postal', name: 'shop.example' },
  })
  t.match(one.stderr, /none\.example has no DKIM key there/)

  const credentials = [
    'id\tserver_id\tkey\ttype\tname\toptions\thold',
    '1\t1\tAbCdEfGhIjKlMnOpQrStUvWx\tSMTP\tOnline shop\tNULL\t0',
    '2\t1\tZbCdEfGhIjKlMnOpQrStUvWx\tAPI\tApp\tNULL\t0',
    '3\t1\t10.1.2.0/24\tSMTP-IP\tprinters\tNULL\t0',
    '4\t1\tYbCdEfGhIjKlMnOpQrStUvWx\tSMTP\tOld\tNULL\t1',
  ]
  const two = await moved(desk, { 'credentials.tsv': `${credentials.join('\n')}\n` }, 'credentials.tsv')
  t.match(two, { code: 65, names: ['login-online-shop.password', 'postal.yaml'] })
  t.equal(two.secret('login-online-shop.password'), 'AbCdEfGhIjKlMnOpQrStUvWx\n')
  t.match(two.stderr, /1 keys of its HTTP API are not taken/)
  t.match(two.stderr, /Old is held there/)
  t.match(two.stderr, /10\.1\.2\.0\/24 sent without a password there/)
  t.match(await desk.run(['apply', two.out, '--yes']), { code: 0 })
  t.match(await desk.json(['credential', 'list']), [{ username: 'online-shop' }])
})

t.test('hostile files', async (t) => {
  const desk = openDesk(t)
  const refused = async (files: Record<string, string>, code: number, why: RegExp, ...more: string[]) => {
    const done = await moved(desk, files, Object.keys(files)[0] ?? '', '--from', 'postfix', ...more)
    t.match(done, { code, stderr: why })
    t.notMatch(done.stderr, /\n {4}at /)
    t.same(done.names, [], 'nothing is written')
  }
  await refused({ a: 'relayhost = $b\nb = $c$c\nc = $b\n' }, 65, /name each other without an end/)
  const doubled = Array.from({ length: 18 }, (_, i) => `p${i} = $p${i + 1}$p${i + 1}\n`).join('')
  await refused({ a: `relayhost = $p0\n${doubled}p18 = xxxxxxxx\n` }, 65, /expands to more than 64 KiB/)
  await refused({ a: `relayhost = ${'x'.repeat(70_000)}\n` }, 65, /a line is longer than 64 KiB/)
  await refused({ a: 'x = y\n'.repeat(120_000) }, 65, /has more than 100000 lines/)
  const table = 'relayhost = [a.example]\nsmtp_sasl_auth_enable = yes\nsmtp_sasl_password_maps = hash:'
  await refused({ 'main.cf': `${table}/etc\n` }, 74, /is a folder/)
  const fifo = join(desk.dir, 'fifo')
  execFileSync('mkfifo', [fifo])
  await refused({ 'main.cf': `${table}${fifo}\n` }, 65, /is no regular file/)
  await refused({ 'main.cf': `${table}/dev/zero\n` }, 65, /is no regular file/)
  await refused({ 'main.cf': 'relayhost = [a]\0' }, 65, /is no text, it holds NUL/)
  await refused({ 'main.cf': 'PK\u0003\u0004' }, 65, /zip archive/)
  if (process.getuid?.() !== 0) {
    const shut = desk.file('shut', 'a b:c\n')
    chmodSync(shut, 0)
    await refused({ 'main.cf': `${table}${shut}\n` }, 77, /permission denied/)
  }
  const odd = await moved(
    desk,
    {
      'main.cf':
        'relayhost = [$(id).example]:x y\nsender_dependent_relayhost_maps = inline:{ {@a.example = [`id`]:70000} }\ntransport_maps = inline:{ {../x = smtp:[h]} {a.example = smtp:[1.2.3.4]:99999} }\nmyhostname = \u001b[31m\n',
    },
    'main.cf',
    '--from',
    'postfix',
  )
  t.equal(odd.code, 65)
  t.notMatch(odd.stderr, /\u001b\[31m/)
  const applied = await desk.run(['apply', odd.out, '--dry-run'])
  t.match([0, 2].includes(applied.code), true, applied.stderr)
  const mixed = desk.file('list.csv', 'email\na@x.test\n')
  const cf = desk.file('main.cf', 'relayhost = [a]\nmyhostname = b\n')
  t.match(await desk.run(['import', cf, mixed]), { code: 64, stderr: /import them one after the other/ })
  t.match(await desk.run(['import', mixed, '--out', 'x']), { code: 64, stderr: /--out: lists of addresses/ })
  const env = desk.file('env', 'RELAYHOST=10.0.0.1\n')
  t.match(await desk.run(['import', cf, env]), { code: 64, stderr: /files of one program at a time/ })
})
