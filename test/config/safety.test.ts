import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createSecureContext } from 'node:tls'
import t from 'tap'
import { readManagementToken } from '../../src/config/forms.js'
import { readConfig } from '../../src/config/load.js'
import { safetyDoubts, safetyProblems } from '../../src/config/safety.js'
import { loadCertificate } from '../../src/keys/certificate.js'

const keysOf = (text: string) => safetyProblems(readConfig({ name: 'p.yaml', text })).map(({ key }) => key)
const NAMES = 'hostname: mail.example.com\nbase_url: https://mail.example.com\n'

t.test('what serve refuses', async (t) => {
  t.strictSame(keysOf(''), [], 'the defaults are safe')
  t.strictSame(keysOf(`${NAMES}http: { host: 0.0.0.0 }`), ['http.host'])
  t.strictSame(keysOf(`${NAMES}http: { host: 0.0.0.0, tls: true }`), [])
  t.strictSame(keysOf('hostname: vm\nhttp: { host: 10.0.0.1, tls: true, port: 80 }'), ['hostname'])
  t.strictSame(keysOf('hostname: vm\nhttp: { host: "::", tls: true }'), ['hostname', 'base_url'])
  t.strictSame(keysOf('management: { host: 10.0.0.1 }'), ['management.host'])
  t.strictSame(keysOf('tls: { cert_file: a.pem }'), ['tls.key_file'])
  const listener = (host: string, more: string) =>
    keysOf(`${NAMES}submission: [{ host: "${host}", ${more} }]`)
  t.strictSame(listener('127.0.0.1', 'tls: none'), [])
  t.strictSame(listener('localhost', 'tls: none, ip_credentials: true'), [])
  t.strictSame(listener('192.168.7.1', 'tls: none'), ['submission.0.host'])
  t.strictSame(listener('192.168.7.1', 'tls: none, ip_credentials: true'), [])
  t.strictSame(listener('0.0.0.0', 'tls: starttls'), [])
  t.strictSame(listener('0.0.0.0', 'tls: starttls, ip_credentials: true'), ['submission.0.host'])
  t.strictSame(listener('192.0.2.1', 'tls: none, ip_credentials: true'), [
    'submission.0.host',
    'submission.0.host',
  ])
  const [open] = safetyProblems(readConfig(null, { POSTERN_MANAGEMENT__HOST: '::' }))
  t.match(open?.expected, /loopback/)
})

t.test('listeners beyond loopback, each by a choice of its own', async (t) => {
  const pod = ['127.0.0.1', '10.244.1.7', 'fe80::1']
  const server = [...pod, '198.51.100.7']
  const found = (own: readonly string[], text: string) =>
    safetyProblems(readConfig({ name: 'p.yaml', text: `${NAMES}${text}` }), own)
  const keys = (own: readonly string[], text: string) => found(own, text).map(({ key }) => key)

  const proxied = (host: string, more = 'trusted_proxies: [10.244.0.0/16]') =>
    `http: { host: "${host}", behind_proxy: true, ${more} }`
  t.strictSame(keys(server, proxied('10.244.1.7')), [])
  t.strictSame(keys(pod, proxied('0.0.0.0')), [], 'all addresses of a container are private')
  t.strictSame(keys(pod, proxied('::')), [])
  t.strictSame(keys(server, proxied('0.0.0.0')), ['http.host'], 'those of a server are not')
  t.strictSame(keys(pod, proxied('198.51.100.7')), ['http.host'], 'a public address needs TLS here')
  t.strictSame(keys(pod, proxied('mail.example.com')), ['http.host'], 'a name may be any address')
  t.strictSame(keys(pod, proxied('10.244.1.7', 'tls: false')), ['http.trusted_proxies'])
  t.strictSame(keys(server, proxied('198.51.100.7', 'tls: true')), [], 'with TLS it is no matter')
  const plain = `hostname: mail.example.com\nbase_url: http://mail.example.com\n${proxied('10.244.1.7')}`
  t.match(safetyProblems(readConfig({ name: 'p.yaml', text: plain }), pod), [{ key: 'base_url' }])
  t.match(found(pod, 'http: { host: 10.244.1.7 }'), [
    { key: 'http.host', remedy: /http\.behind_proxy: true/ },
  ])

  const management = (host: string, more: string) => `management: { host: "${host}", ${more} }`
  t.strictSame(keys(pod, management('10.244.1.7', 'token_file: t')), [])
  t.strictSame(keys(pod, management('0.0.0.0', 'allow_networks: [10.244.0.1]')), [])
  t.strictSame(keys(server, management('0.0.0.0', 'allow_networks: [10.244.0.1]')), ['management.host'])
  t.strictSame(keys(pod, management('198.51.100.7', 'token_file: t')), ['management.host'])
  t.match(found(pod, management('10.244.1.7', 'port: 8081')), [
    { key: 'management.host', remedy: /management\.token_file or management\.allow_networks/ },
  ])
})

t.test('the token of the management listener', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-token-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'token')
  const refused = (words: RegExp) =>
    t.throws(() => readManagementToken(file), { name: 'ConfigError', message: words })
  refused(/management\.token_file: cannot be read: ENOENT/)
  writeFileSync(file, 'short\n', { mode: 0o640 })
  refused(/no token of at least 16 characters.*openssl rand/)
  writeFileSync(file, `${'x'.repeat(32)}\n`)
  t.equal(readManagementToken(file), 'x'.repeat(32))
  chmodSync(file, 0o644)
  refused(/read by everybody.*chmod o=/)
})

t.test('what is hardly meant', async (t) => {
  const doubts = (text: string) => safetyDoubts(readConfig({ name: 'p.yaml', text })).map(({ key }) => key)
  t.strictSame(doubts(''), [])
  t.strictSame(doubts('identity: { local: false }'), ['identity.local'])
  t.strictSame(
    doubts('identity: { local: false, oidc: [{ name: a, issuer: "https://a.test", client_id: p }] }'),
    [],
  )
  t.strictSame(doubts('identity: { session: { idle: 8d } }'), ['identity.session.idle'])
  t.strictSame(doubts('identity: { session: { idle: 7d } }'), [])
  t.strictSame(doubts('base_url: http://mail.example.com'), ['base_url'])
  t.strictSame(doubts('base_url: http://127.0.0.1:8080'), [])
})

t.test('certificates', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-cert-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const file = (name: string) => join(dir, name)
  const configOf = (tls: object = {}, hostname = 'mail.example.com') =>
    readConfig({ name: file('p.yaml'), text: JSON.stringify({ hostname, tls, data_dir: 'data' }) })

  const first = await loadCertificate(configOf())
  t.equal(first.selfSigned, true)
  t.doesNotThrow(() => createSecureContext(first))
  t.equal(statSync(file('data/self-signed.key')).mode & 0o777, 0o600)
  t.equal(statSync(file('data')).mode & 0o777, 0o700)
  t.equal((await loadCertificate(configOf())).fingerprint, first.fingerprint, 'it is kept')
  t.not(
    (await loadCertificate(configOf({}, 'other.example.com'))).fingerprint,
    first.fingerprint,
    'a new name, a new one',
  )
  const later = Date.now() + 824 * 86_400_000
  t.ok((await loadCertificate(configOf(), later)).expiresAt > later, 'and before it runs out')
  writeFileSync(file('data/self-signed.crt'), 'torn')
  t.equal((await loadCertificate(configOf())).selfSigned, true)

  writeFileSync(file('own.key'), readFileSync(file('data/self-signed.key')), { mode: 0o600 })
  writeFileSync(file('own.crt'), readFileSync(file('data/self-signed.crt')))
  const own = { cert_file: 'own.crt', key_file: 'own.key' }
  t.equal((await loadCertificate(configOf(own))).selfSigned, false)
  const refused = (tls: object, words: RegExp) =>
    t.rejects(loadCertificate(configOf(tls)), { name: 'ConfigError', message: words })
  await refused({ ...own, cert_file: 'none.crt' }, /tls\.cert_file: cannot be read: ENOENT/)
  await refused({ ...own, cert_file: 'own.key' }, /not a certificate/)
  await refused({ ...own, key_file: 'own.crt' }, /everybody|private key/)
  chmodSync(file('own.key'), 0o604)
  await refused(own, /can be read by everybody.*chmod o=/)
  chmodSync(file('own.key'), 0o600)
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  writeFileSync(file('else.key'), other.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  await refused({ ...own, key_file: 'else.key' }, /not the key of this certificate/)

  chmodSync(file('data/self-signed.key'), 0o644)
  await t.rejects(loadCertificate(configOf()), { name: 'ConfigError', message: /everybody/ })
})

t.test('the certificate that the SMTP library publishes is refused', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-cert-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const require = createRequire(import.meta.url)
  const options = require(join(dirname(require.resolve('smtp-server')), 'tls-options.js')) as {
    default: (given?: object) => { key: string; cert: string }
  }
  const { key, cert } = options.default({})
  writeFileSync(join(dir, 'k.pem'), key, { mode: 0o600 })
  writeFileSync(join(dir, 'c.pem'), cert)
  const config = readConfig({ name: join(dir, 'p.yaml'), text: 'tls: { cert_file: c.pem, key_file: k.pem }' })
  await t.rejects(loadCertificate(config), { name: 'ConfigError', message: /published/ })
})
