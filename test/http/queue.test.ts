/**
 * The queue and its holds over HTTP: each caller at each route, bodies that are
 * wrong, looking without touching, and what a workspace never sees.
 */
import t from 'tap'
import { runSql } from '../parts/store.js'
import { fieldsOf, MAIL, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const second = await kit.tenants.createWorkspace(kit.accountId, { name: 'Second' })
const { secret: secondKey } = await kit.tenants.createKey(kit.accountId, { name: 's', workspace: second.id })
const { secret: testPlatform } = await kit.tenants.createKey(kit.accountId, { name: 'tp', mode: 'test' })
const { secret: testKey } = await kit.tenants.createKey(kit.accountId, {
  name: 'tw',
  workspace: 'default',
  mode: 'test',
})
const other = await kit.tenants.createAccount('Other')
const { token: stranger } = await kit.tenants.createSession(other.id)

const send = async (to: string | readonly string[], key = kit.key): Promise<string> => {
  const sent = await kit.ask('/v1/emails', { key, body: { ...MAIL, to } })
  if (sent.status !== 202) throw new Error(sent.text)
  return sent.json.id
}
const post = (path: string, body: unknown, key = kit.session, headers = {}) =>
  kit.ask(path, { method: 'POST', key, body, headers })
const get = async (path: string, key = kit.session) => (await kit.ask(path, { key })).json
const entries = async (key = kit.session, query = '') => (await get(`/v1/queue/entries${query}`, key)).data
const lift = (id: string, key = kit.session, body: unknown = undefined) =>
  kit.ask(`/v1/holds/${id}`, { method: 'DELETE', key, body })
const purgeAll = async () => {
  for (const { id } of await get('/v1/holds').then(({ data }) => data)) await lift(id)
  await post('/v1/queue/purge', { scope: { all: true }, reason: 'next test' })
}

t.test('each caller at each route', async (t) => {
  await send('one@a.example')
  await send('two@a.example', secondKey)
  const domains = await get('/v1/queue/ages?by=domain')
  t.match(domains, { complete: true, data: [{ key: 'a.example', recipients: 2, ages: { under_1m: 2 } }] })
  t.match((await get('/v1/queue/ages?by=domain', kit.key)).data, [{ recipients: 1 }], 'its own')
  const all = { scope: { all: true } }
  const reads = ['/v1/queue', '/v1/queue/ages?by=domain', '/v1/queue/entries', '/v1/holds']
  const own = [
    ['POST', '/v1/queue/retry', all],
    ['POST', '/v1/holds', { ...all, reason: 'x' }],
  ] as const
  const operators = [
    ['POST', '/v1/queue/release', all],
    ['POST', '/v1/queue/reroute', { ...all, reason: 'x', to: 'default', dry_run: true }],
    ['POST', '/v1/queue/purge', { ...all, reason: 'x', dry_run: true }],
  ] as const
  for (const path of reads) {
    for (const key of [kit.key, kit.platform, kit.session, stranger])
      t.equal((await kit.ask(path, { key })).status, 200, path)
    for (const key of [testKey, testPlatform])
      t.match(await kit.ask(path, { key }), { status: 403, json: { code: 'auth.scope_forbidden' } })
    t.equal((await kit.ask(path, { key: null })).status, 401)
  }
  for (const [method, path, body] of [...own, ...operators]) {
    for (const key of [testKey, testPlatform])
      t.match(await kit.ask(path, { method, key, body }), {
        status: 403,
        json: { code: 'auth.scope_forbidden' },
      })
    t.equal((await kit.ask(path, { method, key: null, body })).status, 401)
    for (const key of [kit.platform, kit.session, stranger])
      t.ok((await kit.ask(path, { method, key, body })).status < 300, path)
  }
  for (const [method, path, body] of operators)
    t.equal((await kit.ask(path, { method, key: kit.key, body })).json.code, 'auth.scope_forbidden', path)
  for (const [method, path, body] of own) {
    const done = await kit.ask(path, { method, key: kit.key, body })
    t.match(done.json, { workspace_id: kit.workspaceId, matched: { waiting: 1 } }, 'all of its own')
  }
  t.strictSame(await entries(stranger), [])
  t.strictSame((await get('/v1/queue', stranger)).data, [])
  t.strictSame((await get('/v1/queue/ages', stranger)).data, [])
  t.same((await get('/v1/queue')).throttled, [])
  await purgeAll()
})

t.test('scopes that are none', async (t) => {
  const wrong = async (scope: unknown, more: object = { reason: 'x' }) =>
    fieldsOf(await post('/v1/queue/purge', { scope, ...more }))
  t.strictSame(await wrong({}), ['body.scope missing'])
  t.strictSame(await wrong(null), ['body.scope missing'])
  t.strictSame(await wrong({ all: false }), ['body.scope missing'])
  t.strictSame(await wrong({ all: true, domain: 'a.example' }), ['body.scope.all forbidden'])
  t.strictSame(await wrong({ domain: 'no domain' }), ['body.scope.domain format'])
  t.strictSame(await wrong({ domain: 7 }), ['body.scope.domain type'])
  t.strictSame(await wrong({ upstream: 'mta1' }), ['body.scope.upstream unknown'])
  t.strictSame(await wrong({ all: true }, {}), ['body.reason missing'])
  t.strictSame(await wrong({}, { reason: ' \u0007 ' }), ['body.scope missing', 'body.reason empty'])
  t.strictSame(await wrong({ all: true }, { reason: 'x'.repeat(501) }), ['body.reason length'])
  t.strictSame(await wrong({ all: true }, { reason: 'x', to: 'default' }), ['body.to unknown'])
  t.strictSame(await wrong({ domain: 'no domain' }, {}), ['body.reason missing', 'body.scope.domain format'])
  const reroute = (to: unknown) => post('/v1/queue/reroute', { scope: { all: true }, reason: 'x', to })
  t.strictSame(fieldsOf(await reroute(undefined)), ['body.to missing'])
  t.strictSame(fieldsOf(await reroute('sandbox')), ['body.to forbidden'])
  t.equal((await reroute('nowhere')).json.code, 'egress_pool.not_found')
  const missing = async (scope: object) => (await post('/v1/queue/retry', { scope })).json.code
  t.equal(await missing({ workspace_id: 'nobody' }), 'workspace.not_found')
  t.equal(await missing({ egress_pool_id: 'nowhere' }), 'egress_pool.not_found')
  t.equal(await missing({ email_id: 'em_0' }), 'email.not_found')
  t.strictSame(
    fieldsOf(await kit.ask('/v1/queue/entries?domain=no%20domain&state=gone', { key: kit.session })),
    ['query.state unsupported', 'query.domain format'],
  )
  t.strictSame(fieldsOf(await lift('hold_0', kit.session, { reason: '' })), ['body.reason empty'])
  t.equal((await lift('nonsense')).json.code, 'hold.not_found')
})

t.test('looked at, then done; what was read may be sent', async (t) => {
  const ids = [await send('one@a.example'), await send('two@b.example'), await send('three@b.example')]
  const body = { scope: { domain: 'B.example' }, reason: 'sent by mistake' }
  const looked = await post('/v1/queue/purge', { ...body, dry_run: true })
  const expected = {
    action: 'purge',
    ...{ workspace_id: null, egress_pool_id: null, domain: 'b.example', email_id: null, to: null },
    ...{ matched: { waiting: 2, held: 0, under_way: 0 }, changed: 0, dry_run: true },
  }
  t.strictSame([looked.status, looked.json], [200, expected])
  t.equal((await entries()).length, 3)
  const done = await post('/v1/queue/purge', body)
  t.strictSame(done.json, { ...expected, changed: 2, dry_run: false })
  t.strictSame(
    (await entries()).map((one: { email_id: string }) => one.email_id),
    [ids[0]],
  )
  const purged = await get(`/v1/emails/${ids[1]}`)
  t.match(purged, { status: 'bounced', recipients: [{ reason: 'sent by mistake' }] })
  const { action: _, to: __, matched: ___, changed: ____, dry_run: _____, ...scope } = done.json
  t.equal((await post('/v1/queue/retry', { scope })).status, 200, 'a scope as it was read')
  await purgeAll()
})

t.test('entries: a page, its cursors, its filters', async (t) => {
  for (let i = 0; i < 5; i++) await send(`a${i}@${i % 2 ? 'odd' : 'even'}.example`)
  await send('other@odd.example', secondKey)
  const first = await get('/v1/queue/entries?limit=4')
  t.match(first, { object: 'list', has_more: true, pagination: { total: 6, has_prev: false } })
  t.match(first.data[0], { address: 'a0@even.example', status: 'queued', held: null, under_way: false })
  t.match(first.data[0].waiting, { reason: 'no_upstream', detail: /postern pool update/ })
  const rest = await get(`/v1/queue/entries?cursor=${first.pagination.next_cursor}`)
  t.match(rest, { has_more: false, data: { length: 2 }, pagination: { has_prev: true } })
  const back = await get(`/v1/queue/entries?cursor=${rest.pagination.prev_cursor}`)
  t.strictSame(back.data, first.data)
  const count = async (query: string, key = kit.session) => (await entries(key, query)).length
  t.equal(await count('?domain=odd.example'), 3)
  t.equal(await count('?egress_pool_id=second'), 1)
  t.equal(await count('?state=held'), 0)
  t.equal(await count(`?email_id=${first.data[0].email_id}`), 1)
  const named = { 'x-workspace-id': second.id }
  t.equal((await kit.ask('/v1/queue/entries', { key: kit.platform, headers: named })).json.data.length, 1)
  const mixed = `/v1/queue/entries?cursor=${first.pagination.next_cursor}&domain=odd.example`
  t.equal((await get(mixed)).code, 'validation.cursor_filters_mismatch')
  t.equal(
    (await get(`/v1/queue/entries?cursor=${first.pagination.next_cursor}`, secondKey)).code,
    'validation.cursor_invalid',
  )
  await send('test@example.com', testKey)
  t.equal(await count('?limit=100'), 7, 'a session sees what is for the sandbox')
  t.equal(await count('?limit=100', kit.platform), 6)
  await purgeAll()
})

t.test('a workspace: its own, in short, and nobody else', async (t) => {
  const mine = await send('mine@example.com', secondKey)
  const theirs = await send('theirs@example.com')
  t.match(await entries(secondKey), [{ email_id: mine, waiting: { detail: 'pool second has no upstream' } }])
  t.match((await get('/v1/queue', secondKey)).data, [{ workspace_id: second.id, due: 1 }])
  const retry = (scope: object) => post('/v1/queue/retry', { scope }, secondKey)
  t.equal((await retry({ workspace_id: 'default' })).json.code, 'workspace.not_found')
  t.equal((await retry({ workspace_id: second.slug })).status, 200)
  t.equal((await retry({ email_id: theirs })).json.code, 'email.not_found')
  t.equal(
    (await retry({ egress_pool_id: 'default' })).json.code,
    'egress_pool.not_found',
    'no pool but its own',
  )
  t.equal((await retry({ egress_pool_id: 'second' })).status, 200)
  t.match((await retry({ domain: 'example.com' })).json, { workspace_id: second.id, matched: { waiting: 1 } })
  await post('/v1/queue/reroute', {
    scope: { email_id: mine },
    to: 'default',
    reason: 'moved by the operator',
  })
  const [moved] = await entries(secondKey)
  t.equal(moved.waiting.detail, 'another pool has no upstream')
  t.match(
    (await entries(kit.session, `?email_id=${mine}`))[0].waiting.detail,
    /^pool default has no upstream/,
  )
  t.match(
    (await get(`/v1/emails/${mine}`, secondKey)).waiting.detail,
    'another pool has no upstream',
    'as in its mail',
  )
  await purgeAll()
})

t.test('holds: whose they are, and who may lift them', async (t) => {
  const mine = await send('mine@example.com', secondKey)
  const hold = (scope: object, reason: string, key = kit.session) => post('/v1/holds', { scope, reason }, key)
  const own = await hold({ all: true }, 'the price is wrong', secondKey)
  t.equal(own.status, 201)
  t.equal(own.headers.get('location'), `/v1/holds/${own.json.id}`)
  t.match(own.json, {
    object: 'hold',
    workspace_id: second.id,
    owner: 'workspace',
    reason: 'the price is wrong',
    matched: { waiting: 1 },
    changed: 1,
  })
  const operators = (await hold({ workspace_id: 'second' }, 'they did not pay')).json
  const wide = (await hold({ domain: 'example.com' }, 'a fire there')).json
  t.strictSame(
    (await get('/v1/holds')).data.map(({ reason }: { reason: string }) => reason),
    ['a fire there', 'they did not pay', 'the price is wrong'],
  )
  const seen = (await get('/v1/holds', secondKey)).data
  t.strictSame(
    seen.map(({ id, reason }: { id: string; reason: string | null }) => [id, reason]),
    [
      [operators.id, null],
      [own.json.id, 'the price is wrong'],
    ],
  )
  t.strictSame((await get('/v1/holds', kit.key)).data, [], "another workspace's are not there")
  const [held] = await entries(secondKey)
  t.match(held, { held: own.json.id, due_at: null, waiting: { reason: 'held' } })
  t.notMatch(JSON.stringify([held, seen]), /did not pay|a fire/)

  t.match(await lift(operators.id, secondKey), { status: 403, json: { code: 'auth.scope_forbidden' } })
  t.equal((await lift(wide.id, secondKey)).json.code, 'hold.not_found')
  t.equal((await lift(own.json.id, kit.key)).json.code, 'hold.not_found')
  t.equal((await lift(own.json.id, stranger)).json.code, 'hold.not_found')
  const lifted = await lift(own.json.id, secondKey, { reason: 'the price is right' })
  t.strictSame(lifted.json, { id: own.json.id, object: 'hold', deleted: true, changed: 1 })
  t.equal((await lift(own.json.id, secondKey)).json.code, 'hold.not_found')
  const told = (await get(`/v1/emails/${mine}/events`)).data.map((one: { reason?: string }) => one.reason)
  t.ok(told.includes('the price is right'))
  const all = (await get('/v1/queue', kit.session)).data
  t.match(all, [{ workspace_id: second.id, waiting_for: { reason: 'held' } }], 'the others hold on')
  t.match(await lift(operators.id, kit.platform), { status: 200 })
  t.match(await lift(wide.id), { status: 200 })
  await purgeAll()
})

t.test('API keys count what they list: nothing that is for the sandbox', async (t) => {
  await post('/v1/holds', { scope: { all: true }, reason: 'x' })
  await send('live@example.com')
  await send('test@example.com', testKey)
  const heldFor = async (key: string) =>
    (await get('/v1/queue', key)).data.reduce((sum: number, row: { held: number }) => sum + row.held, 0)
  for (const [key, seen] of [
    [kit.key, 1],
    [kit.platform, 1],
    [kit.session, 2],
  ] as const) {
    t.equal((await entries(key)).length, seen)
    t.equal(await heldFor(key), seen)
    const retry = await post('/v1/queue/retry', { scope: { all: true }, dry_run: true }, key)
    t.strictSame(retry.json.matched, { waiting: 0, held: seen, under_way: 0 })
  }
  const purge = await post('/v1/queue/purge', { scope: { all: true }, reason: 'x' }, kit.platform)
  t.match(purge.json, { matched: { held: 1 }, changed: 1 })
  t.match(await entries(), [{ address: 'test@example.com' }], 'no live key gives up what it does not see')
  await purgeAll()
})

t.test('a workspace makes a hundred holds and no more', async (t) => {
  const one = (n: number, key: string) =>
    post('/v1/holds', { scope: { domain: `d${n}.example` }, reason: 'x' }, key)
  const first = (await one(0, secondKey)).json
  for (let n = 1; n < 100; n++) await one(n, secondKey)
  t.match(await one(100, secondKey), { status: 409, json: { reason: 'too_many_holds' } })
  t.equal((await one(100, kit.key)).status, 201, 'each has its own hundred')
  t.equal((await one(101, kit.session)).status, 201, 'an operator has no such limit')
  await lift(first.id, secondKey)
  t.equal((await one(100, secondKey)).status, 201)
  for (let more = true; more; more = (await get('/v1/holds')).has_more) await purgeAll()
})

t.test('a hold that was lifted and cut off in the middle is finished by the same request', async (t) => {
  await send('one@example.com')
  const made = (await post('/v1/holds', { scope: { domain: 'example.com' }, reason: 'x' })).json
  // what a crash leaves behind: the hold is gone, and its mail still rests
  await runSql(kit.config.data_dir, `DELETE FROM holds WHERE id = '${made.id}'`)
  t.match((await entries())[0], { held: made.id, waiting: { detail: /queue release --email/ } })
  t.match(await lift(made.id), { status: 200, json: { changed: 1 } })
  t.equal((await lift(made.id)).json.code, 'hold.not_found')
  t.match((await entries())[0], { held: null })
  await purgeAll()
})
