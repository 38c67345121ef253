/** Connections that only read, at their end. */
import t from 'tap'
import { connect } from '../../../src/store/postgres/connection.js'
import { createReaders } from '../../../src/store/postgres/readers.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { all } from '../../../src/store/sql/query.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, postgres } from '../../parts/postgres.js'

t.test('a read that outlives them leaves no connection behind', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const url = cluster.database()
  const readers = createReaders(() => connect(serversOf(url), 'readers-test'))
  const open = () =>
    cluster.sql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'readers-test'")
  const reading = readers.read(() => all('SELECT 1 AS one FROM (SELECT pg_sleep(0.5)) AS slept'))
  await eventually('it reads', () => open() === '1')
  await readers.close()
  t.strictSame(await reading, [{ one: 1 }], 'it gets its answer')
  await eventually('the connection is closed', () => open() === '0')
  t.end()
})

t.test('who looks for U+0000 finds nothing', { skip: noPostgres() }, async (t) => {
  const url = (await postgres()).database()
  const readers = createReaders(() => connect(serversOf(url), 'readers-test'))
  const found = await readers.read(() => all("SELECT 1 AS one WHERE 'a' = CAST(? AS TEXT)", 'a\0'))
  t.same(found, [])
  await readers.close()
})

t.test('plans of small tables are forgotten', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const url = cluster.database()
  const sql = (text: string): string => cluster.sql(new URL(url).pathname.slice(1), text)
  sql(`CREATE TABLE grows (n int, word text) WITH (autovacuum_enabled = off); CREATE INDEX ON grows (word);
    INSERT INTO grows SELECT i, 'a' FROM generate_series(1, 3) AS i; ANALYZE grows`)
  let now = 0
  const readers = createReaders(
    () => connect(serversOf(url), 'readers-test'),
    () => now,
  )
  const text = 'SELECT n FROM grows WHERE word = CAST(? AS TEXT)'
  const planned = async (): Promise<string> => {
    const found = await readers.read(() =>
      all("SELECT name FROM pg_prepared_statements WHERE statement LIKE '%grows%'"),
    )
    const plan = await readers.read(() => all(`EXPLAIN (COSTS OFF) EXECUTE ${String(found[0]?.name)} ('b')`))
    return JSON.stringify(plan)
  }
  for (let n = 0; n < 10; n++) await readers.read(() => all(text, 'b'))
  t.match(await planned(), /Seq Scan/, 'three rows are read')
  sql("INSERT INTO grows SELECT i, 'w' || i FROM generate_series(1, 20000) AS i")
  await readers.read(() => all(text, 'b'))
  t.match(await planned(), /Seq Scan/, 'and so are twenty thousand')
  now = 10_000
  await readers.read(() => all(text, 'b'))
  t.match(await planned(), /Index/, 'ten seconds later not')
  await readers.close()
})
