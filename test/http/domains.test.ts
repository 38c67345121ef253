/** Sending domains over HTTP, with a real name server: who may, what is refused, and what a check may take. */
import t from 'tap'
import { txtLookup } from '../../src/tenant/domain/check.js'
import { DnsServer } from '../parts/dns-server.js'
import { fieldsOf, openKit } from './kit.js'

const dns = await new DnsServer().start()
t.teardown(() => dns.stop())
const kit = await openKit({ lookup: txtLookup(`127.0.0.1:${dns.port}`, 300) })
t.teardown(() => kit.stop())

const ask = (path: string, body?: unknown, method?: string, headers = {}) =>
  kit.ask(path, { key: kit.platform, body, headers, ...(method && { method }) })
const published = (records: readonly { name: string; value: string }[]) => {
  for (const { name, value } of records) dns.txt.set(name, value)
}

t.test('who may', async (t) => {
  const other = await kit.tenants.createAccount('Other')
  const { secret: test } = await kit.tenants.createKey(kit.accountId, { name: 't', mode: 'test' })
  const { token: stranger } = await kit.tenants.createSession(other.id)
  await ask('/v1/domains', { name: 'who.example' })
  const calls: readonly (readonly [string, string, unknown?])[] = [
    ['POST', '/v1/domains', { name: 'x.example' }],
    ['GET', '/v1/domains'],
    ['GET', '/v1/domains/who.example'],
    ['GET', '/v1/domains/who.example/reports'],
    ['GET', '/v1/domains/who.example/reports/summary'],
    ['POST', '/v1/domains/who.example/check', {}],
    ['POST', '/v1/domains/who.example/rotate', {}],
    ['DELETE', '/v1/domains/who.example'],
  ]
  for (const [method, path, body] of calls) {
    for (const key of [kit.key, test])
      t.match(await kit.ask(path, { method, key, body }), {
        status: 403,
        json: { code: 'auth.scope_forbidden' },
      })
    t.equal((await kit.ask(path, { method, key: null, body })).status, 401)
    const foreign = await kit.ask(path, { method, key: stranger, body })
    if (path.includes('who')) t.match(foreign, { status: 404, json: { code: 'domain.not_found' } })
    else if (method === 'GET') t.match(foreign.json.data, [{ name: 'x.example' }], 'each account its own')
    else t.equal(foreign.status, 201)
  }
  t.equal((await kit.ask('/v1/domains/who.example', { key: kit.session })).status, 200)
  t.equal((await kit.ask('/v1/domains/who.example', { key: kit.session, method: 'DELETE' })).status, 200)
})

t.test('made, read, listed, removed; no answer shows a private key', async (t) => {
  const made = await ask('/v1/domains', { name: 'Shop.Example.' })
  t.equal(made.status, 201)
  t.equal(made.headers.get('location'), `/v1/domains/${made.json.id}`)
  t.match(made.json, {
    object: 'domain',
    name: 'shop.example',
    workspace_id: null,
    verified: false,
    keys: [
      { algorithm: 'rsa', state: 'active' },
      { algorithm: 'ed25519', state: 'active' },
    ],
    records: [{ purpose: 'dkim', type: 'TXT', state: 'active' }, {}, { purpose: 'dmarc', state: null }],
  })
  const stored = await kit.store.domain(kit.accountId, 'shop.example')
  const lines = (await kit.ask('/v1/domains', { key: kit.session })).text + made.text
  t.notMatch(lines, /PRIVATE|sealed/)
  for (const { sealed } of stored?.keys ?? []) t.notOk(lines.includes(sealed))
  for (const ref of [made.json.id, 'shop.example', 'SHOP.example'])
    t.strictSame((await ask(`/v1/domains/${ref}`)).json, made.json)
  t.strictSame((await ask('/v1/domains')).json.data, [made.json])
  for (const name of ['b.example', 'c.example']) await ask('/v1/domains', { name })
  const first = (await ask('/v1/domains?limit=2')).json
  t.match(first, { has_more: true, pagination: { total: 3, has_next: true } })
  const second = await ask(`/v1/domains?cursor=${first.pagination.next_cursor}`)
  t.strictSame(second.json.data, [made.json])
  t.match(await ask(`/v1/workspaces?cursor=${first.pagination.next_cursor}`), {
    json: { code: 'validation.cursor_invalid' },
  })
  const gone = await ask('/v1/domains/shop.example', undefined, 'DELETE')
  t.strictSame(gone.json, { id: made.json.id, object: 'domain', deleted: true })
  t.equal((await ask('/v1/domains/shop.example', undefined, 'DELETE')).json.code, 'domain.not_found')
})

t.test('names that are none', async (t) => {
  const wrong = async (body: unknown) => fieldsOf(await ask('/v1/domains', body))
  for (const name of [
    'no domain',
    'localhost',
    '127.0.0.1',
    'a..b',
    '-a.example',
    `${'x'.repeat(64)}.example`,
  ])
    t.strictSame(await wrong({ name }), ['body.name format'], name)
  t.strictSame(await wrong({ name: 'b.example' }), ['body.name not_unique'])
  t.strictSame(await wrong({}), ['body.name missing'])
  t.strictSame(await wrong({ name: 7, colour: 'red' }), ['body.name type', 'body.colour unknown'])
  t.strictSame(await wrong({ name: 'b.example', colour: 'red' }), [
    'body.colour unknown',
    'body.name not_unique',
  ])
  t.match(await ask('/v1/domains', { name: 'y.example', workspace_id: 'nobody' }), {
    status: 404,
    json: { code: 'workspace.not_found' },
  })
  t.equal((await ask('/v1/domains/no%20domain')).json.code, 'domain.not_found')
  t.equal((await ask('/v1/domains/b.example/rotate', { now: 'yes' })).status, 422)
  t.equal((await ask('/v1/domains/b.example/check', { deep: true })).status, 422)
})

t.test('of one workspace: by header or by body', async (t) => {
  const { id } = await kit.tenants.createWorkspace(kit.accountId, { name: 'Second' })
  const named = { 'x-workspace-id': id }
  const byBody = await ask('/v1/domains', { name: 'body.example', workspace_id: 'second' })
  const byHeader = await ask('/v1/domains', { name: 'header.example' }, 'POST', named)
  t.strictSame([byBody.json.workspace_id, byHeader.json.workspace_id], [id, id])
  const both = { name: 'z.example', workspace_id: kit.workspaceId }
  t.strictSame(fieldsOf(await ask('/v1/domains', both, 'POST', named)), ['body.workspace_id forbidden'])
  t.equal((await ask('/v1/domains', { ...both, workspace_id: 'second' }, 'POST', named)).status, 201)
  const names = (await ask('/v1/domains', undefined, 'GET', named)).json.data
  t.strictSame(
    names.map((one: { name: string }) => one.name),
    ['z.example', 'header.example', 'body.example'],
  )
  t.equal((await ask('/v1/domains/b.example', undefined, 'DELETE', named)).json.code, 'domain.not_found')
  t.equal((await ask('/v1/domains/z.example', undefined, 'DELETE', named)).status, 200)
  const nobody = { 'x-workspace-id': 'nobody' }
  t.equal((await ask('/v1/domains', undefined, 'GET', nobody)).json.code, 'workspace.not_found')
})

t.test('checked and rotated', async (t) => {
  const { records } = (await ask('/v1/domains', { name: 'dns.example' })).json
  const path = '/v1/domains/dns.example'
  const unseen = await ask(`${path}/check`, {})
  t.match(unseen.json, { verified: false, records: [{ seen: 'missing', found: null }, {}, {}] })
  published(records)
  const seen = await ask(`${path}/check`, undefined, 'POST')
  t.match(seen.json, { verified: true, records: [{ seen: 'ok' }, { seen: 'ok' }, { seen: 'ok' }] })
  t.strictSame((await ask(path)).json.verified_at, seen.json.verified_at)
  const rotated = await ask(`${path}/rotate`, undefined, 'POST')
  t.match(
    rotated.json.keys.map(({ state }: { state: string }) => state),
    ['active', 'active', 'next', 'next'],
  )
  t.match(rotated.json, { verified: true })
  published(rotated.json.records)
  const fresh = await ask(`${path}/check`, {})
  t.match(
    fresh.json.keys.map(({ state }: { state: string }) => state),
    ['retired', 'retired', 'active', 'active'],
  )
  t.match(
    fresh.json.records.map(({ state }: { state: string }) => state),
    ['retired', 'retired', 'active', 'active', null],
    'its records say the same',
  )
  t.match((await ask(`${path}/rotate`, { now: true })).json, { verified: false })
})

t.test('a name server that fails or is silent: unknown, and never an error', async (t) => {
  const { records } = (await ask('/v1/domains', { name: 'down.example' })).json
  published(records)
  t.match((await ask('/v1/domains/down.example/check', {})).json, { verified: true })
  dns.failing = true
  t.match(await ask('/v1/domains/down.example/check', {}), {
    status: 200,
    json: { verified: true, records: [{ seen: 'unknown', found: 'ESERVFAIL' }] },
  })
  dns.failing = false
  dns.silent = true
  t.match(await ask('/v1/domains/down.example/check', {}), {
    status: 200,
    json: { verified: true, records: [{ seen: 'unknown', found: 'ECANCELLED' }] },
  })
  dns.silent = false
})

t.test('who am I', async (t) => {
  const who = async (key: string) => (await kit.ask('/v1/session', { key })).json
  const { secret: test } = await kit.tenants.createKey(kit.accountId, {
    name: 't',
    mode: 'test',
    rateLimitPerMinute: 7,
  })
  t.match(await who(kit.key), {
    object: 'session',
    via: 'key',
    id: /^key_/,
    person: null,
    role: null,
    scope: 'workspace',
    workspace_id: kit.workspaceId,
    mode: 'live',
  })
  t.match(await who(kit.platform), { via: 'key', scope: 'platform', workspace_id: null, mode: 'live' })
  t.match(await who(test), { mode: 'test', limits: { rate_limit_per_minute: 7 } })
  t.match(await who(kit.session), { via: 'session', id: /^ses_/, scope: 'platform', mode: null })
  t.equal((await kit.ask('/v1/session', { key: null })).status, 401)
})
