/**
 * What stands around pages is kept for a second and shared. Nobody sees by that what is not for him: in each case
 * somebody else has just looked, and the second does not pass.
 */
import t from 'tap'
import type { Role } from '../../src/config/identity.js'
import { newSession } from '../../src/tenant/people.js'
import { CookieClient } from '../parts/cookie-client.js'
import { openSite } from './sign-in/site.js'

let ticks = 0
const site = await openSite({ office: null, ticks: () => ticks, setupFailed: ['pools.yaml: no such file'] })
t.teardown(() => site.stop())

/** In a browser of its own. */
const signIn = async (role: Role, userId: string | null = null) => {
  const { row, token } = newSession(site.deps, site.accountId, { role, userId })
  await site.store.createSession(row)
  const client = new CookieClient()
  client.jar(site.url).set('postern_session', token)
  const page = async (path: string) => {
    const { status, text, url } = await site.get(client, path)
    return { status, text, at: new URL(url).pathname }
  }
  const api = async (method: string, path: string, body?: object, headers = {}) => {
    const answer = await fetch(site.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    const said = (await answer.json()) as { id: string }
    t.ok(answer.ok, `${method} ${path}: ${answer.status} ${JSON.stringify(said)}`)
    return said
  }
  return { id: row.id, page, api }
}

const owner = await signIn('owner')
const asked = (route: string): number =>
  site.lines.filter((line) => (JSON.parse(line) as { readonly route?: string }).route === route).length

t.test('it is asked once a second, whoever looks at whatever', async (t) => {
  const other = await signIn('owner')
  await owner.page('/queue')
  const before = ['/v1/summary', '/v1/workspaces'].map(asked)
  await owner.page('/jobs')
  await other.page('/pools')
  t.strictSame(['/v1/summary', '/v1/workspaces'].map(asked), before)
  ticks += 1_000
  await other.page('/pools')
  t.strictSame(
    ['/v1/summary', '/v1/workspaces'].map(asked),
    before.map((n) => n + 1),
  )
})

const FAILED = /The setup was not applied/

t.test('a viewer does not see what an owner has just seen', async (t) => {
  const viewer = await signIn('viewer')
  t.match((await owner.page('/jobs')).text, FAILED)
  t.notMatch((await viewer.page('/jobs')).text, FAILED)
  t.match((await owner.page('/jobs')).text, FAILED, 'nor the other way')
})

t.test('a role that has changed elsewhere holds for the next page', async (t) => {
  const { id } = await owner.api('POST', '/v1/users', { email: 'ana@example.com', role: 'owner' })
  await owner.api('POST', '/v1/users', { email: 'another@example.com', role: 'owner' })
  const ana = await signIn('viewer', id)
  t.match((await ana.page('/jobs')).text, FAILED)
  // as another daemon does it: nobody here hears of it
  await site.store.updateUser(site.accountId, id, { role: 'viewer' })
  const shown = await ana.page('/jobs')
  t.notMatch(shown.text, FAILED)
  t.notMatch(shown.text, /href="\/settings\/audit"/, 'no link to what is for owners')
  await site.store.updateUser(site.accountId, id, { role: 'owner' })
  t.match((await ana.page('/jobs')).text, FAILED)
})

t.test('who is signed out sees nothing, although the frame is still kept', async (t) => {
  const leaving = await signIn('owner')
  t.equal((await leaving.page('/jobs')).at, '/jobs')
  await site.store.revokeSession(site.accountId, leaving.id)
  const { at, text } = await leaving.page('/jobs')
  t.equal(at, '/sign-in')
  t.notMatch(text, /aria-label="Pages"|default/)
})

const FLOW = /class="flow"/

t.test('two workspaces are two answers', async (t) => {
  const shop = await owner.api('POST', '/v1/workspaces', { slug: 'shop', name: 'Shop' })
  await owner.api('POST', '/v1/workspaces', { slug: 'power', name: 'Power' })
  await owner.api('POST', '/v1/holds', { scope: { workspace_id: shop.id }, reason: 'a leaked key' })
  for (const _ of ['asked for', 'kept']) {
    t.match((await owner.page('/jobs?workspace=shop')).text, FLOW)
    t.notMatch((await owner.page('/jobs?workspace=power')).text, FLOW)
  }
  t.match((await owner.page('/jobs?workspace=nobody')).text, /nobody/)
})

t.test('what somebody orders through the API is seen at once', async (t) => {
  t.notMatch((await owner.page('/jobs')).text, />new-tenant</)
  await owner.api('POST', '/v1/workspaces', { slug: 'new-tenant', name: 'New' })
  t.match((await owner.page('/jobs')).text, />new-tenant</)
})
