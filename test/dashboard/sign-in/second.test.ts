/** The second step of signing in: codes that are taken once, what stands between the steps, and what is required. */
import { Secret, TOTP } from 'otpauth'
import t from 'tap'
import { createPerson, createSetupLink } from '../../../src/tenant/people.js'
import { formOf } from '../../parts/browser.js'
import { CookieClient } from '../../parts/cookie-client.js'
import { openSite, type Site } from './site.js'

const PASSWORD = 'a sentence that nobody guesses'
const PAGE = '/settings/second-factor'

const tokenIn = (html: string): string => /name="_form" value="([^"]+)"/.exec(html)?.[1] ?? ''
const textOf = (html: string): string => html.replace(/<[^>]+>/g, ' ')
/** Each stands there once to be read, and once to be copied. */
const codesIn = (html: string): readonly string[] => [
  ...new Set(html.match(/\b[2-9a-z]{5}-[2-9a-z]{5}\b/g) ?? []),
]

/** What must never stand in the log. */
const secrets: string[] = []

const helpers = (site: Site) => {
  const codeOf = (secret: string, ahead = 0): string =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: site.clock.now() + ahead * 30_000 })

  /** Looks at a page with a form, and sends it. */
  const fill = async (client: CookieClient, path: string, fields: Record<string, string>, to = path) => {
    const { text } = await site.get(client, path)
    return site.get(client, to, { form: { _form: tokenIn(text), ...fields }, follow: false })
  }
  const signIn = (client: CookieClient, email: string, more: Record<string, string> = {}) =>
    fill(client, '/sign-in?local', { email, password: PASSWORD, ...more }, '/sign-in')
  const second = (client: CookieClient, code: string) => fill(client, '/second-factor', { code })

  const post = async (client: CookieClient, action: string, fields: Record<string, string> = {}) => {
    const { text } = await site.get(client, PAGE)
    const form = { _form: tokenIn(text), _action: action, ...fields }
    return site.get(client, PAGE, { form, follow: false })
  }
  /** Adds an app, as somebody signed in does; its secret and the recovery codes. */
  const addApp = async (client: CookieClient, name = 'Phone') => {
    const begun = await post(client, 'begin-app', { current_password: PASSWORD })
    const fields = formOf(begun.text, 'confirm-app')?.fields ?? {}
    const secret = String(fields.secret)
    const done = await site.get(client, PAGE, {
      form: { ...(fields as Record<string, string>), name, code: codeOf(secret) },
      follow: false,
    })
    const codes = codesIn(done.text)
    secrets.push(secret, ...codes)
    return { secret, begun, done, codes }
  }
  /** To the beginning of a minute, in which guesses are counted. */
  const nextMinute = () => site.clock.advance(120_000 - (site.clock.now() % 60_000))
  return { codeOf, fill, signIn, second, post, addApp, nextMinute }
}

const site = await openSite({ office: null })
t.teardown(() => site.stop())
const { deps, accountId, url } = site
const { codeOf, fill, signIn, second, post, addApp, nextMinute } = helpers(site)
for (const [name, role] of [
  ['ada', 'owner'],
  ['bob', 'member'],
  ['eve', 'viewer'],
] as const)
  await createPerson(deps, accountId, { email: `${name}@acme.test`, role, password: PASSWORD })

const sessionAt = async (client: CookieClient) => (await site.who(client))?.session.id ?? null
const at = (token: string) => fetch(`${url}/v1/session`, { headers: { authorization: `Bearer ${token}` } })

t.test('an app is added, and asked for from then on', async (t) => {
  const client = new CookieClient()
  const other = new CookieClient()
  for (const one of [client, other]) await signIn(one, 'ada@acme.test')
  const before = await sessionAt(client)
  t.match(await post(client, 'begin-app', { current_password: 'wrong' }), {
    status: 422,
    text: /is not the password you have now/,
  })
  const { begun, secret, done, codes } = await addApp(client)
  t.match(begun.text, /<svg class="qr"[^>]*><path/, 'a picture in the page itself')
  t.match(textOf(begun.text).replace(/ /g, ''), secret)
  t.equal(done.status, 200)
  t.equal(codes.length, 10)
  t.equal(await sessionAt(client), before)
  t.equal(await site.who(other), null, 'what a password alone had opened has ended')

  nextMinute()
  const fresh = new CookieClient()
  const first = await signIn(fresh, 'ada@acme.test', { return_to: '/emails' })
  t.equal(first.headers.get('location'), '/second-factor')
  t.equal(fresh.jar(url).get('postern_session'), undefined)
  t.equal(fresh.jar(url).get('postern_device'), undefined, 'no browser is known for half a sign-in')
  const pending = String(fresh.jar(url).get('postern_second'))
  t.notMatch(pending, /ada|usr_/)
  t.equal((await at(pending)).status, 401, 'what stands between the steps opens nothing')
  fresh.jar(url).set('postern_session', pending)
  t.match((await site.get(fresh, '/emails', { follow: false })).headers.get('location'), '/sign-in')
  fresh.jar(url).delete('postern_session')
  const shown = await site.get(fresh, '/second-factor')
  t.match(shown, { status: 200, text: /ada@acme\.test/ })
  t.notMatch(shown.text, secret)

  const wrong = await second(fresh, '000000')
  t.match(wrong, { status: 422, text: /is not right, or was used already/ })
  const right = codeOf(secret)
  const opened = await second(fresh, `${right.slice(0, 3)} ${right.slice(3)}`)
  t.match(opened, { status: 303 })
  t.equal(opened.headers.get('location'), '/emails')
  t.match(await site.who(fresh), { person: { email: 'ada@acme.test' } })
  t.equal(fresh.jar(url).get('postern_second'), undefined)

  const thief = new CookieClient()
  await signIn(thief, 'ada@acme.test')
  t.equal((await second(thief, right)).status, 422, 'a code is taken once')
  t.equal((await second(thief, codeOf(secret, -1))).status, 422, 'and none before it')
  t.equal((await second(thief, codeOf(secret, 1))).status, 303, 'the next one is good')
})

t.test('a pending step is used once, ends, and ends with the password', async (t) => {
  const client = new CookieClient()
  await signIn(client, 'bob@acme.test')
  const { secret } = await addApp(client)
  nextMinute()
  const one = new CookieClient()
  await signIn(one, 'bob@acme.test')
  const kept = String(one.jar(url).get('postern_second'))
  const guest = String(one.jar(url).get('postern_guest'))
  t.equal((await second(one, codeOf(secret))).status, 303)
  nextMinute()
  const copy = new CookieClient()
  copy.jar(url).set('postern_second', kept)
  copy.jar(url).set('postern_guest', guest)
  t.match(await second(copy, codeOf(secret)), { status: 403, text: /Sign in again/ }, 'the same cookie again')
  t.equal(await site.who(copy), null)

  nextMinute()
  const late = new CookieClient()
  await signIn(late, 'bob@acme.test')
  const { text } = await site.get(late, '/second-factor')
  site.clock.advance(600_000)
  const form = { _form: tokenIn(text), code: codeOf(secret) }
  t.equal((await site.get(late, '/second-factor', { form })).status, 403)
  t.equal(await site.who(late), null)
  t.equal((await site.get(late, '/second-factor', { follow: false })).status, 303)

  const changed = new CookieClient()
  await signIn(changed, 'bob@acme.test')
  const seen = await site.get(changed, '/second-factor')
  const bob = await site.store.user(accountId, 'bob@acme.test')
  const { hash } = bob ?? {}
  await site.store.updateUser(accountId, bob?.id ?? '', { hash: '$2b$other' })
  const after = { _form: tokenIn(seen.text), code: codeOf(secret) }
  t.equal((await site.get(changed, '/second-factor', { form: after })).status, 403, 'another password')
  await site.store.updateUser(accountId, bob?.id ?? '', { hash: hash ?? null })
})

t.test('codes of other people, and of who is disabled', async (t) => {
  const eve = new CookieClient()
  await signIn(eve, 'eve@acme.test')
  const app = await addApp(eve)
  nextMinute()
  const bob = new CookieClient()
  await signIn(bob, 'bob@acme.test')
  t.equal((await second(bob, codeOf(app.secret))).status, 422, 'of an app of somebody else')
  t.equal((await second(bob, app.codes[0] ?? '')).status, 422, 'a recovery code of somebody else')
  const enrolment = String(formOf(app.begun.text, 'confirm-app')?.fields.enrolment)
  const ada = new CookieClient()
  const { token } = await createSetupLink(deps, accountId, 'ada@acme.test', 'test')
  await fill(ada, `/setup/${token}`, {})
  const stolen = await post(ada, 'confirm-app', { enrolment, code: codeOf(app.secret), secret: '', uri: 'x' })
  t.match(stolen, { status: 422, text: /begin again/ }, 'an enrolment of somebody else')

  const out = new CookieClient()
  await signIn(out, 'eve@acme.test')
  const { text } = await site.get(out, '/second-factor')
  const person = await site.store.user(accountId, 'eve@acme.test')
  await site.store.updateUser(accountId, person?.id ?? '', { disabledAt: site.clock.now() })
  const form = { _form: tokenIn(text), code: codeOf(app.secret) }
  t.equal((await site.get(out, '/second-factor', { form })).status, 403)
  t.equal(await site.who(out), null)
  await site.store.updateUser(accountId, person?.id ?? '', { disabledAt: null })
})

t.test('a recovery code signs in once, and new ones end those before', async (t) => {
  nextMinute()
  const client = new CookieClient()
  await signIn(client, 'eve@acme.test')
  const reset = await site.store.user(accountId, 'eve@acme.test')
  await site.store.resetFactors(accountId, reset?.id ?? '')
  await signIn(client, 'eve@acme.test')
  const { codes, secret } = await addApp(client)
  nextMinute()
  const lost = new CookieClient()
  await signIn(lost, 'eve@acme.test')
  t.equal((await second(lost, (codes[0] ?? '').toUpperCase())).status, 303)
  t.match((await site.get(lost, PAGE)).text, /9 are left/)
  const twice = new CookieClient()
  await signIn(twice, 'eve@acme.test')
  const kept = ['postern_second', 'postern_guest'].map(
    (name) => [name, String(twice.jar(url).get(name))] as const,
  )
  t.equal((await second(twice, codeOf(secret))).status, 303)
  const stale = new CookieClient()
  for (const [name, value] of kept) stale.jar(url).set(name, value)
  t.match(await second(stale, codes[1] ?? ''), { status: 403, text: /Sign in again/ }, 'a step that is done')
  t.match((await site.get(lost, PAGE)).text, /9 are left/, 'and the code is not spent')
  const again = new CookieClient()
  await signIn(again, 'eve@acme.test')
  t.equal((await second(again, codes[0] ?? '')).status, 422, 'it is gone')
  const fresh = await post(lost, 'codes', { current_password: PASSWORD })
  t.equal(codesIn(fresh.text).length, 10)
  t.equal((await second(again, codes[1] ?? '')).status, 422)
  t.equal((await second(again, codesIn(fresh.text)[0] ?? '')).status, 303)
  const entries = await site.store.audit(
    accountId,
    {
      action: 'recovery_code',
      actorId: null,
      objectId: reset?.id ?? '',
      workspaceId: null,
      since: null,
      until: null,
    },
    { limit: 10, direction: 'older', anchor: null, countUpTo: 0 },
  )
  t.match(entries.rows, [
    { action: 'recovery_code.used', actor: { name: 'eve@acme.test', address: '127.0.0.1' } },
    { action: 'recovery_codes.replaced' },
    { action: 'recovery_code.used' },
  ])
  const id = /name="id" value="(fac_\w+)"/.exec((await site.get(lost, PAGE)).text)?.[1] ?? ''
  t.equal((await post(lost, 'remove', { id, current_password: 'wrong' })).status, 422)
  t.equal((await post(lost, 'remove', { id, current_password: PASSWORD })).status, 303)
  const plain = await signIn(new CookieClient(), 'eve@acme.test')
  t.equal(plain.headers.get('location'), '/')
  t.ok(secret)
})

t.test('who guesses codes waits, and who was here before does not', async (t) => {
  nextMinute()
  const person = await site.store.user(accountId, 'eve@acme.test')
  t.equal(person?.hasFactor, false)
  const known = new CookieClient()
  await signIn(known, 'eve@acme.test')
  const { secret } = await addApp(known)
  nextMinute()
  const guesser = new CookieClient()
  await signIn(guesser, 'eve@acme.test')
  let last = 0
  for (let n = 0; n < 8 && last !== 429; n++) last = (await second(guesser, `00000${n}`)).status
  t.equal(last, 429)
  t.equal((await second(guesser, codeOf(secret))).status, 429, 'not even with the right one')
  known.jar(url).delete('postern_session')
  await signIn(known, 'eve@acme.test')
  t.equal((await second(known, codeOf(secret))).status, 303, 'but from a browser that was here')
  nextMinute()
  const { text } = await site.get(guesser, '/second-factor')
  const form = { _form: tokenIn(text), code: '111111' }
  const many = await Promise.all(
    Array.from({ length: 30 }, () => site.get(guesser, '/second-factor', { form })),
  )
  t.equal(many.filter(({ status }) => status === 422).length, 5, 'many at once are no more than one by one')
  t.equal(many.filter(({ status }) => status === 429).length, 25)
  nextMinute()
})

t.test('a setup link is the way back', async (t) => {
  const { token } = await createSetupLink(deps, accountId, 'eve@acme.test', 'test')
  const client = new CookieClient()
  t.equal((await fill(client, `/setup/${token}`, {})).status, 303)
  const { text } = await site.get(client, PAGE)
  t.notMatch(text, /current_password/, 'who comes by a link has lost something')
  const id = /name="id" value="(fac_\w+)"/.exec(text)?.[1] ?? ''
  t.equal((await post(client, 'remove', { id })).status, 303)
  t.match(await site.store.user(accountId, 'eve@acme.test'), { hasFactor: false })
})

t.test('an owner sees who has one, and takes that of another', async (t) => {
  nextMinute()
  const ada = await site.store.user(accountId, 'ada@acme.test')
  const bob = await site.store.user(accountId, 'bob@acme.test')
  const client = new CookieClient()
  const { token } = await createSetupLink(deps, accountId, 'ada@acme.test', 'test')
  await fill(client, `/setup/${token}`, {})
  const session = String(client.jar(url).get('postern_session'))
  const api = async (method: string, path: string) => {
    const answer = await fetch(url + path, { method, headers: { authorization: `Bearer ${session}` } })
    return { status: answer.status, text: await answer.text() }
  }
  const { data } = JSON.parse((await api('GET', '/v1/users')).text)
  const of = (email: string) => data.find((row: { email: string }) => row.email === email)
  t.match(of('bob@acme.test'), { second_factor: true })
  t.match(of('eve@acme.test'), { second_factor: false })
  const full = await api('GET', `/v1/users/${bob?.id}`)
  t.match(JSON.parse(full.text), {
    factors: [{ object: 'factor', kind: 'totp', name: 'Phone', last_used_at: /^20/ }],
    recovery_codes_left: 10,
  })
  const [row] = await site.store.factors(bob?.id ?? '')
  t.notMatch(full.text, row?.secret ?? 'none', 'no secret, sealed neither')
  t.match(await api('DELETE', `/v1/users/${ada?.id}/factors`), { status: 409, text: /"reason":"own"/ })
  const page = await site.get(client, `/settings/people/${bob?.id}`)
  const form = { ...(formOf(page.text, 'reset-factors')?.fields as Record<string, string>) }
  t.equal((await site.get(client, `/settings/people/${bob?.id}`, { form, follow: false })).status, 303)
  t.same(await site.store.factors(bob?.id ?? ''), [])
  t.equal((await signIn(new CookieClient(), 'bob@acme.test')).headers.get('location'), '/')
})

t.test('no secret in the log', async (t) => {
  t.ok(secrets.length > 30)
  for (const line of site.lines) {
    t.notOk(secrets.some((one) => line.toLowerCase().includes(one.toLowerCase())))
    t.notMatch(line, /otpauth|"code"|sentence|postern_\w+=/)
  }
  const refused = site.lines.filter((line) => line.includes('"second_factor"'))
  t.ok(refused.length > 3)
  t.match(JSON.parse(refused[0] ?? ''), { event: 'sign_in_refused', why: 'second_factor', user: /^usr_/ })
})

t.test('where it is required, nothing else opens before there is one', async (t) => {
  const strict = await openSite({
    office: { allowed_domains: ['acme.test'] },
    identity: { second_factor: 'required' },
  })
  t.teardown(() => strict.stop())
  const they = helpers(strict)
  await createPerson(strict.deps, strict.accountId, {
    email: 'ada@acme.test',
    role: 'owner',
    password: PASSWORD,
  })
  const client = new CookieClient()
  await they.signIn(client, 'ada@acme.test')
  const token = String(client.jar(strict.url).get('postern_session'))
  const ask = async (method: string, path: string) => {
    const answer = await fetch(strict.url + path, { method, headers: { authorization: `Bearer ${token}` } })
    return { status: answer.status, json: await answer.json() }
  }
  for (const path of ['/v1/emails', '/v1/users', '/v1/workspaces', '/v1/sessions', '/v1/audit', '/v1/events'])
    t.match(await ask('GET', path), { status: 403, json: { code: 'auth.second_factor_required' } }, path)
  t.match(await ask('POST', '/v1/invitations'), {
    status: 403,
    json: { code: 'auth.second_factor_required' },
  })
  t.match(await ask('GET', '/v1/session'), { status: 200, json: { permissions: ['enrol'] } })
  for (const path of ['/', '/emails', '/settings/people', '/emails/export'])
    t.equal((await strict.get(client, path, { follow: false })).headers.get('location'), PAGE, path)
  const live = await fetch(`${strict.url}/live`, { headers: { cookie: `postern_session=${token}` } })
  t.equal(live.status, 403, 'what pages are kept up to date with')
  await live.body?.cancel()
  t.match((await strict.get(client, PAGE)).text, /Everybody must have a second factor here/)
  const { done } = await they.addApp(client)
  t.equal(done.status, 200)
  t.equal((await ask('GET', '/v1/users')).status, 200)
  t.equal((await strict.get(client, '/emails', { follow: false })).status, 200)
  strict.idp.person = { sub: 'carl', claims: { email: 'carl@acme.test', email_verified: true } }
  const carl = new CookieClient()
  await strict.viaOffice(carl)
  t.equal((await strict.get(carl, '/', { follow: false })).status, 200, 'the provider has its own')
  t.match((await strict.get(carl, PAGE)).text, /You have no password here/)
})
