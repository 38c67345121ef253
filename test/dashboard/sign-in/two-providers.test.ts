/** Two providers beside each other: none speaks for the other, and a slow one keeps nobody out. */
import t from 'tap'
import { createPerson } from '../../../src/tenant/people.js'
import { CookieClient } from '../../parts/cookie-client.js'
import { Idp } from '../../parts/oidc.js'
import { backAt, openSite } from './site.js'

const MEMBERS = { allowed_domains: ['acme.test'], trust_email: true }
const home = await new Idp({ publicClient: true }).listen()
const site = await openSite({
  office: MEMBERS,
  more: [{ name: 'home', issuer: home.issuer, client_id: 'postern', ...MEMBERS }],
})
await home.know(site.url, 'home')
t.teardown(async () => {
  await site.stop()
  await home.close()
})

t.test('an answer for one is none for the other', async (t) => {
  const client = new CookieClient()
  const back = await client.go(`${site.url}/sign-in/office`, { follow: backAt(site) })
  t.equal((await client.go(back.url.replace('/office/', '/home/'))).status, 400)
  t.equal(await site.who(client), null)
})

t.test('the same subject elsewhere is somebody else, and an address joins nobody', async (t) => {
  site.idp.person = { sub: '1', claims: { email: 'ana@acme.test' } }
  home.person = { sub: '1', claims: { email: 'eve@acme.test' } }
  const [ana, eve, thief] = [new CookieClient(), new CookieClient(), new CookieClient()]
  await site.get(ana, '/sign-in/office')
  await site.get(eve, '/sign-in/home')
  const [one, other] = [await site.who(ana), await site.who(eve)]
  t.not(one.person.id, other.person.id)
  home.person = { sub: '2', claims: { email: 'ana@acme.test' } }
  t.match(await site.get(thief, '/sign-in/home'), { status: 403, text: /is here already/ })
  t.equal(await site.who(thief), null)
})

t.test('who is disabled stays out', async (t) => {
  const client = new CookieClient()
  site.idp.person = { sub: '3', claims: { email: 'dan@acme.test' } }
  await site.get(client, '/sign-in/office')
  const { person } = await site.who(client)
  await site.store.updateUser(site.accountId, person.id, { disabledAt: 1 })
  t.equal(await site.who(client), null)
  t.match(await site.get(client, '/sign-in/office'), { status: 403, text: /Your account is disabled/ })
})

t.test('while one is silent, the other and the form go on', async (t) => {
  await createPerson(site.deps, site.accountId, {
    ...{ email: 'bob@acme.test', role: 'member', password: 'a sentence of his own' },
  })
  // what was discovered is kept for an hour
  site.clock.advance(3_600_001)
  home.lies = { down: 'silent' }
  let over = false
  const waiting = site.get(new CookieClient(), '/sign-in/home', { follow: false }).finally(() => {
    over = true
  })
  const client = new CookieClient()
  site.idp.person = { sub: '4', claims: { email: 'fay@acme.test' } }
  await site.get(client, '/sign-in/office')
  t.ok(await site.who(client))
  const local = new CookieClient()
  const { text } = await site.get(local, '/sign-in')
  const _form = /name="_form" value="([^"]+)"/.exec(text)?.[1] ?? ''
  const form = { _form, email: 'bob@acme.test', password: 'a sentence of his own' }
  t.equal((await site.get(local, '/sign-in', { form, follow: false })).status, 303)
  t.notOk(over, 'it still waits')
  home.lies = { down: 'refused' }
  await home.close()
  t.ok([303, 503].includes((await waiting).status))
})

t.test('who signed in stands in the audit', async (t) => {
  const filter = {
    action: 'session',
    actorId: null,
    objectId: null,
    workspaceId: null,
    since: null,
    until: null,
  }
  const page = { limit: 50, direction: 'older' as const, anchor: null, countUpTo: 0 }
  const { rows } = await site.store.audit(site.accountId, filter, page)
  t.ok(rows.some(({ action, actor }) => action === 'session.created' && actor.name === 'ana@acme.test'))
  for (const row of rows) t.notMatch(JSON.stringify(row), /ses_\w{40,}|eyJ|canary/)
})
