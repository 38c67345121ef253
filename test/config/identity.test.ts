/** The group `identity`: its defaults, its paths, and the files that a provider names. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { providerFileProblems, readCa, readSecret } from '../../src/config/identity.js'
import { readConfig } from '../../src/config/load.js'

const LEAST = '{ name: office, issuer: "https://id.test", client_id: postern'
const configWith = (dir: string, more: string) =>
  readConfig({ name: join(dir, 'p.yaml'), text: `identity: { oidc: [${LEAST}${more} }] }` })

t.test('defaults', async (t) => {
  const { identity } = readConfig(null)
  t.strictSame(identity, {
    local: true,
    auto: false,
    second_factor: 'optional',
    viewers_see: 'subjects',
    default_role: 'viewer',
    session: { idle: 43_200_000, lifetime: 604_800_000 },
    release_to: [],
    oidc: [],
  })
  const [office] = configWith('/etc/x', '').identity.oidc
  t.strictSame(office, {
    name: 'office',
    label: null,
    issuer: 'https://id.test',
    client_id: 'postern',
    client_secret_file: null,
    scopes: ['openid', 'email', 'profile'],
    allowed_domains: [],
    allowed_groups: null,
    trust_email: false,
    default_role: null,
    role_from: null,
    logout: 'session',
    ca_file: null,
  })
})

t.test('files stand beside the settings, and are told when they can not be used', async (t) => {
  const dir = t.testdir({ secret: 's3cret\n', empty: '\n', ca: 'no PEM' })
  chmodSync(join(dir, 'secret'), 0o600)
  chmodSync(join(dir, 'empty'), 0o600)
  const good = configWith(dir, ', client_secret_file: secret').identity
  t.equal(readSecret(good.oidc[0]!, 0), 's3cret')
  t.equal(readCa(good.oidc[0]!, 0), null)
  t.strictSame(providerFileProblems(good), [])

  const bad = configWith(dir, ', client_secret_file: gone, ca_file: ca').identity
  t.match(providerFileProblems(bad), [
    {
      key: 'identity.oidc.0.client_secret_file',
      value: join(dir, 'gone'),
      expected: 'cannot be read: ENOENT',
    },
    { key: 'identity.oidc.0.ca_file', expected: 'holds no certificate in PEM' },
  ])
  const empty = configWith(dir, ', client_secret_file: empty').identity
  t.match(providerFileProblems(empty), [{ expected: 'is empty' }])
  writeFileSync(join(dir, 'secret'), 'x')
  chmodSync(join(dir, 'secret'), 0o644)
  t.match(providerFileProblems(good), [
    { expected: 'the secret can be read by everybody', remedy: /chmod o=/ },
  ])
})
