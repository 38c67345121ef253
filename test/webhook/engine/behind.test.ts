/** Replays, a place that is older than the log, and what a crash leaves. */
import t from 'tap'
import { newId } from '../../../src/base/id.js'
import type { ReplayRow } from '../../../src/store/port/hooks.js'
import { eventually } from '../../parts/eventually.js'
import { type Bench, bench, gotAll, listedAll, MINUTE, passUntil, SECOND } from './fixture.js'

const DOWN = { kind: 'status', status: 500 } as const
const UP = { kind: 'status', status: 200 } as const

const replayFor = (b: Bench, endpointId: string, over: Partial<ReplayRow> = {}): ReplayRow => ({
  id: newId('rep'),
  endpointId,
  failed: false,
  place: null,
  since: null,
  until: b.clock.now() + MINUTE,
  made: 0,
  createdAt: b.clock.now(),
  ...over,
})

/** What it may post in a second, second by second. */
const isOver = (b: Bench): Promise<unknown> =>
  passUntil(b, 'the replay is over', SECOND, async () => (await b.store.replays()).length === 0)

const timesOf = (b: Bench, path: string): Map<string, number> => {
  const times = new Map<string, number>()
  for (const id of b.receiver.idsOf(path)) times.set(id, (times.get(id) ?? 0) + 1)
  return times
}

t.test('a replay posts what the log has, under the same ids, at its rate', async (t) => {
  const b = await bench(t)
  const id = await b.add('/a', { replayRate: 100 })
  await b.start()
  const { newest } = await b.store.logEnds()
  const ids = await b.events(150)
  await gotAll(b, '/a', ids)
  await b.store.addReplay(replayFor(b, id, { place: newest }))
  const made = async () => (await b.store.replays())[0]?.made
  await eventually('what a second has is posted again', () => b.receiver.idsOf('/a').length === 250)
  t.equal(await made(), 100, 'and no more')
  b.clock.pass(SECOND / 10)
  await eventually('it goes on', async () => (await made()) !== 100)
  t.equal(await made(), 110, 'by a tenth of it')
  await isOver(b)
  await eventually('each is there twice', () => [...timesOf(b, '/a').values()].every((n) => n === 2))
  t.same([...timesOf(b, '/a').keys()].sort(), [...ids].sort())
  const again = (await b.posts(id)).filter(({ kind }) => kind === 'replay')
  t.equal(again.length, 150)
})

t.test('a replay of what failed posts that alone', async (t) => {
  const b = await bench(t)
  await b.receiver.set('/a', { kind: 'status', status: 500 })
  const id = await b.add('/a')
  await b.start()
  const lost = await b.events(3)
  await eventually('they failed', async () => (await b.posts(id, true)).length === 3)
  for (const post of await b.store.waitingPosts(id, null, 10))
    await b.store.savePosts([{ ...post, state: 'failed', dueAt: null }])
  await b.receiver.set('/a', UP)
  const fine = await b.events(5)
  await gotAll(b, '/a', fine)
  await b.store.addReplay(replayFor(b, id, { failed: true }))
  await isOver(b)
  await eventually('taken', async () => {
    const posts = (await b.posts(id)).filter(({ kind, state }) => kind === 'replay' && state === 'succeeded')
    return posts.length === 3
  })
  t.ok(lost.every((one) => timesOf(b, '/a').get(one) === 2))
  t.ok(fine.every((one) => timesOf(b, '/a').get(one) === 1))
  t.same((await b.store.failedPosts(id, null, b.clock.now(), null, 10)).posts, [], 'none is left')
})

t.test('a place that is older than the log is told, and goes on from the oldest', async (t) => {
  const b = await bench(t)
  const id = await b.add('/a')
  const gone = await b.events(3)
  let isTold = false
  const follow: typeof b.store.follow = async (filter, after, limit) => {
    const known = await b.store.follow(filter, after, limit)
    return after !== null && after === (await b.state(id)).mark && !isTold ? 'gone' : known
  }
  const { oldest } = await b.store.logEnds()
  const store = {
    ...b.store,
    follow,
    addNotice: async (notice: Parameters<typeof b.store.addNotice>[0]) => {
      isTold ||= notice.type === 'webhook.exhausted'
      return b.store.addNotice(notice)
    },
  }
  await b.start({ store })
  const told = await eventually('it is told', async () => {
    const rows = await b.logged('webhook.exhausted')
    return rows.length > 0 && rows
  })
  t.match(told, [{ data: { webhook_id: id, count: null, since: `signed ${oldest}` } }])
  await gotAll(b, '/a', [...gone, ...(await b.events(2))])
})

t.test('what a crash left in the second before is posted again, and no more', async (t) => {
  const b = await bench(t)
  const id = await b.add('/a')
  const first = await b.start()
  const early = await b.events(20)
  await gotAll(b, '/a', early)
  await listedAll(b, id, early)
  await first()
  // from here on nothing of this engine is kept, as when it dies
  const store = { ...b.store, keepPlaces: async () => {} }
  const second = await b.start({ store })
  await b.receiver.set('/a', DOWN)
  const failed = await b.events(1)
  await eventually('it is stored', async () => (await b.posts(id, true)).length === 1)
  await b.receiver.set('/a', UP)
  const late = await b.events(20)
  await gotAll(b, '/a', late)
  await second()
  await b.start()
  await gotAll(b, '/a', await b.events(1))
  await eventually('what came late is posted again', () =>
    late.every((event) => (timesOf(b, '/a').get(event) ?? 0) > 1),
  )
  b.clock.pass(6 * SECOND)
  const [one = ''] = failed
  await eventually('the failed one is tried again', () => timesOf(b, '/a').get(one) === 2)
  t.ok(early.every((event) => timesOf(b, '/a').get(event) === 1))
  t.ok(
    late.every((event) => timesOf(b, '/a').get(event) === 2),
    'once more, under the same id',
  )
  t.equal((await b.posts(id)).filter(({ eventId }) => eventId === one).length, 1, 'a stored post stays one')
})
