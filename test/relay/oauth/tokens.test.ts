/**
 * Tokens from files, from scripted endpoints that fail in every way, and from a real one (oidc-provider).
 */
import { generateKeyPairSync, verify } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Provider } from 'oidc-provider'
import t from 'tap'
import { createDialler } from '../../../src/base/dial.js'
import { createTokens, type TokenParts } from '../../../src/relay/dialogue/login.js'
import type { OauthRow } from '../../../src/store/port/tenants.js'
import { tokenEndpoint } from './endpoint.js'

const SECRET = 'canary-secret-0123456789'
const NOTHING: OauthRow = {
  ...{ tokenFile: null, serviceAccountFile: null, tokenUrl: null, clientId: null },
  ...{ sealedSecret: null, sealedRefreshToken: null, scope: null },
}
const client = (tokenUrl: string, change: Partial<OauthRow> = {}): OauthRow => ({
  ...NOTHING,
  ...{ tokenUrl, clientId: 'gw', sealedSecret: `sealed ${SECRET}`, scope: 'mail' },
  ...change,
})

/** A source whose clock stands still. */
const source = (row: OauthRow, options: Partial<Parameters<typeof createDialler>[0]> = {}) => {
  const state = { now: 1_000_000, row, rotated: [] as string[] }
  const dialler = createDialler({ allow: ['127.0.0.0/8'], ownPorts: () => [], ...options })
  const parts: TokenParts = {
    dialler,
    unseal: (sealed) => sealed.replace(/^sealed /, ''),
    seal: (text) => `sealed ${text}`,
    rotated: (was, is) => state.rotated.push(`${was} > ${is}`),
    now: () => state.now,
    tick: () => state.now,
  }
  t.teardown(() => dialler.close())
  return Object.assign(state, { tokens: createTokens(() => state.row, 'ana@acme.test', parts) })
}

const failure = (asking: Promise<unknown>): Promise<string> =>
  asking.then(
    (found) => `no failure: ${found}`,
    (error: Error) => error.message,
  )

t.test('a client gets a token, keeps it, and many share one call', async (t) => {
  const endpoint = await tokenEndpoint(t, (_, nth) => ({
    access_token: `t${nth}`,
    expires_in: 3600,
    token_type: 'Bearer',
  }))
  const one = source(client(endpoint.url))
  t.same(await Promise.all([1, 2, 3].map(() => one.tokens.token())), ['t1', 't1', 't1'])
  t.same(endpoint.asked, [
    { grant_type: 'client_credentials', client_id: 'gw', scope: 'mail', client_secret: SECRET },
  ])
  one.now += 3_500_000
  t.equal(await one.tokens.token(), 't1')
  one.now += 50_000
  t.equal(await one.tokens.token(), 't2', 'shortly before its end')
  t.equal(await one.tokens.insteadOf('t2'), 't3')
  t.equal(await one.tokens.insteadOf('t2'), 't3', 'another connection did so already')
  t.equal(endpoint.asked.length, 3)
})

t.test('what it says of its life is believed within bounds', async (t) => {
  for (const [says, keptS, goneS] of [
    [1, 9, 11],
    ['3600', 3_500, 3_601],
    [-5, 200, 301],
    ['soon', 200, 301],
    [undefined, 200, 301],
    [1e12, 86_000, 86_401],
  ] as const) {
    const endpoint = await tokenEndpoint(t, (_, nth) => ({ access_token: `t${nth}`, expires_in: says }))
    const one = source(client(endpoint.url))
    await one.tokens.token()
    one.now += keptS * 1_000
    t.equal(await one.tokens.token(), 't1', `${says}: kept`)
    one.now += (goneS - keptS) * 1_000
    t.equal(await one.tokens.token(), 't2', `${says}: asked for anew`)
  }
})

t.test('failures, in words and without a secret', async (t) => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [
      [401, { error: 'invalid_client', error_description: `no such secret:\r\n ${SECRET}` }],
      /^no token: 127\.0\.0\.1:\d+ answered 401 invalid_client: no such secret: …$/,
    ],
    [
      [400, { error: `${new URLSearchParams({ s: SECRET })} or ${Buffer.from(SECRET).toString('base64')}` }],
      /answered 400 s=… or …$/,
    ],
    [[400, { error: 'invalid_scope' }], /answered 400 invalid_scope$/],
    [[503, 'busy'], /answered 503$/],
    [[302, ''], /answered 302: it redirects, which is not followed$/],
    ['<html>', /answered 200, but not in JSON$/],
    [{ token: 'x' }, /answered without a usable access_token$/],
    [{ access_token: 'a\r\nb' }, /answered without a usable access_token$/],
    [{ access_token: 'a', token_type: 'mac' }, /a token of another kind than Bearer$/],
    ['hang up', /127\.0\.0\.1: it closed the connection without an answer$/],
    ['silence', /127\.0\.0\.1: no answer within 0\.5 s$/],
  ]
  for (const [said, words] of cases) {
    const endpoint = await tokenEndpoint(t, () => said)
    const one = source(client(endpoint.url), { timeoutMs: said === 'silence' ? 500 : 15_000 })
    const message = await failure(one.tokens.token())
    t.match(message, words)
    t.notMatch(message, SECRET)
  }
  const down = source(client('http://127.0.0.1:1/token'))
  t.match(await failure(down.tokens.token()), /nothing listens there/)
  const inside = source(client('https://127.0.0.1/token'), { allow: [] })
  t.match(await failure(inside.tokens.token()), /private or reserved address/)
})

t.test('an endpoint that fails is left alone for a while', async (t) => {
  const endpoint = await tokenEndpoint(t, (_, nth) => (nth < 3 ? [503, ''] : { access_token: 'good' }))
  const one = source(client(endpoint.url))
  await failure(one.tokens.token())
  t.match(await failure(one.tokens.token()), /answered 503/)
  t.equal(endpoint.asked.length, 1)
  one.now += 1_001
  await failure(one.tokens.token())
  one.now += 1_001
  await failure(one.tokens.token())
  t.equal(endpoint.asked.length, 2, 'twice as long')
  one.now += 1_000
  t.equal(await one.tokens.token(), 'good')
})

t.test('refresh tokens that rotate', async (t) => {
  const endpoint = await tokenEndpoint(t, ({ refresh_token }, nth) =>
    refresh_token === `r${nth}`
      ? { access_token: `t${nth}`, refresh_token: `r${nth + 1}` }
      : [400, { error: 'invalid_grant' }],
  )
  const one = source(client(endpoint.url, { sealedSecret: null, sealedRefreshToken: 'sealed r1' }))
  t.equal(await one.tokens.token(), 't1')
  t.same(endpoint.asked[0], {
    grant_type: 'refresh_token',
    client_id: 'gw',
    scope: 'mail',
    refresh_token: 'r1',
  })
  t.equal(await one.tokens.insteadOf('t1'), 't2', 'before the row has the new one')
  t.same(one.rotated, ['sealed r1 > sealed r2', 'sealed r2 > sealed r3'])
  one.row = { ...one.row, sealedRefreshToken: 'sealed r3' }
  t.equal(await one.tokens.insteadOf('t2'), 't3')
  one.row = { ...one.row, sealedRefreshToken: 'sealed of another day' }
  t.match(await failure(one.tokens.insteadOf('t3')), /invalid_grant/, 'what a person sets is used')
})

t.test('files', async (t) => {
  const file = join(t.testdir(), 'token')
  writeFileSync(file, 'first\n')
  const { tokens } = source({ ...NOTHING, tokenFile: file })
  t.equal(await tokens.token(), 'first')
  t.equal(await tokens.insteadOf('first'), null)
  writeFileSync(file, 'second\n')
  t.equal(await tokens.insteadOf('first'), 'second')
  t.equal(await tokens.token(), 'second')
  writeFileSync(file, 'two words')
  t.match(await failure(tokens.token()), /^token_file .*: holds no token, or more than one$/)
  const gone = source({ ...NOTHING, tokenFile: '/nowhere/token' })
  t.equal(await failure(gone.tokens.token()), 'token_file /nowhere/token: no such file')
})

t.test('a service account signs for the user', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const endpoint = await tokenEndpoint(t, () => ({ access_token: 'google' }))
  const file = join(t.testdir(), 'key.json')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(
    file,
    JSON.stringify({ client_email: 'gw@iam.test', private_key: pem, token_uri: endpoint.url }),
  )
  const { tokens } = source({ ...NOTHING, serviceAccountFile: file })
  t.equal(await tokens.token(), 'google')
  const [head = '', claims = '', proof = ''] = (endpoint.asked[0]?.assertion ?? '').split('.')
  t.ok(verify('sha256', Buffer.from(`${head}.${claims}`), publicKey, Buffer.from(proof, 'base64url')))
  t.match(JSON.parse(Buffer.from(claims, 'base64url').toString()), {
    ...{
      iss: 'gw@iam.test',
      sub: 'ana@acme.test',
      scope: 'https://mail.google.com/',
      aud: endpoint.url,
      iat: 1_000,
      exp: 4_600,
    },
  })
  writeFileSync(file, `{"private_key": "${SECRET}"`)
  const broken = await failure(source({ ...NOTHING, serviceAccountFile: file }).tokens.token())
  t.match(broken, /is no key file of a service account$/)
  t.notMatch(broken, SECRET)
})

t.test('a real token endpoint', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        ...{ client_id: 'gw', client_secret: SECRET, token_endpoint_auth_method: 'client_secret_post' },
        ...{ grant_types: ['client_credentials'], response_types: [], redirect_uris: [] },
      },
    ],
    scopes: ['mail'],
    features: { devInteractions: { enabled: false }, clientCredentials: { enabled: true } },
  })
  server.on('request', provider.callback())
  t.match(await source(client(`${issuer}/token`)).tokens.token(), /^\S{20,}$/)
  const wrong = source(client(`${issuer}/token`, { sealedSecret: 'sealed wrong-0123456789' }))
  t.match(await failure(wrong.tokens.token()), /answered 401 invalid_client/)
})
