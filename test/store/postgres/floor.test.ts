/** While an old snapshot is held, claims pass over what has left the queue, and miss nothing that falls due before it. */
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Floors, floorOf, pickQuery, waitingIn } from '../../../src/store/postgres/claim.js'
import { connect, statementOf } from '../../../src/store/postgres/connection.js'
import { leastDue } from '../../../src/store/postgres/due.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { answer } from '../../../src/store/postgres/run.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import type { Asking, SqlQuery } from '../../../src/store/sql/query.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { accepted, addWorkspace, HOUR, newAccount, scopeOf } from '../fixture.js'

/** Floors whose reading takes `cost`, and finds `found`; `turn` lets what was begun come to its end. */
const given = () => {
  const is = {
    tick: 0,
    now: 100_000,
    cost: 50,
    dead: 200_000,
    found: [{ n: 1, id: 'pool_1', due_at: 70_000 }],
    walks: 0,
  }
  const floors = new Floors({
    clock: { tick: () => is.tick, now: () => is.now },
    dead: async () => is.dead,
    async walk() {
      is.walks += 1
      is.tick += is.cost
      return is.found
    },
  })
  const of = (pool: number, now = is.now): number => floorOf(floors.standing(), pool, now)
  return { is, floors, of }
}

t.test('the floor', async (t) => {
  const { is, floors, of } = given()
  t.equal(of(1), 0, 'none while nobody has looked')
  floors.note(1, null)
  await turn()
  t.equal(of(1), 0, 'none while looks are quick')
  is.dead = 100
  floors.note(50, null)
  await turn()
  t.same([of(1), is.walks], [0, 0], 'nor when they are slow for another reason')
  is.dead = 200_000
  floors.note(50, null)
  await turn()
  t.equal(is.walks, 0, 'which is not asked at each look')
  is.tick += 1000
  floors.note(50, null)
  t.equal(of(1), 0, 'no look waits for it')
  await turn()
  t.equal(of(1), 70_000)
  t.equal(of(2), 95_000, 'of a pool in which nothing waits: what comes may be a little older than now')
  t.equal(of(1, 69_999), 0, 'none when the clock is before it')
  is.found = [{ n: 1, id: 'pool_1', due_at: 99_999 }]
  is.tick += 999
  of(1)
  await turn()
  t.equal(of(1), 70_000, 'it is kept for twenty times what reading it took')
  is.tick += 1
  t.equal(of(1), 70_000)
  await turn()
  t.equal(of(1), 95_000)
  is.cost = 5000
  is.tick += 1000
  of(1)
  await turn()
  is.walks = 0
  is.tick += 9999
  of(1)
  await turn()
  t.equal(is.walks, 0, 'and for ten seconds at most')
  is.cost = 1
  is.tick += 1
  of(1)
  await turn()
  t.same([of(1), is.walks], [0, 1], 'looks are quick again')
})

t.test('a floor from which on looks are no faster', async (t) => {
  const { is, floors, of } = given()
  floors.note(50, null)
  await turn()
  floors.note(49, floors.standing())
  t.equal(of(1), 70_000)
  floors.note(51, floors.standing())
  t.equal(of(1), 0, 'is none')
  floors.note(50, null)
  is.tick += 9999
  floors.note(50, null)
  await turn()
  t.equal(of(1), 0, 'for a while')
  is.tick += 1
  floors.note(50, null)
  await turn()
  t.equal(of(1), 70_000)
})

t.test('when due times have moved', async (t) => {
  const { is, floors, of } = given()
  floors.note(50, null)
  floors.forget()
  await turn()
  t.equal(of(1), 0, 'what was read before says nothing')
  is.tick += 1000
  floors.note(50, null)
  await turn()
  t.equal(of(1), 70_000)
  floors.forget()
  t.equal(of(1), 0)
})

const LEFT = 40_000

/** A store of whose queue much has left, while somebody holds a snapshot of before. */
const heldBack = async (t: Test) => {
  const server = await postgres()
  const urls = await server.withTables()
  const store = openPostgresStore({ urls })
  t.teardown(() => store.close())
  await store.open()
  const at = await newAccount(store)
  const [held, beside] = await Promise.all(['held', 'beside'].map((name) => connect(serversOf(urls), name)))
  if (held === undefined || beside === undefined) throw new Error('two connections')
  t.teardown(() => Promise.all([held.close(), beside.close()]))
  const run = (text: string) => beside.query({ text, values: [] })
  const now = Date.now()
  await run(`INSERT INTO queue (recipient_id, email_ord, workspace, pool, gen, due_at)
    SELECT 'r_' || i, i, w.n, p.n, 0, ${now - HOUR} + i FROM generate_series(1, ${LEFT}) i, workspaces w, pools p
    WHERE w.id = '${at.workspace.id}' AND p.id = '${at.poolId}'`)
  await held.query({
    text: `SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM queue LIMIT 1`,
    values: [],
  })
  await run('DELETE FROM queue')
  const { n } = (await run(`SELECT n FROM pools WHERE id = '${at.poolId}'`)).rows[0] ?? {}
  const ask = <T>(asking: Asking<T>): Promise<T> => answer(beside, asking)
  return { store, at, now, run, ask, pool: Number(n) }
}

t.test('under a held snapshot', { skip: noPostgres() }, async (t) => {
  const { store, at, now, run, ask, pool } = await heldBack(t)
  const claim = () => store.claim(at.poolId, 10, now + HOUR, now)
  for (const _ of [1, 2, 3]) t.same(await claim(), [])
  const young = await accepted(store, at, { createdAt: now })
  t.equal((await claim())[0]?.emailId, young.id, 'what falls due now is there at once')

  await t.test('what was due before all that is waiting', async (t) => {
    const old = await accepted(store, at, { createdAt: now - 2 * HOUR })
    const [found] = await eventually('it is claimed', async () => {
      const claimed = await claim()
      return claimed.length > 0 && claimed
    })
    t.equal(found?.emailId, old.id)
  })

  await t.test('an appointment that is made earlier', async (t) => {
    const later = await accepted(store, at, { createdAt: now, scheduledAt: now + HOUR })
    t.same(await claim(), [])
    t.equal(await store.reschedule(scopeOf(at), later.id, now - HOUR / 2, now), 'done')
    const claimed = await eventually('it is claimed', async () => (await claim())[0] ?? null)
    t.equal(claimed.emailId, later.id)
  })

  await t.test('when the clock was set back, at once', async (t) => {
    const mail = await accepted(store, at, { createdAt: now })
    await store.adjustTimes(now - HOUR, -HOUR, 8 * HOUR)
    const [found] = await store.claim(at.poolId, 10, now, now - HOUR)
    t.equal(found?.emailId, mail.id)
  })

  await t.test('looks from a floor find what others find', async (t) => {
    for (const slug of ['b', 'c', 'd'])
      await accepted(store, await addWorkspace(store, at, slug), { createdAt: now })
    const { rest, pools } = { rest: now - 5000, pools: new Map([[pool, now - 5000]]) }
    t.same(await ask(leastDue({ rest, pools })), await ask(leastDue()))
    t.same(
      await ask(leastDue({ rest, pools: new Map() })),
      await ask(leastDue()),
      'a pool that nobody knows yet',
    )
    t.same(await ask(leastDue({ rest: now + 1, pools: new Map() })), [])
    const all = (await ask(waitingIn(pool, 0, 10, now, 0))).map(({ workspace }) => workspace)
    t.equal(all.length, 3)
    for (const served of [0, ...all])
      t.same(
        await ask(waitingIn(pool, served, 2, now, rest)),
        await ask(waitingIn(pool, served, 2, now, 0)),
        'in the same order',
      )
    for (let found = [null]; found.length > 0; ) found = (await claim()) as never
  })

  await t.test('a look and a lease from the floor read few pages, however much has left', async (t) => {
    await accepted(store, at, { createdAt: now })
    const workspace = (await ask(waitingIn(pool, 0, 10, now, 0)))[0]?.workspace ?? 0
    const pagesOf = async ({ text, values }: SqlQuery): Promise<number> => {
      const given = values.map((value) => (Array.isArray(value) ? `'{${value.join()}}'` : value)).join()
      await run(`DEALLOCATE ALL; BEGIN; PREPARE it AS ${statementOf(text).text}`)
      const { rows } = await run(`EXPLAIN (ANALYZE, BUFFERS) EXECUTE it(${given})`)
      await run('ROLLBACK')
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      return Number(/Buffers: shared hit=(\d+)/.exec(plan)?.[1])
    }
    const read = async (floor: number): Promise<readonly number[]> => {
      const look = waitingIn(pool, 0, 10, now, floor).next().value as SqlQuery
      const round = { pool, boot: 1, leaseUntil: now + HOUR, now, floor }
      const { text, values } = pickQuery({ workspaces: [workspace], shares: [10] }, round)
      const pick = { text: `WITH fence AS (SELECT 1 AS n),${text}`, values }
      return [await pagesOf(look), await pagesOf(pick)]
    }
    const [without, from] = [await read(0), await read(now - 5000)]
    for (const [i, name] of ['the look', 'the lease'].entries()) {
      t.ok((without[i] ?? 0) > 300, `${name} walks over what has left: ${without[i]} pages`)
      t.ok((from[i] ?? 1000) < 60, `${name} from the floor does not: ${from[i]}`)
    }
  })
})
