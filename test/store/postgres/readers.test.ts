/** Connections that only read, at their end. */
import t from 'tap'
import { connect } from '../../../src/store/postgres/connect/connection.js'
import { serversOf } from '../../../src/store/postgres/connect/servers.js'
import { createReaders } from '../../../src/store/postgres/readers.js'
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
