/** What several daemons meet that begin at once, or whose server takes no writes for a while. */
import t from 'tap'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, Postgres } from '../../parts/postgres.js'
import { newAccount } from '../fixture.js'
import { freshDatabase, opened } from './database.js'

t.test('of two peppers that come at once one wins', { skip: noPostgres() }, async (t) => {
  for (let n = 0; n < 5; n++) {
    const { urls, sql } = await freshDatabase(t)
    const stores = [await opened(t, urls), await opened(t, urls)]
    await Promise.all(stores.map((store, i) => store.setPepperMark(`pepper ${i}`, true)))
    const marks = await Promise.all(stores.map((store) => store.pepperMark()))
    t.match(marks[0], /^pepper [01]$/)
    t.equal(marks[1], marks[0])
    t.equal(sql('SELECT count(*) FROM pepper'), '1')
  }
})

t.test('a server that takes no writes is away until it does', { skip: noPostgres() }, async (t) => {
  const server = await new Postgres().start()
  t.teardown(() => server.stop('fast'))
  const store = await opened(t, server.database())
  const set = (to: string): void => {
    server.sql('postgres', `ALTER SYSTEM SET default_transaction_read_only = ${to}`)
    server.sql('postgres', 'SELECT pg_reload_conf()')
  }
  set('on')
  await eventually('it is refused', () =>
    newAccount(store).then(
      () => false,
      ({ code }) => t.equal(code, 'service.unavailable'),
    ),
  )
  set('off')
  await eventually('it is written again', () => newAccount(store).catch(() => null))
})
