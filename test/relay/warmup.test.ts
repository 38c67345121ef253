/**
 * An upstream that warms up is given what the day allows and no more, whoever sends, and what is over goes elsewhere or waits.
 */
import t, { type Test } from 'tap'
import { newId } from '../../src/base/id.js'
import { beginOf, dayOf, warmupState } from '../../src/lifecycle/warmup.js'
import type { WarmupRow } from '../../src/store/port/tenants.js'
import { createMemory, openMemoryStore } from '../model/open.js'
import { eventually } from '../parts/eventually.js'
import { mail, POOL, poolRow, startFlow, type TestFlow, upstreamRow } from './parts.js'
import { type UpstreamScript, UpstreamServer } from './upstream-server.js'

const FIRST_DAY = dayOf(Date.parse('2026-11-20T00:00:00Z'))

const upstream = async (t: Test, script: UpstreamScript = {}) => {
  const server = new UpstreamServer(script)
  const port = await server.listen()
  t.teardown(() => server.close())
  return { server, port, taken: () => server.received.reduce((sum, { rcpt }) => sum + rcpt.length, 0) }
}

/** Where all daemons count, and their clock. */
const counting = async (plan: { first: number; days: number }) => {
  const store = openMemoryStore(createMemory())
  await store.open()
  const clock = { day: 0, ms: 0 }
  const now = () => beginOf(FIRST_DAY + clock.day) + clock.ms
  const row: WarmupRow = { id: newId('wup'), ...plan }
  const state = async () => warmupState(row, await store.warmupDays(), now())
  return { store, clock, now, row, state, options: { warmup: { store, now } } }
}

const many = (n: number) => Array.from({ length: n }, () => mail())
const isResting = ({ pools }: TestFlow) => {
  const pool = pools.get(POOL)
  return pool?.isResting === true && pool.upstreams.every(({ underWay }) => underWay === 0)
}

t.test('three daemons together give it what each day allows, and everything after the last', async (t) => {
  const { port, taken } = await upstream(t)
  const { clock, row, state, options } = await counting({ first: 50, days: 5 })
  const pool = poolRow([upstreamRow(port, { warmup: row })])
  const flows = [1, 2, 3].map(() => startFlow([pool], options))
  for (const { queue } of flows) queue.add(...many(800))
  let sum = 0
  for (const limit of [50, 100, 200, 400, 800]) {
    sum += limit
    await eventually(`all rest after ${sum}`, () => flows.every(isResting), { moves: taken })
    t.equal(taken(), sum, `day ${clock.day + 1}`)
    t.match(await state(), { day: clock.day + 1, used: limit, limit })
    clock.day++
  }
  await eventually('the rest', () => taken() === 2_400, { moves: taken })
  t.match(await state(), { day: 6, used: 0, limit: null })
  for (const { stop } of flows) await stop()
})

t.test('what is over goes to another member, of lower rank too', async (t) => {
  const [a, b] = [await upstream(t), await upstream(t)]
  const { row, state, options } = await counting({ first: 3, days: 2 })
  const members = [upstreamRow(a.port, { warmup: row }), upstreamRow(b.port, { priority: 1 })]
  const { queue, stop } = startFlow([poolRow(members)], options)
  queue.add(...many(10))
  await queue.settled(10)
  t.same([a.taken(), b.taken()], [3, 7])
  t.match(await state(), { used: 3 })
  await stop()
})

t.test('of a mail to two at the edge of the day one goes, and the other on the next day', async (t) => {
  const { server, port, taken } = await upstream(t)
  const { clock, row, options } = await counting({ first: 3, days: 9 })
  const pool = poolRow([upstreamRow(port, { warmup: row, maxConnections: 1 })], { returnPath: 'fixed' })
  const flow = startFlow([pool], options)
  for (const _ of [1, 2]) {
    const emailId = newId('em')
    flow.queue.add(mail({ emailId, address: 'a@example.com' }), mail({ emailId, address: 'b@example.com' }))
  }
  await eventually('it rests', () => isResting(flow))
  t.equal(taken(), 3)
  t.same(server.received.map(({ rcpt }) => rcpt.length).sort(), [1, 2], 'together as far as they may')
  clock.day++
  await flow.queue.settled(4)
  t.equal(taken(), 4)
  await flow.stop()
})

t.test('what it did not take counts for nothing, and a day without mail is none', async (t) => {
  let isRefusing = true
  const act = (stage: string) => (isRefusing && stage === 'rcpt' ? '450 4.2.0 later' : undefined)
  const { port, taken } = await upstream(t, { act })
  const { clock, row, state, options } = await counting({ first: 4, days: 3 })
  const flow = startFlow([poolRow([upstreamRow(port, { warmup: row })])], options)
  flow.queue.add(...many(3))
  await flow.queue.settled(3)
  await flow.stop()
  t.match(await state(), { day: 1, used: 0, startedAt: null }, 'given back at the end')
  clock.day += 5
  isRefusing = false
  const next = startFlow([poolRow([upstreamRow(port, { warmup: row })])], options)
  next.queue.add(...many(9))
  await eventually('it rests', () => isResting(next))
  t.equal(taken(), 4)
  t.match(await state(), { day: 1, used: 4 })
  await next.stop()
})

t.test('what a killed daemon had taken stays counted', async (t) => {
  const { port, taken } = await upstream(t)
  const { store, now, row, options } = await counting({ first: 20, days: 3 })
  await store.takeWarmup({ ...row, day: FIRST_DAY, count: 6, now: now() })
  const flow = startFlow([poolRow([upstreamRow(port, { warmup: row })])], options)
  flow.queue.add(...many(30))
  await eventually('it rests', () => isResting(flow))
  t.equal(taken(), 14)
  await flow.stop()
})

t.test('a clock that is set back finds the day as it was, one that is set forth is one day on', async (t) => {
  const { port, taken } = await upstream(t)
  const { clock, row, state, options } = await counting({ first: 4, days: 9 })
  const flow = startFlow([poolRow([upstreamRow(port, { warmup: row })])], options)
  flow.queue.add(...many(100))
  const rests = async (what: string, sum: number, day: number) => {
    await eventually(what, async () => isResting(flow) && (await state()).day === day)
    t.equal(taken(), sum, what)
  }
  await rests('the first day', 4, 1)
  clock.day = 300
  await rests('far ahead', 12, 2)
  clock.day = 0
  await rests('back', 12, 1)
  clock.day = 1
  await rests('the day after the first', 20, 2)
  clock.day = 300
  await rests('and there again, which is the third now', 28, 3)
  clock.day = -20
  await rests('before it began', 32, 1)
  await flow.stop()
})

t.test('mail that waits for the next day is left in the store', async (t) => {
  const [a, b] = [await upstream(t), await upstream(t)]
  const { clock, row, options } = await counting({ first: 2, days: 9 })
  const other = poolRow([upstreamRow(b.port)], { id: 'pool_other', name: 'other' })
  const flow = startFlow([poolRow([upstreamRow(a.port, { warmup: row })]), other], options)
  const { queue } = flow
  queue.add(...many(40))
  await eventually('it rests', () => isResting(flow))
  const { claims } = queue
  for (let n = 1; n <= 20; n++) {
    queue.add(...many(5))
    queue.hand(mail({ poolId: 'pool_other' }))
    await eventually('other mail', () => b.taken() === n)
  }
  t.ok(queue.claims - claims <= 20 * 3, `${queue.claims - claims} claims, of the other pool`)
  t.equal(a.taken(), 2)
  clock.day++
  await eventually('the next day', () => a.taken() === 6)
  await flow.stop()
})

t.test('what another daemon gave back is found', async (t) => {
  const { port, taken } = await upstream(t)
  const { store, now, clock, row, options } = await counting({ first: 10, days: 3 })
  await store.takeWarmup({ ...row, day: FIRST_DAY, count: 10, now: now() })
  const flow = startFlow([poolRow([upstreamRow(port, { warmup: row })])], options)
  flow.queue.add(...many(10))
  await eventually('it rests', () => isResting(flow))
  await store.returnWarmup(row.id, FIRST_DAY, 10)
  await eventually('all of them', () => taken() === 10)
  clock.ms += 1
  await flow.stop()
})

t.test('other numbers count at once, and without any there is no limit', async (t) => {
  const { port, taken } = await upstream(t)
  const { row, options } = await counting({ first: 4, days: 3 })
  const pool = (warmup: WarmupRow | null) => poolRow([upstreamRow(port, { warmup })])
  const flow = startFlow([pool(row)], options)
  flow.queue.add(...many(50))
  await eventually('it rests', () => isResting(flow))
  flow.pools.update([pool({ ...row, first: 7 })])
  await eventually('more', () => taken() === 7 && isResting(flow))
  flow.pools.update([pool({ ...row, first: 2 })])
  await eventually('fewer', () => isResting(flow))
  t.equal(taken(), 7)
  flow.pools.update([pool(null)])
  await flow.queue.settled(50)
  await flow.stop()
})

t.test('what waits for the next day comes to the end of its time, and is told why', async (t) => {
  const { port, taken } = await upstream(t)
  const { row, options } = await counting({ first: 1, days: 3 })
  const pool = poolRow([upstreamRow(port, { warmup: row })])
  const flow = startFlow([pool], { ...options, lifetime: 3_600_000, retry: [0] })
  flow.queue.add(mail())
  await eventually('it rests', () => isResting(flow))
  flow.queue.add(mail(), mail({ queuedAt: 0 }))
  await flow.flow.expire()
  await flow.queue.settled(2)
  t.match(flow.queue.outcomes[1], { seen: 'expired', reason: 'lifetime' })
  t.match(JSON.stringify(flow.queue.outcomes[1]), /had been given what their warm-up allows/)
  t.equal(taken(), 1)
  await flow.stop()
})
