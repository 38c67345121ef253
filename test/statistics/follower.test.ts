/** Counting as a service: over a real store, when the log is gone, beside another one, and when the store fails. */
import t, { type Test } from 'tap'
import { silentLog } from '../../src/base/log.js'
import { sumOf, volume } from '../../src/statistics/counters.js'
import { countSome, createStatistics } from '../../src/statistics/follower.js'
import { countedUntil } from '../../src/statistics/progress.js'
import type { Followed } from '../../src/store/port/log.js'
import type { Store } from '../../src/store/port/store.js'
import { eventually } from '../parts/eventually.js'
import { openStoreIn } from '../parts/store.js'
import { accepted, HOUR, newAccount, T0, type TestAccount } from '../store/fixture.js'

const openStore = async (t: Test): Promise<Store> => {
  const store = await openStoreIn(t.testdir())
  await store.open()
  t.teardown(() => store.close())
  return store
}

const acceptedIn = async (store: Store, { accountId }: TestAccount): Promise<number> => {
  const { rows } = await store.statistics(
    {
      ...{ accountId, workspaceId: null, mode: 'live', dimension: 'none', tagName: null, span: 60 },
      ...{ from: T0, to: T0 + HOUR },
    },
    null,
  )
  return sumOf(rows).get(volume('accepted')) ?? 0
}

const caughtLog = () => {
  const said: string[] = []
  const say = (fields: object) => void said.push((fields as { event: string }).event)
  return { said, log: { ...silentLog(), warn: say, error: say } as ReturnType<typeof silentLog> }
}

t.test('from the oldest that there is, then what comes; two at once count once', async (t) => {
  const store = await openStore(t)
  const at = await newAccount(store)
  for (let i = 0; i < 600; i++) await accepted(store, at)
  t.ok((await countedUntil(store, Date.now())) < Date.now() - HOUR, 'nothing is counted yet')
  const both = [silentLog(), silentLog()].map((log) => createStatistics({ store, log }))
  for (const one of both) await one.start()
  await eventually('all are counted', async () => (await acceptedIn(store, at)) >= 600)
  await accepted(store, at)
  await eventually('one more', async () => (await acceptedIn(store, at)) >= 601)
  for (const one of both) await one.stop()
  for (const one of both) await one.stop()
  t.equal(await acceptedIn(store, at), 601)
  const now = Date.now()
  t.equal(await countedUntil(store, now), now)
})

t.test('where the log is gone it says so, and goes on', async (t) => {
  const store = await openStore(t)
  const at = await newAccount(store)
  const { said, log } = caughtLog()
  await accepted(store, at)
  while ((await countSome({ store, log })).more) {}
  let isGone = true
  const follow = async (...args: Parameters<Store['follow']>): Promise<Followed | 'gone'> =>
    isGone ? 'gone' : store.follow(...args)
  const parts = { store: { ...store, follow }, log }
  t.match(await countSome(parts), { more: true })
  isGone = false
  t.same(said, ['statistics_gap'])
  t.equal(await store.statisticsPlace(), (await store.logEnds()).oldest)
  await countSome(parts)
  t.same(said, ['statistics_gap'], 'once')
})

t.test('a store that fails for a while costs no number', async (t) => {
  const store = await openStore(t)
  const at = await newAccount(store)
  const { said, log } = caughtLog()
  await accepted(store, at)
  let fails = 1
  const addStatistics: Store['addStatistics'] = async (...args) => {
    if (fails-- > 0) throw new Error('the disk is full')
    return store.addStatistics(...args)
  }
  const service = createStatistics({ store: { ...store, addStatistics }, log })
  await service.start()
  await eventually('it is counted', async () => (await acceptedIn(store, at)) === 1)
  await service.stop()
  t.same(said, ['statistics_failed'])
})
