/** Behind a pgbouncer that gives a session for each transaction, and is said to: the contract, and what goes wrong there. */
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Store } from '../../../src/store/port/store.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { eventually } from '../../parts/eventually.js'
import { noPgbouncer, startPgbouncer } from '../../parts/pgbouncer.js'
import { type Postgres, postgres } from '../../parts/postgres.js'
import { contract, FAMILY_NAMES, type FamilyName } from '../contract.js'
import { deadContract } from '../contract-dead.js'
import { livingContract } from '../contract-living.js'
import { HOUR, mailFor, newAccount, ofLease, T0 } from '../fixture.js'

const skip = noPgbouncer()

const pooled = async (t: Test) => {
  const cluster = await postgres()
  const direct = cluster.database()
  const urls = await startPgbouncer(t, cluster, direct, 'transaction')
  const open = async (owner: string | null = null): Promise<Store> => {
    const lock = owner === null ? {} : { lock: () => ({ owner, unlock: () => {} }) }
    const store = openPostgresStore({ urls, pooler: 'transaction', ...lock })
    t.teardown(() => store.close())
    await store.open()
    return store
  }
  return { cluster, name: direct.split('/').at(-1) ?? '', open }
}

/** Each statement is planned anew here: the long families would take minutes. */
const FAMILIES: ReadonlySet<FamilyName> = new Set([
  ...(['queue', 'idempotency', 'tenants', 'audit', 'jobs'] as const),
])
const without = Object.fromEntries(
  FAMILY_NAMES.filter((name) => !FAMILIES.has(name)).map((name) => [name, 'it is long, and no other here']),
)

t.test('the contract', { skip }, async (t) => {
  const cluster = await postgres()
  const pgbouncer = await startPgbouncer(t, cluster, cluster.url(''), 'transaction')
  const open = async (t: Test): Promise<Store> => {
    const urls = pgbouncer + new URL(cluster.database()).pathname.slice(1)
    const store = openPostgresStore({ urls, pooler: 'transaction' })
    t.teardown(() => store.close())
    await store.open()
    return store
  }
  await contract(t, open, without)
})

t.test('two daemons at once', { skip }, (t) =>
  livingContract(t, async (t) => {
    const { open } = await pooled(t)
    return [await open(), await open()] as const
  }),
)

t.test('one that was killed', { skip }, (t) =>
  deadContract(t, async (t) => {
    const { open } = await pooled(t)
    const owner = randomUUID()
    return { store: await open(owner), again: () => open(owner) }
  }),
)

/** Every server connection of the pooler, in the middle of whatever it does. */
const terminateAll = (cluster: Postgres, name: string): void => {
  cluster.sql('postgres', `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
}

t.test('what was answered is stored once, whatever ends the sessions behind it', { skip }, async (t) => {
  const { cluster, name, open } = await pooled(t)
  const stores = [await open(), await open()] as const
  const at = await newAccount(stores[0])
  const accepted: string[] = []
  let isOver = false
  const caller = async (store: Store): Promise<void> => {
    while (!isOver) {
      const mail = mailFor(at)
      const answer = await store
        .accept({ mails: [mail], idempotency: null, now: T0 })
        .catch((error: { code?: string }) => error.code)
      if (answer === 'accepted') accepted.push(mail.id)
      else t.equal(answer, 'service.unavailable')
    }
  }
  const callers = stores.flatMap((store) => Array.from({ length: 5 }, () => caller(store)))
  for (let round = 1; round <= 8; round++) {
    await eventually('more is accepted', () => accepted.length >= round * 20)
    terminateAll(cluster, name)
  }
  isOver = true
  await Promise.all(callers)
  t.equal(new Set(accepted).size, accepted.length)
  const claimed = new Set<string>()
  for (;;) {
    const leases = await stores[1].claim(at.poolId, 100, T0 + HOUR, T0)
    if (leases.length === 0) break
    for (const { emailId } of leases) {
      t.notOk(claimed.has(emailId), 'once')
      claimed.add(emailId)
    }
    await stores[1].settle(leases.map((lease) => ofLease(lease)))
  }
  t.same(
    accepted.filter((id) => !claimed.has(id)),
    [],
    'each that was acknowledged is there',
  )
})

t.test('a database that was put back behind it is told', { skip }, async (t) => {
  const { cluster, name, open } = await pooled(t)
  const store = await open()
  const at = await newAccount(store)
  const accept = () => store.accept({ mails: [mailFor(at)], idempotency: null, now: T0 })
  t.equal(await accept(), 'accepted')
  t.equal(store.cluster().putBacks, 0)
  // as a standby that had not heard of the last second would say
  cluster.sql(name, `UPDATE writers SET frontier = frontier - (1000::bigint << 14) WHERE boot IS NOT NULL`)
  await eventually('it is seen', async () => {
    await accept().catch(() => {})
    return store.cluster().putBacks === 1
  })
  t.equal(await accept(), 'accepted', 'and it goes on')
  cluster.sql(name, 'UPDATE writers SET epoch = epoch + 1, owner = NULL, boot = NULL')
  await t.rejects(accept(), 'one that was taken over stores nothing')
})
