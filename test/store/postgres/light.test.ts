/** Locks and counters that all stores on a database share. */
import t, { type Test } from 'tap'
import { newId } from '../../../src/base/id.js'
import type { Store } from '../../../src/store/port/store.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { T0 } from '../fixture.js'

const twoStores = async (t: Test): Promise<{ stores: [Store, Store]; workspaceId: string }> => {
  const cluster = await postgres()
  const urls = cluster.database()
  const open = async (): Promise<Store> => {
    const store = openPostgresStore({ urls })
    t.teardown(() => store.close())
    await store.open()
    return store
  }
  const stores: [Store, Store] = [await open(), await open()]
  const workspaceId = newId('ws')
  cluster.sql(
    urls.split('/').at(-1) ?? '',
    `INSERT INTO workspaces (n, id, account_id, name, slug, is_default, ambiguous, line_endings, sender_dsn,
      restrict_senders, alarms, on_alarm, alarmed, statistics_tags, suppress_soft, routes, created_at, ord)
     VALUES (901, '${workspaceId}', 'acct', 'w', 'w', 0, 'retry', 'strict', 0, 0, '{}', 'notify', '{}', '[]', '{}', '[]', 0, 0)`,
  )
  return { stores, workspaceId }
}

t.test('one of all who claim a key has it', { skip: noPostgres() }, async (t) => {
  const { stores, workspaceId } = await twoStores(t)
  const keyOf = (token: string) => ({
    ...{ workspaceId, mode: 'live' as const, key: 'k', token },
    ...{ fingerprint: 'f', now: T0, lockedUntil: T0 + 60_000 },
  })
  const claims = await Promise.all([0, 1, 2, 3].map((i) => stores[i % 2]?.claimKey(keyOf(`t${i}`))))
  t.same(claims.map((claim) => claim?.state).sort(), ['claimed', 'in_progress', 'in_progress', 'in_progress'])
  const [store] = stores
  const owner = `t${claims.findIndex((claim) => claim?.state === 'claimed')}`
  t.same(
    await store.claimKey(keyOf(owner)),
    { state: 'claimed' },
    'its answer was lost, and it is asked again',
  )
  t.same(await store.claimKey({ ...keyOf('x'), fingerprint: 'g' }), { state: 'mismatch' })
  await store.releaseKey(keyOf('x'))
  t.same(await store.claimKey(keyOf('x')), { state: 'in_progress' }, 'only its owner frees it')
  await store.releaseKey(keyOf(owner))
  t.same(await store.claimKey(keyOf('y')), { state: 'claimed' })
  t.same(await store.claimKey({ ...keyOf('z'), now: T0 + 60_000 }), { state: 'claimed' }, 'it ran out')
})

t.test('windows are exact', { skip: noPostgres() }, async (t) => {
  const { stores } = await twoStores(t)
  const asked = await Promise.all(Array.from({ length: 30 }, (_, i) => stores[i % 2]?.consume('b', 1, 1, 10)))
  t.equal(asked.filter((one) => one?.allowed).length, 10)
  const [store] = stores
  t.same(await store.consume('b', 1, 1, 10), { allowed: false, used: 10 })
  t.same(await store.consume('c', 1, 11, 10), { allowed: false, used: 0 }, 'all of it, or none')
  t.same(await store.consume('c', 1, 10, 10), { allowed: true, used: 10 })
})
