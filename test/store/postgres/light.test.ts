/** Locks and counters that all stores on a database share. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newId } from '../../../src/base/id.js'
import type { Store } from '../../../src/store/port/store.js'
import { type Connection, connect } from '../../../src/store/postgres/connection.js'
import { createLight } from '../../../src/store/postgres/light.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { eventually } from '../../parts/eventually.js'
import { Postern } from '../../parts/postern.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { T0 } from '../fixture.js'

const twoStores = async (t: Test): Promise<{ stores: [Store, Store]; workspaceId: string; urls: string }> => {
  const cluster = await postgres()
  const urls = await cluster.withTables()
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
  return { stores, workspaceId, urls }
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

/** As a store has it, and how many statements it has asked. */
const counting = (t: Test, urls: string) => {
  let statements = 0
  const open = async (): Promise<Connection> => {
    const connection = await connect(serversOf(urls), 'light-test')
    const query: Connection['query'] = (one) => {
      statements++
      return connection.query(one)
    }
    return { ...connection, query }
  }
  const light = createLight(open)
  t.teardown(() => light.close())
  return { light, statements: () => statements }
}

t.test('a crowd is a few statements', { skip: noPostgres() }, async (t) => {
  const { workspaceId, urls } = await twoStores(t)
  const { light, statements } = counting(t, urls)
  const claim = (key: string, token: string, more: object = {}) =>
    light.claimKey({
      ...{ workspaceId, mode: 'live' as const, key, token, fingerprint: 'f' },
      ...{ now: T0, lockedUntil: T0 + 60_000, ...more },
    })
  const crowd = Array.from({ length: 100 }, (_, i) => i)

  await t.test('of windows', async (t) => {
    const before = statements()
    const counted = await Promise.all(crowd.map((i) => light.consume(`key_${i % 3}`, 1, 1, 30)))
    t.ok(statements() - before <= 3, `${statements() - before} statements`)
    for (const n of [0, 1, 2]) {
      const own = counted.filter((_, i) => i % 3 === n)
      const used = own.map((one) => one.used)
      t.same(
        used,
        [...used.keys()].map((at) => Math.min(at + 1, 30)),
        'dealt in order of arrival',
      )
      t.same(
        own.map(({ allowed }) => allowed),
        [...own.keys()].map((at) => at < 30),
      )
    }
  })

  await t.test('of requests of many sizes: what is refused did not fit', async (t) => {
    const sizes = crowd.map((i) => ((i * 7919) % 13) + 1)
    const counted = await Promise.all(sizes.map((n) => light.consume('sizes', 1, n, 200)))
    const sum = sizes.reduce((all, n, i) => all + (counted[i]?.allowed === true ? n : 0), 0)
    t.same(await light.consume('sizes', 1, 0, 200), { allowed: true, used: sum })
    t.ok(sum <= 200)
    for (const [i, n] of sizes.entries()) if (counted[i]?.allowed === false) t.ok(sum + n > 200)
    t.same(await light.consume('sizes', 1, 1, 3), { allowed: false, used: sum }, 'the limit was lowered')
    t.same(await light.consume('sizes', 1, 0, 3), { allowed: false, used: sum })
  })

  await t.test('of keys', async (t) => {
    const before = statements()
    const claimed = await Promise.all(crowd.map((i) => claim(`k${i % 10}`, `t${i}`)))
    t.ok(statements() - before <= 5, `${statements() - before} statements`)
    t.same(
      claimed.map(({ state }) => state),
      crowd.map((i) => (i < 10 ? 'claimed' : 'in_progress')),
      'the first of each has it',
    )
    const later = { now: T0 + 60_000, lockedUntil: T0 + 120_000 }
    const again = await Promise.all(crowd.map((i) => claim(`k${i % 10}`, `u${i}`, later)))
    t.equal(again.filter(({ state }) => state === 'claimed').length, 10, 'and when all ran out, one of each')
    t.same(await claim('k1', 'v', { fingerprint: 'g' }), { state: 'mismatch' })
    const asked = statements()
    await Promise.all(
      crowd.map((i) => light.releaseKey({ workspaceId, mode: 'live', key: `k${i % 10}`, token: `u${i}` })),
    )
    t.ok(statements() - asked <= 3)
    t.same(await claim('k1', 'w'), { state: 'claimed' }, 'who had it has freed it')
    t.same(await claim('k\0', 'w'), { state: 'claimed' }, 'a text that the database cannot have')
  })
})

t.test('a key that is being answered keeps nobody waiting', { skip: noPostgres() }, async (t) => {
  const { stores, workspaceId, urls } = await twoStores(t)
  const key = {
    workspaceId,
    mode: 'live' as const,
    key: 'k',
    fingerprint: 'f',
    now: T0,
    lockedUntil: T0 + 60_000,
  }
  const [store] = stores
  t.same(await store.claimKey({ ...key, token: 'a' }), { state: 'claimed' })
  const answering = await connect(serversOf(urls), 'answering')
  t.teardown(() => answering.close())
  await answering.query({ text: 'BEGIN', values: [] })
  await answering.query({ text: 'UPDATE idempotency SET completed_at = 1', values: [] })
  t.same(await store.claimKey({ ...key, token: 'b' }), { state: 'in_progress' })
})

t.test('no list is in the way of a send', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const urls = await cluster.withTables()
  const postern = new Postern({ store: { driver: 'postgres', url_file: 'database.url' } })
  t.teardown(() => postern.remove())
  writeFileSync(join(postern.dir, 'database.url'), urls, { mode: 0o600 })
  await postern.start()
  const key = await postern.key()
  const post = (n: number) =>
    postern.api(
      ...(['POST', '/v1/emails', key] as const),
      { from: 'App <app@gw.test>', to: 'ana@example.com', subject: 's', text: 't' },
      { 'idempotency-key': `k${n}` },
    )
  t.equal((await post(0)).status, 202)
  const locks = await connect(serversOf(urls), 'locks')
  t.teardown(() => locks.close())
  const run = (text: string) => locks.query({ text, values: [] })
  await run('SET idle_in_transaction_session_timeout = 0; BEGIN; LOCK TABLE jobs')
  let listed = 0
  const lists = [1, 2, 3, 4].map(async () => {
    const { status } = await postern.api('GET', '/v1/jobs', key)
    listed += 1
    return status
  })
  const waits = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE '%/reader'`
  await eventually('all readers wait', () => cluster.sql(urls.split('/').at(-1) ?? '', waits) === '2')
  for (const n of [1, 2, 3]) t.equal((await post(n)).status, 202)
  t.equal(listed, 0, 'mail was taken while each of them waited')
  await run('COMMIT')
  t.same(await Promise.all(lists), [200, 200, 200, 200])
})
