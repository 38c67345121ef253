/**
 * Outcomes that are decided on by what their claim had read, or what came with mail that was handed over, come to the same
 * as those that are looked at, whatever others have done to the mail meanwhile.
 */
import fc from 'fast-check'
import t from 'tap'
import type { Claimed, Outcome } from '../../../src/lifecycle/facts.js'
import type { Store } from '../../../src/store/port/store.js'
import {
  connectPostgresStore,
  openPostgresStore,
  sharePostgresStore,
} from '../../../src/store/postgres/open.js'
import { eventually } from '../../parts/eventually.js'
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
  const urls = await cluster.withTables()
  const database = urls.split('/').at(-1) ?? ''
  const open = async (owner?: string): Promise<Store> => {
    const lock = owner === undefined ? {} : { lock: () => ({ owner, unlock() {} }) }
    const store = openPostgresStore({ urls, ...lock })
    t.teardown(() => store.close())
    await store.open()
    return store
  }
  const [ours, other, doors] = [await open(), await open(), await open('own')]
  const relay = await connectPostgresStore(sharePostgresStore(doors, 'relay'))
  t.teardown(() => relay.close())
  const handed: Claimed[] = []
  relay.onLeased((claimed) => handed.push(...claimed))
  const scratch = await newAccount(doors)
  await eventually('mail is handed over', async () => {
    await accepted(doors, scratch)
    return handed.length > 0
  })

  const byClaim = (store: Store) => async (at: TestAccount) =>
    store.claim(at.poolId, 100, T0 + HOUR, T0 + 1000)
  const byHand = async (at: TestAccount, count: number): Promise<readonly Claimed[]> => {
    const own = () => handed.filter(({ workspaceId }) => workspaceId === at.workspace.id)
    await eventually('all are handed over', () => own().length === count)
    return own()
  }
  const ways = {
    looked: { accepting: ours, leasing: ours, settling: other, lease: byClaim(ours) },
    claimed: { accepting: ours, leasing: ours, settling: ours, lease: byClaim(ours) },
    handed: { accepting: doors, leasing: relay, settling: relay, lease: byHand },
  }

  /** All that is stored of an account, without what differs from one to another. */
  const played = async (all: readonly Case[], way: keyof typeof ways): Promise<readonly unknown[]> => {
    const { accepting, leasing, settling, lease } = ways[way]
    const at = await newAccount(ours)
    for (const [i, { recipients, notify }] of all.entries())
      await accepted(accepting, at, {
        createdAt: T0 + i,
        mailFrom: 'from@acme.test',
        recipients: Array.from({ length: recipients }, (_, n) =>
          toOne(`${i}-${n}@x.test`, { dsn: { notify, orcpt: null } }),
        ),
      })
    const claimed = await lease(
      at,
      all.reduce((sum, { recipients }) => sum + recipients, 0),
    )
    const caseOf = ({ address }: Claimed): Case => all[Number.parseInt(address, 10)] as Case
    const marked = claimed.filter((one) => caseOf(one).isMarked)
    await leasing.attempting(marked.map((one) => ({ ...one, attempt: 1, upstreamId: 'up_1', at: T0 + 2000 })))
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
      const looked = await played(all, 'looked')
      t.same(await played(all, 'claimed'), looked, `claimed: ${JSON.stringify(all)}`)
      t.same(await played(all, 'handed'), looked, `handed: ${JSON.stringify(all)}`)
    }),
    { numRuns: Number(process.env.POSTERN_RUNS ?? 8) },
  )

  const SEEN = { looked: 'other@x.test', claimed: 'ana@x.test', handed: 'ana@x.test' } as const
  for (const way of ['looked', 'claimed', 'handed'] as const) {
    const { accepting, settling, lease } = ways[way]
    const at = await newAccount(ours)
    await accepted(accepting, at, { recipients: [toOne('ana@x.test')] })
    const claimed = await lease(at, 1)
    const [id] = claimed.map(({ recipientId }) => recipientId)
    cluster.sql(database, `UPDATE recipient_rows SET address_lc = 'other@x.test' WHERE id = '${id}'`)
    const settled = await settling.settle(claimed.map((one) => ofLease(one)))
    t.match(settled, [{ applied: true, address: SEEN[way] }], `${way}: what a look would have seen`)
  }
})
