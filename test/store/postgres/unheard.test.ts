/** Leases whose taker never heard of them, while nothing else is due by which another claim would come. */
import t from 'tap'
import { connect } from '../../../src/store/postgres/connection.js'
import { createBeat } from '../../../src/store/postgres/heartbeat.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { joinAsWriter } from '../../../src/store/postgres/writer.js'
import { noPostgres } from '../../parts/postgres.js'
import { HOUR, mailFor, newAccount, T0 } from '../fixture.js'
import { freshDatabase } from './database.js'

t.test('what a claim had leased when it failed is due again', { skip: noPostgres() }, async (t) => {
  const { sql, open } = await freshDatabase(t)
  const store = await open()
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

t.test(
  'a lease that is stored after its writer was taken over is freed soon',
  { skip: noPostgres() },
  async (t) => {
    const { urls, sql, open } = await freshDatabase(t)
    const store = await open()
    const at = await newAccount(store)
    await store.accept({ mails: [mailFor(at)], idempotency: null, now: T0 })
    await store.close()
    const join = (owner: string) => joinAsWriter(owner, () => connect(serversOf(urls), owner))
    const [dead, observer] = [await join('dead'), await join('observer')]
    t.teardown(() => Promise.all([dead.leave(), observer.leave()]))
    let now = 0
    const beat = createBeat(observer, () => now)
    for (; now <= 30_000; now += 5000) await beat()
    t.equal(sql('SELECT string_agg(owner, $$ $$) FROM writers'), 'observer')
    // an accept that began before
    sql(`UPDATE queue SET boot = ${dead.boot}, gen = gen + 1, due_at = NULL, lease_until = ${T0 + HOUR}`)
    await beat()
    t.equal(sql('SELECT count(*) FROM queue WHERE due_at IS NOT NULL AND boot IS NULL'), '1')
  },
)
