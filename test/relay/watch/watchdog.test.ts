import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import type { Claimed } from '../../../src/lifecycle/facts.js'
import { healthOf, Watchdog } from '../../../src/relay/health.js'
import { eventually } from '../../parts/eventually.js'
import { mail, POOL, poolRow, startFlow, upstreamRow } from '../parts.js'
import { UpstreamServer } from '../upstream-server.js'

const start = async (t: Test) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  const parts = startFlow([poolRow([upstreamRow(port, { maxConnections: 1 })])])
  const { queue, flow, pools } = parts
  const barks: { fact: string; why: unknown }[] = []
  const watchdog = new Watchdog({
    pools: () => pools.all(),
    nextDue: () => queue.nextDue(),
    now: systemClock.now,
    tick: systemClock.tick,
    begunAt: (poolId) => flow.begunAt(poolId),
    waiting: (poolId) => flow.waiting(poolId),
    restart: (pool) => flow.restart(pool),
    log: (_level, fact, { why }) => barks.push({ fact, why }),
    patience: 50,
  })
  t.teardown(async () => {
    server.script = {}
    await parts.stop()
    await server.close()
  })
  const until = (holds: () => boolean) =>
    eventually(String(holds), () => watchdog.look().then(holds), { seen: () => watchdog.pools, every: 5 })
  return { ...parts, server, port, watchdog, barks, until }
}

t.test('a loop that waits for an answer that never comes is started anew', async (t) => {
  const { queue, watchdog, barks, until, server } = await start(t)
  // what the loop asked at its start is answered
  await queue.opened
  await setImmediate()
  const claim = queue.claim.bind(queue)
  let late: ((claimed: readonly Claimed[]) => void) | undefined
  queue.claim = () => new Promise((resolve) => (late = resolve))
  const lost = mail()
  queue.add(lost)
  await eventually('the loop asks', () => late !== undefined)
  // from now on the store answers again, but nobody asks
  queue.claim = claim
  await until(() => (watchdog.pools[0]?.restarts ?? 0) > 0)
  await queue.settled(1)
  t.match(barks[0], { fact: 'pool stands still', why: 'unknown' })
  t.equal(server.received.length, 1)
  const straggler = { ...mail(), leaseGen: 7 }
  queue.put(straggler, null)
  late?.([straggler])
  await queue.until(() => queue.releases > 0)
  t.pass('what the lost claim leased after all goes back')
  await until(() => watchdog.pools[0]?.stalled === null)
})

t.test('old mail that comes into an idle pool is no standstill', async (t) => {
  const { queue, flow, watchdog, barks } = await start(t)
  await eventually('idle for long enough', () => systemClock.tick() - flow.begunAt(POOL) > 100)
  const imported = mail()
  queue.put(imported, Date.now() - 3_600_000)
  await watchdog.look()
  flow.look()
  await queue.settled(1)
  await watchdog.look()
  t.same(barks, [])
  t.match(watchdog.pools, [{ stalled: null, restarts: 0 }])
})

t.test('mail without any upstream is told at once, once, with what mends it', async (t) => {
  const { queue, flow, pools, stop } = startFlow([
    poolRow([]),
    poolRow([], { id: 'pool_shop', name: 'shop', follows: POOL }),
  ])
  t.teardown(stop)
  const lines: [string, Readonly<Record<string, unknown>>][] = []
  const watchdog = new Watchdog({
    pools: () => pools.all(),
    nextDue: (poolIds) => queue.nextDue(poolIds),
    now: systemClock.now,
    tick: systemClock.tick,
    begunAt: (poolId) => flow.begunAt(poolId),
    waiting: (poolId) => flow.waiting(poolId),
    restart: () => t.fail('nothing to start anew'),
    log: (_level, fact, more) => lines.push([fact, more]),
    patience: 3_600_000,
  })
  await watchdog.look()
  t.same(lines, [], 'nothing waits')
  queue.add(mail({ poolId: 'pool_shop' }))
  await watchdog.look()
  await watchdog.look()
  t.match(lines, [
    [
      'pool stands still',
      {
        pool: 'pool_shop',
        pool_name: 'shop',
        why: 'no upstream',
        remedy: 'postern pool update main --upstream URL',
      },
    ],
  ])
  t.equal(lines.length, 1, 'once')
  const server = new UpstreamServer()
  const port = await server.listen()
  t.teardown(() => server.close())
  pools.update([poolRow([upstreamRow(port)]), poolRow([], { id: 'pool_shop', name: 'shop', follows: POOL })])
  flow.look()
  await queue.settled(1)
  await watchdog.look()
  t.match(lines.slice(1), [['pool moves again', { pool_name: 'shop' }]])
})

t.test('an upstream that keeps everybody waiting is told, and not restarted', async (t) => {
  const { queue, watchdog, barks, until, server } = await start(t)
  let go: () => void = () => {}
  server.script.hold = (stage, answer) => {
    if (stage === 'dot') go = answer
    return stage === 'dot'
  }
  queue.add(mail(), mail(), mail(), mail())
  await until(() => watchdog.pools[0]?.stalled !== null)
  t.match(watchdog.pools, [{ poolId: POOL, stalled: 'all connections wait', restarts: 0 }])
  await watchdog.look()
  t.equal(barks.length, 1, 'once')
  delete server.script.hold
  go()
  await queue.settled(4)
  await until(() => watchdog.pools[0]?.stalled === null)
  t.match(barks.at(-1), { fact: 'pool moves again' })
})

t.test('no upstream is up; and what an upstream tells about itself', async (t) => {
  const { queue, pools, watchdog, until, server, port } = await start(t)
  const health = () => healthOf(pools.all(), systemClock.now() - systemClock.tick())[0]
  t.match(health(), { breaker: 'closed', lastSuccessAt: null, lastError: null, underWay: 0, limit: 1 })
  const before = Date.now() - 1
  queue.add(mail())
  await queue.settled(1)
  t.ok((health()?.lastSuccessAt ?? 0) >= before)
  await server.close()
  queue.add(...Array.from({ length: 10 }, () => mail()))
  await until(() => watchdog.pools[0]?.stalled !== null)
  t.match(watchdog.pools, [{ stalled: 'no upstream is up', restarts: 0 }])
  t.match(health(), { breaker: 'open', lastError: { stage: 'connect', message: /ECONNREFUSED/ } })
  t.equal(health()?.port, port)
})
