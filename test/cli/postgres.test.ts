/** The command line on a PostgreSQL database: what differs from a file, and what goes wrong in one line. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { noPostgres, Postgres } from '../parts/postgres.js'
import { here, openDesk, QUIET } from './desk.js'

interface Row {
  readonly check: string
  readonly result: string
  readonly detail: string
}

const SETTINGS = `${QUIET}store: { driver: postgres, url_file: database.url }`

t.test('on PostgreSQL', { skip: noPostgres() }, async (t) => {
  const cluster = await new Postgres().start()
  t.teardown(() => cluster.stop('fast'))
  const urls = cluster.database().replace('postern@', 'postern:sesame@')
  const desk = openDesk(t, SETTINGS)
  const file = desk.file('database.url', `${urls}\n`, 0o600)
  const run = async (...args: readonly string[]) => {
    const done = await desk.run(args)
    t.notMatch(done.stdout + done.stderr, /sesame/, 'no password is shown')
    return done
  }
  const doctor = async () => {
    const { code, stdout } = await run('doctor', '--json')
    const rows = JSON.parse(stdout) as Row[]
    return { code, of: (name: string) => rows.find(({ check }) => check === name) }
  }

  await t.test('an empty database', async (t) => {
    const { of } = await doctor()
    t.match(of('database'), { result: 'warn', detail: 'has no tables yet' })
    t.match(of('pepper'), { result: 'warn' })
    const { code, stdout, stderr } = await run('migrate')
    t.equal(code, 0, stderr)
    t.match(stdout, /^schema 0 is now \d+$/m)
    t.match((await run('migrate')).stdout, /nothing to do/)
    t.equal((await run('key', 'create', '--workspace', 'default')).code, 0, 'as good as a file')
    t.equal(readFileSync(join(desk.dir, 'data', 'pepper')).length, 32, 'the pepper is made with the database')
    t.match((await doctor()).of('database'), {
      result: 'ok',
      detail: /keeps what it is told \(PostgreSQL \d+/,
    })
    t.match((await doctor()).of('pepper'), { result: 'ok' })
  })

  await t.test('a role without rights', async (t) => {
    const other = cluster.database()
    cluster.sql(
      other.split('/').at(-1) ?? '',
      'CREATE ROLE guest LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC',
    )
    writeFileSync(file, other.replace('postern@', 'guest@'))
    const { code, of } = await doctor()
    t.equal(code, 78)
    t.match(of('database'), {
      result: 'fail',
      detail: /role guest may not/,
      remedy: /^GRANT CREATE .* TO guest/,
    })
    const done = await run('key', 'list')
    t.equal(done.code, 78, done.stderr)
    writeFileSync(file, urls)
  })

  await t.test('a daemon with other settings', async (t) => {
    const about = { version: '1', host: 'mx2', settings: 'other', pools: null }
    const write = (set: string) =>
      cluster.sql(urls.split('/').at(-1) ?? '', `UPDATE writers SET ${set} WHERE n = 9`)
    write(`owner = 'abcdef0123', role = 'main', boot = 9, about = '${JSON.stringify(about)}'`)
    t.match((await doctor()).of('settings'), {
      result: 'warn',
      detail: /mx2 \(abcdef01\)/,
      remedy: /relay\.retry/,
    })
    write('owner = NULL, boot = NULL')
    t.equal((await doctor()).of('settings'), undefined)
  })

  await t.test('a pool that no daemon carries', async (t) => {
    const pool = ['pool', 'create', 'lonely', '--upstream', 'smtp://127.0.0.1:2600?tls=none']
    t.equal((await run(...pool)).code, 0)
    const about = (pools: readonly string[] | null) =>
      JSON.stringify({ version: '1', host: 'mx3', settings: null, pools })
    const write = (n: number, set: string) =>
      cluster.sql(urls.split('/').at(-1) ?? '', `UPDATE writers SET ${set} WHERE n = ${n}`)
    const lives = (n: number, role: string, pools: readonly string[] | null) =>
      write(n, `owner = 'abcdef0124', role = '${role}', boot = ${n}, about = '${about(pools)}'`)
    t.equal((await doctor()).of('relay'), undefined, 'none runs')
    lives(10, 'main', null)
    t.match((await doctor()).of('relay'), { result: 'fail', detail: /pool \w+$/ }, 'no relay at all')
    lives(11, 'relay', ['default'])
    t.match((await doctor()).of('relay'), { detail: /pool lonely$/, remedy: /relay\.pools/ })
    lives(12, 'relay', ['lonely'])
    t.equal((await doctor()).of('relay'), undefined)
    for (const n of [10, 11, 12]) write(n, 'owner = NULL, boot = NULL')
  })

  await t.test('a synchronous standby that is not there', async (t) => {
    const synchronous = (names: string) => {
      cluster.sql('postgres', `ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
      cluster.sql('postgres', 'SELECT pg_reload_conf()')
    }
    synchronous('*')
    // as on one that was promoted, which has the settings of its primary
    const { code, stderr } = await run('store', 'rewound', '--yes')
    t.equal(code, 75)
    t.match(stderr, /^postern: commits wait for a synchronous standby .*: start it, or change [^\n]*\n$/)
    const seen = await doctor()
    t.equal(seen.code, 75)
    t.match(seen.of('synchronous standby'), { result: 'fail', detail: /waits? for one/ })
    synchronous('')
    await eventually(
      'commits are confirmed',
      async () => (await doctor()).of('synchronous standby') === undefined,
    )
    t.equal((await run('key', 'list')).code, 0)
  })

  await t.test('what a file has and a server does not', async (t) => {
    for (const [words, says] of [
      [['backup', '/nowhere/copy.db'], /pg_basebackup or pg_dump, and keep .*pepper/],
      [['restore', '/nowhere/copy.db'], /by the tools that made it/],
      [['migrate', '--compact'], /--compact is for a file/],
    ] as const) {
      const { code, stderr } = await run(...words)
      t.equal(code, 64)
      t.match(stderr, says)
    }
    const dev = await run('dev')
    t.equal(dev.code, 78)
    t.match(dev.stderr, /never one that other daemons share/)
  })

  await t.test('another pepper', async (t) => {
    const pepper = join(desk.dir, 'data', 'pepper')
    const kept = readFileSync(pepper)
    writeFileSync(pepper, Buffer.alloc(32, 7))
    const { code, of } = await doctor()
    t.equal(code, 78)
    t.match(of('pepper'), { result: 'fail', detail: /is not the pepper of the database/ })
    const { code: listed, stderr } = await run('key', 'list')
    t.equal(listed, 78, stderr)
    writeFileSync(pepper, kept)
  })

  await t.test('what keeps it out', async (t) => {
    const cases: readonly (readonly [text: string, mode: number, code: number, says: RegExp])[] = [
      [urls, 0o644, 77, /chmod 600 .*database\.url/],
      [urls.replace(/[^/]+$/, 'nowhere'), 0o600, 78, /has no database nowhere/],
      ['postgres://u:sesame@db.example/x?sslmode=require', 0o600, 78, /sslmode=verify-full/],
      ['# later', 0o600, 78, /store\.url_file has no URL: write postgres:/],
    ]
    for (const [text, mode, code, says] of cases) {
      writeFileSync(file, text)
      chmodSync(file, mode)
      const done = await run('key', 'list')
      t.equal(done.code, code, done.stderr)
      t.match(done.stderr, says)
      t.match(done.stderr, /^[^\n]*\n$/, 'one line')
    }
    writeFileSync(file, urls)
    chmodSync(file, 0o600)
    await cluster.stop('fast')
    for (const words of [['key', 'list'], ['serve']]) {
      const done = await run(...words)
      t.equal(done.code, 75, done.stderr)
      t.match(
        done.stderr,
        /^postern: the database cannot be reached: .*127\.0\.0\.1.*; look whether it runs.*\n$/,
      )
    }
    const { code, of } = await doctor()
    t.not(code, 0)
    t.match(of('database'), { result: 'fail' })
  })

  await t.test('init writes where it is', async (t) => {
    const config = join(desk.dir, 'fresh.yaml')
    const flags = ['--no-input', '--hostname', 'gw.postern.test', '--url-file', file, '--config', config]
    t.equal((await here(['init', ...flags])).code, 0)
    t.match(readFileSync(config, 'utf8'), `store:\n  driver: postgres\n  url_file: ${file}\n`)
  })
})
