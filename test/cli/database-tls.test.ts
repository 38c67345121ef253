/** TLS to a real PostgreSQL: which certificates will do, and what is said of the others, in one line. */
import { chownSync, copyFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { authority, type Pair } from '../parts/certificates.js'
import { noPostgres, Postgres } from '../parts/postgres.js'
import { openDesk, QUIET } from './desk.js'

const SETTINGS = `${QUIET}store: { driver: postgres, url_file: database.url }`

t.test('TLS to the database', { skip: noPostgres() }, async (t) => {
  const cluster = await new Postgres().start()
  t.teardown(() => cluster.stop('immediate'))
  const name = cluster.database().split('/').at(-1) ?? ''
  const ours = await authority(t)
  const strangers = await authority(t)
  const desk = openDesk(t, SETTINGS)
  const folder = openDesk(t, `${QUIET}store: { driver: sqlite }`)
  await folder.run(['key', 'list'])
  const garbage = desk.file('garbage.pem', 'no certificate\n', 0o600)
  const file = desk.file('database.url', '', 0o600)

  const serve = async ({ keyFile, certFile }: Pair): Promise<void> => {
    const { uid, gid } = statSync(cluster.dir)
    const [key, cert] = ['key', 'cert'].map((one) => join(cluster.dir, one)) as [string, string]
    for (const [from, to] of [
      [keyFile, key],
      [certFile, cert],
    ] as const) {
      copyFileSync(from, to)
      chownSync(to, uid, gid)
    }
    await cluster.stop('fast')
    await cluster.start({ ssl: 'on', ssl_key_file: key, ssl_cert_file: cert })
  }
  const write = (host: string, parameters: string): void =>
    writeFileSync(file, `postgres://postern:sesame@${host}:${cluster.port}/${name}?${parameters}\n`)
  const verified = (caFile: string): string => `sslmode=verify-full&sslrootcert=${caFile}`

  const works = async (what: string): Promise<void> => {
    const { code, stderr } = await desk.run(['key', 'list'])
    t.equal(code, 0, `${what}: ${stderr}`)
  }
  const isRefused = async (what: string, says: RegExp): Promise<void> => {
    for (const words of [['serve'], ['key', 'list'], ['migrate'], ['store', 'rewound', '--yes']]) {
      const { code, stderr } = await desk.run(words)
      t.equal(code, 78, `${what}: ${words.join(' ')}: ${stderr}`)
      t.match(stderr, says)
      t.match(stderr, /^postern: [^\n]*\n$/, 'one line')
      t.notMatch(stderr, /sesame/)
    }
    const moved = await folder.run(['store', 'move', '--to', file])
    t.match(moved, { code: 78, stderr: says }, `${what}: store move`)
    const { code, stdout } = await desk.run(['doctor', '--json'])
    t.equal(code, 78, `${what}: doctor`)
    const rows = JSON.parse(stdout) as { check: string }[]
    t.match(
      rows.find(({ check }) => check === 'database'),
      { result: 'fail', detail: says },
    )
  }

  write('localhost', verified(ours.caFile))
  await isRefused('no TLS', /^(postern: )?localhost:\d+ speaks no TLS: set ssl = on there/)

  await serve(await ours.issue('localhost'))
  await works('as it should be')
  write('localhost', 'sslmode=verify-full')
  await isRefused(
    'a CA that nobody knows',
    /does not prove that it is localhost: .*; name its CA by sslrootcert=FILE/,
  )
  write('localhost', verified(strangers.caFile))
  await isRefused('another CA', /does not prove that it is localhost: .*; name its CA by sslrootcert=FILE/)
  write('localhost', verified(garbage))
  await isRefused(
    'a file that has none',
    /sslrootcert .*garbage\.pem has no certificate in it: name that of the CA/,
  )
  write('127.0.0.1', verified(ours.caFile))
  await isRefused(
    'a name for an address',
    /does not prove that it is 127\.0\.0\.1: .*; name it in the URL as its certificate does/,
  )

  await serve(await ours.issue('127.0.0.1'))
  await works('an address')
  await serve(await ours.issue('db.example.com'))
  write('localhost', verified(ours.caFile))
  await isRefused(
    'another host',
    /does not prove that it is localhost: .*db\.example\.com; name it in the URL as/,
  )
  await serve(await ours.issue('localhost', -1))
  await isRefused('expired', /does not prove that it is localhost: certificate has expired; renew it there/)
})
