/**
 * The table of RELAY.md §6 for upstream faults: at each stage, each way to
 * fail, with a healthy second member beside the broken one. Nothing was sent
 * before DATA, so there the second member takes the mail within the same attempt.
 */
import t from 'tap'
import type { PoolRow } from '../../src/store/port-tenants.js'
import { mail, poolRow, startFlow, upstreamRow } from './parts.js'
import { type Act, type Stage, UpstreamServer } from './upstream-server.js'

const FAST = { connect: 300, greeting: 300, mail: 300, rcpt: 300, data: 300, block: 300, dot: 300 }

type Expected = 'moved' | 'postponed' | 'rejected' | 'ambiguous'
const CASES: readonly (readonly [Stage, Act, Expected])[] = [
  ['connect', 'stall', 'moved'],
  ['connect', 'reset', 'moved'],
  ['connect', 'close', 'moved'],
  ['connect', '421 4.3.2 not now', 'moved'],
  ['connect', '554 5.3.2 never', 'moved'],
  ['connect', 'HTTP/1.1 200 OK', 'moved'],
  ['ehlo', 'stall', 'moved'],
  ['ehlo', 'reset', 'moved'],
  ['ehlo', '421 4.3.2 not now', 'moved'],
  ['mail', 'stall', 'moved'],
  ['mail', 'reset', 'moved'],
  ['mail', '421 4.3.2 leaving', 'moved'],
  ['mail', '530 5.7.0 authentication required', 'moved'],
  ['mail', '451 4.3.0 try later', 'postponed'],
  ['mail', '550 5.7.1 no', 'rejected'],
  ['rcpt', 'stall', 'moved'],
  ['rcpt', 'reset', 'moved'],
  ['rcpt', 'close', 'moved'],
  ['rcpt', '421 4.3.2 leaving', 'moved'],
  ['rcpt', '450 4.2.1 busy', 'postponed'],
  ['rcpt', '550 5.1.1 unknown', 'rejected'],
  ['data', 'stall', 'moved'],
  ['data', 'reset', 'moved'],
  ['data', '451 4.3.0 later', 'postponed'],
  ['data', '554 5.7.1 no', 'rejected'],
  ['body', 'reset', 'ambiguous'],
  ['body', 'stall', 'ambiguous'],
  ['dot', 'stall', 'ambiguous'],
  ['dot', 'reset', 'ambiguous'],
  ['dot', 'close', 'ambiguous'],
  ['dot', '451 4.3.0 later', 'postponed'],
  ['dot', '554 5.7.1 spam', 'rejected'],
]

const pair = async () => {
  const [broken, healthy] = [new UpstreamServer(), new UpstreamServer()]
  const [brokenPort, healthyPort] = [await broken.listen(), await healthy.listen()]
  const row: PoolRow = poolRow([
    upstreamRow(brokenPort, { priority: 0 }),
    upstreamRow(healthyPort, { priority: 1 }),
  ])
  return { broken, healthy, row, close: () => Promise.all([broken.close(), healthy.close()]) }
}

for (const extensions of [['PIPELINING', 'SIZE'], ['SIZE']]) {
  t.test(
    `each fault has its row, ${extensions.includes('PIPELINING') ? 'with' : 'without'} PIPELINING`,
    (t) => {
      for (const [stage, act, expected] of CASES) {
        t.test(`${stage}: ${act}`, async (t) => {
          const { broken, healthy, row, close } = await pair()
          broken.extensions = extensions
          broken.script.act = (at) => (at === stage ? act : undefined)
          const { queue, stop } = startFlow([row], { timeouts: FAST })
          const one = mail()
          queue.add(one)
          await queue.settled(1)
          const [outcome] = queue.outcomes
          t.equal(queue.outcomes.length, 1)
          t.equal(outcome?.attempt, 1)
          const seen = {
            moved: 'accepted',
            postponed: 'postponed',
            rejected: 'rejected',
            ambiguous: 'postponed',
          }
          t.equal(outcome?.seen, seen[expected])
          t.equal(healthy.received.length, expected === 'moved' ? 1 : 0)
          t.equal(outcome?.detail?.ambiguous === true, expected === 'ambiguous')
          if (expected === 'postponed' || expected === 'rejected') {
            t.match(act, String(outcome?.reply?.code))
            t.equal(outcome?.detail?.stage, stage)
          }
          if (expected !== 'moved') t.equal(queue.marks.length, stage === 'mail' || stage === 'rcpt' ? 0 : 1)
          await stop()
          await close()
        })
      }
      t.end()
    },
  )
}

t.test('a big body that stops in the middle was not sent', async (t) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  t.teardown(() => server.close())
  server.script.act = (at) => (at === 'body' ? 'reset' : undefined)
  const { queue, stop } = startFlow([poolRow([upstreamRow(port)])], { timeouts: FAST })
  queue.add(mail({ raw: Buffer.from(`Subject: big\r\n\r\n${'x'.repeat(76)}\r\n`.repeat(60_000)) }))
  await queue.settled(1)
  t.match(queue.outcomes[0], { seen: 'postponed', reason: 'connection', detail: { stage: 'body' } })
  t.notOk(queue.outcomes[0]?.detail?.ambiguous)
  await stop()
})

t.test('all members down: deferred once, then nothing is tried until one answers', async (t) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  await server.close()
  const { queue, flow, logged, stop } = startFlow([poolRow([upstreamRow(port)])], { timeouts: FAST })
  queue.add(...Array.from({ length: 20 }, () => mail()))
  await queue.until(() => queue.outcomes.length >= 3 && queue.releases > 0)
  while (flow.measure().inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  await new Promise((resolve) => setImmediate(resolve))
  t.ok(queue.outcomes.every(({ seen }) => seen === 'postponed'))
  t.match(queue.outcomes[0]?.detail, { stage: 'connect', error: /ECONNREFUSED/ })
  t.ok(logged.includes('pool can not carry mail'))
  const before = queue.outcomes.length
  t.ok(before < 20, 'the others were not tried')
  const again = new UpstreamServer()
  await again.listen(port)
  t.teardown(() => again.close())
  await queue.until(() => queue.outcomes.filter(({ seen }) => seen === 'accepted').length === 20 - before)
  t.equal(again.received.length, 20 - before)
  await stop()
  t.equal(flow.measure().waiting, 0)
})

t.test('a first choice that stalls does not hold up the rest', async (t) => {
  const { broken, healthy, row, close } = await pair()
  broken.script.act = (at) => (at === 'rcpt' ? 'stall' : undefined)
  const { queue, stop } = startFlow([row], { patience: 100 })
  queue.hand(...Array.from({ length: 30 }, () => mail()))
  await queue.settled(26)
  t.equal(healthy.received.length, 26, 'four are stuck, until their time is out')
  await stop()
  await close()
})

t.test('three members: one stalls, one resets, one is well', async (t) => {
  const servers = [new UpstreamServer(), new UpstreamServer(), new UpstreamServer()]
  const ports = await Promise.all(servers.map((server) => server.listen()))
  t.teardown(() => Promise.all(servers.map((server) => server.close())))
  const [stalls, resets, well] = servers
  if (!stalls || !resets || !well) return
  stalls.script.act = (at) => (at === 'mail' ? 'stall' : undefined)
  resets.script.act = (at) => (at === 'dot' ? undefined : at === 'rcpt' ? 'reset' : undefined)
  const { queue, stop } = startFlow([poolRow(ports.map((port) => upstreamRow(port)))], { timeouts: FAST })
  queue.hand(...Array.from({ length: 100 }, () => mail()))
  await queue.settled(100)
  t.ok(queue.outcomes.every(({ seen }) => seen === 'accepted'))
  t.equal(well.received.length, 100)
  await stop()
})
