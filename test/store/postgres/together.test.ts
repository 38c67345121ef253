/** Several daemons do everything to the same mail at once: afterwards the tables say one thing, and nobody waited for ever. */
import fc from 'fast-check'
import t from 'tap'
import { newId } from '../../../src/base/id.js'
import type { Store } from '../../../src/store/port/store.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { HOUR, mailFor, newAccount, ofLease, scopeOf, T0, type TestAccount, toOne } from '../fixture.js'
import { opened } from './database.js'

/** Each answers with rows that must not be. */
const WRONG = {
  'counts of a mail that are not those of its recipients': `SELECT e.id FROM emails e JOIN (
      SELECT email_ord, count(*) FILTER (WHERE status = 'scheduled') AS scheduled,
        count(*) FILTER (WHERE status = 'queued') AS queued, count(*) FILTER (WHERE status = 'sent') AS sent,
        count(*) FILTER (WHERE status = 'deferred') AS deferred, count(*) FILTER (WHERE status = 'bounced') AS bounced,
        count(*) FILTER (WHERE status = 'canceled') AS canceled
      FROM recipient_rows GROUP BY email_ord) r ON r.email_ord = e.ord
    WHERE (e.scheduled, e.queued, e.sent, e.deferred, e.bounced, e.canceled)
      <> (r.scheduled, r.queued, r.sent, r.deferred, r.bounced, r.canceled)`,
  'rows of the queue in no place, or in two': `SELECT recipient_id FROM queue WHERE num_nonnulls(due_at, boot, held) <> 1`,
  'who waits nowhere': `SELECT r.id FROM recipient_rows r WHERE r.status IN ('scheduled', 'queued', 'deferred')
    AND r.deadline IS NULL AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.recipient_id = r.id)`,
  'who waits though it is over': `SELECT r.id FROM recipient_rows r JOIN queue q ON q.recipient_id = r.id
    WHERE r.status NOT IN ('scheduled', 'queued', 'deferred') AND q.attempting IS NULL`,
  'mails of which some recipients kept an appointment and some not': `SELECT ord FROM emails
    WHERE scheduled > 0 AND scheduled < total`,
}

const MAILS = 60

const steps = fc.array(
  fc.record({ store: fc.nat(2), what: fc.nat(9), mail: fc.nat(MAILS - 1), late: fc.boolean() }),
  { minLength: 60, maxLength: 150 },
)
type Step = typeof steps extends fc.Arbitrary<readonly (infer T)[]> ? T : never

/** What was sent, once for each time. */
const doing = (stores: readonly Store[], at: TestAccount, ids: readonly string[], sent: string[]) => {
  const { accountId, workspace } = at
  const scope = { accountId, workspaceId: workspace.id, poolId: null, domain: null, emailId: null }
  const send = async (store: Store, isLate: boolean): Promise<void> => {
    const claimed = await store.claim(at.poolId, 10, T0 + 9 * HOUR, T0 + 2 * HOUR)
    const marked = await store.attempting(
      claimed.map((one) => ({ ...one, attempt: 1, upstreamId: 'up_1', at: T0 })),
    )
    const ours = claimed.filter((_, i) => marked[i])
    await store.release(
      claimed.filter((_, i) => !marked[i]),
      T0,
    )
    if (!isLate) sent.push(...ours.map(({ recipientId }) => recipientId))
    const postponed = { seen: 'postponed', retryAt: T0 + HOUR } as const
    await store.settle(ours.map((one) => ofLease(one, isLate ? postponed : {})))
  }
  return async ({ store: n, what, mail, late }: Step): Promise<void> => {
    const store = stores[n] as Store
    const emailId = ids[mail] as string
    if (what < 5) await send(store, late)
    else if (what === 5) await store.cancel(scopeOf(at), emailId, T0)
    else if (what === 6) await store.reschedule(scopeOf(at), emailId, T0 + HOUR, T0)
    else if (what === 7)
      await store.hold({
        ...{ ...scope, emailId, id: newId('hold'), reason: 'x', owner: 'operator', createdAt: T0 },
      })
    else if (what === 8)
      await store.operate({ action: 'release', to: null, scope: { ...scope, emailId }, reason: 'x', now: T0 })
    else
      await store.operate({ action: 'purge', to: null, scope: { ...scope, emailId }, reason: 'x', now: T0 })
  }
}

t.test('three daemons do all of it at once', { skip: noPostgres(), timeout: 300_000 }, async (t) => {
  const cluster = await postgres()
  const urls = await cluster.withTables()
  const database = urls.split('/').at(-1) ?? ''
  const stores = await Promise.all([0, 1, 2].map(() => opened(t, urls)))
  const store = stores[0] as Store
  await fc.assert(
    fc.asyncProperty(steps, async (todo) => {
      const at = await newAccount(store)
      const mails = Array.from({ length: MAILS }, (_, i) =>
        mailFor(at, {
          scheduledAt: i % 3 === 0 ? T0 + HOUR : null,
          recipients: Array.from({ length: (i % 3) + 1 }, (_, n) => toOne(`r${n}@x.test`)),
        }),
      )
      await store.accept({ mails, idempotency: null, now: T0 })
      const sent: string[] = []
      const act = doing(
        stores,
        at,
        mails.map(({ id }) => id),
        sent,
      )
      await Promise.all(todo.map(act))
      if (new Set(sent).size !== sent.length) throw new Error('something was sent twice')
      for (const [what, text] of Object.entries(WRONG)) {
        const rows = cluster.sql(database, text)
        if (rows !== '') throw new Error(`${what}: ${rows}`)
      }
    }),
    { numRuns: 4, endOnFailure: true },
  )
  t.comment(
    `deadlocks: ${cluster.sql(database, 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')}`,
  )
})
