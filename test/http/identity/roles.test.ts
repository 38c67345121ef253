/**
 * The table of rights, walked: every role at every endpoint, every form of a page and every twin on the command line, with
 * what is one's own, another person's and another account's. None may be forgotten, and nobody's form is read before his
 * role is known.
 */
import t from 'tap'
import { CATALOG } from '../../../src/cli/catalog.js'
import { type Command, isSubject, optionsOf, verbOf } from '../../../src/cli/command.js'
import { loadWhole } from '../../../src/cli/parse.js'
import { ROLES, type Role } from '../../../src/config/identity.js'
import { PAGES } from '../../../src/dashboard/pages/all.js'
import type { HttpDeps } from '../../../src/http/deps.js'
import { endpoints } from '../../../src/http/http.js'
import type { UserRow } from '../../../src/store/port/identity.js'
import { createKey } from '../../../src/tenant/key.js'
import { createPerson, createSession, newSession } from '../../../src/tenant/people.js'
import { leastFor, OPERATIONS, type Operation } from '../../../src/tenant/rights.js'
import { createAccount, createWorkspace } from '../../../src/tenant/workspace.js'
import { openSite, type Site } from '../../dashboard/sign-in/site.js'
import { Browser } from '../../parts/browser.js'
import { here } from '../../parts/here.js'

t.setTimeout(300_000)

const all = endpoints({} as HttpDeps, () => 'https://mail.test').filter(({ access }) => access !== 'public')

/** viewers_see is `subjects`. */
const mayDo = (role: Role, operation: Operation, isOwn = true): boolean => {
  const least = leastFor(operation, isOwn)
  if (least === 'bodies') return role !== 'viewer'
  return least === 'subjects' || ROLES.indexOf(role) <= ROLES.indexOf(least)
}

const ask = async (
  site: Site,
  token: string,
  method: string,
  path: string,
  body?: unknown,
  workspace?: string,
) => {
  const headers = {
    ...(workspace !== undefined && { 'x-workspace-id': workspace }),
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

const somebody = async (
  { deps, store, accountId }: Pick<Site, 'deps' | 'store' | 'accountId'>,
  role: Role,
  email: string,
): Promise<Somebody> => {
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
    ...['applySetup', 'changeUserRole', 'createInvitation', 'createUser', 'createUserSetupLink'],
    ...['deleteWorkspace', 'listAudit', 'listInvitations', 'listUsers', 'planSetup'],
    ...['resetUserFactors', 'revokeInvitation'],
  ])
  const others = leastIs('owner', false).filter((one) => leastFor(one) !== 'owner')
  t.same(others, ['getUser', 'listSessions', 'revokeSession', 'revokeSessions', 'updateUser'])
  t.same(leastIs('bodies'), [
    ...['getEmailSource', 'getEventReport', 'getWebhookEvent'],
    ...['listEmailAttachments', 'listWebhookAttempts'],
  ])
  const open = all.filter(({ id, method }) => method !== 'GET' && mayDo('viewer', id)).map(({ id }) => id)
  t.same(open.sort(), [
    ...['addFactor', 'beginFactor', 'removeFactor', 'replaceRecoveryCodes'],
    ...['revokeSession', 'revokeSessions', 'updateSession', 'updateUser'],
  ])
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

/** What an account of strangers has, by the first word of its path. */
const makeTheirs = async () => {
  const { id: accountId } = await createAccount(site.deps, 'Other')
  const other = await somebody({ ...site, accountId }, 'owner', 'x@other.test')
  const workspace = (await ask(site, other.token, 'GET', '/v1/workspaces')).json.data[0].id as string
  const make = async (path: string, body?: unknown): Promise<string> => {
    const { status, json } = await ask(site, other.token, 'POST', path, body, workspace)
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${JSON.stringify(json)}`)
    return json.id
  }
  const mail = { from: 'a@other.test', to: 'b@other.test', subject: 'Theirs', text: 'x' }
  const ids: Readonly<Record<string, string>> = {
    workspaces: await make('/v1/workspaces', { name: 'Theirs alone' }),
    'egress-pools': await make('/v1/egress-pools', { name: 'theirs', members: [] }),
    domains: await make('/v1/domains', { name: 'other.test' }),
    'api-keys': await make('/v1/api-keys', { name: 'theirs' }),
    credentials: await make('/v1/credentials', {
      workspace_id: workspace,
      username: 'theirs',
      password: 'a long and random text',
    }),
    webhooks: await make('/v1/webhooks', { endpoint: 'https://hooks.other.test/x', events: ['*'] }),
    suppressions: await make('/v1/suppressions', { email: 'gone@other.test' }),
    users: await make('/v1/users', { email: 'y@other.test', role: 'viewer' }),
    invitations: await make('/v1/invitations', { role: 'viewer' }),
    emails: await make('/v1/emails', { ...mail, scheduled_at: 'in 2 days' }),
    holds: await make('/v1/holds', { scope: { all: true }, reason: 'theirs' }),
    jobs: await make('/v1/emails/bulk', { action: 'cancel', q: 'subject:nothing', reason: 'theirs' }),
    sessions: (await createSession(site.deps, accountId)).row.id,
  }
  const { json } = await ask(site, other.token, 'GET', '/v1/events')
  const all: Readonly<Record<string, string>> = { ...ids, events: json.data[0].id }
  return { token: other.token, workspace, ids: all }
}

// in a test: between two of them nothing keeps the site up
let theirs: Awaited<ReturnType<typeof makeTheirs>>
t.test('an account of strangers has one of each', async (t) => {
  theirs = await makeTheirs()
  t.ok(Object.values(theirs.ids).every((id) => typeof id === 'string'))
})

/** Of which nobody has any, what is the same for all, and what is one's own whoever asks. */
const OF_NOBODY = new Set(['incidents', 'errors', 'session'])
/** What is well-formed, where something must be sent. */
const SENT: Partial<Record<Operation, unknown>> = {
  rescheduleEmail: { scheduled_at: 'in 3 days' },
  deleteWorkspace: {},
  updateUser: { name: 'x' },
}

t.test('what is of another account is absent for every role, at every endpoint that names one', async (t) => {
  const naming = all.filter(({ path }) => path.includes('{') && !OF_NOBODY.has(path.split('/')[2] ?? ''))
  t.ok(naming.length > 35, `${naming.length} of them`)
  const { json } = await ask(site, bystander.token, 'GET', '/v1/workspaces')
  for (const { role, token } of people) {
    for (const { id, method, path, workspace } of naming) {
      const kind = path.split('/')[2] ?? ''
      const ref = theirs.ids[kind]
      t.ok(ref, `${id}: something of strangers to ask for`)
      const at = path.replace('{event}', theirs.ids.events ?? '').replace(/\{\w+\}/, ref ?? '')
      const query = kind === 'workspaces' ? `?confirm=${ref}` : ''
      const body = method === 'GET' || method === 'DELETE' ? undefined : (SENT[id] ?? {})
      const own = workspace === 'required' ? json.data[0].id : undefined
      const { status } = await ask(site, token, method, at + query, body, own)
      // a session of somebody else is absent as one that is not there
      const isOwn = kind === 'sessions' || leastFor(id, false) === leastFor(id)
      t.equal(status, mayDo(role, id, isOwn) ? 404 : 403, `${role} ${id}: ${status}`)
    }
    t.equal((await ask(site, token, 'GET', '/v1/emails', undefined, theirs.workspace)).status, 404)
    t.equal((await ask(site, token, 'GET', '/v1/session')).status, 200)
  }
})

t.test('and so it is on every page, and for its forms', async (t) => {
  const [owner] = people
  const browser = new Browser(site.url)
  browser.setCookie('postern_session', owner?.token ?? '')
  const { html } = await browser.visit('/settings/you')
  const _form = /name="_form" value="([^"]+)"/.exec(html)?.[1] ?? ''
  const kinds: Readonly<Record<string, string>> = { pools: 'egress-pools', settings: 'users' }
  for (const { path, actions = {} } of PAGES.filter(({ path }) => path.includes('{'))) {
    const room = path.split('/')[1] ?? ''
    const ref = theirs.ids[kinds[room] ?? room] ?? ''
    const at = path.replace('{event}', theirs.ids.events ?? '').replace(/\{\w+\}/, ref)
    t.equal((await browser.request('GET', at)).status, 404, at)
    for (const action of Object.keys(actions)) {
      const { status, to } = await browser.post(at, {
        _form,
        _action: action,
        confirm: ref,
        reason: 'x',
        address: 'a@b.test',
      })
      t.ok(status === 404 || status === 422, `${at} ${action}: ${status} ${to ?? ''}`)
    }
  }
})

const commands = new Map<string, Command>()
for (const entry of CATALOG) {
  const loaded = await loadWhole(entry)
  if (isSubject(loaded)) for (const one of loaded.commands) commands.set(`${loaded.name} ${verbOf(one)}`, one)
  else commands.set(entry.name, loaded)
}

const commandOf = (verb: string) => {
  const command = commands.get(verb)
  if (command === undefined) throw new Error(`no command ${verb}`)
  return {
    takesId: Object.keys(command.positionals ?? {}).length > 0,
    options: new Set(Object.keys(optionsOf(command))),
  }
}

/** More of the command line, where a verb wants it. */
const ALSO: Partial<Record<Operation, readonly string[]>> = {
  rescheduleEmail: ['in 3 days'],
  updateUser: ['--disable'],
  updateWorkspace: ['--name', 'x'],
}

t.test('from the command line, which has no roles, it is absent as well', async (t) => {
  const cli = (words: readonly string[]) => here(['--config', site.configFile, ...words])
  const before = await site.store.accounts()
  for (const { id, path, cli: verb } of all) {
    const kind = path.split('/')[2] ?? ''
    const ref = path.includes('{event}') ? theirs.ids.events : theirs.ids[kind]
    if (typeof verb !== 'string' || !path.includes('{') || ref === undefined) continue
    const command = commandOf(verb)
    // what lists all of a kind is looked at below
    if (!command.takesId) continue
    const words = [...verb.split(' '), ref, ...(ALSO[id] ?? [])]
    const { code, stdout, stderr } = await cli([...words, ...(command.options.has('yes') ? ['--yes'] : [])])
    t.not(code, 0, `${words.join(' ')}: ${stdout}`)
    t.notMatch(stderr, /role/, words.join(' '))
    t.notMatch(stdout, /theirs|other\.test/i, words.join(' '))
  }
  for (const words of [
    ['workspace', 'list'],
    ['pool', 'list'],
    ['key', 'list'],
    ['credential', 'list'],
    ['user', 'list'],
    ['user', 'invitations'],
    ['session', 'list'],
    ['domain', 'list'],
    ['webhook', 'list'],
    ['email', 'list'],
    ['event', 'list'],
    ['audit', 'list'],
    ['queue', 'holds'],
    ['job', 'list'],
    ['suppression', 'list'],
    ['upstream', 'list'],
  ]) {
    const { code, stdout, stderr } = await cli([...words, '--json'])
    t.equal(code, 0, `${words.join(' ')}: ${stderr}`)
    for (const [kind, one] of Object.entries(theirs.ids))
      t.notOk(stdout.includes(one), `${words.join(' ')} has nothing of strangers: ${kind} ${one}`)
  }
  t.equal((await site.store.accounts()).length, before.length)
})

t.test('after all of this strangers have what they had', async (t) => {
  for (const [kind, id] of Object.entries(theirs.ids)) {
    if (['api-keys', 'credentials', 'invitations', 'sessions', 'holds'].includes(kind)) {
      const { json } = await ask(site, theirs.token, 'GET', `/v1/${kind}`)
      t.ok(
        json.data.some((row: { id: string }) => row.id === id),
        kind,
      )
    } else
      t.equal(
        (await ask(site, theirs.token, 'GET', `/v1/${kind}/${id}`, undefined, theirs.workspace)).status,
        200,
        kind,
      )
  }
})

t.test('every form of every page asks for the role first', async (t) => {
  for (const { role, token, user } of people) {
    const browser = new Browser(site.url)
    browser.setCookie('postern_session', token)
    const { html } = await browser.visit('/settings/you')
    const _form = /name="_form" value="([^"]+)"/.exec(html)?.[1] ?? ''
    for (const { path, opens, actions = {} } of PAGES) {
      const at = path.replace('/people/{id}', `/people/${user.id}`).replace(/\{\w+\}/g, 'none')
      if (opens !== undefined)
        t.equal((await browser.request('GET', at)).status === 403, !mayDo(role, opens), `${role} ${path}`)
      for (const [action, { does: operation }] of Object.entries(actions)) {
        if (operation === 'revokeSessions' || operation === 'revokeSession') continue
        const { status } = await browser.post(at, { _form, _action: action })
        const may = mayDo(role, operation) && (opens === undefined || mayDo(role, opens))
        t.equal(status === 403, !may, `${role} ${path} ${action}: ${status}`)
      }
    }
  }
})
