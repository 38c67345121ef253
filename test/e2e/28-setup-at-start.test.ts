/** What a daemon applies before its doors open: files, and the variables of a container; and what it does where they are wrong. */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { signedIn } from '../parts/browser.js'
import { Postern, runCli } from '../parts/postern.js'
import { noPostgres, postgres } from '../parts/postgres.js'

const made = (t: Test, settings: Record<string, unknown> = {}): Postern => {
  const postern = new Postern({ setup: 'postern.d', ...settings })
  t.teardown(() => postern.remove())
  mkdirSync(join(postern.dir, 'postern.d'))
  return postern
}

const file = (postern: Postern, name: string, text: string): string => {
  const path = join(postern.dir, name)
  writeFileSync(path, text, { mode: 0o600 })
  return path
}

const SHOP = `setup: shop
pools: { eu: { upstreams: ['smtp://mta1.eu.example'] } }
workspaces: { shop: { pool: eu } }
keys: { shop/web: { out: ../data/web.key } }
`

const logged = ({ output }: Postern, msg: string): Record<string, unknown>[] =>
  output.flatMap((line) => (line.includes(`"msg":"${msg}"`) ? [JSON.parse(line)] : []))

const started = (postern: Postern, env: NodeJS.ProcessEnv = {}): Promise<string> =>
  postern.start(env).then(
    () => 'serves',
    (error: Error) => error.message,
  )

const metric = async ({ ports }: Postern): Promise<string> =>
  /^postern_setup_failed (\d)$/m.exec(
    await (await fetch(`http://127.0.0.1:${ports.management}/metrics`)).text(),
  )?.[1] ?? 'none'

const FAILED = 'setup failed: started with what the store holds'

t.test('applied before the doors open, at each start, and never again in between', async (t) => {
  const postern = made(t)
  const text = file(postern, 'postern.d/shop.yaml', SHOP)
  t.equal(await started(postern), 'serves')
  t.match(logged(postern, 'setup applied'), [
    { setup: 'shop', made: ['pool/eu', 'workspace/shop', 'key/shop/web'] },
  ])
  const lines = postern.output.map((line) => line.includes('"setup applied"') || line.includes('"listening"'))
  t.equal(lines.filter(Boolean).length, 2)
  t.match(postern.output[lines.indexOf(true)], /setup applied/, 'first the setup, then the doors')
  const key = readFileSync(join(postern.dir, 'data/web.key'), 'utf8').trim()
  t.equal((await postern.api('GET', '/v1/emails', key)).status, 200, 'its key opens the door')
  const [audited] = await postern.json('audit', 'list', '--action', 'setup')
  t.match(audited, { action: 'setup.applied', actor: { name: 'postern serve' } })

  writeFileSync(text, SHOP.replace('eu.example', 'us.example'))
  process.kill(postern.pid, 'SIGHUP')
  await postern.json('pool', 'list')
  t.match(
    (await postern.json('pool', 'show', 'eu')).members,
    [{ host: 'mta1.eu.example' }],
    'a reload does not apply',
  )
  await postern.stop()
  writeFileSync(text, 'setup: shop\npools: { eu: { upstreams: ["smtp://mta1.us.example"] } }\n')
  t.equal(await started(postern), 'serves')
  t.match((await postern.json('pool', 'show', 'eu')).members, [{ host: 'mta1.us.example' }])
  t.equal((await postern.json('key', 'list')).length, 1, 'nothing is removed at a start')
  t.match(logged(postern, 'setup applied'), [
    { changed: ['pool/eu'], left: [/key\/shop\/web/, /workspace\/shop/] },
  ])
})

t.test(
  'wrong from the first start it ends with 78; later it starts with what is there, and says so',
  async (t) => {
    const postern = made(t)
    const text = file(postern, 'postern.d/shop.yaml', SHOP.replace('pool: eu', 'poll: eu'))
    t.match(
      await started(postern),
      /ended with 78[\s\S]*shop\.yaml:3: workspace\/shop: poll: is not known; did you mean pool\?/,
    )
    writeFileSync(text, SHOP.replace('../data', '/nowhere'))
    t.match(await started(postern), /ended with 78[\s\S]*shop\.yaml:4: key\/shop\/web: out: /)
    writeFileSync(text, SHOP)
    t.equal(await started(postern), 'serves')
    t.equal(await metric(postern), '0')
    t.notMatch((await postern.cli('status')).stdout, /setup_failed/)
    await postern.stop()

    writeFileSync(text, `${SHOP}domains: { shop.example: { workspace: nix } }`)
    t.equal(await started(postern), 'serves')
    const says = /shop\.yaml:5: domain\/shop\.example: .*no workspace nix/
    t.match(logged(postern, FAILED), [{ level: 'error', mistakes: [says] }])
    const { stdout } = await postern.cli('status')
    t.match(stdout, /alarms +1\n/)
    t.match(stdout, /alarm: setup_failed: .*\n {2}\S+shop\.yaml:5: /)
    // a pool without an upstream is told by 69; what is asked here is the document
    t.match(JSON.parse((await postern.cli('status', '--json')).stdout).setup_failed, [says])
    t.equal(await metric(postern), '1')
    const owner = (await (await signedIn(postern)).visit('/')).html
    t.match(owner, /The setup was not applied at the start[\s\S]*shop\.yaml:5: domain/)
    const viewer = await signedIn(postern, 'viewer')
    t.notMatch(await viewer.visit('/').then(({ html }) => html), /shop\.yaml/)
    await postern.stop()
    rmSync(join(postern.dir, 'postern.d'), { recursive: true })
    t.equal(await started(postern), 'serves')
    t.match(logged(postern, FAILED), [{ mistakes: [/postern\.d: no such file/] }])
  },
)

t.test('three variables', async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  const env = {
    POSTERN_UPSTREAM: 'smtp://gw@mta1.example.com:587?weight=2',
    POSTERN_UPSTREAM_PASSWORD_FILE: file(postern, 'mta.pw', 'hunter22\n'),
    POSTERN_KEY_FILE: file(postern, 'app.key', (await runCli(['key', 'secret'])).stdout),
  }
  t.match(
    await started(postern, { ...env, POSTERN_UPSTREAM: 'http://mta1' }),
    /ended with 78[\s\S]*POSTERN_UPSTREAM: .*must look like smtp:/,
  )
  t.equal(await started(postern, env), 'serves')
  t.match((await postern.json('pool', 'show', 'default')).members, [
    { host: 'mta1.example.com', weight: 2, has_auth: true },
  ])
  const key = readFileSync(env.POSTERN_KEY_FILE, 'utf8').trim()
  t.equal((await postern.api('GET', '/v1/emails', key)).status, 200)
  t.notMatch(postern.output.join('\n'), /hunter22|svc_live/)
  await postern.stop()
  t.equal(await started(postern, env), 'serves', 'and again')
  t.match(logged(postern, 'setup applied'), [{ made: [], changed: [], left: [], same: 2 }])
})

t.test('variables of other images: in ours alone', async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  const env = {
    RELAYHOST: '[mta2.example.com]:587',
    RELAYHOST_USERNAME: 'gw',
    RELAYHOST_PASSWORD: 'hunter22',
    RELAYHOST_TLS_LEVEL: 'secure',
    ALLOWED_SENDER_DOMAINS: 'example.com',
    POSTFIX_mynetworks: '10.0.0.0/8',
  }
  t.equal(await started(postern, env), 'serves')
  t.match((await postern.json('pool', 'show', 'default')).members, [], 'elsewhere they mean nothing')
  await postern.stop()
  t.equal(await started(postern, { ...env, POSTERN_IMAGE: 'true' }), 'serves')
  t.match((await postern.json('pool', 'show', 'default')).members, [
    { host: 'mta2.example.com', port: 587, tls: 'verify', has_auth: true },
  ])
  t.match(logged(postern, 'variable of another image'), [
    { variable: 'RELAYHOST', says: 'became POSTERN_UPSTREAM=smtp://gw@mta2.example.com:587?tls=verify' },
  ])
  t.same(
    logged(postern, 'variable of another image, not as it should be').map(({ variable }) => variable),
    ['ALLOWED_SENDER_DOMAINS', 'POSTFIX_mynetworks', 'RELAYHOST_PASSWORD'],
  )
  t.notMatch(postern.output.join('\n'), /hunter22/)
  t.same(await postern.json('credential', 'list'), [], 'no variable opens a relay to a network')
})

t.test(
  'three daemons of one database that start at once make it once',
  { skip: noPostgres() ?? false },
  async (t) => {
    const url = (await postgres()).database()
    const secret = (await runCli(['key', 'secret'])).stdout
    const all = Array.from({ length: 3 }, () =>
      made(t, { store: { driver: 'postgres', url_file: 'database.url' } }),
    )
    const [first] = all as [Postern]
    for (const one of all) {
      file(one, 'database.url', `${url}\n`)
      file(one, 'web.key', secret)
    }
    file(first, 'postern.d/none.yaml', 'setup: none\npools: { main: {} }\n')
    t.equal(await started(first), 'serves')
    await first.stop()
    rmSync(join(first.dir, 'postern.d/none.yaml'))
    for (const one of all) {
      if (one !== first) {
        mkdirSync(join(one.dir, 'data'), { mode: 0o700 })
        copyFileSync(join(first.dir, 'data/pepper'), join(one.dir, 'data/pepper'))
      }
      file(one, 'postern.d/shop.yaml', SHOP.replace('out: ../data/web.key', 'secret_file: ../web.key'))
    }
    t.same(await Promise.all(all.map((one) => started(one))), ['serves', 'serves', 'serves'])
    const applied = all.flatMap((one) => logged(one, 'setup applied')) as { made: string[]; same: number }[]
    t.equal(applied.length, 3, 'each has looked')
    t.equal(applied.filter(({ made }) => made.length === 3).length, 1, 'one has made it')
    t.equal(
      applied.filter(({ made, same }) => made.length === 0 && same === 3).length,
      2,
      'the others found it',
    )
    t.same(
      all.flatMap((one) => logged(one, FAILED)),
      [],
    )
    const audited = (await first.json('audit', 'list', '--action', 'setup')) as {
      target: object
      detail: object
    }[]
    // who waited for it finds nothing to do under the lock
    const changed = audited
      .map(({ target, detail }) => ({ ...target, ...detail }))
      .filter((one) => !('changed' in one && one.changed === 0))
    t.match(changed, [
      { id: 'shop', changed: 3 },
      { id: 'none', changed: 1 },
    ])
    const key = secret.trim()
    for (const one of all) t.equal((await one.api('GET', '/v1/emails', key)).status, 200)
  },
)
