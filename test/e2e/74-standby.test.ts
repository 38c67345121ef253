/**
 * A primary dies under load and its standby is promoted, with three real daemons. Where the standby confirms each
 * commit nothing is lost; where it missed what came last, that is told, and what waits can be put to rest.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import t, { type Test } from 'tap'
import { balanceOf, wrongIn } from '../crash/balance.js'
import { digest, Load } from '../crash/load.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { noPostgres, Postgres } from '../parts/postgres.js'
import { UpstreamServer } from '../relay/upstream-server.js'

/** Mails that each daemon takes before anything breaks, and after it. */
const LEAST = 6
const HOSTS = ['a', 'b', 'c'] as const

/** Mail to `later` waits until it takes that, too. */
const openUpstream = async () => {
  const mood = { takesLater: false }
  const server = new UpstreamServer({
    act: (stage, line) =>
      stage === 'rcpt' && line.includes('later') && !mood.takesLater ? '451 4.3.0 come again' : undefined,
  })
  const port = await server.listen()
  t.teardown(() => server.close())
  return {
    url: `smtp://127.0.0.1:${port}?tls=none&max_connections=6`,
    copies: () => server.received.map(({ wire }) => digest(wire)),
    takeLater: () => {
      mood.takesLater = true
    },
  }
}

const onDatabase = (host: string, urls: string, more: Record<string, unknown> = {}): Postern => {
  const postern = new Postern({
    hostname: `${host}.gw.test`,
    store: { driver: 'postgres', url_file: 'database.url' },
    rate_limit: { per_minute: 1_000_000 },
    relay: { retry: ['1s'] },
    ...more,
  })
  t.teardown(() => postern.remove())
  writeFileSync(join(postern.dir, 'database.url'), urls, { mode: 0o600 })
  return postern
}

const openDaemons = async (urls: string): Promise<readonly [Postern, ...Postern[]]> => {
  const [host, ...hosts] = HOSTS
  const first = await onDatabase(host, urls).start()
  const pepper = { pepper_file: join(first.dir, 'data', 'pepper') }
  return [first, ...(await Promise.all(hosts.map((one) => onDatabase(one, urls, pepper).start())))]
}

const openLoads = (daemons: readonly Postern[], key: string) => {
  const loads = daemons.map((one) => new Load(one, key, { http: 1, smtp: 1, rest: 200 }))
  const stop = () => Promise.all(loads.map((load) => load.stop()))
  t.teardown(stop)
  return {
    stop,
    /** By their codes, of HTTP and of SMTP. */
    refusals: () => loads.map((load) => load.refusals.map(({ said }) => Number(said.slice(0, 3)))),
    acknowledged: () => loads.flatMap((load) => [...load.acknowledged]),
    /** Each daemon takes mail. */
    async flow(): Promise<void> {
      const before = loads.map((load) => load.acknowledged.size)
      await eventually('each daemon takes mail', () =>
        loads.every((load, i) => load.acknowledged.size >= (before[i] ?? 0) + LEAST),
      )
    },
  }
}

const scene = async () => {
  const primary = await new Postgres().start()
  t.teardown(() => primary.stop('immediate'))
  const name = primary.database().split('/').at(-1) ?? ''
  const standby = await new Postgres(primary).start()
  t.teardown(() => standby.stop('immediate'))
  const upstream = await openUpstream()
  const daemons = await openDaemons(`${primary.url(name)}\n${standby.url(name)}\n`)
  const [first] = daemons
  await first.route(upstream.url)
  const key = await first.key('--rate-limit', '1000000')
  return { primary, standby, name, upstream, daemons, first, key }
}

type Scene = Awaited<ReturnType<typeof scene>>

const managed = ({ ports }: Postern, path: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${ports.management}${path}`)

const all = <T>(each: readonly T[], is: (one: T) => Promise<boolean>): Promise<boolean> =>
  Promise.all(each.map(is)).then((found) => found.every(Boolean))

const areReady = ({ daemons }: Scene, status: 200 | 503): Promise<boolean> =>
  all(daemons, async (one) => (await managed(one, '/readyz')).status === status)

const putBacks = async (one: Postern): Promise<number> => {
  const metrics = await (await managed(one, '/metrics')).text()
  return Number(/^postern_store_put_back_total (\d+)$/m.exec(metrics)?.[1])
}

/** What its log says of a database that was put back. */
const told = ({ output }: Postern): { readonly level: string; readonly lost_ms: number }[] =>
  output.filter((line) => line.includes('"the database was put back"')).map((line) => JSON.parse(line))

const post = ({ key }: Scene, postern: Postern, to: string) =>
  postern.api('POST', '/v1/emails', key, { from: 'load@gw.test', to, subject: 'crash 5', text: 'xxxxx' })

/** Once all but `waiting` have left. */
const balance = async (at: Scene, server: Postgres, ids: readonly string[], waiting: number) => {
  const { name, upstream, first, key } = at
  const queued = () => Number(server.sql(name, 'SELECT count(*) FROM queue'))
  // what is stuck is missed below
  await eventually('all has left', () => queued() === waiting, { every: 200, moves: queued }).catch(() => {})
  const rows = server.sql(name, 'SELECT id, status FROM emails').split('\n')
  const statuses = new Map(rows.map((row) => row.split('|') as [string, string]))
  const ask = (path: string) => first.api('GET', path, key)
  return balanceOf({ ids, copies: upstream.copies(), ask, isHolding: false, statuses: () => statuses })
}

const STANDBY_ALONE =
  /^postern: 127\.0\.0\.1:\d+: the server is a standby and takes no writes: name the primary, too\n$/

/** The primary is gone, and nobody has promoted the standby yet. */
const between = async (t: Test, at: Scene, loads: ReturnType<typeof openLoads>): Promise<void> => {
  await eventually('clients are refused', () => loads.refusals().every((codes) => codes.includes(503)))
  await eventually('no daemon is ready', () => areReady(at, 503))
  const refused = await post(at, at.first, 'nobody@sink.test')
  t.match(refused, { status: 503, body: { code: 'service.unavailable' } })
  t.match(refused.headers.get('retry-after'), /^\d+$/)
  const transport = createTransport({
    host: '127.0.0.1',
    port: at.first.ports.submission[0] as number,
    tls: { rejectUnauthorized: false },
    auth: { user: 'x', pass: at.key },
  })
  await t.rejects(
    transport.sendMail({ from: 'load@gw.test', to: 'nobody@sink.test', text: 'x' }),
    /\b4\d\d 4\.\d\.\d /,
  )
  t.match(await at.first.cli('key', 'list'), {
    code: 75,
    stderr: /^postern: the database cannot be reached: [^\n]*look whether it runs[^\n]*\n$/,
  })
  const alone = onDatabase('d', at.standby.url(at.name))
  for (const words of [['serve'], ['key', 'list'], ['store', 'rewound', '--yes']])
    t.match(await alone.cli(...words), { code: 78, stderr: STANDBY_ALONE }, words.join(' '))
}

/** The standby hears no more of its primary: what comes now is surely lost. */
const cutOff = async (primary: Postgres, standby: Postgres): Promise<void> => {
  standby.sql('postgres', "ALTER SYSTEM SET primary_conninfo = ''")
  standby.sql('postgres', 'SELECT pg_reload_conf()')
  await eventually(
    'the standby is cut off',
    () => primary.sql('postgres', 'SELECT count(*) FROM pg_stat_replication') === '0',
  )
}

const isTold = async (t: Test, { daemons, first }: Scene): Promise<void> => {
  await eventually('each daemon counts it', () => all(daemons, async (one) => (await putBacks(one)) > 0))
  for (const [i, one] of daemons.entries()) {
    const lines = told(one)
    t.ok(lines.length > 0, `${HOSTS[i]} says so`)
    for (const line of lines) t.match(line, { level: 'fatal', writer: Number, lost_ms: Number })
  }
  t.ok(Math.max(...daemons.flatMap(told).map(({ lost_ms }) => lost_ms)) > 0)
  const { code, stdout } = await first.cli('doctor', '--json')
  t.match(
    (JSON.parse(stdout) as { check: string }[]).find(({ check }) => check === 'put back'),
    {
      result: 'warn',
      detail: / ago a daemon found the database without the last .*: mail acknowledged then/,
    },
    `doctor, which ends with ${code}`,
  )
  const { put_back: shown } = await first.json('cluster', 'show')
  t.match(shown, { at: String, lost_ms: Number })
  t.ok(shown?.lost_ms > 0)
  t.match((await first.cli('cluster', 'show')).stderr, /^the database was put back at .*may be lost$/m)
}

t.test('failover', { skip: noPostgres(), timeout: 290_000 }, async (t) => {
  const at = await scene()
  const { name, daemons, first, upstream, key } = at
  const exits: unknown[] = []
  for (const one of daemons) void one.ended.then((code) => exits.push(code))

  await t.test('with a standby that confirms each commit', async (t) => {
    const { primary, standby } = at
    primary.sql('postgres', "ALTER SYSTEM SET synchronous_standby_names = '*'")
    primary.sql('postgres', 'SELECT pg_reload_conf()')
    await eventually(
      'the standby is synchronous',
      () => primary.sql('postgres', 'SELECT sync_state FROM pg_stat_replication') === 'sync',
    )
    const writers = "SELECT n, boot FROM writers WHERE role <> 'command' AND boot IS NOT NULL ORDER BY n"
    const before = primary.sql(name, writers)
    const loads = openLoads(daemons, key)
    await loads.flow()
    process.kill(primary.pid, 'SIGKILL')
    await between(t, at, loads)
    standby.promote()
    await loads.flow()
    await loads.stop()
    const refused = new Set(loads.refusals().flat())
    t.same(
      [...refused].filter((code) => ![421, 451, 454, 503].includes(code)),
      [],
      'nobody heard anything else',
    )
    const found = await balance(at, standby, loads.acknowledged(), 0)
    t.same(wrongIn(found), [], `all of ${found.acknowledged} are there`)
    t.equal(found.duplicated, 0, 'and none twice: nobody died who sent it')
    t.same(daemons.flatMap(told), [])
    t.same(await Promise.all(daemons.map(putBacks)), [0, 0, 0])
    await eventually('they are ready', () => areReady(at, 200))
    t.equal(standby.sql(name, writers), before, 'nobody was taken over for it')
  })

  const primary = at.standby
  const standby = new Postgres(primary)
  t.teardown(() => standby.stop('immediate'))

  await t.test('with a standby that missed what came last', async (t) => {
    // in the place of the one that died, before the other in the file of URLs
    standby.port = at.primary.port
    await standby.start()
    const waiting = await Promise.all(daemons.map((one) => post(at, one, 'later@sink.test')))
    const loads = openLoads(daemons, key)
    await loads.flow()
    await cutOff(primary, standby)
    const before = loads.acknowledged()
    await loads.flow()
    await primary.stop('immediate')
    const during = loads.acknowledged()
    standby.promote()
    await isTold(t, at)
    await loads.flow()
    await loads.stop()
    await eventually('they are ready', () => areReady(at, 200))
    const gone = during.filter((id) => !before.includes(id))
    const stored = new Set(standby.sql(name, 'SELECT id FROM emails').split('\n'))
    t.ok(
      gone.some((id) => !stored.has(id)),
      'something was lost',
    )
    t.same(
      waiting.filter(({ body }) => !stored.has(body.id)),
      [],
      'nothing that the standby had',
    )
    const others = loads.acknowledged().filter((id) => !gone.includes(id))
    const after = await balance(at, standby, others, waiting.length)
    // what was sent in the time that is gone is sent again, and nobody can know
    t.same(wrongIn({ ...after, unexplained: [] }), [], `all ${others.length} others are there`)
    const late = loads.acknowledged().filter((id) => !during.includes(id))
    t.same(
      after.unexplained.filter((id) => late.includes(id)),
      [],
      'and none twice that came later',
    )
    t.comment(`${gone.length} in the tail, ${after.duplicated} sent again`)
  })
  t.same(exits, [], 'no daemon has ended')

  await t.test('what waits is put to rest', async (t) => {
    const running = await first.cli('store', 'rewound', '--yes')
    t.match(running, {
      code: 75,
      stderr: /^postern: a daemon \(.*\) runs on this database: stop all of them/,
    })
    const [, second, third] = daemons as readonly [Postern, Postern, Postern]
    await Promise.all([first.stop(), second.stop(), third.stop('SIGKILL')])
    t.match(await first.cli('store', 'rewound'), { code: 64, stderr: /add --yes to do it, or --dry-run/ })
    t.match(await first.cli('store', 'rewound', '--dry-run'), { code: 0, stderr: /would be held/ })
    const done = await first.cli('store', 'rewound', '--yes', '--json')
    t.match(done, { code: 0 }, done.stderr)
    t.match(JSON.parse(done.stdout), { held: 3, due: 0 })
    upstream.takeLater()
    const sent = upstream.copies().length
    for (const one of [first, second]) await one.start()
    await first.until(key, (await post(at, first, 'now@sink.test')).body.id, ['sent'])
    t.equal(upstream.copies().length, sent + 1, 'what was held stays where it is')
    t.equal((await first.cli('queue', 'release', '--all', '--yes')).code, 0)
    await eventually('sending goes on', () => upstream.copies().length === sent + 4)
    // while their database is there: without it each would wait for it first
    for (const one of [first, second]) await one.stop()
  })
})
