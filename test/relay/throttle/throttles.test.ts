import t from 'tap'
import type { Claimed } from '../../../src/lifecycle/facts.js'
import { parseReply } from '../../../src/mail/reply.js'
import { Backlog, type RelayItem, Throttles } from '../../../src/relay/throttles.js'
import { mail, POOL } from '../parts.js'

const setUp = () => {
  let now = 0
  const back: { claimed: Claimed; delayMs: number }[] = []
  const logged: string[] = []
  const throttles = new Throttles({
    tick: () => now,
    giveBack: (claimed, delayMs) => back.push({ claimed, delayMs }),
    log: (fact) => logged.push(fact),
  })
  const backlog = new Backlog()
  const fill = (count: number, domain: string) => {
    for (let i = 0; i < count; i++) backlog.add(mail({ address: `u${i}@${domain}` }))
  }
  /** Begins whatever may begin. */
  const begin = (most = 1_000): RelayItem[] => {
    const begun: RelayItem[] = []
    while (begun.length < most) {
      const item = throttles.next(POOL, backlog)
      if (item === null) break
      throttles.begun(item)
      begun.push(item)
    }
    return begun
  }
  const end = (items: readonly RelayItem[], line: string, stage = 'dot') => {
    const said = {
      at: 0,
      began: { at: 0, tick: 0 },
      upstreamId: 'u',
      host: 'h',
      stage,
      reply: parseReply(line),
      error: null,
    }
    for (const item of items) throttles.ended(item, [{ ...said, claimed: item.claimed }])
  }
  return { throttles, backlog, back, logged, fill, begin, end, pass: (ms: number) => (now += ms) }
}

t.test('too many connections: half as many, then more again', async (t) => {
  const { fill, begin, end, logged, throttles } = setUp()
  fill(40, 'busy.example')
  fill(3, 'calm.example')
  const first = begin(20)
  const [one, ...others] = first.filter(({ claimed }) => claimed.address.endsWith('busy.example'))
  if (one === undefined) throw new Error('nothing began')
  end([one], '421 4.7.0 Too many connections', 'rcpt')
  t.same(logged, ['slowed down'])
  t.ok(
    begin().every(({ claimed }) => claimed.address.endsWith('calm.example')),
    'others go on',
  )
  const said = '421 4.7.0 Too many connections'
  t.match(throttles.slow(9), [{ domain: 'busy.example', rule: 'connections', said, since: 0 }])
  t.ok(throttles.holds(POOL), 'some stand aside')
  end(others, '250 2.0.0 Ok')
  const second = begin()
  t.ok(second.length >= 8 && second.length < 20, `${second.length} at once`)
  end(second, '250 2.0.0 Ok')
  t.notOk(throttles.holds(POOL) && begin().length === 0)
})

t.test('a pause is as long as was asked, then one at a time', async (t) => {
  const { fill, begin, end, back, pass, backlog } = setUp()
  fill(1, 'slow.example')
  end(begin(), '450 4.7.1 try again in 300 seconds', 'rcpt')
  fill(100, 'slow.example')
  t.same(begin(), [])
  t.equal(back.length, 100)
  t.equal(backlog.size, 0)
  const delays = back.map(({ delayMs }) => delayMs)
  t.ok(Math.min(...delays) >= 300_000, 'none comes back before')
  t.ok(new Set(delays).size > 50, 'they come back one after the other')
  pass(300_000)
  fill(10, 'slow.example')
  const probe = begin()
  t.equal(probe.length, 1)
  end(probe, '250 2.0.0 Ok')
  const next = begin()
  t.equal(next.length, 2)
  end(next, '250 2.0.0 Ok')
  t.equal(begin().length, 2)
})

t.test('pauses in a row double; what is taken ends the row', async (t) => {
  const { fill, begin, end, back, pass } = setUp()
  const waits: number[] = []
  for (let i = 0; i < 3; i++) {
    fill(1, 'a.example')
    end(begin(), '421 4.7.0 rate limited', 'mail')
    fill(1, 'a.example')
    begin()
    waits.push(Math.round((back.at(-1)?.delayMs ?? 0) / 10_000))
    pass(20 * 60_000)
  }
  t.same(waits, [6, 12, 24])
})

t.test('it forgets when all is well', async (t) => {
  const { fill, begin, end, logged } = setUp()
  fill(1, 'a.example')
  end(begin(), '451 4.3.0 too many connections', 'rcpt')
  for (let i = 0; i < 3_000 && !logged.includes('full speed again'); i++) {
    fill(1, 'a.example')
    end(begin(), '250 2.0.0 Ok')
  }
  t.same(logged, ['slowed down', 'full speed again'])
})

t.test('full mailboxes and greylisting slow nobody down', async (t) => {
  const { fill, begin, end, logged } = setUp()
  fill(2, 'a.example')
  const [one, two] = begin()
  if (one === undefined || two === undefined) throw new Error('nothing began')
  end([one], '452 4.2.2 mailbox full', 'rcpt')
  end([two], '451 4.7.1 greylisted, try again in 300 seconds', 'rcpt')
  t.same(logged, [])
})
