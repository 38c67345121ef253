/** Whoever keeps dead rows from being cleared away is named: a session, and a prepared transaction that nobody has ended. */
import t from 'tap'
import { examineServer } from '../../../src/store/postgres/begin.js'
import { connect } from '../../../src/store/postgres/connection.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { noPostgres, Postgres } from '../../parts/postgres.js'

t.test('the oldest', { skip: noPostgres() }, async (t) => {
  const server = await new Postgres().start({ max_prepared_transactions: '2' })
  t.teardown(() => server.stop('immediate'))
  const urls = server.database()
  const store = openPostgresStore({ urls })
  t.teardown(() => store.close())
  await store.open()
  const session = await connect(serversOf(urls), 'a report')
  t.teardown(() => session.close())
  const run = (text: string) => session.query({ text, values: [] })
  await run('BEGIN; INSERT INTO settings (name, value) VALUES (1, 2)')
  t.match(await store.serverState(), { oldest: { holder: 'a report' } })
  await run("PREPARE TRANSACTION 'forgotten'")
  t.match(await store.serverState(), { oldest: { holder: 'prepared transaction forgotten' } })
  const seen = await examineServer(urls)
  t.match(seen, { oldest: { holder: 'prepared transaction forgotten' }, follower: null })
  t.ok(seen.room.total > seen.room.bodies && seen.room.bodies > 0)
  await run("ROLLBACK PREPARED 'forgotten'")
})
