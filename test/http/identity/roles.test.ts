/**
 * What each role may do is tried at every endpoint of the contract: none may be forgotten.
 */
import t from 'tap'
import { ROLES, type Role } from '../../../src/config/identity.js'
import type { Deps } from '../../../src/http/deps.js'
import type { Endpoint } from '../../../src/http/endpoint.js'
import { endpoints } from '../../../src/http/http.js'
import { openKit } from '../kit.js'

const all = endpoints({} as Deps, () => 'https://mail.test').filter(({ access }) => access !== 'public')

const leastOf = ({ role, method }: Endpoint): Role => role ?? (method === 'GET' ? 'viewer' : 'member')

const mayCall = (role: Role, row: Endpoint): boolean => ROLES.indexOf(role) <= ROLES.indexOf(leastOf(row))

t.test('every role at every endpoint', async (t) => {
  const kit = await openKit({ perMinute: 1_000_000, authFailures: 1_000_000 })
  t.teardown(() => kit.stop())
  for (const role of ROLES) {
    const { token } = await kit.tenants.createSession(kit.accountId, { role })
    for (const row of all) {
      if (row.id === 'streamEvents' || row.id === 'revokeSession') continue
      const path = row.path.replace(/\{\w+\}/g, 'none')
      const body = row.body === undefined ? {} : { body: {} }
      const { status, json } = await kit.ask(path, { method: row.method, key: token, ...body })
      const isRefused = status === 403 && json.code === 'auth.role_forbidden'
      // this session is of nobody, whom `none` is not
      if (row.path === '/v1/users/{id}' && role !== 'owner') t.ok(isRefused, row.id)
      else if (row.bodies && role === 'viewer') t.ok(isRefused, row.id)
      else t.equal(isRefused, !mayCall(role, row), `${role} ${row.method} ${row.path}: ${status}`)
    }
  }
})

t.test('a viewer changes nothing but what is his own', async (t) => {
  const open = all.filter((row) => row.method !== 'GET' && mayCall('viewer', row)).map(({ id }) => id)
  t.same(open.sort(), ['revokeSession', 'revokeSessions', 'updateSession', 'updateUser'])
})

t.test('people and the audit are for owners, and for no key', async (t) => {
  const owners = all.filter((row) => leastOf(row) === 'owner')
  t.same(owners.map(({ id }) => id).sort(), [
    ...['createInvitation', 'createUser', 'createUserSetupLink', 'listAudit'],
    ...['listInvitations', 'listUsers', 'revokeInvitation'],
  ])
  t.ok(owners.every(({ access }) => access === 'session'))
})
