import { join } from 'node:path'
import t from 'tap'
import { unseal } from '../../src/base/secret.js'
import { UPSTREAM_SEAL } from '../../src/tenant/pool.js'
import { parseUpstream } from '../../src/tenant/upstream.js'
import { codeOf, fieldsOf, openHouse } from './house.js'

const secrets = async (path: string): Promise<string> => {
  if (path === '/run/pw') return 's3cret pass\n'
  if (path === '/run/empty') return '\n'
  throw new Error('no such file')
}
const parse = (text: string) => parseUpstream(text, secrets)

t.test('upstream URLs', async (t) => {
  const full =
    'smtp://user%40x@[::1]:587?tls=verify&weight=10&priority=2&max_connections=7&messages_per_connection=9&rate=2.5&password_file=/run/pw'
  t.match(await parse(full), {
    host: '::1',
    port: 587,
    tls: 'verify',
    auth: { user: 'user@x', pass: 's3cret pass' },
    weight: 10,
    priority: 2,
    maxConnections: 7,
    messagesPerConnection: 9,
    rate: 2.5,
  })
  t.match(await parse('smtps://mta.test'), { host: 'mta.test', tls: 'implicit', port: undefined, auth: null })
  for (const text of ['mta.test', 'http://mta.test', 'smtp://', '']) {
    t.strictSame(await fieldsOf(parse(text)), ['upstream format'], text)
  }
  t.match(await parse('smtp://mta.test?tls=verify&ca_file=ca.pem'), { caFile: join(process.cwd(), 'ca.pem') })
  t.strictSame(await fieldsOf(parse('smtp://u:pw@mta.test')), ['upstream forbidden'])
  for (const word of ['password_file', 'client_secret_file', 'refresh_token_file'])
    t.strictSame(await fieldsOf(parse(`smtp://u@mta.test?${word}=/run/empty`)), [`upstream.${word} missing`])
  t.strictSame(await fieldsOf(parse('smtp://mta.test?tls=maybe&wieght=1&rate=x')), [
    'upstream.wieght unknown',
    'upstream.tls format',
    'upstream.rate type',
  ])
})

t.test('a pool keeps passwords sealed, and members their identity', async (t) => {
  const { tenants, account, pepper } = await openHouse(t)
  const made = await tenants.createPool(account.id, {
    name: 'main',
    members: [
      await parse('smtp://user@MTA1.test:587?password_file=/run/pw'),
      await parse('smtp://mta2.test'),
    ],
  })
  const [first, second] = made.upstreams
  t.match(first, { host: 'mta1.test', port: 587, tls: 'required', user: 'user', weight: 1, state: 'active' })
  t.match(second, { port: 25, tls: 'opportunistic', user: null, sealedPassword: null })
  t.notMatch(JSON.stringify(made), /s3cret/)
  t.equal(unseal(pepper, UPSTREAM_SEAL, first?.sealedPassword ?? ''), 's3cret pass')
  t.throws(() => unseal(pepper, 'another purpose', first?.sealedPassword ?? ''))

  const changed = await tenants.updatePool(account.id, 'main', {
    members: [{ host: 'mta1.test', port: 587, weight: 5 }, { host: 'mta3.test' }],
  })
  t.match(changed.upstreams[0], {
    id: first?.id,
    weight: 5,
    user: 'user',
    sealedPassword: first?.sealedPassword,
  })
  t.not(changed.upstreams[1]?.id, second?.id)
  const plain = await tenants.updatePool(account.id, 'main', {
    members: [await parse('smtp://mta1.test:587')],
  })
  t.match(plain.upstreams[0], { id: first?.id, user: null, sealedPassword: null, weight: 5 })
  t.same(await tenants.findPool(account.id, made.id), plain)
})

t.test('tokens in place of a password', async (t) => {
  const { tenants, account, pepper } = await openHouse(t)
  const at = 'smtp://gw@mta.test:587'
  const client = 'token_url=https://id.test/token&client_id=gw&client_secret_file=/run/pw&scope=mail'
  const set = async (url: string) =>
    (await tenants.updatePool(account.id, 'default', { members: [await parse(url)] })).upstreams[0]
  const first = await set(`${at}?${client}&auth_mechanism=xoauth2`)
  const sealed = first?.oauth?.sealedSecret ?? ''
  t.equal(unseal(pepper, UPSTREAM_SEAL, sealed), 's3cret pass')
  t.match(first, { tls: 'required', sealedPassword: null, authMechanism: 'XOAUTH2' })
  t.match(await set(at), { oauth: first?.oauth, authMechanism: 'XOAUTH2' }, 'what is left out stays')
  const same = await set(`${at}?token_url=https://id.test/token&client_id=gw`)
  t.equal(same?.oauth?.sealedSecret, sealed)
  const elsewhere = set(`${at}?token_url=https://evil.test/token&client_id=gw`)
  t.strictSame(
    await fieldsOf(elsewhere),
    ['body.members[0].auth.oauth.client_secret missing'],
    'a secret stays at home',
  )
  t.match(await set(`${at}?token_file=token&auth_mechanism=any`), {
    oauth: { tokenFile: join(process.cwd(), 'token'), tokenUrl: null, sealedSecret: null },
    authMechanism: null,
  })
  t.match(await set(`${at}?password_file=/run/pw`), { oauth: null, sealedPassword: /./ })
  t.match(await set('smtp://mta.test:587'), { user: null, oauth: null, sealedPassword: null })
  for (const [query = '', ...fields] of [
    ['client_id=gw', 'auth.oauth.token_url missing'],
    ['token_url=https://id.test/', 'auth.oauth.client_id missing'],
    ['token_url=ftp://x&client_id=gw&client_secret_file=/run/pw', 'auth.oauth.token_url format'],
    ['token_file=a&service_account_file=b', 'auth.oauth.token_file forbidden'],
    [`password_file=/run/pw&${client}`, 'auth.pass forbidden'],
    [`${client}&auth_mechanism=plain`, 'auth.pass missing'],
    ['password_file=/run/pw&auth_mechanism=xoauth2', 'auth.oauth missing'],
    ['password_file=/run/pw&auth_mechanism=ntlm', 'auth_mechanism format'],
  ])
    t.strictSame(
      await fieldsOf(set(`${at}?${query}`)),
      fields.map((field) => `body.members[0].${field}`),
      query,
    )
  t.match(await fieldsOf(parse(`smtp://mta.test?${client}`)), [/forbidden$/], 'tokens are of a user')
})

t.test('what is refused', async (t) => {
  const { tenants, account } = await openHouse(t)
  const make = (name: string, ...members: Parameters<typeof tenants.createPool>[1]['members'] & {}) =>
    tenants.createPool(account.id, { name, members })
  t.strictSame(await fieldsOf(make('a b')), ['body.name format'])
  t.strictSame(await fieldsOf(make('sandbox')), ['body.name not_unique'])
  t.strictSame(await fieldsOf(make('x', { host: 'a b', port: 0, weight: 0, fingerprint: 'zz' })), [
    'body.members[0].host format',
    'body.members[0].port range',
    'body.members[0].weight range',
    'body.members[0].fingerprint format',
  ])
  t.strictSame(await fieldsOf(make('x', { host: 'mta.test', auth: { user: 'u' } })), [
    'body.members[0].auth.pass missing',
  ])
  const clear = { tls: 'none', auth: { user: 'u', pass: 'p' } } as const
  t.strictSame(await fieldsOf(make('x', { host: 'mta.test', ...clear })), ['body.members[0].tls forbidden'])
  const unchecked = { host: 'mta.test', tls: 'required', caFile: '/ca.pem' } as const
  t.strictSame(await fieldsOf(make('x', unchecked)), ['body.members[0].ca_file forbidden'])
  t.equal((await make('lan', { host: '192.168.1.5', ...clear })).name, 'lan')
  for (const name of ['sandbox', 'default']) {
    t.equal(await codeOf(tenants.deletePool(account.id, name)), 'resource.conflict')
    t.equal(await codeOf(tenants.updatePool(account.id, name, { name: 'other' })), 'resource.conflict')
  }
  t.match(await tenants.updatePool(account.id, 'default', { members: [{ host: 'mta.test' }] }), {
    upstreams: [{ host: 'mta.test' }],
  })
  t.equal(await codeOf(tenants.deletePool(account.id, 'nothing')), 'egress_pool.not_found')
  await tenants.deletePool(account.id, 'lan')
  t.equal(await codeOf(tenants.findPool(account.id, 'lan')), 'egress_pool.not_found')
})
