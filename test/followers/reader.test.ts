/** One reader for several: from where each stands, each record once, and one that fails holds up nobody. */
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { createReader } from '../../src/followers/reader.js'
import { sumOf, volume } from '../../src/statistics/counters.js'
import { countedUntil } from '../../src/statistics/record.js'
import type { Store } from '../../src/store/port/store.js'
import type { ReadUp } from '../../src/store/port/watch.js'
import { eventually } from '../parts/eventually.js'
import { openStoreIn } from '../parts/store.js'
import { searchFor } from '../store/contract-search.js'
import { accepted, HOUR, indexMails, newAccount, page, T0, type TestAccount } from '../store/fixture.js'

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

const foundIn = async (store: Store, at: TestAccount, words: string): Promise<number> =>
  (await store.searchEmails(searchFor(at, words), page({ limit: 100 }))).rows.length

const caughtLog = () => {
  const said: unknown[] = []
  const say = (fields: object, text: string) => void said.push((fields as { event?: string }).event ?? text)
  return { said, log: { ...silentLog(), warn: say, error: say } as ReturnType<typeof silentLog> }
}

/** A reader until the test ends, of a store that does some things otherwise. */
const reading = async (t: Test, store: Store, over: Partial<Store> = {}, clock = systemClock) => {
  const { said, log } = caughtLog()
  const reader = createReader({ store: { ...store, ...over }, clock, log })
  t.teardown(() => reader.stop())
  await reader.start()
  return { said, reader }
}

t.test('from the oldest that there is, then what comes; two at once count once', async (t) => {
  const store = await openStore(t)
  const at = await newAccount(store)
  for (let i = 0; i < 600; i++) await accepted(store, at, { subject: `number ${i}` })
  t.ok((await countedUntil(store, Date.now())) < Date.now() - HOUR, 'nothing is counted yet')
  const both = [await reading(t, store), await reading(t, store)]
  await eventually('all are counted', async () => (await acceptedIn(store, at)) >= 600)
  await accepted(store, at, { subject: 'one more' })
  await eventually('one more', async () => (await acceptedIn(store, at)) >= 601)
  await eventually('all are found', async () => (await store.notIndexedSince()) === null)
  for (const { reader, said } of both) {
    await reader.stop()
    await reader.stop()
    t.same(said, [])
  }
  t.equal(await acceptedIn(store, at), 601)
  t.equal(await foundIn(store, at, 'number 417'), 1)
  t.equal(await foundIn(store, at, 'one more'), 1)
  const now = Date.now()
  t.equal(await countedUntil(store, now), now)
  const { statistics, alarms, search } = await store.readPlaces()
  t.same([alarms, search], [statistics, statistics], 'they stand at the same mark')
})

t.test('the longer a look takes, the earlier is the next one', async (t) => {
  const store = await openStore(t)
  const at = await newAccount(store)
  let isSlow = false
  let tick = 0
  let looks = 0
  const readLog: Store['readLog'] = async (...asked) => {
    const part = await store.readLog(...asked)
    if (!isSlow) return part
    tick += 400
    looks++
    // there is something new each time
    await accepted(store, at)
    return part
  }
  await reading(t, store, { readLog }, { ...systemClock, tick: () => tick })
  await eventually('all stand at the same mark', async () => (await store.readPlaces()).alarms !== null)
  isSlow = true
  await accepted(store, at)
  await eventually('it does not rest for a second each time', () => looks >= 90)
})

t.test('an index that is behind, or ahead, comes to where the others are', async (t) => {
  const store = await openStore(t)
  const at = await newAccount(store)
  for (let i = 0; i < 700; i++) await accepted(store, at, { subject: `number ${i}` })
  const { newest } = await store.logEnds()
  await store.keepRead({ to: newest, statistics: { from: null, rows: [] } })
  await reading(t, store)
  await accepted(store, at)
  await eventually('what came is counted', async () => (await acceptedIn(store, at)) === 1)
  await eventually('all are found', async () => (await store.notIndexedSince()) === null)
  t.equal(await foundIn(store, at, 'number 3'), 1)
  await accepted(store, at, { subject: 'ahead' })
  await indexMails(store, 10)
  await eventually('counted', async () => (await acceptedIn(store, at)) === 2)
  t.equal(await foundIn(store, at, 'ahead'), 1)
})

t.test('where the log is gone it says so, and goes on', async (t) => {
  const store = await openStore(t)
  const at = await newAccount(store)
  await accepted(store, at, { subject: 'before' })
  let isGone = true
  const readLog: Store['readLog'] = async (of, ...rest) => {
    if (!isGone || of === 'mails') return store.readLog(of, ...rest)
    isGone = false
    return 'gone'
  }
  const logEnds: Store['logEnds'] = async () => {
    const ends = await store.logEnds()
    return isGone ? ends : { ...ends, oldest: ends.newest }
  }
  const { said } = await reading(t, store, { readLog, logEnds })
  await eventually('it goes on', async () => (await store.readPlaces()).statistics !== null)
  await accepted(store, at)
  await eventually('what came is counted', async () => (await acceptedIn(store, at)) === 1)
  await eventually('it is found', async () => (await foundIn(store, at, 'before')) === 1)
  t.same(said, ['statistics_gap'], 'once')
})

/** Fails while what would be added is so. */
const failing = (store: Store, isSo: (read: ReadUp) => boolean): Pick<Store, 'keepRead'> => ({
  async keepRead(read) {
    if (isSo(read)) throw new Error('the disk is full')
    return store.keepRead(read)
  },
})

t.test(
  'a look that takes long is told while there is more to read, and one that comes to the end is not',
  async (t) => {
    const store = await openStore(t)
    const at = await newAccount(store)
    // by each part that is kept
    let tick = 0
    const keepRead: Store['keepRead'] = (read) => {
      tick += 300
      return store.keepRead(read)
    }
    const behind: number[] = []
    const reader = createReader({
      ...{ store: { ...store, keepRead }, clock: { ...systemClock, tick: () => tick }, log: silentLog() },
      way: { behind: () => void behind.push(tick) },
    })
    t.teardown(() => reader.stop())
    await accepted(store, at)
    await reader.start()
    await eventually('all stand behind the only one', async () => {
      const { statistics, alarms, search } = await store.readPlaces()
      return statistics !== null && statistics === alarms && statistics === search
    })
    t.same(behind, [])
    await reader.stop()
    for (let i = 0; i < 1_100; i++) await accepted(store, at)
    tick = 10_000
    await reader.start()
    await eventually('three parts are counted', async () => (await acceptedIn(store, at)) === 1_101)
    await reader.stop()
    t.same(behind, [10_300, 10_600])
  },
)

t.test('a store that fails for a while costs no number', async (t) => {
  const store = await openStore(t)
  const at = await newAccount(store)
  await accepted(store, at)
  let fails = 4
  const { said } = await reading(
    t,
    store,
    failing(store, () => fails-- > 0),
  )
  await eventually('it is counted', async () => (await acceptedIn(store, at)) === 1)
  t.same(said.sort(), ['alarms not judged', 'indexing_failed', 'statistics_failed'])
})

for (const failed of ['statistics', 'search', 'alarms'] as const)
  t.test(`one that fails holds up nobody, and makes up for it: ${failed}`, async (t) => {
    const store = await openStore(t)
    const at = await newAccount(store)
    let isBroken = true
    const keeping = failing(store, (read) => isBroken && read[failed] !== undefined)
    const { said } = await reading(t, store, keeping)
    for (let i = 1; i <= 2; i++) {
      await accepted(store, at, { subject: `number ${i}` })
      if (failed !== 'statistics')
        await eventually('it is counted', async () => (await acceptedIn(store, at)) === i)
      if (failed !== 'search')
        await eventually('it is found', async () => (await foundIn(store, at, `number ${i}`)) === 1)
    }
    t.equal(said.length, 1)
    isBroken = false
    await eventually('all came to the end', async () => {
      const { statistics, alarms, search } = await store.readPlaces()
      return statistics !== null && statistics === alarms && statistics === search
    })
    t.equal(await acceptedIn(store, at), 2)
    t.equal(await foundIn(store, at, 'number'), 2)
  })
