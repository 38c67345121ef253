/** A database that is away: callers hear so within seconds, nothing breaks, and it goes on by itself. */
import t from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, Postgres } from '../../parts/postgres.js'
import { mailFor, newAccount, T0 } from '../fixture.js'

t.test('away', { skip: noPostgres() }, async (t) => {
  const cluster = await new Postgres().start()
  const urls = cluster.database()
  const store = openPostgresStore({ urls })
  await store.open()
  const at = await newAccount(store)
  t.teardown(() => store.close())
  let broken: Error | null = null
  void store.broken.then((error) => {
    broken = error
  })
  await cluster.stop('fast')

  await t.test('each of a crowd hears so', async (t) => {
    const began = performance.now()
    const asked = [
      ...Array.from({ length: 40 }, () => store.accounts()),
      ...Array.from({ length: 40 }, () => newAccount(store)),
      ...Array.from({ length: 40 }, () => store.accept({ mails: [mailFor(at)], idempotency: null, now: T0 })),
    ]
    const answers = await Promise.all(
      asked.map((one) =>
        one.then(
          () => null,
          (error: unknown) => error,
        ),
      ),
    )
    t.comment(`told after ${Math.round(performance.now() - began)} ms`)
    for (const error of answers) {
      t.ok(error instanceof Fault, String(error))
      t.match(error, { code: 'service.unavailable', options: { retryAfter: 5, smtp: '451 4.3.0' } })
    }
  })

  await t.test('who begins is told in one line', async (t) => {
    await t.rejects(openPostgresStore({ urls }).open(), {
      name: 'DatabaseAwayError',
      message: /^the database cannot be reached: .*; look whether it runs/,
    })
  })

  await t.test('it is back', async (t) => {
    await cluster.start()
    const accounts = await eventually('verbs are answered again', () => store.accounts().catch(() => null))
    t.equal(accounts?.length, 2)
    t.equal(broken, null, 'an outage breaks nothing')
  })

  await t.test('there is a server, and it is none to write to', async (t) => {
    const name = urls.split('/').at(-1) ?? ''
    cluster.sql(name, `ALTER DATABASE ${name} SET synchronous_commit = off`)
    const end =
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL'
    cluster.sql(name, end)
    const asked: readonly Promise<unknown>[] = [
      store.accounts(),
      newAccount(store),
      store.accept({ mails: [mailFor(at)], idempotency: null, now: T0 }),
      store.workspace(at.accountId, at.workspace.id),
    ]
    await Promise.all(asked.map((one) => t.rejects(one, { code: 'service.unavailable' })))
    await t.rejects(
      openPostgresStore({ urls }).open(),
      { name: 'DatabaseRefusedError' },
      'nobody begins there',
    )
    cluster.sql(name, `ALTER DATABASE ${name} SET synchronous_commit = on`)
    await eventually('verbs are answered again', () => store.accounts().catch(() => null))
    t.equal(broken, null)
  })

  await t.test('the server is there, and its database takes no connections', async (t) => {
    const name = urls.split('/').at(-1) ?? ''
    cluster.sql('postgres', `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
    cluster.sql(
      'postgres',
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
    )
    const asked: readonly Promise<unknown>[] = [
      store.accounts(),
      newAccount(store),
      store.accept({ mails: [mailFor(at)], idempotency: null, now: T0 }),
    ]
    await Promise.all(asked.map((one) => t.rejects(one, { code: 'service.unavailable' })))
    await t.rejects(openPostgresStore({ urls }).open(), { name: 'DatabaseAwayError' })
    cluster.sql('postgres', `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
    await eventually('verbs are answered again', () => store.accounts().catch(() => null))
    t.equal(broken, null)
    await cluster.stop('fast')
  })
})
