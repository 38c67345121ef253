/** What a setup made says so at every door: in lists and records, in answers to changes, on the command line, on pages. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { signedIn } from '../parts/browser.js'
import { Postern } from '../parts/postern.js'

const postern = await new Postern().start()
t.teardown(() => postern.remove())
const write = (name: string, text: string): string => {
  writeFileSync(join(postern.dir, name), text, { mode: 0o600 })
  return join(postern.dir, name)
}
write('web.key', (await postern.cli('key', 'secret')).stdout)
write('hook.key', (await postern.cli('webhook', 'secret')).stdout)
const FILE = write(
  'shop.yaml',
  `setup: shop
pools: { eu: { upstreams: ['smtp://127.0.0.1:1?tls=none'] } }
workspaces: { shop: { pool: eu } }
domains: { shop.example: { workspace: shop } }
keys: { shop/web: { secret_file: web.key } }
credentials: { shop/printer: { cidr: 10.1.0.0/16 } }
webhooks: { shop/orders: { endpoint: 'https://203.0.113.9/hook', secret_file: hook.key } }
people: { bo@acme.test: { role: viewer } }
`,
)
await postern.cli('apply', '--yes', FILE)
const { token } = await postern.json('session', 'create', '--role', 'owner')
const session = String(token)
const api = async (method: string, path: string, body?: object) => {
  const answer = await postern.api(method, path, session, body)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}
const get = (path: string) => api('GET', path)

type Row = { readonly id: string; readonly managed: unknown } & Record<string, never>

interface Kind {
  readonly path: string
  readonly name: string
  readonly page: (row: Row) => string
  /** Its word on the command line; `show` where there is one. */
  readonly cli: readonly string[]
  readonly show?: readonly string[]
  /** A record of one. */
  readonly one?: (row: Row) => string
  /** Something by hand. */
  readonly byHand: readonly string[] | null
}

const KINDS: readonly Kind[] = [
  {
    ...{ path: '/v1/egress-pools', name: 'eu', page: ({ id }) => `/pools/${id}`, cli: ['pool'] },
    ...{ show: ['eu'], one: ({ id }) => `/v1/egress-pools/${id}` },
    byHand: ['pool', 'create', 'mine', '--upstream', 'smtp://127.0.0.1:1?tls=none'],
  },
  {
    ...{ path: '/v1/workspaces', name: 'shop', page: () => '/workspaces/shop', cli: ['workspace'] },
    ...{ show: ['shop'], one: ({ id }) => `/v1/workspaces/${id}`, byHand: null },
  },
  {
    ...{ path: '/v1/domains', name: 'shop.example', page: () => '/domains/shop.example', cli: ['domain'] },
    ...{ show: ['shop.example'], one: () => '/v1/domains/shop.example' },
    byHand: ['domain', 'add', 'mine.example'],
  },
  {
    ...{
      path: '/v1/api-keys',
      name: 'shop/web',
      page: ({ prefix }) => `/keys?prefix=${prefix}`,
      cli: ['key'],
    },
    byHand: ['key', 'create', '--workspace', 'shop'],
  },
  {
    ...{ path: '/v1/credentials', name: 'shop/printer', page: () => '/credentials', cli: ['credential'] },
    byHand: ['credential', 'create', '--workspace', 'shop', '--cidr', '10.9.0.0/16'],
  },
  {
    ...{ path: '/v1/webhooks', name: 'shop/orders', page: ({ id }) => `/webhooks/${id}`, cli: ['webhook'] },
    ...{ one: ({ id }) => `/v1/webhooks/${id}` },
    byHand: ['webhook', 'create', 'https://203.0.113.9/mine'],
  },
  {
    ...{ path: '/v1/users', name: 'bo@acme.test', page: ({ id }) => `/settings/people/${id}`, cli: ['user'] },
    ...{ show: ['bo@acme.test'], one: ({ id }) => `/v1/users/${id}` },
    byHand: ['user', 'create', 'me@acme.test', '--role', 'viewer'],
  },
]

for (const { path, name, page, cli, show, one, byHand } of KINDS) {
  t.test(`${path}: made by the setup, and what a person made is not`, async (t) => {
    if (byHand !== null) await postern.cli(...byHand)
    const managed = { setup: 'shop', name }
    const { data } = await get(path)
    const rows = data as readonly Row[]
    t.ok(
      rows.every((row) => 'managed' in row),
      'each says it',
    )
    const made = rows.filter((row) => row.managed !== null)
    t.same(
      made.map((row) => row.managed),
      [managed],
      'the one that the files name',
    )
    const [row] = made
    if (row === undefined) return
    t.ok(rows.length > 1, 'others are there')
    if (one !== undefined) t.same((await get(one(row))).managed, managed)
    t.same(
      ((await postern.json(...cli, 'list')) as unknown as readonly Row[]).map((each) => [
        each.id,
        each.managed,
      ]),
      rows.map((each) => [each.id, each.managed]),
      'the command line says the same',
    )
    t.match((await postern.cli(...cli, 'list')).stdout, new RegExp(`shop: ${name}(\n| *$)`, 'm'))
    t.match((await postern.cli(...cli, 'list', '--csv')).stdout, /,setup\r\n[\s\S]*,shop: /)
    if (show !== undefined) {
      t.same((await postern.json(...cli, 'show', ...show)).managed, managed)
      t.match((await postern.cli(...cli, 'show', ...show)).stderr, `the setup shop made it, as ${name}`)
    }
    const browser = await signedIn(postern)
    const { html, status } = await browser.visit(page(row))
    t.equal(status, 200)
    t.match(html, /made by the setup (?:<strong>)?shop/i, page(row))
  })
}

t.test('changes answer it, take it back as it was read, and a key that follows has none', async (t) => {
  for (const path of ['/v1/egress-pools', '/v1/workspaces', '/v1/webhooks']) {
    const row = ((await get(path)).data as readonly Row[]).find(({ managed }) => managed !== null)
    t.match(await api('PATCH', `${path}/${row?.id}`, row), { managed: { setup: 'shop' } }, path)
  }
  const key = ((await get('/v1/api-keys')).data as readonly Row[]).find(({ managed }) => managed !== null)
  t.match(await api('POST', `/v1/api-keys/${key?.id}/rotate`, {}), {
    managed: null,
    replaces: { id: key?.id, managed: { setup: 'shop', name: 'shop/web' } },
  })
  const checked = await api('POST', '/v1/domains/shop.example/check', {})
  t.match(checked, { managed: { setup: 'shop', name: 'shop.example' } })
})

t.test('forms that change it warn; what a person changed is left alone', async (t) => {
  const browser = await signedIn(postern)
  t.match((await browser.visit('/workspaces/shop/edit')).html, /postern apply<\/code> leaves alone/)
  t.notMatch((await browser.visit('/workspaces/default/edit')).html, 'leaves alone')
  const told = await postern.cli('pool', 'update', 'eu', '--return-path', 'fixed')
  t.match(told.stderr, /what is changed by hand, postern apply leaves alone until --adopt/)
})
