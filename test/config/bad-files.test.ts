/** Files as people and attackers write them: each mistake is named with its place, and none is read as something else. */
import t from 'tap'
import { loadConfig, originOf, readConfig } from '../../src/config/load.js'
import { ConfigError } from '../../src/config/problem.js'
import { origins, printConfig } from '../../src/config/reference.js'

const said = (text: string, env: Record<string, string> = {}): string => {
  try {
    readConfig({ name: 'p.yaml', text }, env)
    return ''
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message
  }
}

const BOMB = [
  'a: &x [1]',
  ...Array.from({ length: 9 }, (_, i) => `b${i}: &y${i} [${`*${i === 0 ? 'x' : `y${i - 1}`},`.repeat(10)}1]`),
].join('\n')

const BAD: readonly (readonly [text: string, says: RegExp])[] = [
  ['http: *nope', /^p\.yaml:1:7: \*nope names no anchor; write &nope before it$/],
  ['x: &x {<<: *x}', /^p\.yaml:1:1: can not be read: /],
  [BOMB, /^p\.yaml:1:1: can not be read: /],
  ['http:\n\tport: 1', /^p\.yaml:2:1: is not valid YAML: a tab can not indent; use spaces$/],
  ['http: {port: 1}\nhttp: {port: 2}', /^p\.yaml:2:1: stands here for the second time; keep one of the two$/],
  [
    'http: {port: 1, port: x}',
    /^p\.yaml:1:17: stands here for the second time.*\np\.yaml:1:23: http\.port: expected a number/,
  ],
  ['hostname: a.test\n---\nb: 2', /^p\.yaml:2:1: is the start of a second document; keep one/],
  ['%YAML 9.9\n---\nhostname: a.test', /^p\.yaml:1:7: is not valid YAML: /],
  ['http: {port: 1', /^p\.yaml:1:15: is not valid YAML: /],
  ['"unterminated', /^p\.yaml:1:14: is not valid YAML: /],
  ['key: !!js/function x', /^p\.yaml:1:6: is a tag, and settings have none; write the plain value$/m],
  ['hostname: !secret x', /^p\.yaml:1:11: is a tag/],
  ['? [a]: b', /^p\.yaml:1:3: is not a setting: a key is one word$/m],
  ['__proto__: {x: 1}', /^p\.yaml:1:1: __proto__ is not a setting$/],
  ['http: {__proto__: {port: 1}}', /^p\.yaml:1:8: __proto__ is not a setting$/],
  ['constructor: 1', /^p\.yaml:1:1: constructor: is not a setting/],
  ['- a', /^p\.yaml:1:1: expected settings/],
  ['42', /^p\.yaml:1:1: expected settings/],
  ['"a\\u001b[31m\\nb": 1', /^p\.yaml:1:1: a\\u001b\[31m\\u000ab: is not a setting/],
  [`${'x'.repeat(200)}: 1`, /^p\.yaml:1:1: x{77}\.\.\.: is not a setting/],
  ['httpp: {}', /did you mean http\?$/],
  ['Hostname: x.test', /did you mean hostname\?$/],
  ['http: {porrt: 1}', /^p\.yaml:1:8: http\.porrt: is not a setting; did you mean port\?$/],
  ['tls: {cert: x}', /did you mean cert_file\?$/],
  ['submission: [{prot: 1}]', /^p\.yaml:1:15: submission\.0\.prot: is not a setting; did you mean port\?$/],
  ['http: []', /^p\.yaml:1:7: http: expected a group of settings, found \[\]$/],
  ['submission: {}', /^p\.yaml:1:13: submission: expected a list, found \{\}$/],
  ['submission: [1]', /^p\.yaml:1:14: submission\.0: expected a group of settings, found 1$/],
  ['store: {driver: mysql}', /store\.driver: expected .*sqlite.*, found "mysql"$/],
  ['store: {driver: postgres}', /^p\.yaml:1:17: store\.driver: needs store\.url_file, .*, found "postgres"$/],
  ['submission: [{tls: maybe}]', /expected one of starttls, implicit, none, found "maybe"$/],
  ['http: {port: -1}', /^p\.yaml:1:14: http\.port: expected at least 0, found -1$/],
  ['http: {port: 65536}', /expected at most 65535, found 65536$/],
  ['http: {port: 1.5}', /expected a whole number, found 1\.5$/],
  ['http: {port: true}', /expected a number, found true$/],
  ['http: {host: 999.1.1.1}', /http\.host: expected an IP address or a host name, found "999\.1\.1\.1"$/],
  ['domains: {resolver: ns.test}', /domains\.resolver: expected an address such as 127\.0\.0\.1:53/],
  ['domains: {resolver: "10.0.0.1:70000"}', /domains\.resolver: expected an address/],
  ['domains: {recheck: 10ms}', /domains\.recheck: expected 1s to 30d/],
  ['http: {host: "127.0.0.1:80"}', /http\.host: expected an IP address or a host name/],
  ['http: {host: "a b"}', /http\.host: expected an IP address or a host name/],
  ['http: {trusted_proxies: [10.0.0.0/99]}', /http\.trusted_proxies\.0: expected an address or a range/],
  ['http: {trusted_proxies: [proxy.test]}', /http\.trusted_proxies\.0: expected an address or a range/],
  ['management: {port: 8080}', /^p\.yaml:1:20: management\.port: is the port of http already, found 8080$/],
  ['http: {host: 0.0.0.0, port: 2525}', /bounce\.port: is the port of http already, found 2525$/],
  [
    'submission: [{port: 1}, {port: 1}]',
    /^p\.yaml:1:32: submission\.1\.port: is the port of submission\.0 already/,
  ],
  ['relay: {lifetime: 5}', /^p\.yaml:1:19: relay\.lifetime: expected a duration such as .*, found 5$/],
  ['relay: {lifetime: 5 days}', /expected a duration such as .*, found "5 days"$/],
  ['relay: {lifetime: -5d}', /expected a duration such as .*, found "-5d"$/],
  ['relay: {lifetime: 1000000w}', /expected 1m to 30d, found "1000000w"$/],
  ['relay: {retry: []}', /relay\.retry: expected at least 1 in the list/],
  ['relay: {retry: 5m}', /relay\.retry: expected a list, found "5m"$/],
  ['relay: {retry: [1m, 1ms]}', /^p\.yaml:1:21: relay\.retry\.1: expected 1s to 7d, found "1ms"$/],
  ['relay: {retry: [1m, null]}', /relay\.retry\.1: expected a duration/],
  [
    'relay: {retry: [2d], lifetime: 1d}',
    /^p\.yaml:1:17: relay\.retry\.0: expected at most relay\.lifetime, 1d: .*, found "2d"$/,
  ],
  ['retention: {bodies: 9d, emails: 1d}', /retention\.bodies: expected at most retention\.emails, 1d/],
  ['retention: {bodies: forever}', /retention\.bodies: expected a duration/],
  ['limits: {message_size: -1}', /limits\.message_size: expected a size/],
  ['limits: {message_size: 25XB}', /limits\.message_size: expected a size/],
  ['limits: {recipients: 0}', /limits\.recipients: expected at least 1, found 0$/],
  ['rate_limit: {per_minute: 600/m}', /rate_limit\.per_minute: expected a number, found "600\/m"$/],
  ['hostname: münchen.de', /^p\.yaml:1:11: hostname: expected ASCII/],
  ['hostname: "a\\nb"', /^p\.yaml:1:11: hostname: expected a host name .*, found "a\\nb"$/],
  ['hostname: ""', /hostname: must not be empty/],
  [
    'base_url: https://u:canary@x.test',
    /^p\.yaml:1:11: base_url: expected a URL without user name and password, found "https:\/\/u:\*\*\*@x\.test"$/,
  ],
  ['base_url: javascript:alert(1)', /base_url: expected an http or https URL/],
  ['default_from: not an address', /default_from: expected an address/],
  ['default_from: "a@b\\r\\nBcc: x@y"', /default_from: expected an address .*, found "a@b\\r\\nBcc: x@y"$/],
  ['identity: {oidc: [{name: a, client_id: b}]}', /^p\.yaml:1:19: identity\.oidc\.0\.issuer: is required/],
  [
    'identity: {oidc: [{name: a, client_id: b, issuer: "http://idp.test"}]}',
    /^p\.yaml:1:51: identity\.oidc\.0\.issuer: expected the https URL of the provider/,
  ],
  [
    'identity: {oidc: [{name: a, client_id: b, isuer: "https://idp.test"}]}',
    /identity\.oidc\.0\.isuer: is not a setting; did you mean issuer\?/,
  ],
  [
    'identity: {oidc: [{name: a, client_id: b, issuer: "https://u:canary@idp.test"}]}',
    /issuer: expected a URL without user name and password/,
  ],
  [
    'identity: {oidc: [{name: a, client_id: b, issuer: "https://a.test"}, {name: a, client_id: b, issuer: "https://a.test"}]}',
    /^p\.yaml:1:70: identity\.oidc\.1: has the name of another one in this list/,
  ],
  [
    'identity: {oidc: [{name: local, client_id: b, issuer: "https://a.test"}]}',
    /identity\.oidc\.0\.name: is taken/,
  ],
  [
    'identity: {oidc: [{name: A b, client_id: b, issuer: "https://a.test"}]}',
    /identity\.oidc\.0\.name: expected up to 32 of a-z, 0-9 and -, found "A b"/,
  ],
  [
    'identity: {oidc: [{name: a, client_id: b, issuer: "https://a.test", scopes: [email]}]}',
    /identity\.oidc\.0\.scopes: expected openid among them/,
  ],
  [
    'identity: {oidc: [{name: a, client_id: b, issuer: "https://a.test", role_from: {claim: r, map: {x: boss}}}]}',
    /identity\.oidc\.0\.role_from\.map\.x: expected one of owner, member, viewer, found "boss"$/,
  ],
  ['identity: {viewers_see: all}', /expected one of nothing, subjects, bodies, found "all"$/],
  ['identity: {session: {idle: 1s}}', /identity\.session\.idle: expected 1m to 30d/],
  ['identity: {release_to: [x]}', /identity\.release_to\.0: expected a mail address/],
  ['password: canary', /^p\.yaml:1:1: password: is not a setting/],
  ['http: {port: "smtp://u:canary@h"}', /found "smtp:\/\/u:\*\*\*@h"$/],
]

t.test(`${BAD.length} bad files`, async (t) => {
  for (const [text, says] of BAD) {
    const message = said(text)
    t.match(message, says, JSON.stringify(text.slice(0, 60)))
    t.notMatch(message, /canary/)
    t.notMatch(message, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
  }
})

t.test('what is unusual and means something is taken', async (t) => {
  for (const text of [
    'http:\n#  port: 1\n',
    'http: &a {max_body: 1MiB}\n',
    '\ufeffhostname: a.test\r\n',
    'relay: {lifetime: 1h}',
    'http: {host: "fe80::1%lo"}',
  ]) {
    t.equal(said(text), '', JSON.stringify(text))
  }
  const merged = 'submission:\n  - &l { tls: starttls, legacy: true, port: 1 }\n  - { <<: *l, port: 2 }\n'
  t.match(readConfig({ name: 'p.yaml', text: merged }).submission, [{ port: 1 }, { port: 2, legacy: true }])
})

t.test('a variable that almost is a setting', async (t) => {
  t.equal(
    said('', { POSTERN_HTTP_PORT: '1' }),
    'POSTERN_HTTP_PORT: is not a setting; did you mean POSTERN_HTTP__PORT?',
  )
  t.equal(
    said('', { POSTERN_RATE_LIMIT_PER_MINUTE: '1' }),
    'POSTERN_RATE_LIMIT_PER_MINUTE: is not a setting; did you mean POSTERN_RATE_LIMIT__PER_MINUTE?',
  )
  t.equal(said('', { POSTERN_CONFIG: '/x', POSTERN_DEBUG: '1', POSTERN_KEY: 'x' }), '')
})

t.test('where each value comes from', async (t) => {
  const text = 'http: { port: 8090 }\nrelay:\n  retry: [1m, 5m]\n'
  const config = readConfig(
    { name: '/etc/p.yaml', text },
    { POSTERN_LOG__LEVEL: 'debug', POSTERN_SUBMISSION__1__PORT: '9' },
    { 'limits.idle': '9s' },
  )
  t.strictSame(
    [
      'http.port',
      'http.host',
      'relay.retry.1',
      'relay.lifetime',
      'log.level',
      'limits.idle',
      'submission.1.port',
      'submission.0.port',
      'hostname',
    ].map((key) => originOf(config, key)),
    [
      '/etc/p.yaml:1:15',
      null,
      '/etc/p.yaml:3:15',
      null,
      'POSTERN_LOG__LEVEL',
      '--limits.idle',
      'POSTERN_SUBMISSION__1__PORT',
      null,
      null,
    ],
  )
  const printed = printConfig(config)
  t.match(printed, /^ {2}port: 8090 # \/etc\/p\.yaml:1:15$/m)
  t.match(printed, /^ {2}level: debug # POSTERN_LOG__LEVEL$/m)
  t.match(printed, /^ {2}host: 127\.0\.0\.1$/m)
  t.same(readConfig({ name: '/etc/q.yaml', text: printed }), config)
  t.ok(
    origins(config).some(
      ({ key, value, origin }) => key === 'relay.retry.0' && value === '1m' && origin === '/etc/p.yaml:3:11',
    ),
  )
  t.equal(originOf(loadConfig({ env: { POSTERN_CONFIG: '/dev/null' } }), 'http.port'), null)
})
