/** Outcomes of several daemons at once: each is stored once, and mails and their recipients say the same. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Outcome } from '../../../src/lifecycle/facts.js'
import { aggregate, type Counts, STATUSES } from '../../../src/mail/status.js'
import { aggregateOf } from '../../../src/store/postgres/settle.js'
import { noPostgres } from '../../parts/postgres.js'
import { accepted, newAccount, outcome, report, T0, toOne } from '../fixture.js'
import { freshDatabase } from './database.js'

const fresh = async (t: Test) => {
  const { sql, open } = await freshDatabase(t)
  const store = await open()
  const boot = sql('SELECT boot FROM writers WHERE boot IS NOT NULL')
  /** All that is due, to the first store. */
  const lease = (): readonly Outcome[] =>
    sql(
      `WITH l AS (UPDATE queue SET due_at = NULL, boot = ${boot}, lease_until = 0, gen = gen + 1 WHERE due_at IS NOT NULL
       RETURNING recipient_id, gen) SELECT recipient_id || ' ' || gen FROM l ORDER BY 1`,
    )
      .split('\n')
      .map((line) => line.split(' '))
      .map(([id = '', gen]) =>
        outcome(id, { leaseGen: Number(gen), attempt: 1, source: 'smtp', at: T0 + 1000 }),
      )
  return { store, sql, open, lease, at: await newAccount(store) }
}

t.test('the status of a mail', { skip: noPostgres() }, async (t) => {
  const { sql } = await fresh(t)
  const text = `SELECT ${aggregateOf((status) => `c.${status}`)} FROM`
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 7, maxLength: 7 }), {
        minLength: 1,
        maxLength: 50,
      }),
      async (all) => {
        const rows = all.map((counts) => `(${counts.join(', ')})`).join(', ')
        const found = sql(`${text} (VALUES ${rows}) AS c (${STATUSES.join(', ')})`).split('\n')
        const of = (counts: readonly number[]) =>
          aggregate(Object.fromEntries(STATUSES.map((status, i) => [status, counts[i]])) as Counts)
        t.same(found, all.map(of))
      },
    ),
    { numRuns: 10 },
  )
})

t.test('recipients of one mail in one batch', { skip: noPostgres() }, async (t) => {
  const { store, sql, at, lease } = await fresh(t)
  await accepted(store, at, {
    recipients: ['a@x.test', 'b@x.test', 'c@x.test'].map((one) => toOne(one)),
  })
  const [a, b, c] = lease()
  if (a === undefined || b === undefined || c === undefined) throw new Error('expected three')
  const answers = await store.settle([a, { ...b, seen: 'postponed', retryAt: T0 + 5000 }, c])
  t.match(answers, [
    { applied: true, to: 'sent' },
    { to: 'deferred', emailStatus: 'deferred' },
    { to: 'sent' },
  ])
  t.equal(sql('SELECT status, queued, sent, deferred FROM emails'), 'deferred|0|2|1')
  t.equal(sql('SELECT recipient_id, due_at, boot FROM queue'), `${b.recipientId}|${T0 + 5000}|`)
  t.equal(sql(`SELECT last_gen, attempts FROM recipient_rows WHERE id = '${a.recipientId}'`), '1|1')
  t.match(await store.settle([a, a]), [{ applied: false }, { applied: false }])
  const same = report(a.recipientId, { seen: 'dsn-failed', dedupe: 'k' })
  t.match(await store.settle([same, same]), [{ applied: true, to: 'bounced' }, { applied: false }])
  t.equal(sql('SELECT count(*) FROM events'), '4', 'three attempts, and the report')
})

t.test('the same of several daemons at once', { skip: noPostgres() }, async (t) => {
  const { store, sql, open, at, lease } = await fresh(t)
  const other = await open()
  for (let n = 0; n < 5; n++)
    await accepted(store, at, { recipients: Array.from({ length: 20 }, (_, i) => toOne(`r${i}@x.test`)) })
  const leased = lease()
  const reports = leased.map(({ recipientId }, i) =>
    report(recipientId, { seen: i % 2 === 0 ? 'dsn-failed' : 'dsn-delivered', dedupe: `k${i}` }),
  )
  await Promise.all([
    ...leased.map((one) => store.settle([one])),
    ...reports.map((one) => other.settle([one])),
    ...reports.map((one) => store.settle([one])),
  ])
  t.equal(
    sql(`SELECT count(*) FROM emails e WHERE (sent, delivered, bounced, queued) <> (
      SELECT count(*) FILTER (WHERE status = 'sent'), count(*) FILTER (WHERE status = 'delivered'),
        count(*) FILTER (WHERE status = 'bounced'), count(*) FILTER (WHERE status = 'queued')
      FROM recipients r WHERE r.email_ord = e.ord)`),
    '0',
  )
  t.equal(sql("SELECT string_agg(DISTINCT status, ',') FROM emails"), 'bounced')
  // a lease that settles after its report has a key of another kind
  t.equal(sql("SELECT count(*), count(DISTINCT dedupe) FROM events WHERE dedupe LIKE 'k%'"), '100|100')
  t.equal(sql("SELECT count(*) FROM recipients WHERE status NOT IN ('delivered', 'bounced')"), '0')
  t.equal(sql('SELECT count(*) FROM queue'), '0')
})
