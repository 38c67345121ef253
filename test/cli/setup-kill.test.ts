/** Killed at any moment of an apply: the same command goes on, and makes nothing twice. */
import t from 'tap'
import { type Desk, openDesk, postern } from './desk.js'

const POINTS = [
  'beginSetup.after-commit',
  'noteManaged.after-commit:1',
  'createPool.after-commit',
  'noteManaged.before-commit:2',
  'createWorkspace.after-commit',
  'createDomain.before-commit',
  'createDomain.after-commit',
  'createKey.before-commit',
  'createKey.after-commit:1',
  'createKey.after-commit:2',
  'createCredential.after-commit',
  'createEndpoint.after-commit',
  'importSuppressions.after-commit',
  'createUser.after-commit',
  'noteManaged.after-commit:9',
  'endSetup.before-commit',
]

const SETUP = `setup: shop
pools: { eu: { upstreams: ['smtp://mta1.eu.example'] } }
workspaces: { shop: { pool: eu } }
domains: { shop.example: { workspace: shop } }
keys: { shop/web: { secret_file: web.key }, ops: { out: data/ops.key } }
credentials: { shop/printer: { cidr: 10.1.0.0/16 } }
webhooks: { shop/orders: { endpoint: 'https://203.0.113.9/hook', out: data/hook.key } }
suppressions: { shop: { file: s.csv } }
people: { ana@example.com: { role: owner } }
`

t.test('killed, and gone on with', async (t) => {
  const killed: { readonly point: string; readonly desk: Desk; readonly file: string }[] = []
  for (const point of POINTS) {
    const desk = openDesk(t)
    desk.file('web.key', (await desk.run(['key', 'secret'])).stdout)
    desk.file('s.csv', 'a@b.example\n')
    await desk.run(['workspace', 'list'])
    const file = desk.file('shop.yaml', SETUP)
    const args = ['--config', desk.configFile, 'apply', '--yes', file]
    const { code, stderr } = await postern(args, '', desk.dir, { POSTERN_CRASH_AT: point })
    t.notMatch({ code, stderr }, { code: 0 }, `it ended at ${point}`)
    killed.push({ point, desk, file })
  }
  for (const { point, desk, file } of killed) {
    const done = await desk.run(['apply', '--yes', file])
    t.equal(done.code, 0, `${point}: ${done.stderr}`)
    t.notMatch(done.stdout, /^!/m, `${point}: what it began is its own`)
    t.match(await desk.run(['apply', file]), { code: 0, stderr: 'nothing to do\n' }, point)
    const counts = await Promise.all(
      [['pool'], ['workspace'], ['domain'], ['key'], ['credential'], ['webhook'], ['user']].map(
        async ([subject = '']) => (await desk.json([subject, 'list'])).length,
      ),
    )
    t.same(counts, [3, 2, 1, 2, 1, 1, 1], `${point}: nothing is there twice`)
  }
})

t.test('two at once: one of them does it, or waits until the other has', async (t) => {
  const desk = openDesk(t)
  desk.file('web.key', (await desk.run(['key', 'secret'])).stdout)
  desk.file('s.csv', 'a@b.example\n')
  await desk.run(['workspace', 'list'])
  const file = desk.file('shop.yaml', SETUP)
  const args = ['--config', desk.configFile, 'apply', '--yes', file]
  const both = await Promise.all([postern(args), postern(args)])
  t.ok(
    both.some(({ code }) => code === 0),
    JSON.stringify(both),
  )
  t.match(await desk.run(['apply', file, '--yes']), { code: 0 })
  t.equal((await desk.json(['key', 'list'])).length, 2)
  t.equal((await desk.json(['webhook', 'list'])).length, 1)
})
