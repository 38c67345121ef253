/** A setup over the API: planned, applied by the digest of its plan, and never with a file of the server. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { callsOf, signIn } from './calls.js'
import { openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())
const owner = (await signIn(kit, 'ana@acme.test', 'owner')).token

const ask = (what: 'plan' | 'apply', body: unknown, key: string | null = owner) =>
  kit.ask(`/v1/setup/${what}`, { method: 'POST', key, body })

const SHOP = {
  setup: 'shop',
  pools: {
    eu: {
      upstreams: [
        { url: 'smtp://gw@mta1.example:587?tls=verify', password: 'hunter22' },
        'smtp://mta2.example',
      ],
    },
  },
  workspaces: { shop: { pool: 'eu' } },
  domains: { 'shop.example': { workspace: 'shop' } },
  keys: { 'shop/web': {}, ops: {} },
  credentials: { 'shop/printer': { cidr: ['10.1.0.0/16'] }, 'shop/app': { secret: 'scannerpassword' } },
  webhooks: {
    'shop/orders': { endpoint: 'https://203.0.113.9/hook', headers: { Authorization: 'Bearer x1' } },
  },
  suppressions: {
    shop: { csv: 'email,origin,created_at\na@b.example,complaint,2024-02-03T04:05:06.000Z\n' },
  },
  people: { 'bo@acme.test': { role: 'viewer' } },
}

t.test('planned, applied, and the second time nothing', async (t) => {
  const plan = await ask('plan', { setup: SHOP })
  t.equal(plan.status, 200, plan.text)
  t.match(plan.json, { object: 'setup_plan', setup: 'shop', applied: false, same: 0 })
  t.equal(plan.json.steps.length, 10)
  t.notMatch(plan.text, /hunter22|scannerpassword|Bearer x1/)
  t.equal((await kit.store.pool(kit.accountId, 'eu')) ?? null, null, 'nothing was done')

  t.match((await ask('apply', { setup: SHOP, digest: 'x' })).json, {
    code: 'resource.conflict',
    reason: 'plan_changed',
  })
  const other = { ...SHOP, credentials: { ...SHOP.credentials, 'shop/app': { secret: 'another password' } } }
  t.equal(
    (await ask('apply', { setup: other, digest: plan.json.digest })).status,
    409,
    'nor with another secret',
  )
  const done = await ask('apply', { setup: SHOP, digest: plan.json.digest })
  t.equal(done.status, 200, done.text)
  t.match(done.json, { applied: true, failed: null })
  t.equal(done.headers.get('cache-control'), 'no-store')
  t.match(done.json.secrets, {
    'key/shop/web': /^svc_live_\w{44}$/,
    'key/ops': /^svc_live_\w{44}$/,
    'webhook/shop/orders': /^whsec_/,
  })
  t.equal((await kit.ask('/v1/emails', { key: done.json.secrets['key/shop/web'] })).status, 200)
  t.match(await kit.store.pool(kit.accountId, 'eu'), {
    upstreams: [{ host: 'mta1.example' }, { host: 'mta2.example' }],
  })
  const [entry] = (await kit.ask('/v1/audit?action=setup', { key: owner })).json.data
  t.match(entry, { action: 'setup.applied', actor: { name: 'ana@acme.test' } })

  const again = await ask('plan', { setup: SHOP })
  t.match(again.json, { steps: [], same: 10 })
  t.match((await ask('apply', { setup: SHOP, digest: again.json.digest })).json, {
    applied: true,
    secrets: {},
  })
})

t.test('what was changed since the plan was made keeps it from being done', async (t) => {
  const setup = { setup: 'shop', pools: { eu: { return_path: 'fixed' } } }
  const { digest } = (await ask('plan', { setup })).json
  const pool = await kit.store.pool(kit.accountId, 'eu')
  await kit.ask(`/v1/egress-pools/${pool?.id}`, {
    method: 'PATCH',
    key: owner,
    body: { return_path: 'fixed' },
  })
  t.match((await ask('apply', { setup, digest })).json, { code: 'resource.conflict', reason: 'plan_changed' })
  const gone = { setup: 'shop', pools: { eu: {} } }
  const prune = (await ask('plan', { setup: gone, prune: true })).json
  t.ok(prune.steps.some((one: { action: string }) => one.action === 'remove'))
  t.equal((await ask('apply', { setup: gone, digest: prune.digest })).status, 409, 'of another wish')
})

t.test('no member names a file of the server', async (t) => {
  const file = join(kit.config.data_dir, 'bait')
  writeFileSync(file, 'svc_live_bait', { mode: 0o600 })
  const setup = {
    setup: 'bait',
    pools: {
      a: { upstreams: [`smtp://gw@x.example?password_file=${file}`] },
      b: { upstreams: [{ url: `smtps://gw@x.example?ca_file=${file}`, password_file: file }] },
      c: { upstreams: [`smtp://gw@x.example?%74oken_file=${file}`] },
      d: { upstreams: [`smtp://gw@x.example?service_account_file=${file}&client_key_file=${file}`] },
    },
    domains: { 'a.example': { dkim: [{ selector: 's1', key_file: file }] } },
    keys: { 'default/a': { secret_file: file }, 'default/b': { out: join(kit.config.data_dir, 'made') } },
    credentials: { 'default/a': { secret_file: file } },
    webhooks: { 'default/a': { endpoint: 'https://203.0.113.9/x', header_files: { A: file } } },
    suppressions: { default: { file, test_file: file } },
  }
  for (const what of ['plan', 'apply'] as const) {
    const { status, json, text } = await ask(what, { setup, ...(what === 'apply' && { digest: 'x' }) })
    t.equal(status, 422)
    const forbidden = json.errors.filter((one: { kind: string }) => one.kind === 'forbidden')
    t.same(
      forbidden.map(({ field }: { field: string }) => field.replace('body.setup.', '')).sort(),
      [
        'credentials.default/a.secret',
        'domains.a.example.dkim.0.key',
        'keys.default/a.secret',
        'keys.default/b.out',
        'pools.a.upstreams.0',
        'pools.b.upstreams.0',
        'pools.b.upstreams.0.password_file',
        'pools.c.upstreams.0',
        'pools.d.upstreams.0',
        'pools.d.upstreams.0',
        'suppressions.default.csv',
        'suppressions.default.test_csv',
        'webhooks.default/a.headers',
      ],
      text,
    )
    t.notMatch(text, /svc_live_bait/)
  }
  t.notOk(existsSync(join(kit.config.data_dir, 'made')))
})

t.test('who may not, and what is no setup', async (t) => {
  const body = { setup: { setup: 'x', pools: { x: {} } } }
  t.equal((await ask('plan', body, null)).status, 401)
  for (const key of [kit.key, kit.platform]) t.equal((await ask('plan', body, key)).status, 403)
  for (const role of ['member', 'viewer'] as const)
    t.equal((await ask('plan', body, (await signIn(kit, `${role}@acme.test`, role)).token)).status, 403, role)
  const many = Object.fromEntries(Array.from({ length: 5_001 }, (_, n) => [`p${n}`, {}]))
  for (const [setup, said] of [
    [undefined, /body\.setup/],
    [[], /body\.setup/],
    [{}, /body\.setup\.setup/],
    [{ setup: 'A B' }, /body\.setup\.setup/],
    [{ setup: 'x', polls: {} }, /did you mean pools/],
    [{ setup: 'x', pools: [] }, /expected names/],
    [{ setup: 'x', pools: { x: { constructor: { a: 'b' } } } }, /constructor: is not known/],
    [{ setup: 'x', keys: { 'default/a': { secret: 1 } } }, /must be a text/],
    [{ setup: 'x', keys: { 'default/a': { secret: 'FILL-IN' } } }, /FILL-IN stands for a secret/],
    [{ setup: 'x', keys: { 'default/a': { secret: { text: 'x' } } } }, /must be a text/],
    [{ setup: 'x', pools: { x: { upstreams: [{ url: 'smtp://x', secrets: {} }] } } }, /secrets/],
    [{ setup: 'x', pools: { x: { upstreams: ['http://x'] } } }, /must look like smtp/],
    [{ setup: 'x', pools: many }, /more than 5000 things/],
  ] as const) {
    const { status, text } = await ask('plan', { setup })
    t.equal(status, 422, text.slice(0, 300))
    t.match(text, said)
  }
  const deep = `{"setup":{"setup":"x","pools":{"x":{"upstreams":${'['.repeat(20_000)}${']'.repeat(20_000)}}}}}`
  const nested = await ask('plan', deep)
  t.ok(nested.status === 422 || nested.status === 400, nested.text.slice(0, 300))
  const yaml = { 'content-type': 'application/yaml' }
  const asYaml = await kit.ask('/v1/setup/plan', {
    method: 'POST',
    key: owner,
    headers: yaml,
    body: 'setup: x',
  })
  t.ok(asYaml.status === 415 || asYaml.status === 400, `${asYaml.status}`)
  const large = { setup: { setup: 'x', suppressions: { default: { csv: 'a'.repeat(1024 * 1024) } } } }
  t.equal((await ask('plan', large)).status, 413)
})

t.test('a call as others make it', async (t) => {
  const { calls } = callsOf(kit, { key: owner, hookPort: 1 })
  const [path, body] = await (calls.applySetup as () => Promise<[string, object]>)()
  t.equal((await kit.ask(path, { method: 'POST', key: owner, body })).status, 200)
})
