/** An installation as files: the plan, whose is what, and what is never touched. */

import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { type Desk, openDesk } from './desk.js'

const UPSTREAM = 'smtp://gw@mta1.eu.example:587?tls=verify&password_file=mta.pw'

const FILES = (over: Readonly<Record<string, string>> = {}): string =>
  Object.entries({
    setup: 'shop',
    pools: `{ eu: { upstreams: ['${UPSTREAM}'] }, us: { upstreams: ['smtp://mta1.us.example'] } }`,
    workspaces: `{ shop: { name: The shop, pool: eu, default_from: 'Shop <no-reply@shop.example>', routes: { .example.org: us }, alarms: { complaints: 0.1%/5, deferrals: off }, suppress_soft: { mailbox_full: 8/30d } } }`,
    domains: '{ shop.example: { workspace: shop } }',
    keys: '{ shop/web: { secret_file: web.key }, ops: { out: data/ops.key, permission: sending_access } }',
    credentials: '{ shop/printer: { cidr: 10.1.0.0/16 }, shop/scanner: { secret_file: scanner.pw } }',
    webhooks: `{ shop/orders: { endpoint: 'https://203.0.113.9/hook', events: [email.bounced], secret_file: hook.key } }`,
    suppressions: '{ shop: { file: s.csv } }',
    people: '{ ana@example.com: { role: owner } }',
    ...over,
  })
    .map(([name, text]) => `${name}: ${text}\n`)
    .join('')

const opened = async (t: Test): Promise<Desk> => {
  const desk = openDesk(t)
  desk.file('mta.pw', 'hunter22\n')
  desk.file('scanner.pw', 'scannerpassword\n')
  desk.file('web.key', (await desk.run(['key', 'secret'])).stdout)
  desk.file('hook.key', (await desk.run(['webhook', 'secret'])).stdout)
  desk.file('s.csv', 'email,reason\na@b.example,bounced\nc@d.example,\n')
  await desk.run(['workspace', 'list'])
  return desk
}

const pemOf = (type: 'rsa' | 'ed25519'): string =>
  (type === 'rsa'
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : generateKeyPairSync('ed25519')
  ).privateKey
    .export({ type: 'pkcs8', format: 'pem' })
    .toString()
const PEM = pemOf('rsa')

const LIST = `email,reason,origin,created_at,expires_at,source_id
old@b.example,spam,complaint,2024-02-03T04:05:06.000Z,,import:x
`

const NOTHING = { code: 0, stdout: /^= \d+ as the files say\n$/, stderr: 'nothing to do\n' }

t.test('made once, and twice does nothing', async (t) => {
  const desk = await opened(t)
  const file = desk.file('shop.yaml', FILES())
  const dry = await desk.run(['apply', file, '--dry-run'])
  t.equal(dry.code, 2, dry.stderr)
  t.equal(dry.stdout.match(/^\+ /gm)?.length, 11)
  t.notMatch(dry.stdout, /hunter22|scannerpassword|svc_live|whsec/, 'no secret is shown')
  t.same(await desk.json(['workspace', 'list']).then((rows) => rows.length), 1, 'and nothing was made')
  t.match(await desk.run(['apply', file]), { code: 64, stderr: /--yes/ })
  const done = await desk.run(['apply', '--yes', file])
  t.match(done, { code: 0, stderr: /11 done[\s\S]*next: postern setup-link --user ana@example\.com/ })
  t.match(await desk.run(['apply', file]), NOTHING)
  t.match(await desk.run(['apply', file, '--dry-run']), { code: 0 })
  t.same(
    (await desk.json(['audit', 'list', '--action', 'setup'])).map((row: { action: string }) => row.action),
    ['setup.applied'],
    'one entry for all',
  )
  const [shop] = (await desk.json(['workspace', 'list'])).filter(
    ({ slug }: { slug: string }) => slug === 'shop',
  )
  t.match(shop, { name: 'The shop', default_from: 'Shop <no-reply@shop.example>' })
  t.equal((await desk.json(['suppression', 'list', '--workspace', 'shop'])).length, 2)
  const made = readFileSync(join(desk.dir, 'data/ops.key'), 'utf8')
  t.match(made, /^svc_live_\w{44}\n$/)
  t.equal(statSync(join(desk.dir, 'data/ops.key')).mode & 0o777, 0o600)
  const prefixes = (await desk.json(['key', 'list'])).map(({ prefix }: { prefix: string }) => prefix)
  t.ok(
    prefixes.every((one: string) =>
      [made, readFileSync(join(desk.dir, 'web.key'), 'utf8')].some((key) => key.startsWith(one)),
    ),
  )
  t.match(await desk.json(['apply', file, '--dry-run']), {
    object: 'setup_plan',
    setup: 'shop',
    steps: [],
    same: 11,
  })
})

t.test('a key with an access key for clients of SES', async (t) => {
  const desk = await opened(t)
  const keys = (one: string) => FILES({ keys: `{ shop/web: ${one} }` })
  const file = desk.file('shop.yaml', keys('{ secret_file: web.key, ses_out: data/ses.env }'))
  const done = await desk.run(['apply', '--yes', file])
  t.match(done, { code: 0, stdout: /\+ key\/shop\/web/ }, done.stderr)
  const place = join(desk.dir, 'data/ses.env')
  const text = readFileSync(place, 'utf8')
  const [{ ses_access_key_id: id }] = await desk.json(['key', 'list'])
  const [, secret = ''] = /^AWS_ACCESS_KEY_ID=PSTN\w{12}\nAWS_SECRET_ACCESS_KEY=(\S{44})\n$/.exec(text) ?? []
  t.ok(text.includes(`=${id}\n`))
  t.equal(statSync(place).mode & 0o777, 0o600)
  t.match(await desk.run(['apply', file]), NOTHING)

  rmSync(place)
  const again = await desk.run(['apply', '--yes', file])
  t.match(again, { code: 0, stdout: /^~ key\/shop\/web\n {4}ses_out: / }, again.stderr)
  t.equal(readFileSync(place, 'utf8'), text, 'one that was lost is the same again')
  t.match(await desk.run(['apply', file]), NOTHING)
  rmSync(place)
  t.match(await desk.run(['apply', '--yes', file]), { code: 0, stdout: /^~ key/ }, 'however often')
  t.match(await desk.run(['export', '--setup', join(desk.dir, 'exported')]), { code: 0 })
  const exported = readFileSync(join(desk.dir, 'exported', 'postern.yaml'), 'utf8')
  t.match(exported, /ses_out: FILL-IN/)
  t.notMatch([done.stdout, done.stderr, again.stdout, again.stderr, exported].join(), secret || '?')

  const refused = async (text: string) => {
    writeFileSync(file, text)
    const { code, stderr } = await desk.run(['apply', '--yes', file])
    t.equal(code, 78)
    return stderr
  }
  desk.file('data/ses.env', 'AWS_ACCESS_KEY_ID=mine\n')
  const mine = keys('{ secret_file: web.key, ses_out: data/ses.env }')
  t.match(await refused(mine), /key\/shop\/web: ses_out: .*ses\.env: holds something else/)
  t.equal(readFileSync(place, 'utf8'), 'AWS_ACCESS_KEY_ID=mine\n')
  const platform = FILES({ keys: '{ ops: { out: data/o.key, ses_out: data/o.env } }' })
  t.match(await refused(platform), /key\/ops: ses_out: is for keys of scope workspace/)
  const twice = FILES({ keys: '{ shop/a: { out: data/a, ses_out: data/a } }' })
  t.match(await refused(twice), /key\/shop\/a: would be the same as key\/shop\/a/)
  t.match(await refused(keys('{ secret_file: web.key, ses_out: /etc/ses.env }')), /is written below/)
  writeFileSync(file, FILES({ keys: '{ shop/plain: { out: data/plain.key } }' }))
  t.match(await desk.run(['apply', '--yes', file]), { code: 0 })
  const plain = FILES({ keys: '{ shop/plain: { out: data/plain.key, ses_out: data/plain.env } }' })
  t.match(await refused(plain), /plain: ses_out: is for a new key/)
})

t.test('changed in place, and what cannot be', async (t) => {
  const desk = await opened(t)
  const file = desk.file('shop.yaml', FILES())
  await desk.run(['apply', '--yes', file])
  desk.file('mta.pw', 'another secret\n')
  writeFileSync(
    file,
    FILES({
      pools: `{ eu: { upstreams: ['${UPSTREAM}'], return_path: fixed }, us: { upstreams: ['smtp://mta2.us.example'] } }`,
    }),
  )
  const { stdout } = await desk.run(['apply', '--yes', file])
  t.match(
    stdout,
    /~ pool\/eu\n {4}upstreams: .* with another secret\n {4}return_path: verp -> fixed\n~ pool\/us/,
  )
  t.notMatch(stdout, /another secret\n.*another secret\n.*hunter/)
  t.match(await desk.run(['apply', file]), NOTHING)
  writeFileSync(
    file,
    FILES({
      credentials: '{ shop/printer: { cidr: 10.2.0.0/16 }, shop/scanner: { secret_file: other.pw } }',
      keys: '{ shop/web: { secret_file: web.key, mode: test }, ops: { out: data/ops.key } }',
      pools: `{ eu: { upstreams: ['${UPSTREAM}'] }, us: {} }`,
    }),
  )
  desk.file('other.pw', 'someotherpassword')
  const fixed = await desk.run(['apply', file])
  t.match(fixed.stdout, /! key\/shop\/web: mode cannot be changed in place/)
  t.match(fixed.stdout, /! credential\/shop\/printer: cidr cannot/)
  t.match(fixed.stdout, /! credential\/shop\/scanner: secret_file cannot/)
  t.notMatch(fixed.stdout, /someotherpassword/)
  t.equal(fixed.code, 0, 'what is left alone is no mistake')
})

t.test('whose is what', async (t) => {
  const desk = await opened(t)
  await desk.run(['pool', 'create', 'eu', '--upstream', 'smtp://hand.example'])
  const file = desk.file('shop.yaml', FILES())
  const first = await desk.run(['apply', '--yes', file])
  t.match(first.stdout, /! pool\/eu: a person made it; --adopt pool\/eu takes it over/)
  t.match((await desk.json(['pool', 'show', 'eu'])).members, [{ host: 'hand.example' }])
  t.match(await desk.run(['apply', '--yes', file, '--adopt', 'pool/eu']), { code: 0, stdout: /~ pool\/eu\n/ })
  t.match(await desk.run(['apply', file]), NOTHING)

  await desk.run(['pool', 'update', 'us', '--return-path', 'fixed'])
  t.match(await desk.run(['apply', file]), NOTHING, 'what the files do not say is free')
  writeFileSync(
    file,
    FILES({
      pools: `{ eu: { upstreams: ['${UPSTREAM}'] }, us: { upstreams: ['smtp://mta3.example'], return_path: verp } }`,
    }),
  )
  t.match(await desk.run(['apply', file]), {
    code: 0,
    stdout: /! pool\/us: return_path was changed by \S+ on 20\d\d-.*--adopt pool\/us/,
  })
  t.match((await desk.json(['pool', 'show', 'us'])).members, [{ host: 'mta1.us.example' }], 'nothing of it')
  t.match(await desk.run(['apply', file, '--yes', '--adopt', 'pool/us']), { code: 0, stderr: /1 done/ })

  const keys = await desk.json(['key', 'list'])
  await desk.run(['key', 'revoke', keys.find(({ name }: { name: string }) => name === 'web').id, '--yes'])
  t.match(await desk.run(['apply', file]), { code: 0, stdout: /! key\/shop\/web: was removed by \S+ on 20/ })
  t.equal((await desk.json(['key', 'list'])).length, 1, 'it stays removed')
  t.match(await desk.run(['apply', file, '--yes', '--again', 'key/shop/web']), {
    code: 0,
    stdout: /\+ key\/shop\/web/,
  })
  t.match(await desk.run(['apply', file]), NOTHING)

  const other = desk.file('other.yaml', `setup: other\npools: { eu: { upstreams: ['smtp://x.example'] } }\n`)
  t.match(await desk.run(['apply', other, '--adopt', 'pool/eu']), {
    stdout: /! pool\/eu: belongs to the setup shop/,
  })
  t.match(await desk.run(['apply', file, '--adopt', 'pool/nix']), {
    code: 78,
    stderr: /--adopt: pool\/nix is not in the files/,
  })
})

t.test('pruned is only what it made, and never what would be missed', async (t) => {
  const desk = await opened(t)
  const file = desk.file('shop.yaml', FILES())
  await desk.run(['apply', '--yes', file])
  await desk.run(['pool', 'create', 'hand', '--upstream', 'smtp://hand.example'])
  writeFileSync(file, 'setup: shop\nworkspaces: { shop: { routes: {} } }\n')
  const kept = await desk.run(['apply', file, '--yes'])
  t.match(kept.stdout, /! key\/ops: the files name it no more; --prune removes it/)
  t.match(await desk.run(['apply', file, '--yes', '--prune']), { code: 64, stderr: /--yes=7/ })
  t.match(await desk.run(['apply', file, '--yes=3', '--prune']), {
    code: 64,
    stderr: /removes 7; nothing was changed/,
  })
  const done = await desk.run(['apply', file, '--yes=7', '--prune'])
  t.equal(done.code, 0, done.stderr)
  t.match(done.stdout, /! pool\/eu: the workspace shop uses it/)
  t.match(done.stdout, /! person\/ana@example\.com: .*postern user update/)
  t.match(done.stdout, /! suppressions\/shop: /)
  t.same((await desk.json(['pool', 'list'])).map(({ name }: { name: string }) => name).sort(), [
    'default',
    'eu',
    'hand',
    'sandbox',
  ])
  t.same(await desk.json(['key', 'list']), [])
  writeFileSync(file, 'setup: shop\n')
  t.match(await desk.run(['apply', file, '--yes', '--prune']), { code: 78, stderr: /describes nothing/ })
  t.match(await desk.run(['apply', file, join(desk.dir, 'gone.yaml'), '--yes', '--prune']), {
    code: 78,
    stderr: /no such file/,
  })
})

t.test('secrets come from files that others cannot read, and new ones go where they are safe', async (t) => {
  const desk = await opened(t)
  chmodSync(join(desk.dir, 'web.key'), 0o644)
  const file = desk.file(
    'shop.yaml',
    FILES({
      keys: '{ shop/web: { secret_file: web.key }, a: { out: /etc/a.key }, b: { out: data/link.key }, c: { out: ../c.key } }',
    }),
  )
  symlinkSync('/etc/passwd', join(desk.dir, 'data/link.key'))
  const { code, stderr } = await desk.run(['apply', '--yes', file])
  t.equal(code, 78)
  if (process.getuid?.() !== 0)
    t.match(stderr, /key\/shop\/web: secret_file: .*others can read it; chmod 600/)
  t.match(stderr, /key\/a: out: \/etc\/a\.key: a new secret is written below/)
  t.match(stderr, /key\/b: out: .*link\.key/)
  t.match(stderr, /key\/c: out: .* is written below/)
  t.notOk(existsSync(join(desk.dir, 'c.key')))
  t.equal((await desk.json(['pool', 'list'])).length, 2, 'nothing was done')
  writeFileSync(file, FILES({ keys: '{ shop/web: {}, a: { secret_file: mta.pw } }' }))
  t.match(
    (await desk.run(['apply', '--yes', file])).stderr,
    /key\/shop\/web: .*one of secret_file and out[\s\S]*key\/a: secret_file: must be a live key/,
  )
})

t.test('exported, applied to an empty store, and exported again: the same', async (t) => {
  const desk = await opened(t)
  await desk.run([
    'pool',
    'create',
    'hand',
    '--upstream',
    'smtps://[2001:db8::1]:2465?weight=7&rate=2.5',
    '--no-notify-success',
  ])
  await desk.run(['key', 'create', '--platform', '--name', 'ci/one'])
  await desk.run(['webhook', 'create', 'https://203.0.113.9/all', '--tag', 'a=b', '--domain', 'shop.example'])
  await desk.run(['workspace', 'update', 'default', '--pool', 'hand', '--statistics-tags', 'kind,plan'])
  desk.file('auth', 'Bearer hunter22')
  desk.file('s1.pem', PEM)
  desk.file('mine.csv', LIST)
  const applied1 = await desk.run([
    ...['apply', '--yes'],
    desk.file(
      'shop.yaml',
      FILES({
        domains:
          '{ shop.example: { workspace: shop }, news.example: { dkim: [{ selector: s1, key_file: s1.pem }] } }',
        credentials:
          '{ shop/printer: { cidr: [10.1.0.0/16, 192.168.7.0/24] }, shop/scanner: { secret_file: scanner.pw } }',
        webhooks: `{ shop/orders: { endpoint: 'https://203.0.113.9/hook', header_files: { Authorization: auth }, secret_file: hook.key } }`,
        suppressions: `{ shop: { file: s.csv, test_file: mine.csv }, '*': { file: mine.csv } }`,
      }),
    ),
  ])
  t.equal(applied1.code, 0, applied1.stderr)
  t.match(applied1.stdout, /\+ credential\/shop\/printer\/10\.1\.0\.0\/16/)
  t.notMatch(applied1.stdout, /hunter22|PRIVATE/)
  t.match(await desk.run(['apply', join(desk.dir, 'shop.yaml')]), NOTHING)
  t.match(await desk.json(['suppression', 'list', '--account']), [
    {
      email: 'old@b.example',
      origin: 'complaint',
      created_at: '2024-02-03T04:05:06.000Z',
      source_id: 'import:x',
    },
  ])
  const out = join(desk.dir, 'out')
  t.match(await desk.run(['export', '--setup', out]), { code: 0, stderr: /FILL-IN stands for/ })
  t.equal(statSync(out).mode & 0o777, 0o700)
  t.equal(statSync(join(out, 'postern.yaml')).mode & 0o777, 0o600)
  t.match(await desk.run(['export', '--setup', out]), { code: 73 }, 'over nothing that is there')
  const text = readFileSync(join(out, 'postern.yaml'), 'utf8')
  t.match(await desk.run(['apply', '--yes', out, '--name', 'main']), {
    code: 78,
    stderr: /FILL-IN stands for a secret/,
  })

  const next = await opened(t)
  const lists = ['suppressed.csv', 'suppressed-shop.csv', 'suppressed-shop-test.csv']
  for (const name of lists) next.file(name, readFileSync(join(out, name)))
  next.file('auth', 'Bearer hunter22')
  let n = 0
  const filled = text
    .replace(/password_file=FILL-IN/g, 'password_file=mta.pw')
    .replace(/secret_file: FILL-IN/g, () => `secret_file: fill-${n++}`)
    .replace(/Authorization: FILL-IN/g, 'Authorization: auth')
    .replace(/(selector: .*)(\s+key_file: )FILL-IN/g, (_, selector: string, word: string) => {
      const name = `fill-${n++}.pem`
      next.file(name, selector.endsWith('e') ? pemOf('ed25519') : PEM)
      return `${selector}${word}${name}`
    })
  const sections = filled.split(/^(?=\w+:)/m)
  for (const section of sections)
    for (const [, name] of section.matchAll(/secret_file: (fill-\d+)/g)) {
      const making = section.startsWith('webhooks') ? ['webhook', 'secret'] : ['key', 'secret']
      const secret = section.startsWith('credentials') ? 'scannerpassword' : (await next.run(making)).stdout
      next.file(String(name), secret)
    }
  const file = next.file('all.yaml', filled)
  const applied = await next.run(['apply', '--yes', file])
  t.equal(applied.code, 0, applied.stderr)
  t.notMatch(applied.stdout, /^!/m, "what an installation begins with is nobody else's")
  t.match(await next.run(['apply', file]), NOTHING)
  const again = join(next.dir, 'again')
  await next.run(['export', '--setup', again])
  t.equal(readFileSync(join(again, 'postern.yaml'), 'utf8'), text)
  for (const name of lists) t.same(readFileSync(join(again, name)), readFileSync(join(out, name)), name)
})

t.test('what is stopped here is named, since what the files make is not stopped', async (t) => {
  const desk = await opened(t)
  const file = desk.file('shop.yaml', FILES())
  t.equal((await desk.run(['apply', '--yes', file])).code, 0)
  const out = (name: string) => join(desk.dir, name)
  const none = await desk.run(['export', '--setup', out('none')])
  t.notMatch(
    none.stderr + readFileSync(join(out('none'), 'postern.yaml'), 'utf8'),
    /suspended|disabled|paused|^#/m,
  )

  const [{ id: webhook }] = await desk.json(['webhook', 'list'])
  for (const args of [
    ['workspace', 'suspend', 'shop', '--reason', 'unpaid # 7', '--yes'],
    ['webhook', 'update', webhook, '--disable'],
    ['upstream', 'pause', 'eu'],
  ]) {
    const { code, stderr } = await desk.run(args)
    t.equal(code, 0, `${args.join(' ')}: ${stderr}`)
  }
  const { code, stderr } = await desk.run(['export', '--setup', out('stopped')])
  t.equal(code, 0)
  const text = readFileSync(join(out('stopped'), 'postern.yaml'), 'utf8')
  for (const words of [
    /workspace shop is suspended here, and not where .*: run postern workspace suspend there$/m,
    /webhook shop\/orders is disabled here, .*: run postern webhook update ID --disable there$/m,
    /upstream \S+:\d+ of pool eu is paused or drained here, .*: run postern upstream pause there$/m,
  ]) {
    t.match(stderr, words)
    t.match(text, new RegExp(`^# ${words.source}`, 'm'), 'also in the file')
  }
  t.same(
    parse(text),
    parse(readFileSync(join(out('none'), 'postern.yaml'), 'utf8')),
    'and nothing else differs',
  )
})

t.test('keys of domains, headers and lists: mistakes, changes and what stays', async (t) => {
  const desk = await opened(t)
  desk.file('s1.pem', PEM)
  desk.file('no.pem', 'nonsense')
  desk.file('auth', 'Bearer hunter22')
  desk.file('utf16.csv', Buffer.from('\ufeffa@b.example', 'utf16le'))
  desk.file('when.csv', 'email,created_at\na@b.example,yesterday\n')
  desk.file('why.csv', 'email,origin\na@b.example,malice\n')
  const of = (over: Record<string, string>) =>
    desk.file(
      'shop.yaml',
      `setup: shop\n${Object.entries(over)
        .map(([k, v]) => `${k}: ${v}\n`)
        .join('')}`,
    )
  const wrong = await desk.run([
    'apply',
    of({
      domains: `
  a.example: { dkim: [{ selector: s1, key_file: no.pem }, { selector: s_1, key_file: s1.pem }] }
  b.example: { dkim: [{ selector: s1, key_file: s1.pem }, { selector: S1, key_file: s1.pem }] }
  c.example: { dkim: { selector: s1 } }
  d.example: { dkim: [{ selector: s1, key_file: FILL-IN }] }`,
      credentials: `
  default/a: { cidr: [] }
  default/b: { cidr: [10.0.0.0/8, 8.8.8.0/24] }`,
      webhooks: `{ default/h: { endpoint: 'https://203.0.113.9/h', out: data/h, header_files: { 'Webhook-Id': auth } } }`,
      suppressions: `
  default: { file: utf16.csv, test_file: when.csv }
  '*': { test_file: s.csv, file: why.csv }`,
    }),
  ])
  t.equal(wrong.code, 78)
  for (const said of [
    /:3: domain\/a\.example: dkim\[0\]\.key_file: /,
    /:3: domain\/a\.example: dkim\[1\]\.selector: s_1 is no selector/,
    /:4: domain\/b\.example: dkim\[1\]\.selector: S1 stands twice/,
    /:5: domain\/c\.example: dkim: must be a list of keys/,
    /:6: domain\/d\.example: dkim: FILL-IN stands for a secret/,
    /:8: credential\/default\/a: cidr: must not be empty/,
    /:9: credential\/default\/b\/8\.8\.8\.0\/24: cidr: must lie within/,
    /:10: webhook\/default\/h: header/,
    /:12: suppressions\/default: file: .*utf16\.csv: is not UTF-8/,
    /:12: suppressions\/default: test_file: .*when\.csv:2: is no address/,
    /:13: suppressions\/\*: test_file: the list of every workspace/,
    /:13: suppressions\/\*: file: .*why\.csv:2: is no address/,
  ])
    t.match(wrong.stderr, said)
  t.notMatch(wrong.stderr, /hunter22/)

  const good = (ranges: string) => ({
    domains: '{ a.example: { dkim: [{ selector: s1, key_file: s1.pem }] } }',
    credentials: `{ default/a: { cidr: [${ranges}] } }`,
    webhooks: `{ default/h: { endpoint: 'https://203.0.113.9/h', out: data/h, header_files: { Authorization: auth } } }`,
  })
  t.equal((await desk.run(['apply', '--yes', of(good('10.0.0.0/8'))])).code, 0)
  const [made] = await desk.json(['domain', 'list'])
  t.match(await desk.json(['domain', 'show', made.name]), { records: [{ name: 's1._domainkey.a.example' }] })
  desk.file('auth', 'Bearer another')
  const changed = await desk.run(['apply', '--yes', of(good('10.0.0.0/8, 172.16.0.0/12'))])
  t.match(
    changed.stdout,
    /~ webhook\/default\/h\n {4}header_files: Authorization -> Authorization with another secret/,
  )
  t.match(changed.stdout, /\+ credential\/default\/a\/172\.16\.0\.0\/12/)
  t.match(await desk.run(['apply', '--yes', '--prune', of(good('172.16.0.0/12'))]), {
    code: 64,
    stderr: /--yes=1/,
  })
  await desk.run(['domain', 'rotate', 'a.example', '--now'])
  t.match(
    (await desk.run(['apply', of(good('172.16.0.0/12'))])).stdout,
    /! domain\/a\.example: dkim cannot be changed/,
  )
})

t.test('two names for one thing are told before anything is made', async (t) => {
  const desk = await opened(t)
  const file = desk.file(
    'two.yaml',
    `setup: two
domains: { Shop.Example: {}, shop.example: {}, news.example: {}, news.example.: {} }
keys: { default/a: { secret_file: web.key }, default/b: { secret_file: web.key } }
credentials:
  default/c: { username: same, secret_file: scanner.pw }
  default/d: { username: same, secret_file: scanner.pw }
  default/e: { cidr: 10.0.0.0/8 }
  default/f: { cidr: [10.0.0.0/8, 10.1.0.0/16] }
webhooks:
  default/g: { endpoint: 'https://203.0.113.9/a', out: data/g }
  default/h: { endpoint: 'https://203.0.113.9/a', out: ./data/../data/g }
people: { Ana@x.example: { role: owner }, ana@x.example: { role: viewer } }
`,
  )
  const { code, stdout, stderr } = await desk.run(['apply', '--yes', file])
  t.match({ code, stdout }, { code: 78, stdout: '' })
  for (const [line, ref, other, at] of [
    [2, 'domain/shop.example', 'domain/Shop.Example', 2],
    [2, 'domain/news.example.', 'domain/news.example', 2],
    [3, 'key/default/b', 'key/default/a', 3],
    [6, 'credential/default/d', 'credential/default/c', 5],
    [8, 'credential/default/f/10.0.0.0/8', 'credential/default/e', 7],
    [11, 'webhook/default/h', 'webhook/default/g', 10],
    [12, 'person/ana@x.example', 'person/Ana@x.example', 12],
  ] as const)
    t.match(stderr, `two.yaml:${line}: ${ref}: would be the same as ${other} at ${file}:${at}\n`)
  t.equal(stderr.trim().split('\n').length, 7)
  t.same(await desk.json(['domain', 'list']), [])

  await desk.run([
    'apply',
    '--yes',
    desk.file('one.yaml', 'setup: one\nkeys: { default/a: { secret_file: web.key } }\n'),
  ])
  t.match(
    await desk.run([
      'apply',
      '--yes',
      desk.file('b.yaml', 'setup: b\nkeys: { ops: { secret_file: web.key } }\n'),
    ]),
    {
      code: 78,
      stderr: /b\.yaml:2: key\/ops: secret_file: is the secret of another key/,
    },
  )
  const sandbox = desk.file('s.yaml', 'setup: s\npools: { sandbox: { return_path: fixed } }\n')
  t.match(await desk.run(['apply', '--yes', '--adopt', 'pool/sandbox', sandbox]), {
    code: 0,
    stdout: /! pool\/sandbox: is built in, and stays as it is/,
  })
  symlinkSync('circle', join(desk.dir, 'circle'))
  t.match(
    await desk.run([
      'apply',
      '--yes',
      desk.file('c.yaml', 'setup: c\nkeys: { ops: { secret_file: circle } }\n'),
    ]),
    {
      code: 78,
      stderr: /circle: is a link, or leads in a circle of links/,
    },
  )
})

t.test('a webhook in the words of another service: its login is secret, its format fixed', async (t) => {
  const desk = await opened(t)
  desk.file('login', 'list:hunter22\n')
  const of = (more: string) =>
    desk.file(
      'hook.yaml',
      `setup: hook
webhooks: { list: { endpoint: 'https://203.0.113.9/h', secret_file: hook.key, ${more} } }
`,
    )
  const wrong = await desk.run(['apply', '--yes', of('format: sendgrid, auth_file: login')])
  t.match(wrong, { code: 78, stderr: /webhook\/list: auth.*goes with format postmark only/ })
  t.match(await desk.run(['apply', '--yes', of('format: ses')]), { code: 78, stderr: /format/ })
  const first = await desk.run(['apply', '--yes', of('format: postmark, auth_file: login')])
  t.match(first, { code: 0 }, first.stderr)
  t.notMatch(first.stdout, /hunter22/)
  t.match(await desk.json(['webhook', 'list']), [{ format: 'postmark', has_auth: true, workspace_id: null }])
  t.match(await desk.run(['apply', of('format: postmark, auth_file: login')]), NOTHING)
  desk.file('login', 'list:another')
  const changed = await desk.run(['apply', '--yes', of('format: postmark, auth_file: login')])
  t.match(changed, { code: 0, stdout: /~ webhook\/list\n {4}auth_file/ })
  t.notMatch(changed.stdout, /hunter22|another$/)
  t.match(await desk.run(['apply', of('format: mailgun')]), {
    stdout: /! webhook\/list: format cannot be changed/,
  })
  const out = join(desk.dir, 'out')
  await desk.run(['export', '--setup', out])
  const text = readFileSync(join(out, 'postern.yaml'), 'utf8')
  t.match(text, /format: postmark/)
  t.match(text, /auth_file: FILL-IN/)
  t.notMatch(text, /hunter22|list:another/)
})

t.test('a hundred things, one after the other', async (t) => {
  const desk = await opened(t)
  const many = (text: (n: number) => string): string =>
    `{ ${Array.from({ length: 25 }, (_, n) => text(n)).join(', ')} }`
  const file = desk.file(
    'many.yaml',
    `setup: many
pools: ${many((n) => `p${n}: { upstreams: ['smtp://mta${n}.example'] }`)}
workspaces: ${many((n) => `w${n}: { pool: p${n} }`)}
keys: ${many((n) => `w${n}/k: { out: data/k${n} }`)}
credentials: ${many((n) => `w${n}/range: { cidr: 10.${n}.0.0/16 }`)}
`,
  )
  t.match(await desk.run(['apply', '--yes', file]), { code: 0, stderr: /100 done/ })
  t.match(await desk.run(['apply', file]), NOTHING)
})
