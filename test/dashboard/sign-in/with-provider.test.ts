/** Whole sign-ins through a real provider, and everybody who must not get in. */
import t from 'tap'
import { createLink } from '../../../src/tenant/people.js'
import { CookieClient } from '../../parts/cookie-client.js'
import { backAt, openSite, type Site, type SiteWish } from './site.js'

const MEMBERS = { allowed_domains: ['acme.test'] }

const open = async (t: { teardown(end: () => unknown): unknown }, wish: SiteWish): Promise<Site> => {
  const site = await openSite(wish)
  t.teardown(() => site.stop())
  return site
}

const SECRET = /eyJ[\w-]{10,}|ses_\w{40,}|canary|code=|Bearer/

t.test('somebody of an allowed domain gets in, and out', async (t) => {
  const site = await open(t, { office: MEMBERS })
  const client = new CookieClient()
  const start = await site.get(client, '/emails?q=x', { headers: { accept: 'text/html' } })
  t.match(start.text, /href="\/sign-in\/office\?return_to=%2Femails%3Fq%3Dx"[^>]*>Sign in with Acme/)
  const shown = await site.viaOffice(client, '/sign-in/office?return_to=%2Femails%3Fq%3Dx')
  t.match(shown, { url: `${site.url}/emails?q=x` })
  t.match(await site.who(client), { role: 'viewer' })
  const user = await site.store.userByIdentity(site.accountId, site.idp.issuer, 'ana')
  t.match(user, { email: 'ana@acme.test', role: 'viewer', roleFrom: null })

  const cookie = client.lines.find((line) => line.startsWith('postern_session='))
  t.match(cookie, /; HttpOnly/)
  t.match(cookie, /; SameSite=Lax/)
  t.match(cookie, /; Path=\//)
  t.notMatch(cookie, /Secure|Domain/)

  const again = await site.get(client, '/sign-in')
  t.equal(again.url, `${site.url}/`, 'who is signed in needs no form')
  for (const line of site.lines) t.notMatch(line, SECRET)
})

t.test('nobody by default', async (t) => {
  const site = await open(t, {})
  const client = new CookieClient()
  const shown = await site.viaOffice(client)
  t.match(shown, { status: 403, text: /nobody let you into Postern yet.*To mend it: an owner invites/ })
  t.equal(await site.who(client), null)
})

t.test('an unverified address, and another domain', async (t) => {
  const site = await open(t, { office: MEMBERS })
  site.idp.person.claims.email_verified = false
  t.match(await site.viaOffice(new CookieClient()), {
    status: 403,
    text: /does not say that your mail address is/,
  })
  site.idp.person.claims = { email: 'eve@evil.test', email_verified: true }
  t.match(await site.viaOffice(new CookieClient()), { status: 403, text: /nobody let you into Postern/ })
})

t.test('the provider says the role, each time', async (t) => {
  const role_from = { claim: 'urn:test:roles', map: { admin: 'owner', dev: 'member' } }
  const site = await open(t, { office: { ...MEMBERS, role_from } })
  const roleOf = async (roles: object) => {
    site.idp.person.claims['urn:test:roles'] = roles
    const client = new CookieClient()
    await site.viaOffice(client)
    return (await site.who(client))?.role ?? null
  }
  t.equal(await roleOf({ dev: { 1: 'acme.test' } }), 'member', 'keys of an object')
  t.equal(await roleOf(['dev', 'admin']), 'owner', 'the highest')
  t.equal(await roleOf({}), null, 'refused')
})

t.test('an answer that was not begun here, or not by this browser', async (t) => {
  const site = await open(t, { office: MEMBERS })
  const ana = new CookieClient()
  const back = await ana.go(`${site.url}/sign-in/office`, { follow: backAt(site) })

  const stranger = new CookieClient()
  t.equal((await stranger.go(back.url)).status, 400, 'swapped browser')
  t.equal(await site.who(stranger), null)

  const other = new URL(back.url)
  other.searchParams.set('state', 'x')
  const begun = new CookieClient()
  await begun.go(`${site.url}/sign-in/office`, { follow: backAt(site) })
  t.equal((await begun.go(other.href)).status, 400, 'wrong state')
  t.equal((await begun.go(back.url)).status, 400, 'the answer of another sign-in, and its own cookie is gone')

  t.equal((await ana.go(back.url, { follow: false })).status, 303)
  t.ok(await site.who(ana))
  t.equal((await ana.go(back.url)).status, 400, 'replayed in the same browser')

  const late = new CookieClient()
  const kept = await late.go(`${site.url}/sign-in/office`, { follow: backAt(site) })
  site.clock.advance(600_000)
  t.equal((await late.go(kept.url)).status, 400, 'after 10 minutes')
})

t.test('a code is good once, whatever the browser keeps', async (t) => {
  const site = await open(t, { office: MEMBERS })
  const client = new CookieClient()
  const back = await client.go(`${site.url}/sign-in/office`, { follow: backAt(site) })
  const flow = client.jar(site.url).get('postern_flow') ?? ''
  await client.go(back.url)
  const copy = new CookieClient()
  copy.jar(site.url).set('postern_flow', flow)
  const shown = await copy.go(back.url)
  t.match(shown, { status: 400, text: /used already, or took too long/ })
  t.equal(await site.who(copy), null)
})

t.test('an answer for one provider is none for another', async (t) => {
  const site = await open(t, {
    office: MEMBERS,
    identity: {},
  })
  const client = new CookieClient()
  const back = await client.go(`${site.url}/sign-in/office`, { follow: backAt(site) })
  t.equal((await client.go(back.url.replace('/office/', '/home/'))).status, 404)
  t.equal(await site.who(client), null)
})

t.test('lies at the callback are told, and nobody is signed in', async (t) => {
  const site = await open(t, { office: MEMBERS })
  const now = Math.floor(Date.now() / 1000)
  const lies: Readonly<Record<string, Site['idp']['lies']>> = {
    nonce: { idToken: (claims) => ({ ...claims, nonce: 'x' }) },
    issuer: { idToken: (claims) => ({ ...claims, iss: 'https://evil.test' }) },
    audience: { idToken: (claims) => ({ ...claims, aud: 'other' }) },
    expired: { idToken: (claims) => ({ ...claims, exp: now - 100 }) },
  }
  const FAILED: Readonly<Record<string, RegExp>> = {
    nonce: /What failed: <bdi>[^<]*nonce/,
    issuer: /What failed: <bdi>[^<]*iss/,
    audience: /What failed: <bdi>[^<]*aud/,
    expired: /What failed: <bdi>[^<]*exp/,
  }
  for (const [name, lie] of Object.entries(lies)) {
    site.idp.lies = lie
    const client = new CookieClient()
    const shown = await site.viaOffice(client)
    t.match(shown, { status: 403, text: /To mend it:/ }, name)
    t.match(shown.text, FAILED[name] ?? /nothing/, `${name}: the page names the check`)
    t.equal(await site.who(client), null, name)
  }
  for (const line of site.lines) t.notMatch(line, SECRET)
})

t.test('a provider that is down says so, and the form is there', async (t) => {
  const site = await open(t, { office: MEMBERS })
  site.idp.lies = { down: 'refused' }
  const shown = await site.viaOffice(new CookieClient())
  t.match(shown, { status: 503, text: /Acme does not answer\. Use another way/ })
  t.match(shown.text, /To mend it: see that its issuer URL/)
  t.match(shown.text, /<form[^>]*action="\/sign-in"/)
})

t.test('a session of before is no session of after', async (t) => {
  const site = await open(t, { office: MEMBERS })
  const client = new CookieClient()
  await site.viaOffice(client)
  const first = client.jar(site.url).get('postern_session')
  await client.go(`${site.url}/sign-in/office`)
  const second = client.jar(site.url).get('postern_session')
  t.not(first, second)
  const old = await fetch(`${site.url}/v1/session`, { headers: { authorization: `Bearer ${first}` } })
  t.equal(old.status, 401, 'the old one has ended')

  const victim = new CookieClient()
  victim.jar(site.url).set('postern_session', 'ses_planted')
  await site.viaOffice(victim)
  t.not(victim.jar(site.url).get('postern_session'), 'ses_planted')
})

t.test('where one goes afterwards', async (t) => {
  const site = await open(t, { office: MEMBERS })
  const ends: Readonly<Record<string, string>> = {
    '/emails': '/emails',
    '//evil.test': '/',
    '/\\evil.test': '/',
    'https://evil.test': '/',
    '/\tevil': '/',
    '/sign-out': '/',
  }
  for (const [to, end] of Object.entries(ends)) {
    const shown = await new CookieClient().go(
      `${site.url}/sign-in/office?return_to=${encodeURIComponent(to)}`,
      { follow: new RegExp(`^(?!${site.url}/sign-in|${site.idp.issuer})`) },
    )
    t.equal(shown.url, site.url + end, to)
  }
})

t.test('straight to the only provider', async (t) => {
  const site = await open(t, { office: MEMBERS, identity: { auto: true } })
  const client = new CookieClient()
  t.match(await site.get(client, '/sign-in?local'), { status: 200, text: /Sign in with Acme/ })
  const shown = await site.get(client, '/emails', { headers: { accept: 'text/html' } })
  t.equal(shown.url, `${site.url}/emails`)
  t.ok(await site.who(client))
})

t.test('without local accounts there is no form', async (t) => {
  const site = await open(t, { office: MEMBERS, identity: { local: false } })
  const { text } = await site.get(new CookieClient(), '/sign-in')
  t.match(text, /Sign in with Acme/)
  t.notMatch(text, /type="password"/)
  t.equal((await site.get(new CookieClient(), '/sign-in', { form: { email: 'a@b.test' } })).status, 403)
  const { token } = await createLink(site.deps, site.accountId, {
    ...{ kind: 'setup', role: 'owner', createdBy: 'test' },
  })
  const client = new CookieClient()
  const shown = await site.get(client, `/setup/${token}`)
  const _form = /name="_form" value="([^"]+)"/.exec(shown.text)?.[1] ?? ''
  await site.get(client, `/setup/${token}`, { form: { _form }, follow: false })
  t.match(await site.who(client), { role: 'owner' }, 'a setup link lets an owner in all the same')
})
