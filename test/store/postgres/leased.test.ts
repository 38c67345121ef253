/**
 * Outcomes that are decided on by what their claim had read come to the same as those that are looked at, whatever others
 * have done to the mail meanwhile.
 */
import fc from 'fast-check'
import t from 'tap'
import type { Claimed, Outcome } from '../../../src/lifecycle/facts.js'
import type { Store } from '../../../src/store/port/store.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { accepted, HOUR, newAccount, ofLease, report, T0, type TestAccount, toOne } from '../fixture.js'

const MEANWHILE = ['nothing', 'failed', 'delayed', 'delivered', 'told'] as const
const OUTCOMES = ['accepted', 'relayed', 'soon', 'late', 'held', 'rejected', 'stale', 'twice'] as const

interface Case {
  readonly meanwhile: (typeof MEANWHILE)[number]
  readonly outcome: (typeof OUTCOMES)[number]
  readonly isMarked: boolean
  readonly recipients: 1 | 2
  readonly notify: string | null
}

const cases = fc.array(
  fc.record<Case>({
    meanwhile: fc.constantFrom(...MEANWHILE),
    outcome: fc.constantFrom(...OUTCOMES),
    isMarked: fc.boolean(),
    recipients: fc.constantFrom(1, 2),
    notify: fc.constantFrom(null, 'SUCCESS,FAILURE', 'NEVER'),
  }),
  { minLength: 1, maxLength: 8 },
)

const outcomesOf = (claimed: Claimed, { outcome }: Case): readonly Outcome[] => {
  const at = T0 + 60_000
  const one = (over: Partial<Outcome> = {}) => ofLease(claimed, { at, ...over })
  if (outcome === 'accepted') return [one()]
  if (outcome === 'relayed') return [one({ detail: { reports: false } })]
  if (outcome === 'soon') return [one({ seen: 'postponed', retryAt: T0 + HOUR })]
  if (outcome === 'late') return [one({ seen: 'postponed', at: T0 + 5 * HOUR, retryAt: T0 + 6 * HOUR })]
  if (outcome === 'held') return [one({ seen: 'postponed', retryAt: null })]
  if (outcome === 'rejected') return [one({ seen: 'rejected', reason: 'mailbox_full' })]
  if (outcome === 'stale') return [one({ leaseGen: claimed.leaseGen - 1 }), one()]
  return [one(), one({ seen: 'postponed', retryAt: T0 + HOUR })]
}

const interfere = async (other: Store, at: TestAccount, id: string, { meanwhile }: Case): Promise<void> => {
  if (meanwhile === 'failed') await other.settle([report(id, { seen: 'dsn-failed', dedupe: `f:${id}` })])
  if (meanwhile === 'delivered')
    await other.settle([report(id, { seen: 'dsn-delivered', dedupe: `d:${id}` })])
  if (meanwhile === 'delayed')
    await other.settle([report(id, { seen: 'dsn-delayed', dedupe: `l:${id}`, deadline: T0 + 9 * HOUR })])
  if (meanwhile === 'told') await other.updateWorkspace(at.workspace.id, { senderDsn: true })
}

t.test('known from the claim, and looked at', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const urls = cluster.database()
  const database = urls.split('/').at(-1) ?? ''
  const open = async (): Promise<Store> => {
    const store = openPostgresStore({ urls })
    t.teardown(() => store.close())
    await store.open()
    return store
  }
  const [ours, other] = [await open(), await open()]

  /** All that is stored of an account, without what differs from one to another. */
  const played = async (all: readonly Case[], settling: Store): Promise<readonly unknown[]> => {
    const at = await newAccount(ours)
    for (const [i, { recipients, notify }] of all.entries())
      await accepted(ours, at, {
        createdAt: T0 + i,
        mailFrom: 'from@acme.test',
        recipients: Array.from({ length: recipients }, (_, n) =>
          toOne(`${i}-${n}@x.test`, { dsn: { notify, orcpt: null } }),
        ),
      })
    const claimed = await ours.claim(at.poolId, 100, T0 + HOUR, T0 + 1000)
    const caseOf = ({ address }: Claimed): Case => all[Number.parseInt(address, 10)] as Case
    const marked = claimed.filter((one) => caseOf(one).isMarked)
    await ours.attempting(marked.map((one) => ({ ...one, attempt: 1, upstreamId: 'up_1', at: T0 + 2000 })))
    for (const one of claimed) await interfere(other, at, one.recipientId, caseOf(one))
    const answers = await settling.settle(claimed.flatMap((one) => outcomesOf(one, caseOf(one))))
    const said = answers.map(({ address, applied, from, to, emailStatus }) => [
      address,
      applied,
      from,
      to,
      emailStatus,
    ])
    const of = `workspace = (SELECT n FROM workspaces WHERE id = '${at.workspace.id}')`
    const rows = cluster.sql(
      database,
      `SELECT r.address_lc, r.status, r.attempts, r.last_gen, r.deadline, r.last_response, r.reason, q.gen, q.due_at,
         q.boot IS NULL, q.attempting, q.held, q.held_at, e.status, e.queued, e.sent, e.deferred, e.delivered, e.bounced,
         e.created_at
       FROM recipient_rows r JOIN emails e ON e.ord = r.email_ord LEFT JOIN queue q ON q.recipient_id = r.id
       WHERE r.${of} ORDER BY 1`,
    )
    const events = cluster.sql(
      database,
      `SELECT r.address_lc, v.kind, v.flags, v.occurred_at, v.attempt, v.reason, v.more, left(v.dedupe, 5),
         (SELECT count(*) FROM owed_dsns o WHERE o.event_ord = v.ord)
       FROM events v JOIN recipient_rows r ON r.id = v.recipient WHERE r.${of} ORDER BY 1, v.ord`,
    )
    return [said.sort(), rows, events]
  }

  await fc.assert(
    fc.asyncProperty(cases, async (all) => {
      t.same(await played(all, ours), await played(all, other), JSON.stringify(all))
    }),
    { numRuns: Number(process.env.POSTERN_RUNS ?? 8) },
  )
})
