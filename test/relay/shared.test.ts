/**
 * Pools with `return_path: fixed`: recipients of one message share a transaction
 * where they go to the same upstream, and each is settled by what was said to it.
 */
import t, { type Test } from 'tap'
import type { Claimed } from '../../src/lifecycle/facts.js'
import { mail, poolRow, startFlow, upstreamRow } from './parts.js'
import { type Act, type Stage, UpstreamServer } from './upstream-server.js'

const FAST = { connect: 500, greeting: 500, mail: 500, rcpt: 500, data: 500, block: 500, dot: 500 }

const start = async (t: Test, act: (stage: Stage, line: string) => Act | undefined = () => undefined) => {
  const server = new UpstreamServer({ act })
  const port = await server.listen()
  const flow = startFlow([poolRow([upstreamRow(port)], { returnPath: 'fixed' })], { timeouts: FAST })
  t.teardown(async () => {
    await flow.stop()
    await server.close()
  })
  return { server, ...flow }
}

let count = 0
const group = (names: readonly string[], change: Partial<Claimed> = {}): Claimed[] => {
  const emailId = `em_shared${++count}`
  return names.map((name) =>
    mail({ emailId, address: name.includes('@') ? name : `${name}@example.com`, ...change }),
  )
}
const rcptsOf = (server: UpstreamServer) => server.received.map(({ rcpt }) => rcpt.length)

for (const extensions of [['PIPELINING', 'DSN'], ['DSN']]) {
  const how = extensions.length > 1 ? 'with' : 'without'
  t.test(`one transaction, settled for each, ${how} PIPELINING`, async (t) => {
    const { server, queue, flow } = await start(t, (stage, line) =>
      stage !== 'rcpt'
        ? undefined
        : line.includes('<gone@')
          ? '550 5.1.1 no such user'
          : line.includes('<busy@')
            ? '450 4.2.1 busy'
            : undefined,
    )
    server.extensions = extensions
    const mails = group(['a', 'gone', 'b', 'busy', 'c'])
    queue.hand(...mails)
    await queue.settled(5)
    t.same(rcptsOf(server), [3])
    t.match(server.received[0]?.mail, /^MAIL FROM:<fixed@bounces.test>/)
    t.ok(server.received[0]?.rcpt.every((line) => line.includes('NOTIFY=') && line.includes('ORCPT=')))
    const of = (i: number) => queue.outcomes.find(({ recipientId }) => recipientId === mails[i]?.recipientId)
    for (const i of [0, 2, 4]) t.match(of(i), { seen: 'accepted', attempt: 1, detail: { stage: 'dot' } })
    t.match(of(1), { seen: 'rejected', reply: { code: 550 }, detail: { stage: 'rcpt' } })
    t.match(of(3), { seen: 'postponed', reply: { code: 450 }, detail: { stage: 'rcpt' } })
    t.same(
      queue.marks.map(({ recipientId }) => recipientId),
      mails.map(({ recipientId }) => recipientId),
      'one mark for each, before MAIL',
    )
    t.equal(flow.stats.attempts, 5)
  })
}

for (const extensions of [['PIPELINING'], []]) {
  t.test(`all refused: nothing is sent, and RSET before the next (${extensions})`, async (t) => {
    const { server, queue } = await start(t, (stage, line) =>
      stage === 'rcpt' && line.includes('no') ? '550 5.1.1 no' : undefined,
    )
    server.extensions = extensions
    queue.hand(...group(['no1', 'no2', 'no3']))
    await queue.settled(3)
    t.ok(queue.outcomes.every(({ seen, detail }) => seen === 'rejected' && detail?.stage === 'rcpt'))
    t.equal(server.lines.includes('DATA'), extensions.length > 0, 'it travels with RCPT')
    queue.hand(mail())
    await queue.settled(4)
    t.same(rcptsOf(server), [1])
    t.ok(server.lines.indexOf('RSET') > 0)
    t.equal(server.connections, 1)
  })
}

t.test('refused again and again: DATA is said once for nobody, not at every mail', async (t) => {
  const { server, queue } = await start(t, (stage, line) =>
    stage === 'rcpt' && line.includes('no') ? '550 5.1.1 no' : undefined,
  )
  const isData = (line: string): boolean => line === 'DATA'
  for (const n of [1, 2, 3]) {
    queue.hand(...group([`no${n}`]))
    await queue.settled(n)
  }
  t.equal(server.lines.filter(isData).length, 1)
  queue.hand(mail())
  await queue.settled(4)
  t.same(rcptsOf(server), [1])
  t.equal(server.lines.filter(isData).length, 2)
})

t.test('all refused, and DATA taken all the same: nothing is sent, on a connection that ends', async (t) => {
  const { server, queue } = await start(t, (stage, line) =>
    stage === 'rcpt' && line.includes('no') ? '550 5.1.1 no' : undefined,
  )
  server.wantsNoRecipient = true
  queue.hand(...group(['no1', 'no2']))
  await queue.settled(2)
  t.ok(queue.outcomes.every(({ seen, detail }) => seen === 'rejected' && detail?.stage === 'rcpt'))
  queue.hand(mail())
  await queue.settled(3)
  t.same(rcptsOf(server), [1])
  t.equal(server.connections, 2)
})

t.test('the reply to DATA and to the dot is for all that were accepted', async (t) => {
  for (const [stage, reply, seen] of [
    ['data', '451 4.3.0 later', 'postponed'],
    ['dot', '554 5.7.1 spam', 'rejected'],
  ] as const) {
    const { queue } = await start(t, (at, line) =>
      at === stage ? reply : at === 'rcpt' && line.includes('gone') ? '550 5.1.1 gone' : undefined,
    )
    const mails = group(['a', 'gone', 'b'])
    queue.hand(...mails)
    await queue.settled(3)
    for (const outcome of queue.outcomes) {
      const gone = outcome.recipientId === mails[1]?.recipientId
      t.match(outcome, gone ? { seen: 'rejected', detail: { stage: 'rcpt' } } : { seen, detail: { stage } })
    }
  }
})

t.test('broken after the dot: all that were accepted are ambiguous, and no other', async (t) => {
  const { queue } = await start(t, (at, line) =>
    at === 'dot' ? 'reset' : at === 'rcpt' && line.includes('gone') ? '550 5.1.1 gone' : undefined,
  )
  queue.hand(...group(['a', 'gone', 'b'], { ambiguous: 'hold' }))
  await queue.settled(3)
  const ambiguous = queue.outcomes.filter(({ detail }) => detail?.ambiguous === true)
  t.equal(ambiguous.length, 2)
  t.ok(ambiguous.every(({ seen, retryAt }) => seen === 'postponed' && retryAt === null))
  t.match(
    queue.outcomes.find(({ seen }) => seen === 'rejected'),
    { detail: { stage: 'rcpt' } },
  )
})

t.test('all move to another member together', async (t) => {
  const [broken, healthy] = [new UpstreamServer(), new UpstreamServer()]
  broken.script.act = (stage, line) => (stage === 'rcpt' && line.includes('<b@') ? 'reset' : undefined)
  const rows = [upstreamRow(await broken.listen()), upstreamRow(await healthy.listen(), { priority: 1 })]
  const { queue, stop } = startFlow([poolRow(rows, { returnPath: 'fixed' })], { timeouts: FAST })
  queue.hand(...group(['a', 'b', 'c']))
  await queue.settled(3)
  t.ok(queue.outcomes.every(({ seen, attempt }) => seen === 'accepted' && attempt === 1))
  t.same(rcptsOf(healthy), [3])
  await stop()
  await Promise.all([broken.close(), healthy.close()])
})

t.test('at most a hundred at once; fewer where the upstream says so', async (t) => {
  const { server, queue } = await start(t)
  queue.hand(...group(Array.from({ length: 230 }, (_, i) => `u${i}`)))
  await queue.settled(230)
  t.same(rcptsOf(server).sort(), [100, 100, 30])
  t.equal(queue.outcomes.filter(({ seen }) => seen === 'accepted').length, 230)

  let taken = 0
  const stingy = await start(t, (stage) => {
    if (stage === 'mail') taken = 0
    return stage === 'rcpt' && ++taken > 10 ? '452 4.5.3 Too many recipients' : undefined
  })
  stingy.server.extensions = []
  stingy.queue.hand(...group(Array.from({ length: 25 }, (_, i) => `u${i}`)))
  await stingy.queue.settled(25)
  t.ok(
    stingy.queue.outcomes.every(({ seen }) => seen === 'accepted'),
    'nobody is deferred for it',
  )
  t.ok(rcptsOf(stingy.server).every((n) => n <= 10))
})

t.test('claimed mail is grouped too; other mails and other needs stay apart', async (t) => {
  const { server, queue } = await start(t)
  queue.add(...group(['a', 'b', 'c']), ...group(['d', 'żółć@example.com', 'e']), mail())
  await queue.settled(7)
  t.same(rcptsOf(server).sort(), [1, 1, 2, 3])
})

t.test('one whose lease is gone keeps the others from going with it', async (t) => {
  const { server, queue } = await start(t)
  const mails = group(['a', 'held', 'c'])
  queue.refuse = mails[1]?.recipientId ?? null
  queue.hand(...mails)
  await queue.until(() => queue.releases >= 3)
  t.equal(queue.outcomes.length, 0)
  queue.drop(mails[1]?.recipientId ?? '')
  queue.add(...mails.filter((_, i) => i !== 1).map((one) => ({ ...one, leaseGen: 5 })))
  await queue.settled(2)
  t.same(rcptsOf(server), [2])
})

t.test('a throttled domain steps out of the group', async (t) => {
  const { server, queue, logged } = await start(t, (stage, line) =>
    stage === 'rcpt' && line.includes('@slow.test') ? '450 4.7.0 slow down' : undefined,
  )
  queue.hand(mail({ address: 'first@slow.test' }))
  await queue.settled(1)
  t.ok(logged.includes('slowed down'))
  queue.hand(...group(['a', 'x@slow.test', 'b']))
  await queue.settled(3)
  t.same(rcptsOf(server), [2])
  await queue.until(() => queue.releases >= 1)
})

t.test('a message of one recipient carries a signed reference, a shared one none', async (t) => {
  const { server, queue } = await start(t)
  const [alone] = group(['alone'])
  const shared = group(['a', 'b'])
  if (alone === undefined) throw new Error('nobody')
  queue.hand(alone)
  await queue.settled(1)
  queue.hand(...shared)
  await queue.settled(3)
  const [first, second] = server.received.map(({ wire }) => wire.toString())
  t.match(first, `X-Postern-Ref: r1${alone.recipientId}\r\n`)
  t.notMatch(second, /X-Postern-Ref/i, 'who gets one could report for the others')
})
