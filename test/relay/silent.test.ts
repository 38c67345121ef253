/**
 * An upstream that takes connections and says nothing, or a byte now and then: where
 * another member takes mail, it holds none for long; the only member gets all its time.
 */
import t, { type Test } from 'tap'
import { eventually } from '../parts/eventually.js'
import { logPaper } from '../parts/log-paper.js'
import { type FlowOptions, mail, poolRow, startFlow, upstreamRow } from './parts.js'
import { type UpstreamScript, UpstreamServer } from './upstream-server.js'

/** Patience that outlasts any test, and hurry that does not. */
const LONG = { connect: 600_000, greeting: 600_000, hurried: 1_000 }

const upstream = async (t: Test, script: UpstreamScript = {}) => {
  const server = new UpstreamServer(script)
  const port = await server.listen()
  t.teardown(() => server.close())
  return { server, port, row: upstreamRow(port) }
}

const start = (t: Test, rows: readonly ReturnType<typeof upstreamRow>[], options: FlowOptions = {}) => {
  const parts = startFlow([poolRow(rows)], { timeouts: LONG, ...options })
  t.teardown(() => parts.stop())
  return parts
}

const endless = (start: string): string => `${start}${'x'.repeat(10_000)}`

const SILENT: Readonly<Record<string, UpstreamScript>> = {
  'no greeting': { act: (stage) => (stage === 'connect' ? 'stall' : undefined) },
  'no answer to EHLO': { act: (stage) => (stage === 'ehlo' ? 'stall' : undefined) },
  'a greeting of one byte now and then': {
    octets: 2,
    act: (stage) => (stage === 'connect' ? endless('220-') : undefined),
  },
  'an answer to EHLO of one byte now and then': {
    octets: 2,
    act: (stage) => (stage === 'ehlo' ? endless('250-') : undefined),
  },
}

for (const [name, script] of Object.entries(SILENT)) {
  t.test(`${name}, beside a healthy member`, async (t) => {
    const [silent, healthy] = [await upstream(t, script), await upstream(t)]
    const { queue, lines } = start(t, [silent.row, healthy.row])
    const mails = Array.from({ length: 60 }, () => mail())
    queue.add(...mails)
    await queue.settled(mails.length)
    t.ok(queue.outcomes.every(({ seen }) => seen === 'accepted'))
    t.equal(healthy.server.received.length, mails.length)
    const late = queue.outcomes.filter(({ detail }) => detail?.tried_before !== undefined)
    t.ok(late.length > 0 && late.length <= 6, `${late.length} mails met it: until its breaker opened`)
    t.match(late[0]?.detail, {
      tried_before: new RegExp(
        `^127.0.0.1:${silent.port} at greeting: no (greeting|answer to EHLO) in [\\d.]+ s`,
      ),
    })
    t.ok(
      late.every(({ attempt }) => attempt === 1),
      'for the recipient it was one attempt',
    )
    t.match(
      lines.find(({ fact }) => fact === 'attempt moved on'),
      {
        level: 'info',
        fields: { host: '127.0.0.1', port: silent.port, pool_name: 'main', stage: 'greeting' },
      },
    )
  })
}

t.test('the only member has all its time, and the wait is told', async (t) => {
  const answers: (() => void)[] = []
  const { server, port, row } = await upstream(t, {
    hold: (stage, go) => stage === 'connect' && answers.push(go) > 0,
  })
  const { queue, pools, lines } = start(t, [row])
  queue.add(mail())
  const said = await eventually('a line in the log', () =>
    lines.find(({ fact }) => fact === 'upstream is silent'),
  )
  t.same(Object.keys(said.fields).sort(), [...(logPaper().get(said.fact)?.fields ?? [])].sort())
  t.match(said, { level: 'warn', fields: { upstream: row.id, host: '127.0.0.1', port, stage: 'greeting' } })
  t.match(pools.upstreams()[0]?.lastError, {
    stage: 'greeting',
    message: /^no greeting in .* s, still waiting$/,
  })
  t.equal(queue.outcomes.length, 0)
  for (const go of answers) go()
  await queue.settled(1)
  t.match(queue.outcomes, [{ seen: 'accepted' }])
  t.equal(server.received.length, 1)
})

t.test('a step ends as a whole, whatever trickles in', async (t) => {
  const { row } = await upstream(t, SILENT['an answer to EHLO of one byte now and then'])
  const { queue } = start(t, [row], { timeouts: { ...LONG, greeting: 1_500 } })
  queue.add(mail())
  await queue.settled(1)
  t.match(queue.outcomes, [
    { seen: 'postponed', detail: { stage: 'greeting', error: /^no answer to EHLO in/ } },
  ])
})

t.test('who was left in a hurry and takes mail again is no stranger', async (t) => {
  const [slow, silent] = [await upstream(t), await upstream(t, SILENT['no greeting'])]
  const answers: (() => void)[] = []
  slow.server.script.hold = (stage, go) => stage === 'connect' && answers.push(go) > 0
  const rows = [slow.row, { ...silent.row, priority: 1 }]
  const { queue, lines, pools } = start(t, rows)
  queue.add(mail())
  await eventually('it turned to the silent one', () => silent.server.connections === 1)
  await eventually('which is waited for', () => lines.some(({ fact }) => fact === 'upstream is silent'))
  delete slow.server.script.hold
  queue.add(mail())
  await queue.settled(2)
  t.ok(queue.outcomes.every(({ seen }) => seen === 'accepted'))
  t.equal(slow.server.received.length, 2, 'both went where mail is taken')
  t.ok(pools.upstreams().every(({ underWay }) => underWay === 0))
})

t.test('when both are slow, the second is waited for', async (t) => {
  const answers: (() => void)[] = []
  const slow: UpstreamScript = { hold: (stage, go) => stage === 'connect' && answers.push(go) > 0 }
  const rows = [(await upstream(t, slow)).row, (await upstream(t, slow)).row]
  const { queue, lines } = start(t, rows)
  queue.add(mail())
  await eventually('both were tried', () => answers.length === 2)
  await eventually('the second is waited for', () => lines.some(({ fact }) => fact === 'upstream is silent'))
  answers[1]?.()
  await queue.settled(1)
  t.match(queue.outcomes, [{ seen: 'accepted', attempt: 1 }])
})
