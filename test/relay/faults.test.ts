/**
 * The table of upstream faults: at each stage, each way to
 * fail, with a healthy second member beside the broken one. Nothing was sent
 * before DATA, so there the second member takes the mail within the same attempt.
 */
import t from 'tap'
import type { KnownPool } from '../../src/store/port/tenants.js'
import { eventually } from '../parts/eventually.js'
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
  ['connect', 'endless', 'moved'],
  ['connect', '220 hello\r\n250 out of turn', 'moved'],
  ['ehlo', 'stall', 'moved'],
  ['ehlo', 'reset', 'moved'],
  ['ehlo', 'close', 'moved'],
  ['ehlo', 'endless', 'moved'],
  ['ehlo', '421 4.3.2 not now', 'moved'],
  ['ehlo', '550 5.7.1 go away', 'moved'],
  ['mail', 'stall', 'moved'],
  ['mail', 'reset', 'moved'],
  ['mail', 'close', 'moved'],
  ['mail', 'endless', 'moved'],
  ['mail', '250-never\r\n250-ends', 'moved'],
  ['mail', 'not an answer', 'moved'],
  ['mail', '999 neither', 'moved'],
  ['mail', '421 4.3.2 leaving', 'moved'],
  ['mail', '530 5.7.0 authentication required', 'moved'],
  ['mail', '451 4.3.0 try later', 'postponed'],
  ['mail', '550 5.7.1 no', 'rejected'],
  ['rcpt', 'stall', 'moved'],
  ['rcpt', 'reset', 'moved'],
  ['rcpt', 'close', 'moved'],
  ['rcpt', 'endless', 'moved'],
  ['rcpt', '250 2.1.5 Ok\r\n354 go\r\n250 2.0.0 taken', 'moved'],
  ['rcpt', '421 4.3.2 leaving', 'moved'],
  ['rcpt', '450 4.2.1 busy', 'postponed'],
  ['rcpt', '550 5.1.1 unknown', 'rejected'],
  ['data', 'stall', 'moved'],
  ['data', 'reset', 'moved'],
  ['data', 'close', 'moved'],
  ['data', 'endless', 'moved'],
  ['data', '421 4.3.2 leaving', 'moved'],
  ['data', '354 go\r\n250 2.0.0 taken before it came', 'moved'],
  ['data', '451 4.3.0 later', 'postponed'],
  ['data', '554 5.7.1 no', 'rejected'],
  ['body', 'reset', 'ambiguous'],
  ['body', 'stall', 'ambiguous'],
  ['dot', 'stall', 'ambiguous'],
  ['dot', 'reset', 'ambiguous'],
  ['dot', 'close', 'ambiguous'],
  ['dot', 'endless', 'ambiguous'],
  ['dot', 'not an answer', 'ambiguous'],
  ['dot', '250-taken\r\n550 or not', 'ambiguous'],
  ['dot', '421 4.3.2 leaving', 'postponed'],
  ['dot', '451 4.3.0 later', 'postponed'],
  ['dot', '554 5.7.1 spam', 'rejected'],
]

const pair = async () => {
  const [broken, healthy] = [new UpstreamServer(), new UpstreamServer()]
  const [brokenPort, healthyPort] = [await broken.listen(), await healthy.listen()]
  const row: KnownPool = poolRow([
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
          if (expected !== 'moved') t.equal(queue.marks.length, 1)
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

t.test('where a big mail was refused, another reply may be on its way: no other mail meets it', async (t) => {
  for (const stage of ['body', 'dot']) {
    const server = new UpstreamServer()
    const port = await server.listen()
    let refused = false
    server.script.act = (at, line) => {
      if (at !== stage || refused || (at === 'body' && line === '')) return undefined
      refused = true
      return '552 5.3.4 too big'
    }
    const { queue, stop } = startFlow([poolRow([upstreamRow(port, { maxConnections: 1 })])])
    const big = mail({ raw: Buffer.from(`Subject: big\r\n\r\n${'x'.repeat(76)}\r\n`.repeat(2_000)) })
    queue.add(big, mail())
    await queue.settled(2)
    t.match(queue.outcomes[0], { recipientId: big.recipientId, seen: 'rejected', reply: { code: 552 } })
    t.match(queue.outcomes[1], { seen: 'accepted' })
    t.equal(server.connections, 2)
    await stop()
    await server.close()
  }
})

t.test('before MAIL: STARTTLS and AUTH, in every way, and never the message in clear', async (t) => {
  const acts: readonly Act[] = [
    'stall',
    'reset',
    'close',
    'endless',
    '421 4.3.2 leaving',
    '454 4.7.0 later',
    '554 5.7.0 no',
    'not an answer',
  ]
  for (const stage of ['starttls', 'auth'] as const) {
    for (const act of acts) {
      const { broken, healthy, row, close } = await pair()
      broken.extensions = ['PIPELINING', stage === 'auth' ? 'AUTH PLAIN LOGIN' : 'STARTTLS']
      broken.script.act = (at) => (at === stage ? act : undefined)
      const [first, second] = row.upstreams
      if (first === undefined || second === undefined) return
      const change = stage === 'auth' ? { user: 'u', sealedPassword: 'p' } : { tls: 'required' as const }
      const { queue, stop } = startFlow([{ ...row, upstreams: [{ ...first, ...change }, second] }], {
        timeouts: FAST,
      })
      queue.add(mail())
      await queue.settled(1)
      t.match(queue.outcomes, [{ seen: 'accepted', attempt: 1 }], `${stage}: ${act}`)
      t.equal(healthy.received.length, 1)
      t.notOk(broken.lines.some((line) => line.startsWith('MAIL')))
      await stop()
      await close()
    }
  }
})

t.test('however an upstream parts, nothing stays open', async (t) => {
  for (const act of ['stall', 'reset', 'close', 'endless', '421 4.3.2 leaving', '502 what'] as const) {
    const server = new UpstreamServer({ act: (at) => (at === 'quit' ? act : undefined) })
    const port = await server.listen()
    const { queue, pools, stop } = startFlow([poolRow([upstreamRow(port)])], { timeouts: FAST, idle: 20 })
    queue.add(mail())
    await queue.settled(1)
    await eventually(
      `closed after ${act}`,
      () => pools.upstreams()[0]?.open === 0 && server.lines.includes('QUIT'),
    )
    queue.add(mail())
    await queue.settled(2)
    t.equal(queue.outcomes.filter(({ seen }) => seen === 'accepted').length, 2, act)
    await stop()
    await server.close()
  }
})

t.test('an upstream that speaks one octet at a time', async (t) => {
  const server = new UpstreamServer({ octets: true })
  server.script.act = (stage, line) =>
    stage === 'dot'
      ? '250-2.0.0 taken\r\n250 2.0.0 as \u00fc'
      : stage === 'rcpt' && line.includes('no@')
        ? '550-5.1.1 there is\r\n550 5.1.1 no such user'
        : undefined
  const port = await server.listen()
  t.teardown(() => server.close())
  const { queue, stop } = startFlow([poolRow([upstreamRow(port, { maxConnections: 1 })])])
  queue.add(mail(), mail({ address: 'no@example.com' }), mail())
  await queue.settled(3)
  t.same(queue.outcomes.map(({ seen }) => seen).sort(), ['accepted', 'accepted', 'rejected'])
  t.match(
    queue.outcomes.find(({ seen }) => seen === 'rejected'),
    { reply: { code: 550, enhanced: '5.1.1', text: 'there is no such user' } },
  )
  await stop()
})

t.test('taken before it was sent is not taken', async (t) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  t.teardown(() => server.close())
  server.script.act = (at, line) => (at === 'body' && line !== '' ? '250 2.0.0 already' : undefined)
  const { queue, stop } = startFlow([poolRow([upstreamRow(port)])], { timeouts: FAST })
  queue.add(mail({ raw: Buffer.from(`Subject: big\r\n\r\n${'x'.repeat(76)}\r\n`.repeat(100_000)) }))
  await queue.settled(1)
  t.match(queue.outcomes[0], { seen: 'postponed', reply: null, detail: { stage: 'body' } })
  await stop()
})

t.test('all members down: deferred once, then nothing is tried until one answers', async (t) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  await server.close()
  const { queue, flow, stop } = startFlow([poolRow([upstreamRow(port)])], { timeouts: FAST })
  t.teardown(stop)
  queue.add(...Array.from({ length: 20 }, () => mail()))
  await queue.until(() => queue.outcomes.length >= 3 && queue.releases > 0)
  await eventually('nothing is under way', () => flow.measure().inFlight === 0)
  await new Promise((resolve) => setImmediate(resolve))
  t.ok(queue.outcomes.every(({ seen }) => seen === 'postponed'))
  t.match(queue.outcomes[0]?.detail, { stage: 'connect', error: /ECONNREFUSED/ })
  const before = queue.outcomes.length
  t.ok(before < 20, 'the others were not tried')
  const again = new UpstreamServer()
  await again.listen(port)
  t.teardown(() => again.close())
  // on a slow machine one more was tried before it answered
  await queue.settled(20)
  const taken = queue.outcomes.filter(({ seen }) => seen === 'accepted').length
  t.ok(taken >= 20 - before - 1, `${taken} of ${20 - before}`)
  t.equal(again.received.length, taken)
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
