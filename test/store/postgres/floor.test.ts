/** While an old snapshot is held, claims pass over what has left the queue, and miss nothing that falls due before it. */
import t, { type Test } from 'tap'
import { createFloors } from '../../../src/store/postgres/claim/floor.js'
import { waitingIn } from '../../../src/store/postgres/claim/waiting.js'
import { connect } from '../../../src/store/postgres/connect/connection.js'
import { serversOf } from '../../../src/store/postgres/connect/servers.js'
import { statementOf } from '../../../src/store/postgres/connect/statement.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import type { Query } from '../../../src/store/sql/query.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { accepted, HOUR, newAccount, scopeOf } from '../fixture.js'

t.test('the floor', async (t) => {
  let tick = 0
  let cost = 50
  let least: number | null = 70_000
  let asked = 0
  const floors = createFloors({
    tick: () => tick,
    async least() {
      asked += 1
      tick += cost
      return least
    },
  })
  const now = 100_000
  t.equal(await floors.of(1, now), 0, 'none while nobody has looked')
  floors.note(1, 0, 1)
  t.equal(await floors.of(1, now), 0, 'none while looks are quick')
  floors.note(1, 0, 50)
  t.equal(await floors.of(1, now), 70_000)
  t.equal(await floors.of(2, now), 0, 'each pool has its own')
  least = 60_000
  tick += 900
  t.equal(await floors.of(1, now), 70_000, 'for a second')
  t.equal(await floors.of(1, 69_999), 60_000, 'unless the clock is before it')
  tick += 1001
  least = null
  t.equal(await floors.of(1, now), 95_000, 'nothing waits: what comes may be a little older than now')
  least = 99_999
  tick += 1001
  t.equal(await floors.of(1, now), 95_000)
  tick += 1001
  cost = 1
  t.equal(await floors.of(1, now), 95_000)
  asked = 0
  t.equal(await floors.of(1, now), 0, 'looks are quick again')
  floors.note(1, 95_000, 50)
  t.equal(await floors.of(1, now), 0, 'a look from a floor says nothing of one without')
  floors.note(1, 0, 50)
  floors.forget()
  t.equal(await floors.of(1, now), 0)
  t.equal(asked, 0)
})

const LEFT = 40_000

/** A store of whose queue much has left, while somebody holds a snapshot of before. */
const heldBack = async (t: Test) => {
  const server = await postgres()
  const urls = server.database()
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
  return { store, at, now, run, pool: Number(n) }
}

t.test('under a held snapshot', { skip: noPostgres() }, async (t) => {
  const { store, at, now, run, pool } = await heldBack(t)
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

  await t.test('a look from the floor reads few rows', async (t) => {
    await accepted(store, at, { createdAt: now })
    const read = async (floor: number): Promise<number> => {
      const { text, values } = waitingIn(pool, 0, 10, now, floor).next().value as Query
      await run(`DEALLOCATE ALL; PREPARE it AS ${statementOf(text).text}`)
      const { rows } = await run(`EXPLAIN (ANALYZE, BUFFERS) EXECUTE it(${values.join()})`)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      return Number(/Buffers: shared hit=(\d+)/.exec(plan)?.[1])
    }
    const [without, with_] = [await read(0), await read(now - 5000)]
    t.ok(with_ < without / 2, `${with_} of ${without} pages`)
  })
})
