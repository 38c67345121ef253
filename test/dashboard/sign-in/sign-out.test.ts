/** Signing out here, at the provider, and by the provider; and what is asked again each hour. */
import t from 'tap'
import { createPerson } from '../../../src/tenant/people.js'
import { CookieClient } from '../../parts/cookie-client.js'
import { unsigned } from '../../parts/oidc.js'
import { openSite, type Site, type SiteWish } from './site.js'

const MEMBERS = { allowed_domains: ['acme.test'] }
const HOUR = 3_600_000

const open = async (t: { teardown(end: () => unknown): unknown }, wish: SiteWish): Promise<Site> => {
  const site = await openSite(wish)
  t.teardown(() => site.stop())
  return site
}

const enter = async (site: Site): Promise<CookieClient> => {
  const client = new CookieClient()
  await site.viaOffice(client)
  return client
}

const look = (site: Site, client: CookieClient) =>
  site.get(client, '/emails', { headers: { accept: 'text/html' }, follow: false })

const logout = async (site: Site, token: string): Promise<number> => {
  const body = new URLSearchParams({ logout_token: token })
  const answer = await fetch(`${site.url}/sign-in/office/logout`, { method: 'POST', body })
  t.equal(answer.headers.get('cache-control'), 'no-store')
  return answer.status
}

t.test('here and at the provider', async (t) => {
  const site = await open(t, { office: MEMBERS, identity: { auto: true } })
  const client = await enter(site)
  t.equal(
    (await site.get(client, '/sign-out', { form: {} })).status,
    403,
    'not without the token of the session',
  )
  const { text } = await look(site, client)
  const _form = /name="_form" value="([^"]+)"/.exec(text)?.[1] ?? ''
  const foreign = { origin: 'https://evil.test' }
  t.equal((await site.get(client, '/sign-out', { form: { _form }, headers: foreign })).status, 403)
  t.ok(await site.who(client))
  const done = await site.get(client, '/sign-out', { form: { _form }, follow: false })
  t.match(done, { status: 200, text: /Your session here has ended/ })
  const to = done.headers.get('refresh')?.replace(/^0; url=/, '') ?? ''
  t.match(to, new RegExp(`^${site.idp.issuer}/session/end\\?.*post_logout_redirect_uri=`))
  t.equal(client.jar(site.url).get('postern_session'), undefined)
  t.equal(await site.who(client), null)
  const asked = await client.go(to)
  t.match(asked, { status: 200, text: /name="logout"|op\.logoutForm/ }, 'the provider takes the token')
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(asked.text)?.[1] ?? ''
  const back = await client.go(`${site.idp.issuer}/session/end/confirm`, { form: { xsrf, logout: 'yes' } })
  t.match(back, { status: 200, url: new RegExp(`^${site.url}/signed-out`), text: /You are signed out/ })
  t.match(
    await site.get(client, '/sign-in'),
    { status: 200, text: /Sign in with Acme/ },
    'never right after that',
  )
  t.match(await look(site, client), { status: 303 })
})

t.test('no other site signs anybody out', async (t) => {
  const site = await open(t, { office: MEMBERS })
  const client = await enter(site)
  const evil = { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' }
  // the browser of the person, which sends no cookie with the form of another site
  const answer = await fetch(`${site.url}/sign-out`, {
    ...{ method: 'POST', redirect: 'manual', headers: evil, body: new URLSearchParams({}) },
  })
  t.equal(answer.status, 403)
  t.same(answer.headers.getSetCookie(), [], 'and takes no cookie away')
  t.ok(await site.who(client))
  const { text } = await look(site, client)
  const _form = /name="_form" value="([^"]+)"/.exec(text)?.[1] ?? ''
  // whose session has ended already is signed out all the same, by a form of ours
  await site.store.revokeSession(site.accountId, (await site.who(client)).session.id)
  const late = await site.get(client, '/sign-out', { form: { _form }, follow: false })
  t.match([late.status, late.headers.get('location')], [303, '/signed-out'])
  t.equal(client.jar(site.url).get('postern_session'), undefined)
})

t.test('a provider that can not be asked keeps nobody in', async (t) => {
  const site = await open(t, { office: MEMBERS })
  const client = await enter(site)
  const { text } = await look(site, client)
  const _form = /name="_form" value="([^"]+)"/.exec(text)?.[1] ?? ''
  site.clock.advance(2 * HOUR)
  site.idp.lies = { down: 'refused' }
  const done = await site.get(client, '/sign-out', { form: { _form } })
  t.equal(done.status, 200)
  t.equal(await site.who(client), null)
})

t.test('by the provider', async (t) => {
  const site = await open(t, { office: MEMBERS })
  const [a, b] = [await enter(site), await enter(site)]
  const sid = (await site.who(a))?.session.oidc?.sid
  t.ok(sid)
  t.equal(await logout(site, await unsigned({ iss: site.idp.issuer, aud: 'postern' })), 400)
  t.equal(await logout(site, 'x'), 400)
  t.equal(await logout(site, await site.idp.logoutToken({ nonce: 'x', sid })), 400)
  t.ok(await site.who(a))
  const one = await site.idp.logoutToken({ sid })
  t.equal(await logout(site, one), 200)
  t.equal(await site.who(a), null)
  t.ok(await site.who(b), 'the other browser stays')
  const again = await enter(site)
  t.equal(await logout(site, one), 400, 'a jti counts once')
  t.ok(await site.who(again))
  t.equal(await logout(site, await site.idp.logoutToken({ sub: 'somebody' })), 200, 'nobody has one')
  t.ok(await site.who(again))
  t.equal(await logout(site, await site.idp.logoutToken()), 200, 'only sub: all that the person has there')
  t.equal(await site.who(again), null)
  t.equal(await site.who(b), null)
})

t.test('logout: person ends all sessions with one', async (t) => {
  const site = await open(t, { office: { ...MEMBERS, logout: 'person' } })
  const [a, b] = [await enter(site), await enter(site)]
  const sid = (await site.who(a))?.session.oidc?.sid
  t.equal(await logout(site, await site.idp.logoutToken({ sid })), 200)
  t.equal(await site.who(b), null)
})

t.test('by the provider itself, when somebody signs out there', async (t) => {
  const site = await open(t, { office: MEMBERS })
  const client = await enter(site)
  const asked = await client.go(`${site.idp.issuer}/session/end`)
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(asked.text)?.[1] ?? ''
  await client.go(`${site.idp.issuer}/session/end/confirm`, { form: { xsrf, logout: 'yes' }, follow: false })
  t.strictSame(site.idp.errors, [])
  t.equal(await site.who(client), null)
})

t.test('groups and roles are asked again each hour', async (t) => {
  const role_from = { claim: 'roles', map: { admin: 'owner', dev: 'member' } }
  const site = await open(t, { office: { ...MEMBERS, role_from }, idp: { refreshTokens: true } })
  site.idp.person.claims.roles = ['admin']
  const client = await enter(site)
  await createPerson(site.deps, site.accountId, { email: 'ada@acme.test', role: 'owner' })
  const asked = () => site.idp.asked.filter((path) => path === '/token').length
  const before = asked()
  await look(site, client)
  t.equal(asked(), before, 'not before')
  site.idp.person.claims.roles = ['dev']
  site.clock.advance(HOUR)
  await Promise.all([look(site, client), look(site, client)])
  t.equal(asked(), before + 1, 'once for both')
  t.match(await site.who(client), { role: 'member' })
  site.idp.lies = { down: 'refused' }
  site.clock.advance(HOUR)
  t.not((await look(site, client)).status, 303, 'its last word counts')
  site.idp.lies = {}
  site.idp.person.claims.roles = []
  site.clock.advance(HOUR)
  t.equal((await look(site, client)).status, 303, 'no role any more')
  t.equal(await site.who(client), null)
})

t.test('after 12 hours without a word of the provider it is over', async (t) => {
  const site = await open(t, { office: MEMBERS, identity: { session: { idle: '1d', lifetime: '7d' } } })
  const client = await enter(site)
  site.clock.advance(12 * HOUR - 60_000)
  t.ok(await site.who(client))
  site.clock.advance(60_000)
  t.equal(await site.who(client), null)
})
