/**
 * The daemon's wall clock is set while it runs and while it is away: waiting mail
 * keeps its waits, nothing ends for it, appointments stand, and somebody is told.
 */
import t, { type Test } from 'tap'
import { fakeClock, noFakeClock } from '../parts/clock.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const REFUSED = '451 4.3.0 come again'

const here = { skip: noFakeClock, timeout: 120_000 }

/** A daemon with a clock of its own, and an upstream that takes mail only while it is `healthy`. */
const setUp = async (t: Test, relay: Record<string, unknown> = {}) => {
  const upstream = { healthy: false, tries: 0 }
  const server = new UpstreamServer({
    act: (stage) => {
      if (stage === 'rcpt') upstream.tries++
      return stage === 'rcpt' && !upstream.healthy ? REFUSED : undefined
    },
  })
  const port = await server.listen()
  const clock = fakeClock(t)
  const daemon = new Postern({ relay: { retry: ['1s'], lifetime: '1d', poll: '100ms', ...relay } })
  t.teardown(async () => {
    await daemon.remove()
    await server.close()
  })
  await daemon.start(clock.env)
  const key = await daemon.key()
  await daemon.route(`smtp://127.0.0.1:${port}?tls=none`)
  const send = async (n: number, more: Record<string, unknown> = {}): Promise<string[]> => {
    const ids: string[] = []
    for (let i = 0; i < n; i++) {
      const mail = { from: 'a@acme.test', to: `n${i}@example.com`, subject: 'Hi', text: 'hi', ...more }
      const { status, body, text } = await daemon.api('POST', '/v1/emails', key, mail)
      if (status !== 202) throw new Error(`${status} ${text}`)
      ids.push(body.id as string)
    }
    return ids
  }
  const all = (ids: readonly string[], ...wanted: string[]) =>
    Promise.all(ids.map((id) => daemon.until(key, id, wanted)))
  const restart = async () => {
    await daemon.stop()
    await daemon.start(clock.env)
  }
  const metrics = async () => (await fetch(`http://127.0.0.1:${daemon.ports.management}/metrics`)).text()
  const told = (steps: number) =>
    eventually(
      `${steps} steps in the log`,
      () => daemon.output.filter((line) => line.includes('"clock stepped"')).length >= steps,
    )
  const tried = (more: number) => {
    const enough = upstream.tries + more
    return eventually(`${more} more attempts`, () => upstream.tries >= enough)
  }
  return { daemon, key, clock, upstream, server, send, all, restart, metrics, told, tried }
}

t.test('an hour ahead, and right again', here, async (t) => {
  const { clock, upstream, send, all, told, metrics } = await setUp(t)
  const before = await send(3)
  await all(before, 'deferred')
  clock.set(HOUR)
  await told(1)
  const during = await send(3)
  await all(during, 'deferred')
  clock.set(0)
  await told(2)
  upstream.healthy = true
  await all([...before, ...during], 'sent')
  const counted = async () => /^postern_clock_steps_total 2$/m.test(await metrics())
  t.ok(await eventually('a metric that counts both steps', counted))
})

t.test('the same, put right while it was stopped', here, async (t) => {
  const { daemon, clock, upstream, send, all } = await setUp(t)
  clock.set(HOUR)
  const ids = await send(3)
  await all(ids, 'deferred')
  await daemon.stop()
  clock.set(0)
  upstream.healthy = true
  await daemon.start(clock.env)
  t.ok(daemon.output.some((line) => line.includes('"clock was ahead"')))
  await all(ids, 'sent')
})

t.test('two days ahead, with a lifetime of one: nothing ends, and there is no storm', here, async (t) => {
  const { clock, upstream, send, all, told, tried, daemon, key } = await setUp(t)
  const ids = await send(12)
  await all(ids, 'deferred')
  clock.set(2 * DAY)
  await told(1)
  await tried(3 * ids.length)
  for (const id of ids) {
    const { body } = await daemon.api('GET', `/v1/emails/${id}`, key)
    t.equal(body.recipients[0].status, 'deferred')
  }
  clock.set(0)
  await told(2)
  const fresh = await send(1)
  upstream.healthy = true
  await all([...ids, ...fresh], 'sent')
})

t.test('two days ahead with long waits: nobody is tried before its time', here, async (t) => {
  const { clock, upstream, send, all, told, daemon } = await setUp(t, { retry: ['20h'] })
  const ids = await send(5)
  await all(ids, 'deferred')
  const tries = upstream.tries
  const dues = async (): Promise<number[]> => {
    const list = (await daemon.json('queue', 'list')) as { due_at: string }[]
    return list.map(({ due_at }) => Date.parse(due_at)).sort((a, b) => a - b)
  }
  const before = await dues()
  clock.set(2 * DAY)
  await told(1)
  // a fresh mail passes through the same claim
  await all(await send(1, { to: 'fresh@example.com' }), 'deferred')
  t.equal(upstream.tries, tries + 1)
  clock.set(0)
  await told(2)
  const after = await dues()
  const missed = before.filter((due) => !after.some((other) => Math.abs(other - due) <= 1_000))
  t.same(missed, [], 'each is due when it was')
})

t.test('an hour back', here, async (t) => {
  const { clock, upstream, send, all, told } = await setUp(t)
  const ids = await send(5)
  await all(ids, 'deferred')
  clock.set(-HOUR)
  await told(1)
  upstream.healthy = true
  await all(ids, 'sent')
})

t.test('scheduled for 20 days ahead: ten restarts and steps of two days', here, async (t) => {
  const { daemon, key, clock, upstream, send, restart, told, server } = await setUp(t)
  upstream.healthy = true
  const scheduled_at = new Date(Date.now() + 20 * DAY).toISOString()
  const [id = ''] = await send(1, { scheduled_at })
  for (let i = 0; i < 10; i++) {
    clock.set([2 * DAY, 0, -2 * DAY, 0][i % 4] ?? 0)
    await told(1)
    await restart()
    const { body } = await daemon.api('GET', `/v1/emails/${id}`, key)
    t.match(body, { status: 'scheduled', scheduled_at })
  }
  t.equal(server.received.length, 0)
  clock.set(20 * DAY + 60_000)
  await daemon.until(key, id, ['sent'])
})
