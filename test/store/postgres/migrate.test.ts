/** Steps of a schema: made-up ones, through the code that makes the real ones. */
import t, { type Test } from 'tap'
import { type Connection, connect } from '../../../src/store/postgres/connection.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { migrate } from '../../../src/store/postgres/schema/migrate.js'
import { SCHEMA, type SchemaStep, STEPS } from '../../../src/store/postgres/schema/steps.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { mailFor, newAccount, page, T0 } from '../fixture.js'

const skip = noPostgres()

const database = async (t: Test) => {
  const cluster = await postgres()
  const urls = cluster.database()
  const name = urls.split('/').at(-1) ?? ''
  const open = async (): Promise<Connection> => {
    const connection = await connect(serversOf(urls), 'migrate-test', 60_000)
    t.teardown(() => connection.close())
    return connection
  }
  const opened = async (version = '1.0.0') => {
    const store = openPostgresStore({ urls, version, lock: () => ({ owner: version, unlock() {} }) })
    t.teardown(() => store.close())
    await store.open()
    return store
  }
  const refusal = async (): Promise<string> => {
    const store = openPostgresStore({ urls })
    const said = await store.open().then(
      () => 'opened',
      (error: Error) => `${error.name}: ${error.message}`,
    )
    await store.close()
    return said
  }
  const version = () => cluster.sql(name, 'SELECT version, compatible_from, made_by FROM schema_version')
  return { open, opened, refusal, version, sql: (text: string) => cluster.sql(name, text) }
}

const by = (steps: readonly SchemaStep[], isAsked = true) => ({
  ...{ postern: '2.0.0', now: T0, isAsked, steps },
  fill: function* () {},
})

/** Adds a column to every table that has rows of mail, and an index. */
const EXPAND: readonly SchemaStep[] = [
  ...STEPS,
  {
    text: `${['emails', 'events', 'queue', 'recipient_rows', 'bodies', 'workspaces', 'pools', 'keys']
      .map((table) => `ALTER TABLE ${table} ADD COLUMN novelty text`)
      .join(';')}; CREATE TABLE novelties (id text PRIMARY KEY)`,
    compatibleFrom: SCHEMA,
  },
  { index: 'emails_novelty', on: 'emails (novelty)', compatibleFrom: SCHEMA },
]
const CONTRACT: readonly SchemaStep[] = [
  ...EXPAND,
  { text: 'DROP TABLE novelties', compatibleFrom: SCHEMA + 1 },
]

t.test('an empty database gets all of them at once', { skip }, async (t) => {
  const { open, version, sql } = await database(t)
  t.same(await migrate(await open(), by(EXPAND, false)), { from: 0, to: SCHEMA + 2 })
  t.equal(version(), `${SCHEMA + 2}|${SCHEMA}|2.0.0`)
  t.equal(sql("SELECT indisvalid FROM pg_index WHERE indexrelid = 'emails_novelty'::regclass"), 't')
})

t.test('a daemon serves before, meanwhile and after', { skip }, async (t) => {
  const { open, opened, version, refusal } = await database(t)
  const store = await opened()
  const at = await newAccount(store)
  const scope = { accountId: at.accountId, workspaceId: null, mode: null }
  const filter = { ...scope, status: null, to: null, tag: null, createdAfter: null, createdBefore: null }
  const work = async () => {
    const mail = mailFor(at)
    t.equal(await store.accept({ mails: [mail], idempotency: null, now: T0 }), 'accepted')
    t.ok(await store.email(scope, mail.id))
    t.ok((await store.emails(filter, page())).rows.length > 0)
    t.ok((await store.events(mail.id, page())).rows.length > 0)
    t.ok((await store.allPools()).length >= 0)
  }
  for (let i = 0; i < 8; i++) await work()

  const connection = await open()
  await t.rejects(migrate(connection, by(EXPAND, false)), {
    name: 'DatabaseRefusedError',
    message: /others serve it \(Postern 1\.0\.0 on .*\): run postern migrate/,
  })
  t.equal(version(), `${SCHEMA}|1|1.0.0`)
  t.same(await migrate(connection, by(EXPAND)), { from: SCHEMA, to: SCHEMA + 2 })
  for (let i = 0; i < 3; i++) await work()
  t.equal(await refusal(), 'opened', 'and another one of the release before begins')

  await t.rejects(migrate(connection, by(CONTRACT)), {
    name: 'DatabaseRefusedError',
    message: /nothing for Postern 1\.0\.0 on .*: upgrade it .* or stop it/,
  })
  await work()
  await store.close()
  t.same(await migrate(connection, by(CONTRACT, false)), { from: SCHEMA + 2, to: SCHEMA + 3 })
  t.match(
    await refusal(),
    new RegExp(`NewerDatabaseError: .*version ${SCHEMA + 3}.*install Postern 2.0.0 or newer`),
  )
})

t.test('who is gone does not keep a schema back, and cannot write in it', { skip }, async (t) => {
  const { open, opened, sql } = await database(t)
  const store = await opened()
  const at = await newAccount(store)
  const accept = () => store.accept({ mails: [mailFor(at)], idempotency: null, now: T0 })
  t.equal(await accept(), 'accepted')
  // as a machine that was stopped leaves it
  const long = 60_000 * 4096
  const migrating = await open()
  await eventually('it looks dead for once', async () => {
    sql(`UPDATE writers SET frontier = frontier - ${long}`)
    return migrate(migrating, by(CONTRACT, false)).then(
      () => true,
      () => false,
    )
  })
  sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ~ '^postern/.*/[0-9]+$'")
  await t.rejects(accept(), 'its epoch has ended, on a new connection too')
})

t.test('locks of others are not waited for', { skip }, async (t) => {
  const { open, opened, version, sql } = await database(t)
  await (await opened()).close()
  const [holder, connection] = [await open(), await open()]
  await holder.query({
    text: 'BEGIN; LOCK TABLE emails; SET idle_in_transaction_session_timeout = 0',
    values: [],
  })
  const refused = migrate(connection, by(EXPAND))
  await eventually(
    'it waits',
    () =>
      sql(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'migrate-test'",
      ) === '1',
  )
  await t.rejects(refused, { name: 'StoreBusyError', message: /others held locks .* try again/ })
  t.equal(version(), `${SCHEMA}|1|1.0.0`, 'nothing has changed')
  await holder.query({ text: 'ROLLBACK', values: [] })
  await migrate(connection, by(EXPAND))
  t.equal(version(), `${SCHEMA + 2}|${SCHEMA}|2.0.0`)
})

t.test('cut off in the middle of an index, the same again makes it', { skip }, async (t) => {
  const { open, opened, version, sql } = await database(t)
  const store = await opened()
  const at = await newAccount(store)
  await store.accept({ mails: [mailFor(at)], idempotency: null, now: T0 })
  await store.close()
  const [holder, connection, other] = [await open(), await open(), await open()]
  // whoever wrote to the table and has not ended keeps the index from being made
  await holder.query({
    text: 'SET idle_in_transaction_session_timeout = 0; BEGIN; UPDATE emails SET size = size',
    values: [],
  })
  const making = 'SELECT count(*) FROM pg_stat_progress_create_index WHERE datname = current_database()'
  const cut = migrate(
    connection,
    by(
      [...STEPS, EXPAND.at(-1) as SchemaStep].map((step, i) =>
        i === STEPS.length ? { index: 'emails_size', on: 'emails (size)', compatibleFrom: 1 } : step,
      ),
    ),
  ).catch(() => 'cut')
  await eventually('it is being made', () => sql(making) === '1')
  sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_progress_create_index WHERE datname = current_database()`,
  )
  t.equal(await cut, 'cut')
  t.equal(sql("SELECT indisvalid FROM pg_index WHERE indexrelid = 'emails_size'::regclass"), 'f')
  t.equal(version(), `${SCHEMA}|1|1.0.0`)
  const steps: readonly SchemaStep[] = [
    ...STEPS,
    { index: 'emails_size', on: 'emails (size)', compatibleFrom: 1 },
  ]
  const again = [migrate(other, by(steps)), migrate(await open(), by(steps))]
  const dropping =
    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DROP INDEX%' AND wait_event IS NOT NULL"
  await eventually('what is left goes first', () => sql(dropping) !== '0')
  await holder.query({ text: 'ROLLBACK', values: [] })
  for (const one of await Promise.all(again)) t.equal(one.to, SCHEMA + 1)
  t.equal(sql("SELECT indisvalid FROM pg_index WHERE indexrelid = 'emails_size'::regclass"), 't')
  t.equal(version(), `${SCHEMA + 1}|1|2.0.0`)
})
