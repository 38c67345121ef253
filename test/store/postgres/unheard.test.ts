/** Leases whose taker never heard of them, while nothing else is due by which another claim would come. */
import t from 'tap'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { HOUR, mailFor, newAccount, T0 } from '../fixture.js'

t.test('what a claim had leased when it failed is due again', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const urls = cluster.database()
  const sql = (text: string): string => cluster.sql(urls.split('/').at(-1) ?? '', text)
  const store = openPostgresStore({ urls })
  t.teardown(() => store.close())
  await store.open()
  const at = await newAccount(store)
  await store.accept({ mails: [mailFor(at)], idempotency: null, now: T0 })
  // what was leased cannot be read
  sql('ALTER TABLE bodies RENAME TO bodies_away')
  await t.rejects(store.claim(at.poolId, 20, T0 + HOUR, T0))
  t.equal(sql('SELECT count(*) FROM queue WHERE boot IS NOT NULL'), '1')
  sql('ALTER TABLE bodies_away RENAME TO bodies')
  await new Promise<void>((resolve) => store.onDue(resolve))
  t.same(await store.duePools(T0 + HOUR), [at.poolId])
  t.equal((await store.claim(at.poolId, 20, T0 + HOUR, T0)).length, 1)
})
