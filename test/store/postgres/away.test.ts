/** A database that is away: callers hear so within seconds, nothing breaks, and it goes on by itself. */
import t from 'tap'
import { Fault } from '../../../src/base/fault.js'
import type { Log } from '../../../src/base/log.js'
import { type Connection, connect } from '../../../src/store/postgres/connection.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { resting } from '../../../src/store/postgres/readers.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { DatabaseProxy } from '../../parts/database-proxy.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, Postgres, postgres } from '../../parts/postgres.js'
import { mailFor, newAccount, T0 } from '../fixture.js'

/** What a store says while nobody can connect. */
const listening = () => {
  const said: { readonly text: string; readonly error?: string }[] = []
  const take = (fields: object, text: string): void => {
    if (/^the database is/.test(text)) said.push({ ...fields, text })
  }
  return { said, log: { warn: take, info: take, error: take } as unknown as Log }
}

t.test('who tries to connect, and what is told', async (t) => {
  let now = 0
  let tries = 0
  let failure: Error | null = new Error('does not answer', { cause: new Error('ECONNREFUSED') })
  const { said, log } = listening()
  const reach = resting(
    async () => {
      tries += 1
      if (failure !== null) throw failure
      return {} as Connection
    },
    log,
    () => now,
    () => 1,
  )
  const crowd = () => Promise.allSettled(Array.from({ length: 20 }, () => reach('one')))
  await crowd()
  t.equal(tries, 20, 'nobody knew')
  const at: number[] = []
  for (; now < 60_000; now += 50) {
    const before = tries
    for (const { status } of await crowd()) t.equal(status, 'rejected')
    t.ok(tries - before <= 1, 'one of a crowd')
    if (tries > before) at.push(now)
  }
  const rests = at.map((one, i) => one - (at[i - 1] ?? 0))
  t.same(rests.slice(0, 8), [100, 200, 400, 800, 1600, 3200, 5000, 5000])
  t.same(said, [{ error: 'does not answer: ECONNREFUSED', text: 'the database is away' }], 'once')
  now = 66_300
  await crowd()
  t.equal(said.length, 2, 'and again a minute later')
  failure = null
  now += 5000
  await reach('one')
  await crowd()
  t.match(said[2], { text: 'the database is back', ms: now })
  failure = new Error('password authentication failed')
  await crowd()
  t.match(said[3], { error: 'password authentication failed' }, 'the next one is told at once')
  for (const cause of ['starting up', 'password authentication failed', 'starting up']) {
    failure = new Error(cause)
    now += 5000
    await crowd()
  }
  t.same(
    said.slice(4).map(({ error }) => error),
    ['starting up'],
    'another cause, too, and each once in a minute',
  )
})

t.test('sessions keep what they acknowledge', { skip: noPostgres() }, async (t) => {
  const cluster = await new Postgres().start()
  t.teardown(() => cluster.stop('fast'))
  const connection = await connect(serversOf(cluster.database()), 'session')
  t.teardown(() => connection.close())
  const found = async () =>
    (await connection.query({ text: "SELECT current_setting('synchronous_commit') AS it", values: [] })).rows
  cluster.sql('postgres', 'ALTER SYSTEM SET synchronous_commit = off')
  cluster.sql('postgres', 'SELECT pg_reload_conf()')
  await eventually('it is off', () => cluster.sql('postgres', 'SHOW synchronous_commit') === 'off')
  t.same(await found(), [{ it: 'on' }])
  await t.rejects(connect(serversOf(cluster.database()), 'another'), /synchronous_commit is off/)
})

t.test('whoever was taken over refuses for now', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const urls = cluster.database()
  const store = openPostgresStore({ urls })
  t.teardown(() => store.close())
  await store.open()
  const at = await newAccount(store)
  const ended = 'UPDATE writers SET epoch = epoch + 1, owner = NULL, boot = NULL WHERE boot IS NOT NULL'
  cluster.sql(urls.split('/').at(-1) ?? '', ended)
  const refused = await store
    .accept({ mails: [mailFor(at)], idempotency: null, now: T0 })
    .catch((error: unknown) => error)
  t.match(refused, { code: 'service.unavailable', options: { smtp: '451 4.3.0', retryAfter: 5 } })
  t.match(await store.broken, { name: 'TakenOverError' })
})

t.test('a database that goes away while a store begins', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const made = cluster.database()
  const first = openPostgresStore({ urls: made })
  await first.open()
  t.teardown(() => first.close())
  const after = async (packets: number, urls: string): Promise<void> => {
    const proxy = await new DatabaseProxy(cluster.port).start()
    t.teardown(() => proxy.stop())
    proxy.armed('request', packets, () => {
      // nobody takes connections there
      proxy.to = 1
    })
    const store = openPostgresStore({ urls: urls.replace(`:${cluster.port}/`, `:${proxy.port}/`) })
    const error: unknown = await store.open().then(
      () => null,
      (error: unknown) => error,
    )
    if (error === null) await store.close()
    const isSaid =
      error === null ||
      (error as Error).name === 'DatabaseAwayError' ||
      (error as Error).message.startsWith('commits wait')
    t.ok(isSaid, `after ${packets} packets: ${error ?? 'it had begun'}`)
    if (packets < 20) t.match(error, { name: 'DatabaseAwayError', message: /^the database cannot .*again$/ })
  }
  const packets = Array.from({ length: 20 }, (_, i) => i * 2)
  await Promise.all(packets.map((one) => after(one, made)))
  await Promise.all([3, 8, 13, 18].map((one) => after(one, cluster.database())))
})

t.test('away', { skip: noPostgres() }, async (t) => {
  const cluster = await new Postgres().start()
  const urls = cluster.database()
  const { said, log } = listening()
  const store = openPostgresStore({ urls, log })
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
    t.match(said, [{ text: 'the database is away', error: /ECONNREFUSED/ }, { text: 'the database is back' }])
    said.splice(0)
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
    t.match(said, [{ text: 'the database is away', error: /synchronous_commit is off/ }], 'why is told')
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
