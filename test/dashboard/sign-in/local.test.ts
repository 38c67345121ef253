/** Signing in with a password, with a setup link and with an invitation; and everybody who must not. */
import t from 'tap'
import { createLink, createPerson, createSetupLink } from '../../../src/tenant/people.js'
import { formOf } from '../../parts/browser.js'
import { CookieClient } from '../../parts/cookie-client.js'
import { openSite } from './site.js'

const PASSWORD = 'a sentence that nobody guesses'
const site = await openSite({ office: { allowed_domains: ['acme.test'] } })
t.teardown(() => site.stop())
const { deps, accountId, url } = site
const ada = await createPerson(deps, accountId, {
  email: 'ada@acme.test',
  role: 'owner',
  password: PASSWORD,
})

const OTHER = 'another sentence that nobody guesses'
const formIn = (html: string, action: string): string => String(formOf(html, action)?.fields._form)
const tokenIn = (html: string): string => /name="_form" value="([^"]+)"/.exec(html)?.[1] ?? ''

/** Looks at a page with a form, and sends it. */
const fill = async (client: CookieClient, path: string, fields: Record<string, string>, to = path) => {
  const { text } = await site.get(client, path)
  return site.get(client, to, { form: { _form: tokenIn(text), ...fields }, follow: false })
}

const signIn = (client: CookieClient, password = PASSWORD, more: Record<string, string> = {}) =>
  fill(client, '/sign-in?local', { email: 'Ada@Acme.test ', password, ...more }, '/sign-in')

t.test('address and password', async (t) => {
  const client = new CookieClient()
  const done = await signIn(client, PASSWORD, { return_to: '/emails' })
  t.match(done, { status: 303 })
  t.equal(done.headers.get('location'), '/emails')
  t.match(await site.who(client), { person: { email: 'ada@acme.test' } })
  const wrong = await signIn(new CookieClient(), 'another sentence')
  t.match(wrong, { status: 422, text: /The address or the password is not right/ })
  t.match(wrong.text, /value="Ada@Acme.test "/, 'what was typed is still there')
  t.notMatch(wrong.text, /another sentence/)
  const unknown = await fill(new CookieClient(), '/sign-in', { email: 'eve@x.test', password: 'x' })
  t.match(unknown, { status: 422, text: /The address or the password is not right/ })
  const evil = await signIn(new CookieClient(), PASSWORD, { return_to: '//evil.test' })
  t.equal(evil.headers.get('location'), '/')
})

t.test('a form of somebody else', async (t) => {
  const form = { email: 'ada@acme.test', password: PASSWORD }
  const client = new CookieClient()
  t.equal((await site.get(client, '/sign-in', { form })).status, 403, 'no token, no cookie')
  const { text } = await site.get(client, '/sign-in')
  const _form = tokenIn(text)
  const elsewhere = { origin: 'https://evil.test' }
  const foreign = await site.get(client, '/sign-in', { form: { ...form, _form }, headers: elsewhere })
  t.match(foreign, { status: 403, text: /This form came from https:\/\/evil\.test/ })
  const nowhere = { origin: 'null', 'sec-fetch-site': 'cross-site' }
  t.equal((await site.get(client, '/sign-in', { form: { ...form, _form }, headers: nowhere })).status, 403)
  t.equal(
    (await site.get(new CookieClient(), '/sign-in', { form: { ...form, _form } })).status,
    403,
    'another browser',
  )
  t.equal(await site.who(client), null)
  const own = { origin: 'null', 'sec-fetch-site': 'same-origin' }
  const done = await site.get(client, '/sign-in', { form: { ...form, _form }, headers: own, follow: false })
  t.equal(done.status, 303, 'a page without referrer sends null')
})

t.test('who guesses waits, and who was here before does not', async (t) => {
  const known = new CookieClient()
  t.equal((await signIn(known)).status, 303)
  known.jar(url).delete('postern_session')
  let last = 0
  let text = ''
  let after: string | null = null
  for (let n = 0; n < 8 && last !== 429; n++) {
    const said = await signIn(new CookieClient(), 'wrong wrong wrong')
    last = said.status
    text = said.text
    after = said.headers.get('retry-after')
  }
  t.equal(last, 429)
  t.match(text, /Too many attempts\. Try again in \d+ seconds?\./)
  t.match(after, /^\d+$/)
  t.equal((await signIn(new CookieClient())).status, 429, 'not even with the right one')
  t.equal((await signIn(known)).status, 303, 'but from a browser that was here')
  site.clock.advance(60_000)
})

t.test('a new session each time, and the one before ends', async (t) => {
  const client = new CookieClient()
  const { text } = await site.get(client, '/sign-in')
  const form = { _form: tokenIn(text), email: 'ada@acme.test', password: PASSWORD }
  client.jar(url).set('postern_session', 'ses_planted')
  const sessions: (string | undefined)[] = []
  for (const _ of [1, 2]) {
    await site.get(client, '/sign-in', { form, follow: false })
    sessions.push(client.jar(url).get('postern_session'))
  }
  t.equal(new Set([...sessions, 'ses_planted']).size, 3)
  const old = await fetch(`${url}/v1/session`, { headers: { authorization: `Bearer ${sessions[0]}` } })
  t.equal(old.status, 401)
})

t.test('a setup link: to look changes nothing, the button signs in, once', async (t) => {
  const { token } = await createLink(deps, accountId, { kind: 'setup', role: 'owner', createdBy: 'test' })
  const path = `/setup/${token}`
  for (const method of ['GET', 'HEAD', 'GET']) {
    const seen = await site.get(new CookieClient(), path, { method })
    t.match(seen, { status: 200 })
    t.equal(seen.headers.get('referrer-policy'), 'no-referrer')
    t.equal(seen.headers.get('cache-control'), 'no-store')
  }
  t.equal((await site.get(new CookieClient(), path, { form: {} })).status, 403, 'not without our form')
  const client = new CookieClient()
  t.equal((await fill(client, path, {})).status, 303)
  t.match(await site.who(client), { role: 'owner', person: null })
  const again = await site.get(new CookieClient(), path)
  t.match(again, { status: 410, text: /used already, or is too old/ })
  const late = await createLink(deps, accountId, { kind: 'setup', role: 'owner', createdBy: 'test' })
  site.clock.advance(1_800_000)
  t.equal((await site.get(new CookieClient(), `/setup/${late.token}`)).status, 410)
  t.equal((await site.get(new CookieClient(), '/setup/x')).status, 410)
})

t.test('a setup link of a person', async (t) => {
  const { token } = await createSetupLink(deps, accountId, 'ada@acme.test', 'test')
  const client = new CookieClient()
  t.match((await site.get(client, `/setup/${token}`)).text, /ada@acme\.test/)
  const done = await fill(client, `/setup/${token}`, {})
  t.equal(done.headers.get('location'), '/settings/you')
  t.match(await site.who(client), { person: { id: ada.id } })
  const spare = await createSetupLink(deps, accountId, 'ada@acme.test', 'test')
  const { text } = await site.get(client, '/settings/you')
  t.notMatch(text, /current_password/, 'who needs a link has forgotten it')
  const form = (password: string) => ({
    ...{ _form: formIn(text, 'password'), _action: 'password' },
    ...{ password, again: password },
  })
  const set = await site.get(client, '/settings/you', { form: form(OTHER), follow: false })
  t.equal(set.status, 303)
  t.equal((await signIn(new CookieClient(), OTHER)).status, 303)
  t.equal((await site.get(new CookieClient(), `/setup/${spare.token}`)).status, 410, 'other links end')
  site.clock.advance(1_800_000)
  const late = await site.get(client, '/settings/you', { form: form(PASSWORD), follow: false })
  t.match(late, { status: 422, text: /is not the password you have now/ })
  const back = { ...form(PASSWORD), current_password: OTHER }
  t.equal((await site.get(client, '/settings/you', { form: back, follow: false })).status, 303)
})

t.test('a tab of a session that ended keeps nobody out', async (t) => {
  const client = new CookieClient()
  await signIn(client)
  const { session } = await site.who(client)
  await deps.store.revokeSession(accountId, session.id)
  for (let n = 0; n <= deps.authFailures; n++) {
    const said = await site.get(client, n % 2 ? '/emails' : '/live', { follow: false })
    t.equal(said.status, n % 2 ? 303 : 401)
  }
  t.equal((await signIn(new CookieClient())).status, 303)
})

t.test('an invitation, with a password here', async (t) => {
  const made = await createLink(deps, accountId, {
    ...{ kind: 'invitation', role: 'member', email: 'bob@acme.test', createdBy: 'test' },
  })
  const path = `/invitation/${made.token}`
  const client = new CookieClient()
  t.match((await site.get(client, path)).text, /value="bob@acme\.test"/)
  const short = await fill(client, path, { email: 'bob@acme.test', password: 'short' })
  t.match(short, { status: 422, text: /Password must/ })
  const taken = await fill(client, path, { email: 'ada@acme.test', password: PASSWORD })
  t.match(taken, { status: 422, text: /Somebody has this address already/ })
  const done = await fill(client, path, { email: 'bob@acme.test', name: 'Bob', password: PASSWORD })
  t.equal(done.status, 303)
  t.match(await site.who(client), { role: 'member', person: { email: 'bob@acme.test' } })
  t.equal((await site.get(new CookieClient(), path)).status, 410, 'once')
  const late = await createLink(deps, accountId, { kind: 'invitation', role: 'member', createdBy: 'test' })
  site.clock.advance(7 * 86_400_000)
  t.equal((await site.get(new CookieClient(), `/invitation/${late.token}`)).status, 410)
})

t.test('an invitation, with a provider and whatever address', async (t) => {
  site.idp.person = { sub: 'carl', claims: { email: 'carl@elsewhere.test' } }
  const { token } = await createLink(deps, accountId, {
    kind: 'invitation',
    role: 'owner',
    createdBy: 'test',
  })
  const client = new CookieClient()
  t.equal((await site.get(client, '/sign-in/office')).status, 403, 'not without it')
  const { text } = await site.get(client, `/invitation/${token}`)
  t.match(text, /href="\/sign-in\/office\?invited"/)
  const stranger = new CookieClient()
  await site.get(stranger, '/sign-in/office?invited')
  t.equal(await site.who(stranger), null, 'whose browser never saw it')
  await site.get(client, '/sign-in/office?invited')
  t.match(await site.who(client), { role: 'owner', person: { email: 'carl@elsewhere.test' } })
  const again = new CookieClient()
  await site.get(again, '/sign-in/office')
  t.match(await site.who(again), { role: 'owner' }, 'and he is known from now on')
  t.equal((await site.get(new CookieClient(), `/invitation/${token}`)).status, 410)
})

t.test('the log and the audit', async (t) => {
  for (const line of site.lines) {
    t.notMatch(line, /\/(?:setup|invitation)\/[0-9A-Za-z]{12}/, 'no link')
    t.notMatch(line, /ses_\w{40,}|sentence|eyJ|postern_\w+=|canary/, 'no secret')
  }
  t.ok(
    site.lines.some((line) => line.includes('/setup/{token}')),
    'the route is told',
  )
})
