/** Several daemons on one database know of each other. */
import t, { type Test } from 'tap'
import { followTime, systemClock } from '../../../src/base/clock.js'
import type { WriterRole } from '../../../src/store/port/cluster.js'
import { createView, followDatabase, NEWCOMER_MS } from '../../../src/store/postgres/cluster.js'
import {
  connectPostgresStore,
  openPostgresStore,
  sharePostgresStore,
} from '../../../src/store/postgres/open.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, postgres } from '../../parts/postgres.js'

const about = (pools: readonly string[] | null = null) =>
  JSON.stringify({ version: '1', host: 'h', settings: null, pools })
const row = (n: number, role: WriterRole, owner: string) => ({ n, boot: 64 + n, role, owner, about: about() })

t.test('what a heartbeat told', async (t) => {
  const first = createView({ n: 3, boot: 67 }, 100)
  t.match(first.view(), { daemons: 1, relays: [], from: 100 + NEWCOMER_MS })
  first.told([row(2, 'main', 'a'), row(3, 'relay', 'a')], 110)
  t.match(first.view(), { relays: [{ n: 3 }], from: Number.NEGATIVE_INFINITY, until: 110 + NEWCOMER_MS })
  const more = [
    row(9, 'relay', 'b'),
    row(3, 'relay', 'a'),
    row(2, 'main', 'a'),
    row(8, 'main', 'b'),
    row(7, 'command', 'c'),
  ]
  first.told(more, 2000)
  t.match(first.view(), { daemons: 2, relays: [{ n: 3 }, { n: 9 }], from: Number.NEGATIVE_INFINITY })
  const newcomer = createView({ n: 9, boot: 73 }, 100)
  newcomer.told(more, 110)
  newcomer.told([row(9, 'relay', 'b')], 2000)
  t.equal(newcomer.view().from, 100 + NEWCOMER_MS, 'whoever was there at first may not have heard of it')
})

t.test('the time is that of the database, and runs on by the tick clock', async (t) => {
  t.teardown(() => followTime(null))
  const lines: object[] = []
  const log = { warn: (fields: object) => lines.push(fields) } as never
  const follow = followDatabase(log, () => 1_000_000)
  const tick = systemClock.tick()
  follow(1_000_100, tick - 20, tick)
  t.ok(Math.abs(systemClock.now() - 1_000_110) < 60_000, 'and not that of this machine')
  t.same(lines, [])
  follow(9_000_000, tick - 5000, tick)
  t.ok(systemClock.now() < 5_000_000, 'an answer that took long says too little')
  follow(9_000_000, tick, tick)
  follow(9_002_000, tick, tick)
  follow(1_000_000, tick, tick)
  t.same(lines, [{ by_s: 8000 }, { by_s: 0 }], 'said when it begins and when it ends')
})

t.test('two daemons see each other', { skip: noPostgres() }, async (t: Test) => {
  const urls = await (await postgres()).withTables()
  const opened = async (owner: string, pools: readonly string[] | null = null) => {
    const lock = () => ({ owner, unlock() {} })
    const store = openPostgresStore({ urls, version: '1.2.3', lock, about: { pools } })
    t.teardown(() => store.close())
    await store.open()
    return store
  }
  const a = await opened('a')
  t.match(a.cluster(), { isShared: true, daemons: 1, relays: [] })
  const relay = await connectPostgresStore(sharePostgresStore(a, 'relay'))
  t.teardown(() => relay.close())
  t.ok(relay.cluster().from < 0, 'the first waits for nobody')
  const b = await opened('b', ['bulk'])
  const other = await connectPostgresStore(sharePostgresStore(b, 'relay'))
  t.ok(other.cluster().from > 0)
  t.match(await a.writers(), [
    { daemonId: 'a', role: 'main', version: '1.2.3', pools: null },
    { daemonId: 'a', role: 'relay' },
    { daemonId: 'b', role: 'main' },
    { daemonId: 'b', role: 'relay', pools: ['bulk'] },
  ])
  for (const one of [a, relay, b, other])
    await eventually(
      'all know of two',
      () => one.cluster().daemons === 2 && one.cluster().relays.length === 2,
    )
  t.match(other.cluster().relays, [{ pools: null }, { pools: ['bulk'] }])
  t.equal((await a.writers())[3]?.n, other.cluster().self)
  await other.close()
  await b.close()
  await eventually('it is gone', () => a.cluster().daemons === 1)
  t.equal((await relay.writers()).length, 2)
})
