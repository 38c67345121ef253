/**
 * What marks and outcomes cost the server does not grow with what waits: the queue was nearly empty when its rows
 * were counted and the plans were made, and no statement of a batch reads it from end to end later.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Claimed } from '../../../src/lifecycle/facts.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { noPostgres, Postgres } from '../../parts/postgres.js'
import { HOUR, mailFor, newAccount, ofLease, T0, toOne } from '../fixture.js'
import { EXPLAINED, plansIn, rowsRead } from './plans.js'

const WAITING = 400
const BATCH = 5
/** Until PostgreSQL keeps a plan for all values. */
const OFTEN = 8

t.test('a batch reads its own rows of the queue', { skip: noPostgres() }, async (t) => {
  const cluster = await new Postgres().start({ autovacuum: 'off', ...EXPLAINED })
  t.teardown(() => cluster.stop('fast'))
  const urls = await cluster.withTables()
  const store = openPostgresStore({ urls, lock: () => ({ owner: 'own', unlock() {} }) })
  t.teardown(() => store.close())
  await store.open()
  const at = await newAccount(store)
  const log = (): string => readFileSync(join(cluster.dir, 'log'), 'utf8')

  const mails = (count: number) =>
    Array.from({ length: count }, (_, index) => mailFor(at, { recipients: [toOne(`a${index}@example.com`)] }))
  const lease = async (count: number) => {
    await store.accept({ mails: mails(count), idempotency: null, now: T0 })
    const claimed: Claimed[] = []
    while (claimed.length < count) {
      const more = await store.claim(at.poolId, count - claimed.length, T0 + HOUR, T0)
      if (more.length === 0) throw new Error(`${claimed.length} of ${count} were claimed`)
      claimed.push(...more)
    }
    return claimed
  }
  const relay = async (claimed: readonly Claimed[]): Promise<void> => {
    const marks = claimed.map((one) => ({ ...one, attempt: 1, upstreamId: 'up_1', at: T0 }))
    t.ok((await store.attempting(marks)).every(Boolean))
    await store.settle(claimed.map((one) => ofLease(one)))
  }

  // counted while it is empty, and planned so
  cluster.sql(urls.split('/').at(-1) ?? '', 'ANALYZE')
  for (let i = 0; i < OFTEN; i++) await relay(await lease(BATCH))

  const leased = await lease(WAITING)
  t.equal(leased.length, WAITING)
  const before = log().length
  await relay(leased.slice(0, BATCH))
  const plans = plansIn(log().slice(before)).filter(({ 'Query Text': text }) => /\bqueue\b/.test(text))
  t.ok(plans.length >= 2, `${plans.length} statements on the queue`)
  for (const { Plan, 'Query Text': text } of plans) {
    const rows = rowsRead(Plan, 'queue')
    t.ok(rows <= 6 * BATCH, `${rows} rows of the queue are read by ${text.trim().slice(0, 60)}`)
  }
})
