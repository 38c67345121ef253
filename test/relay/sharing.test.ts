/**
 * Pools that follow another one: they use its upstreams, within one budget, and
 * share it fairly by workspace.
 */
import t, { type Test } from 'tap'
import { healthOf } from '../../src/relay/health.js'
import { mail, POOL, poolRow, startFlow, upstreamRow } from './parts.js'
import { type UpstreamScript, UpstreamServer } from './upstream-server.js'

const SHOP = 'pool_shop'
const BLOG = 'pool_blog'

const upstream = async (t: Test, script: UpstreamScript = {}) => {
  const server = new UpstreamServer(script)
  const port = await server.listen()
  t.teardown(() => server.close())
  return { server, port }
}

const follower = (id: string) => poolRow([], { id, name: id, follows: POOL })
const many = (n: number, poolId: string, workspaceId: string) =>
  Array.from({ length: n }, () => mail({ poolId, workspaceId, address: `${workspaceId}@example.com` }))

t.test('two pools stay together within max_connections, and a third follows later', async (t) => {
  const { server, port } = await upstream(t)
  const leader = poolRow([upstreamRow(port, { maxConnections: 3 })])
  const { queue, pools, stop } = startFlow([leader, follower(SHOP)])
  queue.add(...many(100, POOL, 'ws_one'), ...many(100, SHOP, 'ws_shop'))
  await queue.settled(200)
  t.equal(server.received.length, 200)
  t.equal(server.mostOpen, 3)
  t.same(pools.get(SHOP)?.upstreams, pools.get(POOL)?.upstreams, 'the very same')
  t.equal(pools.upstreams().length, 1)
  t.equal(healthOf(pools.all(), 0).length, 1)
  pools.update([leader, follower(SHOP), follower(BLOG)])
  queue.add(...many(1, BLOG, 'ws_blog'))
  await queue.settled(201)
  await stop()
})

t.test('one rate for all', async (t) => {
  const { server, port } = await upstream(t)
  const rate = 40
  const leader = poolRow([upstreamRow(port, { rate })])
  const { queue, stop } = startFlow([leader, follower(SHOP), follower(BLOG)])
  const began = performance.now()
  queue.add(...many(30, POOL, 'ws_one'), ...many(30, SHOP, 'ws_shop'), ...many(30, BLOG, 'ws_blog'))
  await queue.settled(90)
  const seconds = (performance.now() - began) / 1_000
  // the bucket holds one second's worth at the start
  t.ok(90 <= rate * (seconds + 1) + 1, `90 in ${seconds} s`)
  t.equal(server.received.length, 90)
  await stop()
})

t.test('a flood in one pool leaves every second place to another, by workspace', async (t) => {
  const { server, port } = await upstream(t)
  const leader = poolRow([upstreamRow(port, { maxConnections: 1 })])
  const { queue, stop } = startFlow([leader, follower(SHOP), follower(BLOG)])
  queue.hand(...many(60, SHOP, 'ws_flood'))
  await queue.settled(1)
  // one pool of two workspaces and one of one: each workspace counts once
  queue.hand(...many(10, BLOG, 'ws_a'), ...many(10, BLOG, 'ws_b'))
  await queue.settled(80)
  const order = server.received.map(({ rcpt }) => /<(\w+)@/.exec(rcpt[0] ?? '')?.[1])
  const last = Math.max(order.lastIndexOf('ws_a'), order.lastIndexOf('ws_b'))
  const first = Math.min(order.indexOf('ws_a'), order.indexOf('ws_b'))
  const between = order.slice(first, last + 1)
  const flood = between.filter((one) => one === 'ws_flood').length
  t.ok(flood >= 8 && flood <= 12, `${flood} of the flood between 20 others: ${between.join(' ')}`)
  await stop()
})

t.test('return path and NOTIFY are those of the leader; an own member ends the following', async (t) => {
  const { server, port } = await upstream(t)
  const own = await upstream(t)
  const leader = poolRow([upstreamRow(port)], { returnPath: 'fixed', notifySuccess: false })
  const { queue, pools, stop } = startFlow([leader, follower(SHOP)])
  queue.add(...many(1, SHOP, 'ws_shop'))
  await queue.settled(1)
  t.match(server.received[0]?.mail, /^MAIL FROM:<fixed@bounces.test>/)
  t.match(server.received[0]?.rcpt[0], /NOTIFY=FAILURE,DELAY/)
  pools.update([leader, poolRow([upstreamRow(own.port)], { id: SHOP })])
  queue.add(...many(1, SHOP, 'ws_shop'))
  await queue.settled(2)
  t.match(own.server.received[0]?.mail, /^MAIL FROM:<b1/)
  pools.update([poolRow([]), follower(SHOP)])
  queue.add(...many(1, SHOP, 'ws_shop'))
  t.equal(pools.get(SHOP)?.isUp, false, 'a leader without members is nobody')
  await stop()
})

t.test('a dead upstream is probed once for all, and all go on', async (t) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  await server.close()
  const { queue, stop, logged } = startFlow([poolRow([upstreamRow(port)]), follower(SHOP), follower(BLOG)])
  queue.add(...many(8, SHOP, 'ws_shop'), ...many(8, BLOG, 'ws_blog'))
  // some of the rest are given back, or none when nothing more was claimed yet
  await queue.until(() => logged.includes('breaker opened'))
  const again = new UpstreamServer()
  await again.listen(port)
  t.teardown(() => again.close())
  await queue.settled(16)
  t.ok(again.received.some(({ rcpt }) => rcpt[0]?.includes('ws_shop')))
  t.ok(again.received.some(({ rcpt }) => rcpt[0]?.includes('ws_blog')))
  await stop()
})
