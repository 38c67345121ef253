import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { loadConfig, readConfig } from '../../src/config/load.js'
import { ConfigError } from '../../src/config/problem.js'
import { configReference, plainConfig, printConfig, settings } from '../../src/config/reference.js'

const ROOT = join(import.meta.dirname, '..', '..', '..')

const mistakes = (text: string, env = {}, flags = {}): readonly string[] => {
  try {
    readConfig({ name: 'p.yaml', text }, env, flags)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n')
  }
}

t.test('the defaults work on loopback', async (t) => {
  const config = readConfig(null, {}, {})
  t.match(config, {
    base_url: 'http://127.0.0.1:8080',
    http: { host: '127.0.0.1', port: 8080, max_body: 50 * 1024 ** 2, request_timeout: 60_000 },
    submission: [
      { port: 2587, tls: 'starttls' },
      { port: 2465, tls: 'implicit' },
    ],
    bounce: { domain: config.hostname },
    rate_limit: { per_minute: 600, auth_failures: 60 },
    relay: {
      retry: [60_000, 300_000, 900_000, 3_600_000, 7_200_000, 14_400_000, 28_800_000],
      lifetime: 432_000_000,
    },
    limits: { message_size: 25 * 1024 ** 2, recipients: 100 },
    log: { level: 'info', format: 'auto' },
  })
  t.ok(
    Object.isFrozen(config) && Object.isFrozen(config.relay.retry) && Object.isFrozen(config.submission[0]),
  )
})

t.test('flags over environment over file over defaults', async (t) => {
  const text = 'http: { port: 1, host: 127.0.0.2 }\nlog: { level: warn }\nhostname: a.test\n'
  const env = {
    POSTERN_HTTP__PORT: '2',
    POSTERN_LOG__LEVEL: 'error',
    POSTERN_RATE_LIMIT__PER_MINUTE: '',
    PATH: '/bin',
  }
  const config = readConfig({ name: '/etc/p/p.yaml', text }, env, {
    'http.port': '3',
    'relay.lifetime': undefined,
  })
  t.match(config, {
    http: { port: 3, host: '127.0.0.2' },
    log: { level: 'error' },
    rate_limit: { per_minute: 600 },
  })
  t.equal(config.data_dir, '/etc/p/data', 'relative to the folder of the file')
  t.equal(
    readConfig({ name: '/etc/p/p.yaml', text }, { POSTERN_DATA_DIR: 'here' }).data_dir,
    join(process.cwd(), 'here'),
  )
  t.equal(config.base_url, 'http://127.0.0.2:3')
  t.equal(readConfig(null, { POSTERN_BASE_URL: 'https://x.test/' }).base_url, 'https://x.test')
})

t.test('lists and their items from outside', async (t) => {
  const config = readConfig(null, {
    POSTERN_SUBMISSION__1__PORT: '0',
    POSTERN_RELAY__RETRY: '[1s, 2m30s]',
    POSTERN_SOMETHING: 'else',
  })
  t.match(config.submission, [
    { port: 2587, tls: 'starttls' },
    { port: 0, tls: 'implicit' },
  ])
  t.strictSame(config.relay.retry, [1000, 150_000])
  t.equal(readConfig(null, {}, { submission: '[]' }).submission.length, 0)
})

t.test('every mistake is told at once, with its place and its remedy', async (t) => {
  const text = [
    'hostnam: x',
    'http:',
    '  port: abc',
    '  prt: 1',
    'relay:',
    '  retry: [1m, 5]',
    '  lifetime: 1s',
    'submission:',
    '  - { tls: off, port: 1 }',
    'base_url: mail.test',
    'bounce: yes',
    'default_from: ""',
  ].join('\n')
  const env = { POSTERN_LIMITS__IDLE: 'x', POSTERN_HTTP__HTOS: '::1', POSTERN_FOO__X: '1' }
  t.strictSame(
    new Set(mistakes(text, env, { 'log.level': 'loud' })),
    new Set([
      'p.yaml:3:9: http.port: expected a number, found "abc"',
      'p.yaml:4:3: http.prt: is not a setting; did you mean port?',
      'POSTERN_HTTP__HTOS: http.htos: is not a setting; did you mean host?',
      'p.yaml:6:15: relay.retry.1: expected a duration such as 90s, 5m, 4h or 5d, found 5',
      'p.yaml:7:13: relay.lifetime: expected 1m to 30d, found "1s"',
      'p.yaml:9:12: submission.0.tls: expected one of starttls, implicit, none, found "off"',
      'p.yaml:10:11: base_url: expected an http or https URL such as https://mail.example.com, found "mail.test"',
      'p.yaml:11:9: bounce: expected a group of settings, found "yes"',
      'p.yaml:12:15: default_from: must not be empty, found ""',
      'POSTERN_LIMITS__IDLE: limits.idle: expected a duration such as 90s, 5m, 4h or 5d, found "x"',
      '--log.level: log.level: expected one of trace, debug, info, warn, error, fatal, silent, found "loud"',
      'p.yaml:1:1: hostnam: is not a setting; did you mean hostname?',
      'POSTERN_FOO__X: foo: is not a setting; postern config reference lists them all',
    ]),
  )
  t.match(mistakes('a: [\nb'), [/^p\.yaml:2:1: is not valid YAML: /])
  t.match(mistakes('a: 1\na: 2'), [
    /^p\.yaml:2:1: stands here for the second time/,
    /^p\.yaml:2:1: a: is not a setting/,
  ])
  t.match(mistakes('just text'), [/^p\.yaml:1:1: expected settings/])
  t.match(mistakes('', { POSTERN_RELAY__RETRY: '[1m' }), [
    /^POSTERN_RELAY__RETRY: relay.retry: is not valid YAML/,
  ])
  t.strictSame(mistakes(''), [])
  t.strictSame(mistakes('# nothing\n'), [])
})

t.test('a proxy that anybody could be is a mistake', async (t) => {
  const text =
    'submission:\n  - { proxy_protocol: true }\nbounce:\n  proxy_protocol: true\n  trusted_proxies: [10.0.0.0/8, x]'
  const first =
    'p.yaml:2:23: submission.0.proxy_protocol: needs submission.0.trusted_proxies, the addresses of the proxies, found true'
  t.strictSame(mistakes(text), [
    first,
    'p.yaml:5:33: bounce.trusted_proxies.1: expected an address or a range such as 10.0.0.0/8, found "x"',
  ])
  t.strictSame(mistakes(text.replace(', x', '')), [first])
})

t.test('which file', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-config-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'p.yaml')
  writeFileSync(file, 'hostname: from.file\n')
  t.equal(loadConfig({ file }).hostname, 'from.file')
  t.equal(loadConfig({ env: { POSTERN_CONFIG: file } }).hostname, 'from.file')
  t.throws(() => loadConfig({ file: join(dir, 'none.yaml') }), {
    name: 'ConfigError',
    message: /none\.yaml: cannot be read: ENOENT/,
  })
})

t.test('a file may be a credential of the service manager', async (t) => {
  const text = 'tls: { cert_file: c.pem, key_file: $CREDENTIALS_DIRECTORY/tls.key }\npepper_file: p\n'
  const file = { name: '/etc/x/p.yaml', text }
  t.match(readConfig(file, { CREDENTIALS_DIRECTORY: '/run/c' }), {
    pepper_file: '/etc/x/p',
    tls: { cert_file: '/etc/x/c.pem', key_file: '/run/c/tls.key' },
  })
  t.equal(readConfig(file).tls.key_file, '/run/credentials/postern.service/tls.key', 'outside of the unit')
  const env = { POSTERN_TLS__KEY_FILE: '$CREDENTIALS_DIRECTORY/k', CREDENTIALS_DIRECTORY: '/run/c' }
  t.equal(readConfig(null, env).tls.key_file, '/run/c/k')
})

t.test('the manual and the printed settings come from the schema', async (t) => {
  const manual = configReference()
  for (const { key, description } of settings()) {
    t.ok(description.length > 10, `${key} is described`)
    t.ok(manual.includes(`${key}\n`))
  }
  t.match(
    manual,
    /relay\.retry\n {4}Longest waits.*\n {4}list of durations · default \["1m",.*POSTERN_RELAY__RETRY/,
  )
  const config = readConfig(null, { POSTERN_HOSTNAME: 'a.test' })
  t.match(plainConfig(config), { relay: { lifetime: '5d' }, limits: { message_size: '25MiB' } })
  t.same(
    readConfig({ name: '/x/p.yaml', text: printConfig(config) }),
    config,
    'what is printed can be read again',
  )
})

t.test('the example names every setting, with its default', async (t) => {
  const text = readFileSync(join(ROOT, 'config', 'postern.yaml'), 'utf8')
  t.same(parse(text), null, 'all of it is commented out')
  const opened = text.replace(/^#(?=\S|(?: {2})+[-a-z_]+[: ])/gm, '')
  const named = parse(opened) as Record<string, unknown>
  const config = readConfig({ name: 'p.yaml', text: opened })
  t.strictSame(
    Object.keys(named).sort(),
    Object.keys(plainConfig(config)).sort(),
    'config/postern.yaml has each setting, commented out',
  )
  const { submission, relay, limits, retention, rate_limit, http, log, management } = readConfig(null)
  t.match(config, { submission, relay, limits, retention, rate_limit, http, log, management })
})
