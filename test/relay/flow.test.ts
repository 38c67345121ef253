import t, { type Test } from 'tap'
import { createGiveWay } from '../../src/base/give-way.js'
import type { DaemonShare } from '../../src/relay/warmup.js'
import { eventually } from '../parts/eventually.js'
import { mail, poolRow, startFlow, upstreamRow } from './parts.js'
import { type UpstreamScript, UpstreamServer } from './upstream-server.js'

const upstream = async (t: Test, script: UpstreamScript = {}) => {
  const server = new UpstreamServer(script)
  const port = await server.listen()
  t.teardown(() => server.close())
  return { server, port }
}

t.test('a mail goes out, journaled before and settled after', async (t) => {
  const { server, port } = await upstream(t)
  const { queue, flow, stop } = startFlow([poolRow([upstreamRow(port)])])
  const one = mail()
  queue.add(one)
  await queue.settled(1)
  const path = `b1${one.recipientId}@bounces.test`
  const size = one.raw?.length
  t.equal(server.received[0]?.mail, `MAIL FROM:<${path}> SIZE=${size} RET=HDRS ENVID=e1${one.recipientId}`)
  t.same(server.received[0]?.rcpt, [
    'RCPT TO:<you@example.com> NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;you@example.com',
  ])
  t.equal(server.received[0]?.wire, one.raw?.toString())
  t.same(queue.log, [`mark ${one.recipientId}`, `settle ${one.recipientId}`])
  t.match(queue.outcomes[0], {
    seen: 'accepted',
    source: 'smtp',
    attempt: 1,
    reply: { code: 250, enhanced: '2.0.0' },
    detail: { stage: 'dot', tls: null },
    mta: { upstreamId: `up_${port}` },
  })
  t.equal(queue.status(one.recipientId), 'sent')
  await stop()
  t.equal(flow.stats.accepted, 1)
  await eventually('QUIT', () => server.lines.includes('QUIT'))
  t.pass('and left politely')
})

t.test('a connection is kept and used again, up to its limit', async (t) => {
  const { server, port } = await upstream(t)
  const row = upstreamRow(port, { maxConnections: 1, messagesPerConnection: 3 })
  const { queue, stop } = startFlow([poolRow([row])])
  queue.add(...Array.from({ length: 7 }, () => mail()))
  await queue.settled(7)
  t.same(
    server.received.map(({ connection }) => connection),
    [1, 1, 1, 2, 2, 2, 3],
  )
  await stop()
})

t.test('never more connections than allowed, and a slow start', async (t) => {
  const { server, port } = await upstream(t)
  const { queue, stop } = startFlow([poolRow([upstreamRow(port, { maxConnections: 6 })])])
  queue.add(...Array.from({ length: 200 }, () => mail()))
  await queue.settled(200)
  t.equal(server.received.length, 200)
  t.ok(server.mostOpen <= 6, `${server.mostOpen} connections`)
  await stop()
})

t.test('a kept connection that has died costs nothing', async (t) => {
  const { server, port } = await upstream(t)
  const { queue, stop } = startFlow([poolRow([upstreamRow(port, { maxConnections: 1 })])])
  queue.add(mail())
  await queue.settled(1)
  server.script.act = (stage, _line, connection) =>
    stage === 'mail' && connection === 1 ? '421 4.4.2 idle for too long' : undefined
  queue.add(mail())
  await queue.settled(2)
  server.script.act = (stage, _line, connection) =>
    stage === 'mail' && connection === 2 ? 'reset' : undefined
  queue.add(mail())
  await queue.settled(3)
  t.same(
    queue.outcomes.map(({ seen }) => seen),
    ['accepted', 'accepted', 'accepted'],
  )
  t.equal(server.connections, 3)
  await stop()
})

t.test('idle connections are closed', async (t) => {
  const { server, port } = await upstream(t)
  const { queue, pools, stop } = startFlow([poolRow([upstreamRow(port)])], { idle: 30 })
  queue.add(mail())
  await queue.settled(1)
  await eventually('QUIT', () => server.lines.includes('QUIT'))
  t.equal(pools.upstreams()[0]?.open, 0)
  await stop()
})

t.test('after a refused recipient the next mail on the connection is untouched by it', async (t) => {
  const { server, port } = await upstream(t)
  server.script.act = (stage, line) =>
    stage === 'rcpt' && line.includes('nobody') ? '550 5.1.1 no such user' : undefined
  const { queue, logged, stop } = startFlow([poolRow([upstreamRow(port, { maxConnections: 1 })])])
  const nobody = mail({ address: 'nobody@example.com' })
  queue.add(nobody)
  await queue.settled(1)
  t.match(queue.outcomes[0], { seen: 'rejected', reason: 'unknown_user', detail: { class: 'hard' } })
  t.ok(logged.includes(`dead ${nobody.recipientId}`))
  queue.add(mail())
  await queue.settled(2)
  t.ok(server.lines.includes('RSET'))
  t.match(server.received, [{ rcpt: [/you@example.com/] }])
  t.equal(server.connections, 1)
  await stop()
})

t.test('a report of our own that is refused says nothing about the address', async (t) => {
  const { port } = await upstream(t, {
    act: (stage) => (stage === 'rcpt' ? '550 5.1.1 no such user' : undefined),
  })
  const { queue, logged, stop } = startFlow([poolRow([upstreamRow(port)])])
  queue.add(mail({ nullSender: true }))
  await queue.settled(1)
  t.match(queue.outcomes[0], { seen: 'rejected', detail: { class: 'hard' } })
  await stop()
  t.strictSame(
    logged.filter((line) => line.startsWith('dead')),
    [],
  )
})

t.test('large mails wait for memory, though there are connections enough', async (t) => {
  const inFlight: number[] = []
  const { port } = await upstream(t, {
    act: (stage) => {
      if (stage === 'data') inFlight.push(flow.measure().inFlight)
      return undefined
    },
  })
  const { queue, flow, stop } = startFlow([poolRow([upstreamRow(port)])])
  queue.add(...Array.from({ length: 4 }, () => mail({ size: 65 * 1024 * 1024 })))
  await queue.settled(4)
  await stop()
  t.strictSame(inFlight, [1, 1, 1, 1])
})

t.test('what was not journaled is not sent', async (t) => {
  const { server, port } = await upstream(t)
  const { queue, stop } = startFlow([poolRow([upstreamRow(port)])])
  queue.refuseMarks = true
  queue.hand(mail())
  await queue.until(() => queue.releases > 0)
  t.notOk(server.lines.includes('DATA'))
  t.equal(queue.outcomes.length, 0)
  await stop()
})

t.test('a store that can not write stops the sending, and outcomes wait for it', async (t) => {
  const { server, port } = await upstream(t)
  const { queue, logged, stop } = startFlow([poolRow([upstreamRow(port, { maxConnections: 1 })])])
  server.script.act = (stage) => {
    if (stage === 'dot') queue.failing = true
    return undefined
  }
  queue.hand(mail(), mail())
  await eventually('it is told', () => logged.includes('disk full'))
  t.equal(server.received.length, 1)
  server.script.act = () => undefined
  queue.failing = false
  await queue.settled(2)
  t.equal(server.received.length, 2)
  await stop()
})

t.test('stop lets DATA complete and gives the rest back', async (t) => {
  const { server, port } = await upstream(t)
  let dots: (() => void)[] = []
  const atDot = new Promise<void>((resolve) => {
    server.script.hold = (stage, go) => {
      if (stage !== 'dot') return false
      dots.push(go)
      resolve()
      return true
    }
  })
  const { queue, stop } = startFlow([poolRow([upstreamRow(port, { maxConnections: 1 })])])
  queue.hand(mail(), mail(), mail())
  await atDot
  const stopped = stop()
  await queue.until(() => queue.releases === 2)
  for (const go of dots) go()
  dots = []
  await stopped
  t.equal(server.received.length, 1)
  t.match(queue.outcomes, [{ seen: 'accepted' }])
})

t.test('stop does not wait for a stalled upstream before DATA', async (t) => {
  const { server, port } = await upstream(t)
  server.script.act = (stage) => (stage === 'rcpt' ? 'stall' : undefined)
  const { queue, stop } = startFlow([poolRow([upstreamRow(port)])])
  queue.add(mail())
  await eventually('RCPT', () => server.lines.some((line) => line.startsWith('RCPT')))
  await stop()
  t.equal(queue.releases, 1)
  t.equal(queue.outcomes.length, 0)
})

t.test('a pool without an upstream keeps its mail queued', async (t) => {
  const { queue, pools, flow, stop } = startFlow([poolRow([])])
  queue.hand(mail())
  queue.hand(mail())
  await queue.until(() => queue.releases === 2)
  const { server, port } = await upstream(t)
  pools.update([poolRow([upstreamRow(port)])])
  flow.look()
  await queue.settled(2)
  t.equal(server.received.length, 2)
  await stop()
})

t.test('a mail that goes in circles is bounced without being sent', async (t) => {
  const { server, port } = await upstream(t)
  const { queue, stop } = startFlow([poolRow([upstreamRow(port)])])
  const ours =
    'Received: from x ([127.0.0.1])\r\n by postern.test with ESMTPSA id em_1;\r\n Fri, 20 Nov 2026 10:00:00 +0000\r\n'
  const other = 'Received: from a by b with ESMTP; Fri, 20 Nov 2026 10:00:00 +0000\r\n'
  const body = 'Subject: x\r\n\r\nReceived: not a header\r\n'
  queue.add(mail({ raw: Buffer.from(ours + body) }))
  await queue.settled(1)
  t.equal(queue.outcomes[0]?.seen, 'accepted', 'once is our own first pass')
  queue.add(mail({ raw: Buffer.from(ours + other + ours + body) }))
  await queue.settled(2)
  queue.add(mail({ raw: Buffer.from(other.repeat(51) + body) }))
  await queue.settled(3)
  for (const outcome of queue.outcomes.slice(1)) {
    t.match(outcome, { seen: 'rejected', reply: { enhanced: '5.4.6' } })
  }
  t.equal(server.received.length, 1)
  await stop()
})

t.test('past its lifetime a mail expires', async (t) => {
  const { server, port } = await upstream(t)
  server.script.act = (stage) =>
    stage === 'rcpt' ? '450 4.2.0 greylisted, try again in 300 seconds' : undefined
  const { queue, stop } = startFlow([poolRow([upstreamRow(port)])], { lifetime: 3_600_000 })
  queue.add(mail())
  await queue.settled(1)
  const [first] = queue.outcomes
  t.ok((first?.retryAt ?? 0) >= (first?.at ?? 0) + 300_000, 'it waits as it was told')
  queue.add(mail({ queuedAt: Date.now() - 3_600_001, attempts: 9 }))
  await queue.settled(2)
  t.match(queue.outcomes[1], { seen: 'expired', reason: 'lifetime', reply: { enhanced: '4.4.7' } })
  await stop()
})

t.test('the body is fetched when it did not come along', async (t) => {
  const { server, port } = await upstream(t)
  const { queue, stop } = startFlow([poolRow([upstreamRow(port)])])
  queue.add({ ...mail(), raw: null })
  await queue.settled(1)
  t.match(server.received[0]?.wire, 'Subject: stored')
  await stop()
})

t.test("one tenant's flood does not hold up another's mail", async (t) => {
  const { server, port } = await upstream(t)
  const { queue, stop } = startFlow([poolRow([upstreamRow(port, { maxConnections: 1 })])])
  const flood = Array.from({ length: 100 }, () =>
    mail({ workspaceId: 'ws_flood', address: 'flood@example.com' }),
  )
  queue.hand(...flood, mail({ workspaceId: 'ws_small', address: 'single@example.com' }))
  await queue.settled(101)
  const at = server.received.findIndex(({ rcpt }) => rcpt[0]?.includes('single@'))
  t.ok(at <= 2, `it went out as number ${at + 1}`)
  await stop()
})

t.test('weights and states', async (t) => {
  const [a, b, c] = [await upstream(t), await upstream(t), await upstream(t)]
  const rows = [
    upstreamRow(a.port, { weight: 9 }),
    upstreamRow(b.port, { weight: 1 }),
    upstreamRow(c.port, { weight: 100, state: 'paused' }),
  ]
  const { queue, pools, flow, stop } = startFlow([poolRow(rows)])
  for (let i = 1; i <= 60; i++) {
    queue.add(mail())
    await queue.settled(i)
  }
  t.ok(a.server.received.length > b.server.received.length)
  t.equal(c.server.received.length, 0)
  pools.update([poolRow([upstreamRow(c.port)])])
  flow.look()
  queue.add(mail())
  await queue.settled(61)
  t.equal(c.server.received.length, 1, 'changes take effect at once')
  await stop()
})

t.test('a rate is kept', async (t) => {
  const { server, port } = await upstream(t)
  const { queue, stop } = startFlow([poolRow([upstreamRow(port, { rate: 20 })])])
  queue.add(...Array.from({ length: 24 }, () => mail()))
  const started = performance.now()
  await queue.settled(24)
  t.ok(performance.now() - started >= 150, 'four more than a second allows at once take their time')
  t.equal(server.received.length, 24)
  await stop()
})

t.test('a mail of a dead pool expires all the same', async (t) => {
  const { queue, flow, stop } = startFlow([poolRow([])], { lifetime: 3_600_000, retry: [0] })
  queue.add(mail({ queuedAt: 0 }), mail(), mail({ queuedAt: 0 }))
  await flow.expire()
  await queue.settled(2)
  t.ok(queue.outcomes.every(({ seen }) => seen === 'expired'))
  t.equal(queue.outcomes.length, 2)
  await stop()
})

t.test('so does one for an upstream that nobody has an address to reach from', async (t) => {
  const absent = poolRow([upstreamRow(1, { bind: ['192.0.2.77'] })])
  const ends = async (share?: DaemonShare) => {
    const options = { lifetime: 3_600_000, retry: [0], ...(share && { share }) }
    const { queue, pools, flow, stop } = startFlow([absent], options)
    const pool = pools.get(absent.id)
    queue.add(mail({ queuedAt: 0 }))
    await flow.expire()
    await stop()
    return { elsewhere: pool?.isElsewhere, ended: queue.outcomes.map(({ seen }) => seen) }
  }
  t.same(await ends(), { elsewhere: false, ended: ['expired'] })
  t.same(await ends({ rank: 0, count: 2 }), { elsewhere: true, ended: ['expired'] }, 'the first of several')
  t.same(await ends({ rank: 1, count: 2 }), { elsewhere: true, ended: [] }, 'and no other')
})

t.test('a mail of a paused pool does not', async (t) => {
  const paused = poolRow([upstreamRow(1, { state: 'paused' })])
  const { queue, flow, stop } = startFlow([paused], { lifetime: 3_600_000, retry: [0] })
  queue.add(mail({ queuedAt: 0 }))
  await flow.expire()
  await stop()
  t.same(queue.outcomes, [])
})

t.test('a pool that is taken away gives its mail back', async (t) => {
  const { server, port } = await upstream(t)
  server.script.act = (stage) => (stage === 'mail' ? 'stall' : undefined)
  const { queue, pools, flow, stop } = startFlow([poolRow([upstreamRow(port, { maxConnections: 1 })])])
  queue.hand(mail(), mail(), mail())
  pools.update([])
  await queue.until(() => queue.releases === 2)
  t.equal(flow.measure().waiting, 0)
  await stop()
})

t.test('a member that is taken away while it sends finishes, and gets no more', async (t) => {
  const [old, next] = [await upstream(t), await upstream(t)]
  const held: (() => void)[] = []
  old.server.script.hold = (stage, go) => stage === 'dot' && held.push(go) > 0
  const { queue, pools, flow, stop } = startFlow([poolRow([upstreamRow(old.port, { maxConnections: 2 })])])
  queue.hand(...Array.from({ length: 6 }, () => mail()))
  await eventually('two are held', () => held.length === 2)
  pools.update([poolRow([upstreamRow(next.port)])])
  flow.look()
  await queue.settled(4)
  t.equal(next.server.received.length, 4, 'what had not begun goes to the new one')
  for (const go of held) go()
  await queue.settled(6)
  t.equal(old.server.received.length, 2)
  t.ok(queue.outcomes.every(({ seen }) => seen === 'accepted'))
  await eventually('the old one is gone', () => pools.upstreams().length === 1)
  t.ok(old.server.lines.includes('QUIT'), 'and it is left politely')
  await stop()
})

t.test('large mails that the sandbox holds keep those of others waiting for nothing', async (t) => {
  const held: (() => void)[] = []
  const box = await upstream(t, { hold: (stage, go) => stage === 'dot' && held.push(go) > 0 })
  const far = await upstream(t)
  const rows = [
    poolRow([upstreamRow(far.port)]),
    poolRow([], { id: 'pool_box', name: 'sandbox', kind: 'sandbox' }),
  ]
  const sandboxAddress = { host: '127.0.0.1', port: box.port }
  const { queue, stop } = startFlow(rows, { sandboxAddress })
  const size = 40 * 1024 * 1024
  queue.hand(...Array.from({ length: 4 }, () => mail({ poolId: 'pool_box', mode: 'test', size })))
  await eventually('the sandbox holds some', () => held.length > 0)
  const live = mail({ size })
  queue.hand(live)
  await eventually('the other has left', () => queue.status(live.recipientId) === 'sent')
  await eventually('all have left', () => {
    for (const go of held.splice(0)) go()
    return queue.outcomes.length === 5
  })
  await stop()
})

t.test('beside live mail that of the sandbox goes on, and all of it leaves', async (t) => {
  const { port } = await upstream(t)
  const box = await upstream(t)
  const rows = [
    poolRow([upstreamRow(port)]),
    poolRow([], { id: 'pool_box', name: 'sandbox', kind: 'sandbox' }),
  ]
  const way = createGiveWay()
  const { queue, stop } = startFlow(rows, { way, sandboxAddress: { host: '127.0.0.1', port: box.port } })
  queue.hand(mail())
  t.ok(way.isLive, 'live mail is heard of')
  queue.add(...Array.from({ length: 50 }, () => mail({ poolId: 'pool_box', mode: 'test' })))
  await eventually('all have left', () => {
    way.live()
    return queue.outcomes.length === 51
  })
  await stop()
})
