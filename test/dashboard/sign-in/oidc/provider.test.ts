/** Against a real provider that tells the truth, and then lies in every way that matters. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../../../src/base/clock.js'
import { readConfig } from '../../../../src/config/load.js'
import { newChecks, Provider, ProviderTrouble } from '../../../../src/dashboard/sign-in/provider.js'
import { CookieClient } from '../../../parts/cookie-client.js'
import { CLIENT_SECRET, Idp, type IdpWish, signedWithPublicKey, unsigned } from '../../../parts/oidc.js'

const BASE = 'http://127.0.0.1:9'
const REDIRECT = `${BASE}/sign-in/office/callback`

const dir = t.testdir()
writeFileSync(join(dir, 'secret'), CLIENT_SECRET, { mode: 0o600 })

const providerAt = (issuer: string, more: object = {}): Provider => {
  const oidc = [{ name: 'office', issuer, client_id: 'postern', client_secret_file: 'secret', ...more }]
  const { identity } = readConfig({ name: join(dir, 'p.yaml'), text: JSON.stringify({ identity: { oidc } }) })
  const provider = new Provider({ settings: identity.oidc[0]!, at: 0, clock: systemClock, callSeconds: 2 })
  t.teardown(() => provider.close())
  return provider
}

const openIdp = async (wish: IdpWish = {}): Promise<Idp> => {
  const idp = await new Idp(wish).listen()
  t.teardown(() => idp.close())
  return idp.know(BASE, 'office')
}

/** From the beginning to what the provider sends the browser back with. */
const goThere = async (provider: Provider, checks = newChecks()) => {
  const there = await provider.begin(checks, REDIRECT)
  const { url } = await new CookieClient().go(there.href, { follow: /\/callback/ })
  return { checks, answer: new URL(url) }
}

const signIn = async (provider: Provider) => {
  const { checks, answer } = await goThere(provider)
  return provider.finish(answer, checks)
}

const kindOf = async (call: () => Promise<unknown>): Promise<string> => {
  try {
    await call()
    return 'taken'
  } catch (error) {
    if (!(error instanceof ProviderTrouble)) throw error
    t.notMatch(error.message, /canary|eyJ|code=/, 'no secret, token or code')
    return error.kind
  }
}

t.test('a sign-in: claims of the ID token and of userinfo', async (t) => {
  const idp = await openIdp()
  const provider = providerAt(idp.issuer)
  const there = await provider.begin(newChecks(), REDIRECT)
  t.match(Object.fromEntries(there.searchParams), {
    response_type: 'code',
    code_challenge_method: 'S256',
    redirect_uri: REDIRECT,
    scope: 'openid email profile',
  })
  const { told, idToken, refreshToken } = await signIn(provider)
  t.match(told, { issuer: idp.issuer, subject: 'ana', userinfo: { email: 'ana@acme.test' } })
  t.ok(idToken)
  t.equal(refreshToken, null)
  t.match((await provider.signOutUrl(idToken!, `${BASE}/sign-in`))?.href, /\/session\/end\?id_token_hint=/)
  t.match(await provider.examine(), { issuer: idp.issuer, signsOut: true })
})

t.test('a public client', async (t) => {
  const idp = await openIdp({ publicClient: true })
  t.match((await signIn(providerAt(idp.issuer, { client_secret_file: null }))).told, { subject: 'ana' })
})

t.test('a refresh asks anew', async (t) => {
  const idp = await openIdp({ refreshTokens: true })
  const provider = providerAt(idp.issuer)
  const { told, refreshToken } = await signIn(provider)
  idp.person.claims.groups = ['mail']
  const again = await provider.refresh(refreshToken!, told)
  t.match(again.told.userinfo, { groups: ['mail'] })
  t.equal(await kindOf(() => provider.refresh('nonsense', told)), 'code')
})

t.test('what does not hold is not believed', async (t) => {
  const idp = await openIdp()
  const provider = providerAt(idp.issuer)
  const now = Math.floor(Date.now() / 1000)
  const lies: Readonly<Record<string, readonly [Idp['lies']['idToken'], string]>> = {
    'wrong nonce': [(claims) => ({ ...claims, nonce: 'x' }), 'token'],
    'no nonce': [({ nonce: _, ...claims }) => claims, 'token'],
    'wrong issuer': [(claims) => ({ ...claims, iss: 'https://evil.test' }), 'token'],
    'wrong audience': [(claims) => ({ ...claims, aud: 'other' }), 'token'],
    'another azp': [(claims) => ({ ...claims, aud: ['postern', 'other'], azp: 'other' }), 'token'],
    expired: [(claims) => ({ ...claims, iat: now - 400, exp: now - 100 }), 'clock'],
    'not valid yet': [(claims) => ({ ...claims, nbf: now + 100 }), 'clock'],
    'alg none': [unsigned, 'token'],
    'HS256 with the public key': [(claims) => signedWithPublicKey(idp, claims), 'token'],
    'another key': [(claims) => new Idp().sign(claims), 'token'],
    'another kid': [(claims) => idp.sign(claims, { kid: 'k9' }), 'keys'],
    'no token': [async () => 'x', 'token'],
  }
  for (const [name, [idToken, kind]] of Object.entries(lies)) {
    idp.lies = { idToken: idToken! }
    t.equal(await kindOf(() => signIn(provider)), kind, name)
  }
  idp.lies = { tokens: ({ id_token: _, ...answer }) => answer }
  t.equal(await kindOf(() => signIn(provider)), 'token', 'no ID token')
  idp.lies = { userinfo: (claims) => ({ ...claims, sub: 'eve' }) }
  t.equal(await kindOf(() => signIn(provider)), 'token', 'userinfo of somebody else')
  for (const off of [-50, 50]) {
    idp.lies = { idToken: (claims) => ({ ...claims, iat: now + off, exp: now + off, nbf: now + off }) }
    t.equal(await kindOf(() => signIn(provider)), 'taken', `a clock that is ${off} s off`)
  }
})

t.test('an answer is good once, for the browser and the provider that it was meant for', async (t) => {
  const idp = await openIdp()
  const provider = providerAt(idp.issuer)
  const { checks, answer } = await goThere(provider)
  const changed = (name: string, value: string | null): URL => {
    const url = new URL(answer)
    if (value === null) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
    return url
  }
  t.equal(await kindOf(() => provider.finish(changed('state', 'x'), checks)), 'token', 'wrong state')
  t.equal(await kindOf(() => provider.finish(changed('state', null), checks)), 'token', 'no state')
  t.equal(
    await kindOf(() => provider.finish(changed('iss', 'https://evil.test'), checks)),
    'token',
    'wrong iss',
  )
  t.equal(await kindOf(() => provider.finish(changed('iss', null), checks)), 'token', 'no iss')
  t.equal(await kindOf(() => provider.finish(changed('code', 'x'), checks)), 'code', 'no such code')
  t.equal(await kindOf(() => provider.finish(answer, { ...checks, verifier: newChecks().verifier })), 'code')
  t.equal(await kindOf(() => signIn(provider)), 'taken')
  const fresh = await goThere(provider)
  await provider.finish(fresh.answer, fresh.checks)
  t.equal(await kindOf(() => provider.finish(fresh.answer, fresh.checks)), 'code', 'a code used twice')
  const error = new URL(
    `${REDIRECT}?error=access_denied&error_description=no&state=${checks.state}&iss=${idp.issuer}`,
  )
  t.equal(await kindOf(() => provider.finish(error, checks)), 'refused')
})

t.test('a provider that is down, slow or wrong says so', async (t) => {
  const idp = await openIdp()
  const begin = (provider: Provider) => kindOf(() => provider.begin(newChecks(), REDIRECT))
  idp.lies = { down: 'refused' }
  t.equal(await begin(providerAt(idp.issuer)), 'down')
  const closed = await new Idp().listen()
  const nobody = closed.issuer
  await closed.close()
  t.equal(await begin(providerAt(nobody)), 'down')
  t.equal(await begin(providerAt('https://nowhere.invalid')), 'down')
  idp.lies = { down: 'silent' }
  t.equal(await begin(providerAt(idp.issuer)), 'slow')
  idp.lies = { discovery: (document) => ({ ...document, issuer: 'https://evil.test' }) }
  t.equal(await begin(providerAt(idp.issuer)), 'metadata')
  idp.lies = { discovery: () => '<html>' }
  t.equal(await begin(providerAt(idp.issuer)), 'metadata')
  idp.lies = { discovery: () => 503 }
  t.equal(await begin(providerAt(idp.issuer)), 'down')
  idp.lies = {}
  t.equal(await begin(providerAt(`${idp.issuer}/nowhere`)), 'metadata')
  idp.lies = { keys: () => ({ keys: [] }) }
  t.equal(await kindOf(() => signIn(providerAt(idp.issuer))), 'keys')
  t.equal(await kindOf(() => providerAt(idp.issuer).examine()), 'keys')
  idp.lies = { discovery: ({ jwks_uri: _, ...document }) => document }
  t.equal(await kindOf(() => signIn(providerAt(idp.issuer))), 'metadata')
  idp.lies = { discovery: (document) => ({ ...document, jwks_uri: `${idp.issuer}/nowhere` }) }
  t.equal(await kindOf(() => signIn(providerAt(idp.issuer))), 'keys')
  idp.lies = {}
  writeFileSync(join(dir, 'wrong'), 'canary-wrong', { mode: 0o600 })
  t.equal(await kindOf(() => signIn(providerAt(idp.issuer, { client_secret_file: 'wrong' }))), 'client')
  t.equal(await begin(providerAt(idp.issuer, { client_secret_file: 'gone' })), 'files')
})

t.test('a failure is forgotten, and what was discovered outlives one', async (t) => {
  const idp = await openIdp()
  let now = 1_000_000
  const settings = providerAt(idp.issuer).settings
  const provider = new Provider({ settings, at: 0, clock: { ...systemClock, now: () => now } })
  t.teardown(() => provider.close())
  const begin = () => kindOf(() => provider.begin(newChecks(), REDIRECT))
  idp.lies = { down: 'refused' }
  t.equal(await begin(), 'down')
  idp.lies = {}
  t.equal(await begin(), 'down', 'remembered for a moment')
  now += 5_000
  t.equal(await begin(), 'taken')
  idp.lies = { down: 'refused' }
  now += 3_600_000
  t.equal(await begin(), 'taken', 'older, but still good')
})

t.test('logout tokens', async (t) => {
  const idp = await openIdp()
  const provider = providerAt(idp.issuer)
  const check = async (token: Promise<string>) => {
    const text = await token
    return kindOf(() => provider.checkLogout(text))
  }
  t.match(await provider.checkLogout(await idp.logoutToken({ sid: 's1' })), { subject: 'ana', sid: 's1' })
  t.match(await provider.checkLogout(await idp.logoutToken()), { subject: 'ana', sid: null })
  const now = Math.floor(Date.now() / 1000)
  const wrong: Readonly<Record<string, object>> = {
    'wrong issuer': { iss: 'https://evil.test' },
    'wrong audience': { aud: 'other' },
    'a nonce': { nonce: 'x' },
    'no event': { events: {} },
    'no events': { events: undefined },
    'no jti': { jti: undefined },
    'no iat': { iat: undefined },
    'neither sub nor sid': { sub: undefined },
    'sub that is no text': { sub: 7 },
    'too old': { iat: now - 700, exp: now + 100 },
  }
  for (const [name, change] of Object.entries(wrong))
    t.match(await check(idp.logoutToken({ ...change })), /token|clock/, name)
  t.equal(await check(idp.logoutToken({ exp: now - 61, iat: now - 100 })), 'clock', 'expired')
  t.equal(await check(idp.logoutToken({}, { typ: 'at+jwt' })), 'token', 'another type')
  t.equal(await check(new Idp().sign({ iss: idp.issuer, aud: 'postern' })), 'token', 'another key')
  t.equal(await check(unsigned({ iss: idp.issuer, aud: 'postern' })), 'token', 'alg none')
  t.equal(await check(signedWithPublicKey(idp, { iss: idp.issuer, aud: 'postern' })), 'token', 'HS256')
})
