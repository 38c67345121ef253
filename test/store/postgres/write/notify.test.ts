/** What one daemon has stored, another looks for at once. */
import t, { type Test } from 'tap'
import type { Store } from '../../../../src/store/port/store.js'
import type { PoolRow } from '../../../../src/store/port/tenants.js'
import { openPostgresStore } from '../../../../src/store/postgres/open.js'
import { eventually } from '../../../parts/eventually.js'
import { noPostgres, postgres } from '../../../parts/postgres.js'
import { accepted, newAccount, scopeOf, T0 } from '../../fixture.js'

const opening =
  (t: Test, urls: string) =>
  async (owner: string, listens = true): Promise<Store> => {
    const lock = () => ({ owner, unlock() {} })
    const store = openPostgresStore({ urls, lock, listens })
    t.teardown(() => store.close())
    await store.open()
    return store
  }

const once = (on: (listener: () => void) => () => void): Promise<void> =>
  new Promise((resolve) => {
    const stop = on(() => {
      stop()
      resolve()
    })
  })

t.test('mail that is due, and pools that have changed', { skip: noPostgres() }, async (t) => {
  const server = await postgres()
  const urls = await server.withTables()
  const opened = opening(t, urls)
  const relay = await opened('relay')
  const deaf = await opened('deaf', false)
  // knows the others from its first heartbeat
  const doors = await opened('doors')
  doors.ready([])
  deaf.onDue(() => t.fail('it does not listen'))
  doors.onDue(() => t.fail('none of its own'))
  doors.onChanged(() => t.fail('none of its own'))

  const changed = once(relay.onChanged)
  const at = await newAccount(doors)
  await changed

  relay.ready(['pl_another'])
  let woken = 0
  relay.onDue(() => {
    woken += 1
  })
  await accepted(doors, at)
  relay.onChanged(() => {
    t.equal(woken, 0, 'mail of a pool that it does not carry')
    relay.ready([at.poolId])
  })
  const reread = once(relay.onChanged)
  const pool = (await doors.pool(at.accountId, at.poolId)) as PoolRow
  await doors.updatePool({ ...pool, updatedAt: T0 + 1 })
  await reread
  await accepted(doors, at)
  await eventually('the relay hears of its own', () => woken > 0)

  const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'postern/relay/%'`
  server.sql(new URL(urls).pathname.slice(1), cut)
  woken = 0
  await eventually('it hears after its session was lost', async () => {
    await accepted(doors, at)
    return woken > 0
  })

  woken = 0
  const from = performance.now()
  for (let i = 0; i < 60; i++) await accepted(doors, at)
  await doors.cancel(scopeOf(at), 'em_nothing', T0)
  await eventually('the last one was told', () => woken > 0)
  t.ok(woken <= (performance.now() - from) / 100 + 2, 'ten a second at most')
})

t.test('what nobody of us has said ends no daemon', { skip: noPostgres() }, async (t) => {
  const server = await postgres()
  const urls = await server.withTables()
  const relay = await opening(t, urls)('relay')
  const name = new URL(urls).pathname.slice(1)
  for (const payload of ['', 'x', 'null', '7', '{"from":"a"}', '{"from":"a","pools":7}']) {
    const told = once(relay.onDue)
    server.sql(name, `NOTIFY postern_due, '${payload}'`)
    await told
  }
})
