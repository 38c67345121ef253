/** Whose leases may be taken away by now sends nothing: not MAIL, not the message, not its final dot. */
import t, { type Test } from 'tap'
import { eventually } from '../parts/eventually.js'
import { mail, poolRow, startFlow, upstreamRow } from './parts.js'
import { type Stage, UpstreamServer } from './upstream-server.js'

const LARGE = Buffer.from(`Subject: x\r\n\r\n${'0123456789abcdef\r\n'.repeat(20_000)}`)

/** The promise lapses when the upstream hears this, or was never there. */
const lapseAt = async (t: Test, stage: Stage | null, raw?: Buffer) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  t.teardown(() => server.close())
  let isPromised = stage !== null
  server.script.act = (at) => {
    if (at === stage) isPromised = false
    return undefined
  }
  const { queue, stop } = startFlow([poolRow([upstreamRow(port)])], { mayGo: () => isPromised })
  queue.hand(mail(raw === undefined ? {} : { raw, size: raw.byteLength }))
  await queue.settled(1)
  await stop()
  return { server, outcome: queue.outcomes[0] }
}

t.test('before MAIL', async (t) => {
  const { server, outcome } = await lapseAt(t, null)
  t.equal(outcome?.seen, 'postponed')
  t.notOk(server.lines.some((line) => /^MAIL/.test(line)))
})

t.test('before the message', async (t) => {
  const { server, outcome } = await lapseAt(t, 'data')
  t.match(outcome, { seen: 'postponed', detail: { stage: 'data' } })
  t.ok(server.lines.some((line) => /^DATA/.test(line)))
  t.same(server.received, [])
})

t.test('before the final dot of a large one', async (t) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  t.teardown(() => server.close())
  let asked = 0
  // MAIL, the message, and each of its blocks but the last
  const mayGo = () => ++asked < 5
  const { queue, stop } = startFlow([poolRow([upstreamRow(port)])], { mayGo })
  queue.hand(mail({ raw: LARGE, size: LARGE.byteLength }))
  await queue.settled(1)
  await stop()
  t.match(queue.outcomes[0], { seen: 'postponed', detail: { stage: 'body' } })
  t.same(server.received, [])
})

t.test('and keeps no connection, at rest or in an envelope', async (t) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  t.teardown(() => server.close())
  let isPromised = true
  const { queue, stop } = startFlow([poolRow([upstreamRow(port)])], { mayGo: () => isPromised })
  t.teardown(stop)
  queue.hand(mail())
  await queue.settled(1)
  t.equal(server.open, 1, 'kept for the next mail')
  isPromised = false
  await eventually('it is closed', () => server.open === 0)
  isPromised = true
  server.script.act = (stage) => {
    if (stage !== 'rcpt') return undefined
    isPromised = false
    return 'stall'
  }
  queue.hand(mail())
  await eventually(
    'so is one whose upstream says nothing',
    () => server.connections === 2 && server.open === 0,
  )
})
