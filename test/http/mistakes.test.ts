/** One answer tells every mistake of a request: those of its shape, and those of what it means. */
import t from 'tap'
import { type Ask, fieldsOf, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())
const pool = await kit.tenants.createPool(kit.accountId, { name: 'eu', members: [{ host: '10.0.0.1' }] })
await kit.tenants.createWorkspace(kit.accountId, { name: 'Shop', slug: 'shop' })

const ROWS: readonly (readonly [string, Ask, readonly string[]])[] = [
  [
    '/v1/workspaces',
    { body: { name: '', slug: 'A B', egress_pool_id: 'x', default_from: 'zz', bla: 1 } },
    ['bla unknown', 'default_from format', 'egress_pool_id unknown', 'name empty', 'slug format'],
  ],
  [
    '/v1/workspaces',
    { body: { name: ' ', slug: 'shop', default_from: 'zz', egress_pool_id: 'x' } },
    ['default_from format', 'egress_pool_id unknown', 'name empty', 'slug not_unique'],
  ],
  [
    '/v1/workspaces/default',
    { method: 'PATCH', body: { is_default: false, slug: 'shop', egress_pool_id: 'x', bla: 1 } },
    ['bla unknown', 'egress_pool_id unknown', 'is_default forbidden', 'slug not_unique'],
  ],
  [
    '/v1/workspaces/shop?confirm=x&foo=1',
    { method: 'DELETE' },
    ['query.confirm format', 'query.foo unknown'],
  ],
  [
    '/v1/emails?limit=0&created_after=x&created_before=y&foo=1&status=z&tag=t&mode=m',
    {},
    [
      'query.created_after format',
      'query.created_before format',
      'query.foo unknown',
      'query.limit range',
      'query.mode unsupported',
      'query.status unsupported',
      'query.tag format',
    ],
  ],
  [
    '/v1/emails?limit=0&created_after=x&mode=test&foo=1',
    { key: kit.platform },
    ['query.created_after format', 'query.foo unknown', 'query.limit range', 'query.mode forbidden'],
  ],
  [
    '/v1/api-keys',
    { body: { scope: 'workspace', expires_at: 'zz', rate_limit_per_minute: 0, foo: 1 } },
    [
      'expires_at format',
      'foo unknown',
      'name missing',
      'rate_limit_per_minute range',
      'workspace_id missing',
    ],
  ],
  [
    '/v1/api-keys',
    { body: { name: ' ', scope: 'platform', workspace_id: 'shop', expires_at: '2001-01-01', foo: 1 } },
    ['expires_at past', 'foo unknown', 'name empty', 'workspace_id forbidden'],
  ],
  [
    '/v1/credentials',
    { body: { username: 'a\u0001', password: 'short', foo: 1 } },
    ['foo unknown', 'password length', 'username format', 'workspace_id missing'],
  ],
  ['/v1/credentials', { body: { workspace_id: 'shop', cidr: 1, foo: 1 } }, ['cidr type', 'foo unknown']],
  [
    '/v1/egress-pools',
    {
      body: {
        name: 'a b',
        foo: 1,
        members: [
          1,
          { port: 'x', tls: 'none', auth: { pass: 'p' } },
          { host: 'a b', fingerprint: 'x', auth: { user: 'u', pass: 'p' }, tls: 'none' },
        ],
      },
    },
    [
      'foo unknown',
      'members[0] type',
      'members[1].auth.user missing',
      'members[1].host missing',
      'members[1].port type',
      'members[2].fingerprint format',
      'members[2].host format',
      'members[2].tls forbidden',
      'name format',
    ],
  ],
  [
    `/v1/egress-pools/${pool.id}`,
    { method: 'PATCH', body: { name: 'a b', kind: 'sandbox', members: [{ host: 'a b', has_auth: true }] } },
    ['kind forbidden', 'members[0].has_auth forbidden', 'members[0].host format', 'name format'],
  ],
  [
    `/v1/egress-pools/${pool.id}`,
    { method: 'PATCH', body: { name: 'a b', kind: 'sandbox', foo: 1, members: [1, { host: 'a b' }] } },
    ['foo unknown', 'kind forbidden', 'members[0] type', 'members[1].host format', 'name format'],
  ],
  [
    '/v1/suppressions',
    { body: { email: 'x', expires_at: 'y', foo: 1 } },
    ['email format', 'expires_at format', 'foo unknown'],
  ],
  [
    '/v1/suppressions/batch/add',
    { body: { emails: ['x', 1, 'a@b.test', 'y'], scope: 'z' } },
    ['emails[0] format', 'emails[1] type', 'emails[3] format', 'scope unsupported'],
  ],
  [
    '/v1/emails/em_x',
    { method: 'PATCH', body: { scheduled_at: 'x', foo: 1 } },
    ['foo unknown', 'scheduled_at format'],
  ],
]

for (const [path, ask, wrong] of ROWS) {
  t.test(`${ask.method ?? (ask.body ? 'POST' : 'GET')} ${path}`, async (t) => {
    const reply = await kit.ask(path, { key: kit.session, headers: { 'x-workspace-id': 'default' }, ...ask })
    t.equal(reply.status, 422)
    const told = fieldsOf(reply).map((one) => one.replace(/^body\./, ''))
    t.strictSame(told.sort(), [...wrong].sort())
    t.equal(reply.json.detail, `${wrong.length} fields are invalid`)
  })
}

t.test('a place that no one may name is told beside the rest', async (t) => {
  const { secret: key } = await kit.tenants.createKey(kit.accountId, { name: 'ci', mode: 'test' })
  const headers = { 'x-workspace-id': 'default' }
  const body = { email: 'x', scope: 'account', foo: 1 }
  const reply = await kit.ask('/v1/suppressions', { key, headers, body })
  t.strictSame(fieldsOf(reply).sort(), ['body.email format', 'body.foo unknown', 'body.scope forbidden'])
})
