/** An endpoint that fails, over a real store and to a real receiver: when it is tried, when it is given up, how it comes back. */
import t from 'tap'
import { waitAfter } from '../../../src/webhook/health.js'
import { eventually } from '../../parts/eventually.js'
import { follow } from '../../store/fixture.js'
import {
  type Bench,
  bench,
  DAY,
  gotAll,
  HOUR,
  isHealth,
  listedAll,
  MINUTE,
  passUntil,
  SECOND,
} from './fixture.js'

const DOWN = { kind: 'status', status: 500 } as const
const UP = { kind: 'status', status: 200 } as const

/** Waits until it is failing and was tried once: what was under way before has ended by then. */
const failsFirst = async (b: Bench, id: string): Promise<void> => {
  await isHealth(b, id, 'failing')
  b.clock.pass(5 * SECOND)
  await eventually('it was tried', async () => (await b.state(id)).probes === 1, { seen: () => b.state(id) })
}

/** Tries that are stored. */
const triesOf = async (b: Bench, id: string): Promise<number> =>
  (await b.posts(id)).reduce((sum, { attempts }) => sum + attempts, 0)

/** The tries of a failing endpoint from one to another of the list, each at its time and stored before the next. */
const failsOn = async (b: Bench, id: string, from: number, to: number): Promise<void> => {
  const before = await triesOf(b, id)
  for (let n = from; n <= to; n++) {
    b.clock.pass(waitAfter(n, null, () => 1))
    await eventually(`try ${n}`, async () => (await triesOf(b, id)) > before + n - from)
  }
}

const isGivenUp = (b: Bench, id: string): Promise<unknown> =>
  eventually('all that was posted is given up', async () =>
    (await b.posts(id)).every(({ state }) => state === 'failed'),
  )

t.test('down for an hour: few tries, nothing lost, nothing twice', async (t) => {
  const b = await bench(t)
  const id = await b.add('/a')
  await b.start()
  const early = await b.events(50)
  await gotAll(b, '/a', early)
  await listedAll(b, id, early)
  await b.receiver.kill()
  const ids = await b.events(400)
  await failsFirst(b, id)
  const { mark } = await b.state(id)
  for (let minute = 0; minute < 60; minute++) {
    b.clock.pass(MINUTE)
    if (minute % 10 === 0) ids.push(...(await b.events(10)))
  }
  await passUntil(b, 'it was tried', MINUTE, async () => (await b.state(id)).probes >= 3)
  t.equal((await b.state(id)).mark, mark, 'its place stands')
  t.ok((await b.posts(id, true)).length <= 28, 'and few posts are stored')
  await b.receiver.revive()
  await passUntil(b, 'it is back', MINUTE, async () => (await b.state(id)).health === 'healthy')
  const hasAll = () => {
    const got = new Set(b.receiver.idsOf('/a'))
    return ids.every((one) => got.has(one))
  }
  await passUntil(b, 'all is there', MINUTE, hasAll, { moves: () => b.receiver.idsOf('/a').length })
  const got = b.receiver.idsOf('/a')
  t.equal(new Set(got).size, got.length, 'each was taken once')
  t.equal(got.length, early.length + ids.length)
})

t.test('while it is failing one post at a time is tried, by the list of waits', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', DOWN)
  const id = await b.add('/a')
  await b.add('/fine')
  await b.start()
  const ids = await b.events(300)
  await failsFirst(b, id)
  const before = b.receiver.idsOf('/a').length
  t.ok(before > 20 && before <= 28, `${before}`)
  t.equal((await b.posts(id, true)).length, before - 1, 'tried was one that had failed')
  for (const [n, wait] of [5 * MINUTE, 30 * MINUTE].entries()) {
    b.clock.pass(wait - 1)
    for (let look = 0; look < 2; look++) {
      const event = await b.events(1)
      await gotAll(b, '/fine', event) // a look went by
      ids.push(...event)
    }
    t.equal(b.receiver.idsOf('/a').length, before + n, 'not before its time')
    b.clock.pass(1)
    await eventually('a probe', async () => (await b.state(id)).probes === n + 2)
    t.equal(b.receiver.idsOf('/a').length, before + n + 1)
  }
  const told = await eventually('its owners are told', async () => {
    const rows = await b.logged('webhook.failing')
    return rows.length > 0 && rows
  })
  t.match(told, [{ change: true, data: { webhook_id: id, failures: before + 2, waiting: Number } }])
  await eventually('the others hear of it', () =>
    b.receiver.got('/fine').some(({ body }) => JSON.parse(body).type === 'webhook.failing'),
  )
  await b.receiver.set('/a', UP)
  b.clock.pass(2 * HOUR)
  await isHealth(b, id, 'healthy')
  await eventually('recovered', async () => (await b.logged('webhook.recovered')).length === 1)
  const hasAll = () => {
    const taken = new Set(b.receiver.takenAt('/a'))
    return ids.every((one) => taken.has(one))
  }
  await passUntil(b, 'all is taken', MINUTE, hasAll, { moves: () => b.receiver.idsOf('/a').length })
  const own = b.receiver.got('/a').filter(({ body }) => JSON.parse(body).type.startsWith('webhook.'))
  t.same(own, [], 'it is not told of itself')
})

t.test(
  'while it is failing nothing new is tried, though storing a try takes longer than the wait',
  async (t) => {
    const b = await bench(t)
    await b.receiver.set('/a', DOWN)
    const id = await b.add('/a')
    let late = 0
    const savePosts: typeof b.store.savePosts = async (posts) => {
      await b.store.savePosts(posts)
      b.clock.pass(late)
    }
    await b.start({ store: { ...b.store, savePosts } })
    await b.events(100)
    await failsFirst(b, id)
    const { length } = await b.posts(id)
    late = HOUR
    b.clock.pass(5 * MINUTE)
    await eventually('it was tried', async () => (await b.state(id)).probes >= 3)
    t.equal((await b.posts(id)).length, length)
  },
)

t.test('after five days without one success it is disabled, and what was too old is told', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', DOWN)
  const id = await b.add('/a')
  await b.start()
  await b.events(40)
  await failsFirst(b, id)
  await failsOn(b, id, 2, 9)
  b.clock.pass(HOUR)
  await isGivenUp(b, id)
  await failsOn(b, id, 10, 10)
  t.same(await b.logged('webhook.disabled'), [], 'a hundred hours are not enough')
  await failsOn(b, id, 11, 11)
  await eventually('it is disabled', async () => (await b.logged('webhook.disabled')).length > 0)
  t.match(await b.store.endpoint(b.at.accountId, id), { status: 'disabled', disabledReason: 'failures' })
  t.match((await b.logged('webhook.failing')).length, 2, 'at the fourth try, and at half of the time')
  // gathered, once an hour and at the end: it may be told in two
  const lost = (await b.posts(id)).filter(({ state }) => state === 'failed')
  const told = await eventually('all of them are told', async () => {
    const rows = await b.logged('webhook.exhausted')
    const count = rows.reduce((sum, { data }) => sum + Number(data?.count), (await b.state(id)).givenUp)
    return count === lost.length && rows
  })
  t.ok(told.every(({ data }) => String(data?.since).startsWith('signed ')))
  t.ok(lost.length >= 20)
  const from = String(told.at(-1)?.data?.since).replace('signed ', '')
  const since = await follow(b.store, null, from, 1000)
  const first = lost.map(({ eventId }) => eventId)
  t.ok(
    since !== 'gone' && first.every((one) => since.rows.some((row) => row.id === one)),
    'the mark is before them',
  )
})

t.test('an event is given up 76 hours after it happened, also while the endpoint is failing', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', DOWN)
  const id = await b.add('/a')
  await b.start()
  await b.events(30)
  await failsFirst(b, id)
  await failsOn(b, id, 2, 9) // the last of its tries in that time
  t.ok((await b.posts(id)).every(({ state }) => state === 'waiting'))
  b.clock.pass(HOUR) // the next try is a day away
  await isGivenUp(b, id)
  const posts = await b.posts(id)
  t.ok(posts.length >= 20)
  const logged = () => b.logged('webhook.exhausted')
  await passUntil(b, 'it is told', 10 * SECOND, async () => (await logged()).length > 0)
  const [told] = await logged()
  t.match(told?.data, { webhook_id: id, count: posts.length })
  t.equal((await b.store.endpoint(b.at.accountId, id))?.status, 'enabled')
})

t.test('a replay to one that is failing, and has nothing that waits, tries it at once', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', DOWN)
  const id = await b.add('/a')
  const place = (await b.store.logEnds()).newest
  await b.start()
  const ids = await b.events(20)
  await isHealth(b, id, 'failing')
  b.clock.pass(77 * HOUR) // not five days, which disable it
  await eventually('all is given up', async () => {
    const posts = await b.posts(id)
    return posts.length === ids.length && posts.every(({ state }) => state === 'failed')
  })
  await b.receiver.set('/a', UP)
  const before = b.receiver.idsOf('/a').length
  const now = b.clock.now()
  await b.store.addReplay({
    id: 'rep_1',
    endpointId: id,
    failed: false,
    place,
    since: null,
    until: now,
    made: 0,
    createdAt: now,
  })
  await eventually('one is tried at once', () => b.receiver.idsOf('/a').length > before)
  const again = () => new Set(b.receiver.idsOf('/a').slice(before)).size === ids.length
  await passUntil(b, 'all again', SECOND, again)
})

t.test('a wall clock that is set costs no event its life', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', DOWN)
  const id = await b.add('/a')
  await b.start()
  const ids = await b.events(2)
  await eventually('two failed', async () => (await b.posts(id, true)).length === 2)
  b.clock.set(10 * DAY)
  await eventually('the waits moved', async () => {
    const posts = await b.posts(id, true)
    return posts.every(({ dueAt }) => (dueAt ?? 0) > b.clock.now() - MINUTE)
  })
  b.clock.pass(5 * SECOND)
  await eventually('tried again', async () => (await b.posts(id)).every(({ attempts }) => attempts >= 2))
  t.ok((await b.posts(id)).every(({ state }) => state === 'waiting'))
  t.equal((await b.store.endpoint(b.at.accountId, id))?.status, 'enabled')
  await b.receiver.set('/a', UP)
  b.clock.pass(6 * MINUTE)
  await eventually('taken', async () => (await b.posts(id)).every(({ state }) => state === 'succeeded'))
  t.equal(new Set(b.receiver.idsOf('/a')).size, ids.length)
})
