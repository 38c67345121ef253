/** What is asked of a database before anything is stored in it. */
import t from 'tap'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { SCHEMA } from '../../../src/store/postgres/schema/steps.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { noPostgres, Postgres, postgres } from '../../parts/postgres.js'

t.test('URLs', async (t) => {
  const [one, two] = serversOf(
    '# the primary\npostgres://u:p%40@127.0.0.1/db\n\npostgresql://u@db.test:6432/x\n',
  )
  t.same(one, {
    host: '127.0.0.1',
    port: 5432,
    user: 'u',
    password: 'p@',
    database: 'db',
    tls: null,
    isPooled: false,
  })
  t.match(
    two,
    { host: 'db.test', port: 6432, tls: { servername: 'db.test' } },
    'beyond this machine TLS is a must',
  )
  t.throws(() => serversOf('postgres://u:secret@db.test/x?sslmode=require'), /sslmode=verify-full/)
  t.throws(() => serversOf('postgres://u:secret@db.test/x?sslmode=disable'), /sslmode=verify-full/)
  t.throws(() => serversOf('postgres://u@db.test/x?options=-c'), /options of URL 1/)
  t.throws(() => serversOf('postgres://db.test/x'), /must name a user and a database/)
  t.throws(() => serversOf('postgres://u@db.test/x?sslrootcert=/nowhere'), /\/nowhere cannot be read/)
  t.throws(() => serversOf('\n'), /no URL/)
  t.throws(() => serversOf('postgres://u:secret%@db.test/x'), { message: /^(?!.*secret).*write %25/ })
  for (const wrong of ['mysql://u:secret@h/x', 'secret', 'postgres://'])
    t.throws(() => serversOf(wrong), { message: /^(?!.*secret).*URL 1 of the database is none/ })
})

const refusal = async (urls: string): Promise<string> => {
  const store = openPostgresStore({ urls })
  try {
    await store.open()
    await store.close()
    return 'opened'
  } catch (error) {
    const { name, message } = error as Error
    return `${name}: ${message}`
  }
}

t.test('a database that would lose mail is refused, with the remedy', { skip: noPostgres() }, async (t) => {
  const cluster = await new Postgres().start({ fsync: 'off', synchronous_commit: 'off' })
  const urls = cluster.database()
  t.match(await refusal(urls), /DatabaseRefusedError: .* set fsync = on/)
  await cluster.stop('fast')
  await cluster.start({ synchronous_commit: 'local' })
  t.match(await refusal(urls), /synchronous_commit is local/)
  cluster.sql('postgres', "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
  await cluster.stop('fast')
  await cluster.start()
  t.match(await refusal(cluster.url('latin')), /create it with ENCODING 'UTF8'/)
  t.match(await refusal(cluster.url('nowhere')), /has no database nowhere/)
  t.match(await refusal(`${urls}?sslmode=verify-full`), /speaks no TLS/)
  t.equal(await refusal(`${cluster.url('nowhere')}\n${urls}`), 'opened', 'the next URL is tried')
  cluster.sql('postgres', 'CREATE ROLE poor LOGIN; CREATE ROLE reader LOGIN')
  cluster.sql('postgres', 'CREATE DATABASE shut TEMPLATE template0')
  cluster.sql('postgres', 'REVOKE ALL ON DATABASE shut FROM PUBLIC')
  cluster.sql('postgres', 'ALTER ROLE reader SET default_transaction_read_only = on')
  const as = (role: string, url: string) => url.replace('postern@', `${role}@`)
  const fresh = cluster.database()
  t.match(await refusal(as('poor', fresh)), /DatabaseRefusedError: .*make the role .* the owner/)
  t.match(await refusal(as('reader', fresh)), /DatabaseRefusedError: .*read-only/)
  t.match(
    await refusal(as('poor', cluster.url('shut'))),
    /DatabaseRefusedError: .*GRANT ALL ON DATABASE shut/,
  )
  const owner = openPostgresStore({ urls: fresh })
  await owner.open()
  await owner.close()
  const said = await refusal(as('poor', fresh))
  t.match(said, /DatabaseRefusedError: .*permission denied for table \w+: as the owner of the tables, GRANT /)
  cluster.sql(fresh.split('/').at(-1) ?? '', /GRANT .*$/.exec(said)?.[0] ?? '')
  t.equal(await refusal(as('poor', fresh)), 'opened', 'as it was told')
  await cluster.stop('fast')
})

t.test(
  'a server that is away is waited for, whatever another one says',
  { skip: noPostgres() },
  async (t) => {
    const cluster = await new Postgres().start({ synchronous_commit: 'off' })
    const urls = cluster.database()
    const away = 'postgres://u@127.0.0.1:1/x'
    t.match(await refusal(`${away}\n${urls}`), /DatabaseAwayError: .*127\.0\.0\.1:1/)
    await cluster.stop('fast')
    await cluster.start()
    const store = openPostgresStore({ urls })
    await store.open()
    await cluster.stop('fast')
    await cluster.start({ synchronous_commit: 'off' })
    const refused = await store.accounts().catch((error: unknown) => error)
    t.match(refused, { code: 'service.unavailable' }, 'once it let us in, it is away')
    await store.close()
    await cluster.stop('fast')
  },
)

t.test('the schema', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const urls = cluster.database()
  const stores = [1, 2, 3].map(() => openPostgresStore({ urls, version: '1.2.3' }))
  await Promise.all(stores.map((store) => store.open()))
  t.same(await stores[0]?.check(), [])
  const name = urls.split('/').at(-1) ?? ''
  t.equal(
    cluster.sql(name, 'SELECT version, made_by FROM schema_version'),
    `${SCHEMA}|1.2.3`,
    'one of three made it',
  )
  t.equal(cluster.sql(name, 'SELECT count(*) FROM writers WHERE owner IS NOT NULL'), '3')
  await Promise.all(stores.map((store) => store.close()))
  t.equal(cluster.sql(name, 'SELECT count(*) FROM writers WHERE owner IS NOT NULL'), '0')
  t.equal(
    cluster.sql(
      name,
      `SELECT string_agg(table_name || '.' || column_name, ' ') FROM information_schema.columns
       WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`,
    ),
    'schema_version.made_by',
    'all text is compared octet by octet',
  )
  cluster.sql(name, "UPDATE schema_version SET version = 99, compatible_from = 99, made_by = '9.9'")
  t.match(await refusal(urls), /NewerDatabaseError: .*schema version 99.*install Postern 9.9 or newer/)
})
