/** The wall clock is set while much waits: it is moved a page at a time, and what another daemon takes meanwhile is its. */
import t from 'tap'
import { connect } from '../../../src/store/postgres/connection.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { HOUR, mailFor, newAccount, T0 } from '../fixture.js'

const MAILS = 2100

t.test('pages of it', { skip: noPostgres() }, async (t) => {
  const server = await postgres()
  const urls = await server.withTables()
  const sql = (text: string): string => server.sql(new URL(urls).pathname.slice(1), text)
  const store = openPostgresStore({ urls })
  t.teardown(() => store.close())
  await store.open()
  const at = await newAccount(store)
  const mails = Array.from({ length: MAILS }, () => mailFor(at))
  while (mails.length > 0) await store.accept({ mails: mails.splice(0, 300), idempotency: null, now: T0 })
  const taken = sql('SELECT recipient_id FROM queue ORDER BY recipient_id DESC LIMIT 1')

  const other = await connect(serversOf(urls), 'other')
  t.teardown(() => other.close())
  const lease = `BEGIN; UPDATE queue SET due_at = NULL, boot = 1, lease_until = 7, gen = gen + 1
    WHERE recipient_id = '${taken}'`
  await other.query({ text: lease, values: [] })
  const adjusted = store.adjustTimes(T0 + HOUR, HOUR, 8 * HOUR)
  await eventually('it waits for the other one', () => sql('SELECT 1 FROM pg_locks WHERE NOT granted') !== '')
  await other.query({ text: 'COMMIT', values: [] })
  t.equal(await adjusted, MAILS - 1)
  t.equal(sql('SELECT due_at, boot, lease_until FROM queue WHERE boot IS NOT NULL'), '|1|7')
  const moved = `SELECT count(*) FROM queue q JOIN recipient_rows r ON r.id = q.recipient_id
    WHERE (q.due_at, r.queued_at, r.updated_at) = (${T0 + HOUR}, ${T0 + HOUR}, ${T0 + HOUR})`
  t.equal(sql(moved), String(MAILS - 1))
})
