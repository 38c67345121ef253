/**
 * The table of rights, walked: every role at every endpoint and every form of a page, with what is one's own, another
 * person's and another account's. None may be forgotten, and nobody's form is read before his role is known.
 */
import t from 'tap'
import { ROLES, type Role } from '../../../src/config/identity.js'
import { PAGES } from '../../../src/dashboard/pages/all.js'
import type { Deps } from '../../../src/http/deps.js'
import { endpoints } from '../../../src/http/http.js'
import type { UserRow } from '../../../src/store/port/tenants/identity.js'
import { createAccount } from '../../../src/tenant/account.js'
import { createPerson } from '../../../src/tenant/identity/people.js'
import { createKey } from '../../../src/tenant/key.js'
import { leastFor, OPERATIONS, type Operation } from '../../../src/tenant/rights.js'
import { createSession, newSession } from '../../../src/tenant/session.js'
import { createWorkspace } from '../../../src/tenant/workspace.js'
import { openSite, type Site } from '../../dashboard/sign-in/site.js'
import { Browser } from '../../parts/browser.js'

const all = endpoints({} as Deps, () => 'https://mail.test').filter(({ access }) => access !== 'public')

/** viewers_see is `subjects`. */
const mayDo = (role: Role, operation: Operation, isOwn = true): boolean => {
  const least = leastFor(operation, isOwn)
  if (least === 'bodies') return role !== 'viewer'
  return least === 'subjects' || ROLES.indexOf(role) <= ROLES.indexOf(least)
}

const ask = async (site: Site, token: string, method: string, path: string, body?: unknown) => {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  const answer = await fetch(site.url + path, {
    ...{ method, headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
  if (isStream) await answer.body?.cancel()
  return { status: answer.status, json: isStream ? null : await answer.json().catch(() => null) }
}

interface Somebody {
  readonly role: Role
  readonly user: UserRow
  readonly token: string
  readonly sessionId: string
}

const somebody = async ({ deps, store, accountId }: Site, role: Role, email: string): Promise<Somebody> => {
  const user = await createPerson(deps, accountId, { email, role })
  const { row, token } = newSession(deps, accountId, { userId: user.id, provider: 'local' })
  await store.createSession(row)
  return { role, user, token, sessionId: row.id }
}

const site = await openSite({ office: null })
t.teardown(() => site.stop())
// who is never asked to do anything, so that owners who lock people out leave somebody
const bystander = await somebody(site, 'owner', 'by@acme.test')
const people: readonly Somebody[] = await Promise.all(
  ROLES.map((role) => somebody(site, role, `${role}@acme.test`)),
)

t.test('who may what, as it was meant', async (t) => {
  const leastIs = (least: string, isOwn = true) =>
    OPERATIONS.filter((operation) => leastFor(operation, isOwn) === least).sort()
  t.same(leastIs('owner'), [
    ...['changeUserRole', 'createInvitation', 'createUser', 'createUserSetupLink', 'deleteWorkspace'],
    ...['listAudit', 'listInvitations', 'listUsers', 'revokeInvitation'],
  ])
  const others = leastIs('owner', false).filter((one) => leastFor(one) !== 'owner')
  t.same(others, ['getUser', 'listSessions', 'revokeSession', 'revokeSessions', 'updateUser'])
  t.same(leastIs('bodies'), ['getEmailSource', 'getEventReport', 'getWebhookEvent', 'listWebhookAttempts'])
  const open = all.filter(({ id, method }) => method !== 'GET' && mayDo('viewer', id)).map(({ id }) => id)
  t.same(open.sort(), ['revokeSession', 'revokeSessions', 'updateSession', 'updateUser'])
  const owners = all.filter(({ id }) => leastFor(id) === 'owner')
  t.ok(
    owners.every(({ access }) => access === 'session'),
    'no key does what is for owners',
  )
})

t.test('every role at every endpoint, whatever is sent', async (t) => {
  for (const { role, token } of people) {
    for (const { id, method, path, body } of all) {
      if (id === 'revokeSessions' || id === 'streamEvents') continue
      const isOwn = !path.startsWith('/v1/users/{id}')
      const wrong = method === 'GET' ? undefined : body === undefined ? {} : { nonsense: 1 }
      const { status, json } = await ask(site, token, method, path.replace(/\{\w+\}/g, 'none'), wrong)
      const isRefused = status === 403 && json.code === 'auth.role_forbidden'
      t.equal(isRefused, !mayDo(role, id, isOwn), `${role} ${id}: ${status} ${json?.code ?? ''}`)
    }
  }
})

t.test('what belongs to a person', async (t) => {
  const other = bystander.user.id
  for (const { role, token, user } of people) {
    const isOwner = role === 'owner'
    const tried: readonly (readonly [method: string, path: string, own: boolean, body?: unknown])[] = [
      ['GET', `/v1/users/${user.id}`, true],
      ['GET', `/v1/users/${user.email.toUpperCase()}`, true],
      ['GET', `/v1/users/${other}`, false],
      ['PATCH', `/v1/users/${user.id}`, true, { name: 'Me' }],
      ['PATCH', `/v1/users/${other}`, false, { name: 'Not me' }],
      ['PATCH', `/v1/users/${other}`, false, { nonsense: 1 }],
      ['PATCH', `/v1/users/${user.id}`, false, { role: 'owner' }],
      ['GET', '/v1/sessions', true],
      ['GET', `/v1/sessions?user=${user.id}`, true],
      ['GET', `/v1/sessions?user=${other}`, false],
      ['GET', '/v1/sessions?user=nobody@acme.test', false],
      ['DELETE', `/v1/sessions?user=${user.email}`, true],
    ]
    for (const [method, path, own, body] of tried) {
      const { status, json } = await ask(site, token, method, path, body)
      const isRefused = status === 403 && json.code === 'auth.role_forbidden'
      t.equal(isRefused, !own && !isOwner, `${role} ${method} ${path}: ${status}`)
    }
    const listed = await ask(site, token, 'GET', '/v1/sessions')
    t.equal(
      listed.json.data.every((row: { person: { id: string } }) => row.person.id === user.id),
      !isOwner,
      `${role} sees ${isOwner ? 'all sessions' : 'the own ones'}`,
    )
    const { row } = newSession(site.deps, site.accountId, { userId: other })
    await site.store.createSession(row)
    const ended = await ask(site, token, 'DELETE', `/v1/sessions/${row.id}`)
    t.equal(ended.status, isOwner ? 200 : 404, `${role}: the session of somebody else is absent`)
  }
})

t.test('a workspace is deleted by owners alone', async (t) => {
  for (const { role, token } of people) {
    const { slug } = await createWorkspace(site.deps, site.accountId, { name: `For ${role}` })
    const path = `/v1/workspaces/${slug}?confirm=${slug}`
    t.equal((await ask(site, token, 'DELETE', path)).status, role === 'owner' ? 200 : 403, role)
    const { status } = await ask(site, token, 'GET', `/v1/workspaces/${slug}`)
    t.equal(status, role === 'owner' ? 404 : 200)
  }
  const { slug } = await createWorkspace(site.deps, site.accountId, { name: 'Keys' })
  const { secret } = await createKey(site.deps, site.accountId, { name: 'all' })
  const byKey = await ask(site, secret, 'DELETE', `/v1/workspaces/${slug}?confirm=${slug}`)
  t.match(byKey, { status: 403, json: { code: 'auth.session_required' } })
})

t.test('what is of another account is absent for every role', async (t) => {
  const { id: other } = await createAccount(site.deps, 'Other')
  const foreign = await createPerson(site.deps, other, { email: 'x@other.test', role: 'viewer' })
  const session = await createSession(site.deps, other)
  const workspace = await createWorkspace(site.deps, other, { name: 'Theirs' })
  const key = await createKey(site.deps, other, { name: 'theirs' })
  const tried: readonly (readonly [id: Operation, method: string, path: string, body?: unknown])[] = [
    ['getUser', 'GET', `/v1/users/${foreign.id}`],
    ['updateUser', 'PATCH', `/v1/users/${foreign.id}`, { name: 'x' }],
    ['createUserSetupLink', 'POST', `/v1/users/${foreign.id}/setup-link`],
    ['listSessions', 'GET', `/v1/sessions?user=${foreign.id}`],
    ['getWorkspace', 'GET', `/v1/workspaces/${workspace.id}`],
    ['updateWorkspace', 'PATCH', `/v1/workspaces/${workspace.id}`, { name: 'x' }],
    ['deleteWorkspace', 'DELETE', `/v1/workspaces/${workspace.id}?confirm=${workspace.slug}`],
    ['revokeApiKey', 'DELETE', `/v1/api-keys/${key.row.id}`],
  ]
  for (const { role, token } of people) {
    for (const [id, method, path, body] of tried) {
      const { status } = await ask(site, token, method, path, body)
      const isOfPerson = leastFor(id, false) !== leastFor(id)
      t.equal(status, mayDo(role, id, !isOfPerson) ? 404 : 403, `${role} ${id}: ${status}`)
    }
    t.equal((await ask(site, token, 'DELETE', `/v1/sessions/${session.row.id}`)).status, 404)
    t.equal((await ask(site, token, 'GET', '/v1/session')).status, 200)
  }
})

t.test('every form of every page asks for the role first', async (t) => {
  for (const { role, token, user } of people) {
    const browser = new Browser(site.url)
    browser.setCookie('postern_session', token)
    const { html } = await browser.visit('/settings/you')
    const _form = /name="_form" value="([^"]+)"/.exec(html)?.[1] ?? ''
    for (const { path, opens, actions = {}, does = {} } of PAGES) {
      t.same(Object.keys(does).sort(), Object.keys(actions).sort(), `${path}: each form has its operation`)
      const at = path.replace('/people/{id}', `/people/${user.id}`).replace(/\{\w+\}/g, 'none')
      if (opens !== undefined)
        t.equal((await browser.request('GET', at)).status === 403, !mayDo(role, opens), `${role} ${path}`)
      for (const [action, operation] of Object.entries(does)) {
        if (operation === 'revokeSessions' || operation === 'revokeSession') continue
        const { status } = await browser.post(at, { _form, _action: action })
        const may = mayDo(role, operation) && (opens === undefined || mayDo(role, opens))
        t.equal(status === 403, !may, `${role} ${path} ${action}: ${status}`)
      }
    }
  }
})
