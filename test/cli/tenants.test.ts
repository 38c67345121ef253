/** Workspaces, keys, credentials, pools and sessions, on a real store without a daemon. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isOnPostgres } from '../parts/store.js'
import { openDesk } from './desk.js'

t.test('from nothing to a routed workspace with a key', async (t) => {
  const desk = openDesk(t)
  const pool = await desk.json(['pool', 'create', 'main', '--upstream', 'smtp://127.0.0.1:2600?tls=none'])
  t.match(pool, {
    object: 'egress_pool',
    name: 'main',
    members: [{ host: '127.0.0.1', port: 2600, tls: 'none' }],
  })
  const workspace = await desk.json(['workspace', 'update', 'default', '--pool', 'main'])
  t.match(workspace, { object: 'workspace', slug: 'default', is_default: true, egress_pool_id: pool.id })
  const key = await desk.json(['key', 'create', '--workspace', 'default'])
  t.match(key, { object: 'api_key', mode: 'live', scope: 'workspace', workspace_id: workspace.id })
  t.match(key.secret, /^svc_live_[0-9A-Za-z]{44}$/)
  const credential = await desk.json([
    'credential',
    'create',
    '--workspace',
    'default',
    '--cidr',
    '127.0.0.0/8',
  ])
  t.match(credential, { object: 'credential', username: null, cidr: '127.0.0.0/8' })
  t.notOk('secret' in (await desk.json(['key', 'list']))[0], 'no list holds a secret')
  t.equal(statSync(join(desk.dir, 'data')).mode & 0o777, 0o700)
  const kept = isOnPostgres ? 'database.url' : 'postern.db'
  t.equal(statSync(join(desk.dir, 'data', kept)).mode & 0o777, 0o600)

  t.test('stdout is data, stderr is talk', async (t) => {
    const { stdout, stderr } = await desk.run(['key', 'create', '--workspace', 'default'])
    t.match(stdout, /^svc_live_\w+\n$/, 'only the secret')
    t.match(stderr, /^key_\w+: a live key/)
    const list = await desk.run(['workspace', 'list'])
    t.match(list.stdout, /^SLUG +NAME +POOL/)
    t.match(list.stdout, /^default +Default +main/m)
  })

  t.test('a pool in use stays; a free one goes after a yes', async (t) => {
    t.match(await desk.run(['pool', 'delete', 'main', '--yes']), { code: 65, stderr: /in_use/ })
    await desk.json(['pool', 'create', 'spare', '--upstream', 'smtp://127.0.0.1:2601'])
    t.match(await desk.run(['pool', 'delete', 'spare']), { code: 64, stderr: /--yes/ })
    t.match(await desk.run(['pool', 'delete', 'spare', '--dry-run']), {
      code: 0,
      stdout: /would delete spare/,
    })
    t.match(await desk.json(['pool', 'show', 'spare']), { name: 'spare' })
    t.match(await desk.json(['pool', 'delete', 'spare', '--yes']), { object: 'egress_pool', deleted: true })
    t.match(await desk.run(['pool', 'show', 'spare']), { code: 65, stderr: /postern pool list shows/ })
  })

  t.test('a revoked key is gone', async (t) => {
    t.match(await desk.run(['key', 'revoke', key.id]), { code: 64 })
    t.same(await desk.json(['key', 'revoke', key.id, '--yes']), {
      id: key.id,
      object: 'api_key',
      deleted: true,
    })
    t.match(await desk.run(['key', 'revoke', key.id, '--yes']), { code: 65, stderr: /API key not found/ })
  })
})

t.test('every mistake in an upstream URL is told at once', async (t) => {
  const desk = openDesk(t)
  const { code, stderr } = await desk.run([
    'pool',
    'create',
    'x',
    '--upstream',
    'smtp://u:p@mta1?tls=nne&wait=3',
  ])
  t.equal(code, 65)
  t.equal(stderr.trim().split('\n').length, 3)
  t.match(stderr, /password_file=PATH/)
  t.notMatch(stderr, /u:p/)
})

t.test('secrets come from files and standard input', async (t) => {
  const desk = openDesk(t)
  const file = desk.file('mta', 'sesame\n')
  const url = `smtp://gw@mta1.test:587?tls=required&password_file=${file}`
  const pool = await desk.json([
    'pool',
    'create',
    'main',
    '--upstream',
    url,
    '--upstream',
    'smtp://mta2.test',
  ])
  t.match(pool.members, [
    { has_auth: true, host: 'mta1.test', port: 587 },
    { host: 'mta2.test', port: 25, has_auth: false },
  ])
  t.notMatch(JSON.stringify(pool), /sesame/)
  const made = await desk.json(
    ['credential', 'create', '--workspace', 'default', '--username', 'printer'],
    'letmein-12\n',
  )
  t.match(made, { username: 'printer', imported: false })
  const short = await desk.run(
    ['credential', 'create', '--workspace', 'default', '--username', 'fax'],
    'short\n',
  )
  t.match(short, { code: 65, stderr: /password: must have at least 8 characters/ })
  const csv = 'username,password\nold-shop,abc\n"comma,user","quo""te"\nprinter,taken\n'
  const imported = await desk.run(['credential', 'import', '-', '--workspace', 'default', '--json'], csv)
  t.equal(imported.code, 0)
  t.match(JSON.parse(imported.stdout), [{ username: 'old-shop', imported: true }, { username: 'comma,user' }])
  t.match(imported.stderr, /^line 4: skipped printer: .*taken.*\n2 of 3 imported\n$/)
})

t.test('workspaces', async (t) => {
  const desk = openDesk(t)
  const made = await desk.json(['workspace', 'create', 'Shop EU', '--default-from', 'no-reply@shop.test'])
  t.match(made, { slug: 'shop-eu', default_from: 'no-reply@shop.test', egress_pool_id: made.egress_pool_id })
  t.match(await desk.json(['workspace', 'update', 'shop-eu', '--default-from', 'none']), {
    default_from: null,
  })
  t.match(await desk.run(['workspace', 'update', 'shop-eu']), {
    code: 64,
    stderr: /needs something to change/,
  })
  t.match(await desk.run(['workspace', 'update', 'shop-eu', '--pool', 'nope']), {
    code: 65,
    stderr: /names no egress pool/,
  })
  t.match(await desk.run(['workspace', 'show', 'nope']), {
    code: 65,
    stderr: /Workspace not found; postern workspace list/,
  })
  t.equal((await desk.json(['workspace', 'list'])).length, 2)
})

t.test('an upstream is changed where it is, not at a pool that shares it', async (t) => {
  const desk = openDesk(t)
  await desk.json(['workspace', 'create', 'Shop'])
  for (const verb of ['pause', 'test']) {
    const { code, stderr } = await desk.run(['upstream', verb, 'shop'])
    t.equal(code, 65)
    t.match(stderr, /^postern: pool default has no upstream: postern pool update default --upstream URL\n$/)
  }
  await desk.json(['pool', 'update', 'default', '--upstream', 'smtp://127.0.0.1:2600?tls=none'])
  const { egress_pool_id: id } = await desk.json(['workspace', 'show', 'shop'])
  for (const ref of ['shop', id]) {
    const { code, stderr } = await desk.run(['upstream', 'pause', ref])
    t.equal(code, 65)
    t.match(
      stderr,
      /pool shop has no upstream of its own and shares those of default;.*: postern upstream pause default\n$/,
    )
  }
  t.match(await desk.json(['upstream', 'pause', 'default']), [{ state: 'paused' }])
  t.match((await desk.run(['upstream', 'pause', 'sandbox'])).stderr, /sandbox is built in/)
  t.match((await desk.run(['upstream', 'pause', 'nosuch'])).stderr, /no upstream is known by nosuch/)
})

t.test('a session token is shown once', async (t) => {
  const desk = openDesk(t)
  const { stdout } = await desk.run(['session', 'create', '--lasts', '30m'])
  t.match(stdout, /^ses_[0-9A-Za-z]{44}\n$/)
  t.match(await desk.run(['session', 'create', '--lasts', 'soon']), { code: 65 })
})
