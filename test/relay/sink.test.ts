/** Against Postfix's own smtp-sink, which can fail at each command in each way. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import t, { type Test } from 'tap'
import { eventually } from '../parts/eventually.js'
import { freePort, listens } from '../parts/postfix.js'
import { mail, poolRow, startFlow, upstreamRow } from './parts.js'

const SINK = '/usr/sbin/smtp-sink'

const sink = async (t: Test, ...options: string[]): Promise<number> => {
  const port = await freePort()
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn(SINK, [...user, ...options, `127.0.0.1:${port}`, '100'], { stdio: 'ignore' })
  t.teardown(() => child.kill())
  await eventually('the sink listens', () => listens(port))
  return port
}

const send = async (port: number) => {
  const { queue, stop } = startFlow([poolRow([upstreamRow(port)])])
  queue.add(mail())
  await queue.settled(1)
  await stop()
  const [outcome] = queue.outcomes
  return {
    seen: outcome?.seen,
    stage: outcome?.detail?.stage,
    code: outcome?.reply?.code,
    marks: queue.marks.length,
  }
}

t.test('smtp-sink', { skip: existsSync(SINK) ? false : 'no smtp-sink here (Debian: postfix)' }, async (t) => {
  const cases: readonly (readonly [string, string, object])[] = [
    ['-r', 'connect', { seen: 'postponed', stage: 'greeting', code: 450 }],
    ['-f', 'connect', { seen: 'postponed', stage: 'greeting', code: 500 }],
    ['-r', 'mail', { seen: 'postponed', stage: 'mail', code: 450, marks: 1 }],
    ['-f', 'mail', { seen: 'rejected', stage: 'mail', code: 500, marks: 1 }],
    ['-r', 'rcpt', { seen: 'postponed', stage: 'rcpt', code: 450, marks: 1 }],
    ['-f', 'rcpt', { seen: 'rejected', stage: 'rcpt', code: 500, marks: 1 }],
    ['-r', 'data', { seen: 'postponed', stage: 'data', code: 450, marks: 1 }],
    ['-f', 'data', { seen: 'rejected', stage: 'data', code: 500, marks: 1 }],
    ['-r', '.', { seen: 'postponed', stage: 'dot', code: 450, marks: 1 }],
    ['-f', '.', { seen: 'rejected', stage: 'dot', code: 500, marks: 1 }],
    ['-q', 'connect', { seen: 'postponed', stage: 'greeting' }],
    ['-q', 'rcpt', { seen: 'postponed', stage: 'rcpt' }],
    ['-q', '.', { seen: 'postponed', stage: 'dot', marks: 1 }],
    ['-Q', 'mail', { seen: 'postponed', stage: 'mail', code: 421 }],
    ['-Q', '.', { seen: 'postponed', stage: 'dot', code: 421 }],
  ]
  await Promise.all(
    cases.map(async ([option, at, expected]) => {
      t.match(await send(await sink(t, option, at)), expected, `${option} ${at}`)
    }),
  )
})

t.test('a crowd through smtp-sink', { skip: existsSync(SINK) ? false : 'no smtp-sink here' }, async (t) => {
  const port = await sink(t)
  const { queue, flow, stop } = startFlow([poolRow([upstreamRow(port, { maxConnections: 20 })])])
  queue.hand(...Array.from({ length: 1_000 }, () => mail()))
  await queue.settled(1_000)
  t.ok(queue.outcomes.every(({ seen }) => seen === 'accepted'))
  t.match(flow.measure(), { accepted: 1_000, failovers: 0, ambiguous: 0, waiting: 0 })
  await stop()
})
