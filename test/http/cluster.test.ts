/** Which daemons share the store, over HTTP. */
import t from 'tap'
import { clusterMetrics } from '../../src/http/metrics.js'
import { cluster } from '../../src/record/queue.js'
import type { WriterRow } from '../../src/store/port/cluster.js'
import { openPostgresStore } from '../../src/store/postgres/open.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { needsFile } from '../parts/store.js'
import { openKit } from './kit.js'

t.test('SQLite has one, and only people may look', { skip: needsFile }, async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const { status, json } = await kit.ask('/v1/cluster', { key: kit.session })
  t.match(
    { status, json },
    { status: 200, json: { store: 'sqlite', daemons: [{ share: { part: 1, of: 1 } }] } },
  )
  t.equal(json.daemons.length, 1)
  t.match(await kit.ask('/v1/cluster', { key: kit.key }), { status: 403 })
})

t.test('writers are told by daemon', async (t) => {
  const about = { host: 'h', version: '1', pools: null, epoch: 1 }
  const row = (n: number, daemonId: string, role: WriterRow['role'], lagMs: number): WriterRow => ({
    ...about,
    ...{ n, daemonId, role, lagMs, settings: daemonId },
  })
  const record = cluster({
    system: 'postgresql',
    putBack: { at: 0, lostMs: 12 },
    writers: [
      row(0, 'a', 'main', 5),
      row(1, 'b', 'relay', 30_000),
      row(2, 'a', 'relay', 10),
      row(3, 'c', 'main', 1),
    ],
  })
  t.match(record, {
    same_settings: false,
    put_back: { at: '1970-01-01T00:00:00.000Z', lost_ms: 12 },
    daemons: [
      {
        id: 'a',
        lag_ms: 10,
        share: { part: 2, of: 2 },
        writers: [{ number: 0 }, { number: 2, role: 'relay' }],
      },
      { id: 'b', lag_ms: 30_000, share: { part: 1, of: 2 } },
      { id: 'c', share: null },
    ],
  })
})

t.test('PostgreSQL is measured', { skip: noPostgres() }, async (t) => {
  const store = openPostgresStore({ urls: (await postgres()).database() })
  t.teardown(() => store.close())
  await store.open()
  const metrics = await clusterMetrics(store)
  for (const name of ['oldest_snapshot_seconds', 'queue_dead_rows', 'bytes', 'bodies_bytes'])
    t.ok(
      metrics.some((metric) => metric.name === `postern_store_${name}`),
      name,
    )
  t.match(
    metrics.find(({ name }) => name === 'postern_cluster_daemons'),
    { samples: [{ value: 1 }] },
  )
})
