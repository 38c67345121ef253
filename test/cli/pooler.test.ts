/** A pgbouncer before the database: which of its modes will do, and what is said of the others. */
import t from 'tap'
import { openPostgresStore } from '../../src/store/postgres/open.js'
import { noPgbouncer, startPgbouncer } from '../parts/pgbouncer.js'
import { postgres } from '../parts/postgres.js'
import { HOUR, mailFor, newAccount, ofLease, T0 } from '../store/fixture.js'
import { openDesk, QUIET } from './desk.js'

const SETTINGS = `${QUIET}store: { driver: postgres, url_file: database.url }`

const skip = noPgbouncer()

const deskOn = async (
  t: import('tap').Test,
  mode: 'session' | 'transaction' | 'statement',
  pooler = 'none',
) => {
  const cluster = await postgres()
  const direct = cluster.database()
  const url = await startPgbouncer(t, cluster, direct, mode)
  const desk = openDesk(t, SETTINGS.replace('database.url', `database.url, pooler: ${pooler}`))
  desk.file('database.url', `${url}\n`, 0o600)
  const doctor = async () => {
    const rows = JSON.parse((await desk.run(['doctor', '--json'])).stdout) as { check: string }[]
    return rows.find(({ check }) => check === 'pooler')
  }
  return { cluster, direct, url, desk, doctor }
}

t.test('a session for each client', { skip }, async (t) => {
  const { url, desk, doctor } = await deskOn(t, 'session')
  const made = await desk.run(['key', 'create', '--workspace', 'default'])
  t.equal(made.code, 0, made.stderr)
  t.match(await doctor(), { result: 'warn', detail: /brings nothing/ })
  const stores = [openPostgresStore({ urls: url }), openPostgresStore({ urls: url })] as const
  t.teardown(() => Promise.all(stores.map((store) => store.close())))
  for (const store of stores) await store.open()
  const [one, two] = stores
  const at = await newAccount(one)
  const accepting = Array.from({ length: 50 }, (_, i) =>
    stores[(i % 2) as 0 | 1].accept({ mails: [mailFor(at)], idempotency: null, now: T0 }),
  )
  t.same([...new Set(await Promise.all(accepting))], ['accepted'])
  const claimed = await Promise.all(stores.map((store) => store.claim(at.poolId, 25, T0 + HOUR, T0)))
  t.equal(new Set(claimed.flat().map(({ recipientId }) => recipientId)).size, 50)
  for (const [i, leased] of claimed.entries())
    for (const lease of leased) t.match(await stores[i as 0 | 1].settle([ofLease(lease)]), [{ to: 'sent' }])
  t.equal((await two.claim(at.poolId, 1, T0 + HOUR, T0)).length, 0)
})

for (const mode of ['transaction', 'statement'] as const)
  t.test(`a session for a ${mode}`, { skip }, async (t) => {
    const { cluster, direct, desk, doctor } = await deskOn(t, mode)
    for (const words of [['serve'], ['key', 'list']]) {
      const { code, stderr } = await desk.run(words)
      t.equal(code, 78, stderr)
      t.match(
        stderr,
        /^postern: a pooler before the database .*: (say store\.pooler: transaction, )?set pool_mode = session there, or [^\n]*\n$/,
      )
      t.equal(/store\.pooler/.test(stderr), mode === 'transaction', 'what it can be told')
    }
    t.match(await doctor(), { result: 'fail' })
    t.equal(
      cluster.sql(
        direct.split('/').at(-1) ?? '',
        "SELECT count(*) FROM pg_tables WHERE tablename = 'emails'",
      ),
      '0',
    )
  })

t.test('a session for a transaction, as is said', { skip }, async (t) => {
  const { desk, doctor, direct } = await deskOn(t, 'transaction', 'transaction')
  t.equal((await desk.run(['key', 'create', '--workspace', 'default'])).code, 0)
  t.match(await doctor(), { result: 'ok' })
  desk.file('database.url', `${direct}\n`, 0o600)
  t.equal((await desk.run(['key', 'list'])).code, 0, 'the key does no harm without one')
  t.equal(await doctor(), undefined)
})

t.test('a session for a statement will not do', { skip }, async (t) => {
  const { desk, doctor } = await deskOn(t, 'statement', 'transaction')
  const { code, stderr } = await desk.run(['key', 'list'])
  t.equal(code, 78, stderr)
  t.match(stderr, /between statements: set pool_mode = session/)
  t.match(await doctor(), { result: 'fail' })
})
