/** Mail goes to the relay of its own process without a claim; whatever breaks, it goes once, and none is stuck. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { newId } from '../../../../src/base/id.js'
import type { Claimed } from '../../../../src/lifecycle/facts.js'
import type { Store } from '../../../../src/store/port/store.js'
import {
  connectPostgresStore,
  openPostgresStore,
  sharePostgresStore,
} from '../../../../src/store/postgres/open.js'
import { eventually } from '../../../parts/eventually.js'
import { noPostgres, postgres } from '../../../parts/postgres.js'
import {
  accepted,
  addWorkspace,
  HOUR,
  mailFor,
  newAccount,
  ofLease,
  report,
  scopeOf,
  T0,
  type TestAccount,
  toOne,
} from '../../fixture.js'

interface Pair {
  readonly doors: Store
  readonly relay: Store
  readonly taken: Claimed[]
  readonly sql: (text: string) => string
  readonly urls: string
}

const pair = async (t: Test): Promise<Pair> => {
  const server = await postgres()
  const urls = await server.withTables()
  const doors = openPostgresStore({ urls, lock: () => ({ owner: 'own', unlock() {} }) })
  t.teardown(() => doors.close())
  await doors.open()
  const relay = await connectPostgresStore(sharePostgresStore(doors, 'relay'))
  t.teardown(() => relay.close())
  const taken: Claimed[] = []
  relay.onLeased((claimed) => taken.push(...claimed))
  return { doors, relay, taken, urls, sql: (text) => server.sql(new URL(urls).pathname.slice(1), text) }
}

/** That the relay takes mail has reached the doors, once one was handed over. */
const isTaken = async ({ doors, relay, taken }: Pair, at: TestAccount): Promise<void> => {
  let [hot, left] = [0, 0]
  await eventually('mail is handed over', async () => {
    await accepted(doors, at)
    left += 1
    for (const one of taken.splice(0)) {
      await relay.settle([ofLease(one)])
      hot += 1
    }
    return hot > 0
  })
  await eventually('all of it is gone', async () => {
    const now = [...taken.splice(0), ...(await relay.claim(at.poolId, 100, T0 + HOUR, T0))]
    await relay.settle(now.map((one) => ofLease(one)))
    hot += now.length
    return hot === left
  })
}

const markOf = (one: Claimed) => ({ ...one, attempt: 1, upstreamId: 'up_1', at: T0 })

t.test('as a claim would lease it, with its bytes', { skip: noPostgres() }, async (t) => {
  const both = await pair(t)
  const { doors, relay, taken } = both
  const at = await newAccount(doors)
  await isTaken(both, at)
  const dsn = { notify: 'FAILURE', orcpt: 'rfc822;ana@example.com' }
  const plain = await accepted(doors, at)
  const other = await accepted(doors, at, {
    ...{ mailFrom: '', requireTls: true, needsSmtpUtf8: true, envid: 'e1', ret: 'HDRS' },
    recipients: [toOne('Ana@Example.com', { dsn }), toOne('bob@example.com')],
  })
  await eventually('all three', () => taken.length === 3)
  t.same(new Set(taken.map(({ emailId }) => emailId)), new Set([plain.id, other.id]))
  t.same(Buffer.from(taken[0]?.raw ?? []), Buffer.from(plain.raw))
  t.equal(await relay.nextDue(), null)
  const hot = [...taken]
  await relay.release(hot, T0)
  const claimed = await relay.claim(at.poolId, 9, T0 + HOUR, T0)
  const shown = (of: readonly Claimed[]) =>
    [...of]
      .sort((a, b) => (a.recipientId < b.recipientId ? -1 : 1))
      .map((one) => ({ ...one, leaseGen: 0, raw: Buffer.from(one.raw ?? []).toString('latin1') }))
  t.same(shown(hot), shown(claimed))
  t.same(await relay.attempting(hot.map(markOf)), [false, false, false], 'what was given back')
  t.same(await relay.attempting(claimed.map(markOf)), [true, true, true])
})

t.test(
  'as much as there is room for, and not what something is in the way of',
  { skip: noPostgres() },
  async (t) => {
    const both = await pair(t)
    const { doors, relay, taken } = both
    const at = await newAccount(doors)
    await isTaken(both, at)
    relay.ready([at.poolId], [3])
    await relay.release([], T0)
    await relay.nextDue()
    await eventually('no more than three', async () => {
      taken.length = 0
      await doors.accept({
        mails: Array.from({ length: 5 }, () => mailFor(at)),
        ...{ idempotency: null, now: T0 },
      })
      const due = await relay.claim(at.poolId, 100, T0 + HOUR, T0)
      await eventually('the rest is due', () => taken.length + due.length === 5)
      const most = taken.length
      await relay.settle([...taken, ...due].map((one) => ofLease(one)))
      return most === 3
    })
    taken.length = 0
    const to = (address: string) => ({ recipients: [toOne(address)] })
    await doors.addSuppression({
      ...{ id: newId('sup'), accountId: at.accountId, list: at.workspace.id, email: 'dead@example.com' },
      ...{ origin: 'manual', sourceId: null, reason: null, expiresAt: null, createdAt: T0 },
    })
    await doors.hold({
      ...{ id: newId('hold'), accountId: at.accountId, workspaceId: null, poolId: null, emailId: null },
      ...{ domain: 'held.test', reason: 'x', owner: 'operator', createdAt: T0 },
    })
    const suspended = await addWorkspace(doors, at, 'suspended')
    await doors.suspendWorkspace(suspended.workspace, 'why', T0)
    await accepted(doors, at, to('dead@example.com'))
    await accepted(doors, at, to('a@held.test'))
    await accepted(doors, suspended, to('b@example.com'))
    await accepted(doors, at, { ...to('c@example.com'), scheduledAt: T0 + HOUR })
    const last = await accepted(doors, at, to('d@example.com'))
    await eventually('the one that is free', () => taken.length > 0)
    t.same(
      taken.map(({ emailId }) => emailId),
      [last.id],
    )
  },
)

t.test('there is room again although others had told of it first', { skip: noPostgres() }, async (t) => {
  const both = await pair(t)
  const { doors, relay, taken, urls } = both
  const other = openPostgresStore({ urls, lock: () => ({ owner: 'other', unlock() {} }) })
  t.teardown(() => other.close())
  await other.open()
  const at = await newAccount(doors)
  await isTaken(both, at)
  relay.ready([at.poolId], [1])
  // each takes the only place; its report comes to another daemon before its 250 is written here
  for (let round = 0; round < 2; round++)
    await eventually(
      `mail is handed over, round ${round}`,
      async () => {
        await accepted(doors, at)
        const due = await relay.claim(at.poolId, 100, T0 + HOUR, T0)
        await relay.settle(due.map((one) => ofLease(one)))
        await eventually('it is due or here', () => taken.length + due.length === 1)
        const [hot] = taken.splice(0)
        if (hot === undefined) return false
        t.same(await relay.attempting([markOf(hot)]), [true])
        await other.settle([report(hot.recipientId, { seen: 'dsn-delivered' })])
        const [settled] = await relay.settle([ofLease(hot)])
        t.equal(settled?.applied, false)
        return true
      },
      { ms: 10_000 },
    )
})

t.test('a relay that is gone, or returns', { skip: noPostgres() }, async (t) => {
  const both = await pair(t)
  const { doors, relay, taken, sql } = both
  const at = await newAccount(doors)
  await isTaken(both, at)
  const cut = (who: string) =>
    sql(`SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a JOIN writers w ON a.application_name LIKE '%/' || w.boot
      WHERE w.role = '${who}'`)
  const epoch = () => Number(sql("SELECT epoch FROM writers WHERE role = 'relay'"))
  const before = epoch()
  cut('relay')
  const during = await accepted(doors, at)
  await eventually('it is handed over', () => taken.length === 1)
  t.same(await relay.attempting(taken.map(markOf)), [true], 'its writer has the same boot')
  t.ok(epoch() > before)
  t.equal((await relay.settle(taken.splice(0).map((one) => ofLease(one)))).length, 1)
  t.equal((await doors.email(scopeOf(at), during.id))?.status, 'sent')

  const sent: string[] = []
  const mails: string[] = []
  for (let round = 0; round < 6; round++) {
    const calls = Array.from({ length: 10 }, () => accepted(doors, at))
    cut('main')
    mails.push(...(await Promise.all(calls)).map(({ id }) => id))
  }
  await eventually('each is here or there', async () => {
    const due = await relay.claim(at.poolId, 100, T0 + HOUR, T0)
    const now = [...taken.splice(0), ...due]
    const marks = await relay.attempting(now.map(markOf))
    sent.push(...now.filter((_, i) => marks[i]).map(({ emailId }) => emailId))
    return sent.length >= mails.length
  })
  t.same([...sent].sort(), [...mails].sort(), 'and none twice')

  sql("UPDATE writers SET owner = NULL, boot = NULL, epoch = epoch + 1 WHERE role = 'relay'")
  const after = await accepted(doors, at)
  const [claimed] = await doors.claim(at.poolId, 9, T0 + HOUR, T0)
  t.equal(claimed?.emailId, after.id, 'it is due for others')
  t.same(taken, [])
})

t.test('killed between the commit and the hand-over', { skip: noPostgres() }, async (t) => {
  const server = await postgres()
  const urls = await server.withTables()
  const child = spawn(process.execPath, [
    fileURLToPath(new URL('./hot-child.js', import.meta.url)),
    urls,
    'killed',
  ])
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  const [, signal] = await once(child, 'close')
  t.equal(signal, 'SIGKILL')
  const next = openPostgresStore({ urls, lock: () => ({ owner: 'killed', unlock() {} }) })
  t.teardown(() => next.close())
  await next.open()
  const stored = Number(server.sql(new URL(urls).pathname.slice(1), 'SELECT count(*) FROM emails'))
  t.ok(stored >= 5)
  await next.recover('earlier', T0)
  const claimed = await next.claim(said.trim(), 1000, T0 + HOUR, T0)
  t.equal(new Set(claimed.map(({ emailId }) => emailId)).size, stored, 'all of them are due again')
})
