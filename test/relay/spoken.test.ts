/**
 * What an operator reads in the log of an outage, and of a good day: each attempt with
 * its upstream and the words said there, and never the address of a recipient.
 */
import t, { type Test } from 'tap'
import { withoutAddresses } from '../../src/relay/journal.js'
import type { RelayLogLine } from '../../src/relay/settings.js'
import { eventually } from '../parts/eventually.js'
import { logPaper } from '../parts/log-paper.js'
import { mail, poolRow, startFlow, upstreamRow } from './parts.js'
import { UpstreamServer } from './upstream-server.js'

const POOL = { pool: 'pool_test', pool_name: 'main' }
const PAPER = logPaper()
const TO = 'Bob.Stone@example.com'

/** Each line has the level and the fields of its row in src/LOG.md. */
const asOnPaper = (t: Test, lines: readonly RelayLogLine[]): void => {
  for (const { level, fact, fields } of lines) {
    const row = PAPER.get(fact)
    const promised = [...(row?.fields ?? [])].sort()
    t.same([level, Object.keys(fields).sort()], [row?.level, promised], `${fact}, as on paper`)
  }
}

const start = async (t: Test, act: (stage: string) => string | undefined = () => undefined) => {
  const server = new UpstreamServer({ act })
  const port = await server.listen()
  const parts = startFlow([poolRow([upstreamRow(port)])])
  t.teardown(async () => {
    await parts.stop()
    await server.close()
  })
  const where = { ...POOL, upstream: `up_${port}`, host: '127.0.0.1', port }
  return { ...parts, server, where }
}

t.test('a handoff logs what the upstream said', async (t) => {
  const { queue, lines, where } = await start(t)
  const one = mail({ address: TO })
  queue.add(one)
  await queue.settled(1)
  t.match(lines, [
    {
      level: 'info',
      fact: 'attempted',
      fields: {
        ...where,
        email: one.emailId,
        recipient: one.recipientId,
        domain: 'example.com',
        attempt: 1,
        seen: 'accepted',
        stage: 'dot',
        code: 250,
        enhanced: '2.0.0',
        reply: /queued as TEST/,
        error: null,
        retry_s: null,
      },
    },
  ])
  asOnPaper(t, lines)
})

t.test('a refusal is told in the words of the upstream, without the address', async (t) => {
  const { queue, lines, where } = await start(t, (stage) =>
    stage === 'rcpt' ? `451 4.2.1 <${TO}>: mailbox of bob.stone is busy` : undefined,
  )
  queue.add(mail({ address: TO }))
  await queue.settled(1)
  t.match(lines[0]?.fields, { ...where, seen: 'postponed', code: 451, enhanced: '4.2.1', reply: /is busy/ })
  t.ok(Number(lines[0]?.fields.retry_s) >= 0)
  t.notMatch(JSON.stringify(lines), /stone/i)
  asOnPaper(t, lines)
})

t.test('nobody listens: each attempt says so, and the breaker opens and closes', async (t) => {
  const { queue, lines, flow, where, server } = await start(t)
  await server.close()
  queue.add(...Array.from({ length: 6 }, () => mail()))
  const opened = await eventually('a line', () => lines.find(({ fact }) => fact === 'breaker opened'))
  t.match(opened, { level: 'warn', fields: { ...where, stage: 'connect', error: /ECONNREFUSED/ } })
  t.match(
    lines.find(({ fact }) => fact === 'attempted'),
    {
      level: 'info',
      fields: { ...where, seen: 'postponed', stage: 'connect', error: /ECONNREFUSED/, code: null },
    },
  )
  t.notOk(
    lines.some(({ fact }) => fact === 'attempt moved on'),
    'there is no other one to go on with',
  )
  t.equal(flow.measure().failovers, 0)
  await server.listen(where.port)
  queue.add(mail())
  const closed = await eventually('a line', () => lines.find(({ fact }) => fact === 'breaker closed'))
  t.match(closed, { level: 'warn', fields: where })
  t.equal(lines.filter(({ fact }) => fact === 'breaker opened').length, 1, 'once')
  asOnPaper(t, lines)
})

t.test('two that take nothing: each is told, and the last one is the end', async (t) => {
  const servers = [1, 2].map(
    (n) => new UpstreamServer({ act: (stage) => (stage === 'connect' ? `421 4.3.2 busy ${n}` : undefined) }),
  )
  const ports = await Promise.all(servers.map((server) => server.listen()))
  const { queue, lines, flow, stop } = startFlow([poolRow(ports.map((port) => upstreamRow(port)))])
  t.teardown(async () => {
    await stop()
    await Promise.all(servers.map((server) => server.close()))
  })
  queue.add(mail())
  await queue.settled(1)
  const told = lines.filter(({ fact }) => fact.startsWith('attempt'))
  t.same(
    told.map(({ fact }) => fact),
    ['attempt moved on', 'attempted'],
  )
  t.same(told.map(({ fields }) => fields.port).sort(), [...ports].sort())
  t.match(queue.outcomes, [{ detail: { tried_before: new RegExp(`^127.0.0.1:${told[0]?.fields.port} at`) } }])
  t.equal(flow.measure().failovers, 1)
  asOnPaper(t, lines)
})

t.test('words without addresses', async (t) => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['<bob@example.com>: no such user', 'bob@example.com', '<…@example.com>: no such user'],
    ['no mailbox BOB here', 'bob@example.com', 'no mailbox … here'],
    ['sent by amy+x=y@b.test, rejected', 'bob@example.com', 'sent by …@b.test, rejected'],
    ['user=bob@example.com', 'bob@example.com', '…@example.com'],
    ['a user of yo is here', 'yo@example.com', 'a user of yo is here'],
    ['x'.repeat(1_000), 'bob@example.com', 'x'.repeat(300)],
  ]
  for (const [text, address, safe] of cases) t.equal(withoutAddresses(text, address), safe)
})
