/**
 * NAME      contract-reading - the log in parts, for several, and what they make of it: all or nothing
 */
import type { Test } from 'tap'
import type { LogRow } from '../../src/store/port/log.js'
import type { Store } from '../../src/store/port/store.js'
import type { IndexedMail, ReadOf, StatisticsRow } from '../../src/store/port/watch.js'
import {
  accepted,
  HOUR,
  newAccount,
  type OpenStore,
  ofLease,
  page,
  T0,
  type TestAccount,
  toOne,
} from './fixture.js'

const many = (n: number) => Array.from({ length: n }, (_, i) => toOne(`r${i}@example.com`))

const readAll = async (store: Store, of: ReadOf, from: string, until: string | null, limit: number) => {
  const read = { rows: [] as LogRow[], mails: [] as IndexedMail[], parts: 0 }
  for (let mark = from, isEnd = false; !isEnd; read.parts++) {
    const part = await store.readLog(of, mark, until, limit)
    if (part === 'gone') throw new Error('the log is there')
    read.rows.push(...part.rows)
    read.mails.push(...part.mails)
    ;({ mark, isEnd } = part)
  }
  return read
}

const partsContract = async (t: Test, open: OpenStore): Promise<void> => {
  const store = await open(t)
  const at = await newAccount(store)
  const { newest: from } = await store.logEnds()
  const tags = [{ name: 'kind', value: 'receipt' }]
  for (let i = 0; i < 4; i++) {
    await accepted(store, at, { subject: `number ${i}`, tags })
    await accepted(store, at, { recipients: many(12), cc: ['a@b.test'], mode: i % 2 === 0 ? 'live' : 'test' })
    await accepted(store, at, { recipients: [toOne('no@x.test', { suppressed: true }), toOne('yes@x.test')] })
  }
  const claimed = await store.claim(at.poolId, 100, T0 + HOUR, T0 + 10)
  await store.settle(claimed.map((one) => ofLease(one)))
  const { rows: newestFirst } = await store.log(
    {
      ...{ accountId: at.accountId, workspaceId: null, accountWide: true, mode: null, types: null },
      ...{ emailId: null, recipient: null, change: null, createdAfter: null, createdBefore: null },
    },
    page({ limit: 1_000 }),
  )
  const whole = { rows: [...newestFirst].reverse() }
  t.ok(whole.rows.length > 60)
  for (const limit of [1, 5, 20, 1_000]) {
    const { rows, mails, parts } = await readAll(store, 'both', from, null, limit)
    t.same(rows, whole.rows, `${limit} at a time`)
    t.equal(mails.length, 12)
    t.equal(new Set(mails.map(([place]) => place)).size, 12, 'each mail once')
    t.ok(limit === 1_000 ? parts === 1 : limit > 5 || parts > 1)
  }
  t.match(await store.follow({ types: null }, from, 1_000), { rows: whole.rows, isEnd: true })
  t.match(await readAll(store, 'mails', from, null, 5), { rows: [], mails: { length: 12 } })
  t.match(await readAll(store, 'log', from, null, 5), { rows: { length: whole.rows.length }, mails: [] })
  // also from and up to a mark within a mail
  for (const n of [3, 20, 33]) {
    const mark = whole.rows[n]?.mark ?? ''
    t.same((await readAll(store, 'both', from, mark, 7)).rows, whole.rows.slice(0, n + 1))
    t.same((await readAll(store, 'both', mark, null, 7)).rows, whole.rows.slice(n + 1))
    const [before, after] = [
      await readAll(store, 'both', from, mark, 7),
      await readAll(store, 'both', mark, null, 7),
    ]
    t.equal(before.mails.length + after.mails.length, 12, 'each mail once')
  }
}

const row = (at: TestAccount): StatisticsRow => ({
  ...{ span: 60, at: T0, workspaceId: at.workspace.id, mode: 'live', dimension: 'none', value: '' },
  counts: [0, 1],
})

const keptContract = async (t: Test, open: OpenStore): Promise<void> => {
  const store = await open(t)
  const at = await newAccount(store)
  await accepted(store, at)
  const before = await store.readPlaces()
  t.match(before, { statistics: null, alarms: null, search: /^\d+$/ })
  const { newest: to } = await store.logEnds()
  const part = await store.readLog('mails', before.search ?? '', null, 10)
  if (part === 'gone') throw new Error('mails are there')
  const statistics = { from: null, rows: [row(at)] }
  const alarms = { from: null, counts: [], now: T0 }
  const search = { from: before.search, mails: part.mails }
  for (const other of [
    { statistics: { ...statistics, from: to } },
    { alarms: { ...alarms, from: to } },
    { search: { ...search, from: to } },
  ])
    t.equal(await store.keepRead({ to, statistics, alarms, search, ...other }), null, 'another mark')
  const wrong = { ...row(at), workspaceId: 'ws_00000000000000000000000000' }
  await t.rejects(store.keepRead({ to, statistics: { from: null, rows: [wrong] }, alarms, search }))
  t.same(await store.readPlaces(), before, 'nothing of it')
  t.equal(await store.notIndexedSince(), T0)
  const both = [1, 2].map(() => store.keepRead({ to, statistics, alarms, search }))
  t.same(
    (await Promise.all(both)).filter((one) => one !== null),
    [[]],
    'once',
  )
  t.same(await store.readPlaces(), { statistics: to, alarms: to, search: to, sandbox: null })
  t.equal(await store.notIndexedSince(), null)
  t.equal(await store.keepRead({ to, statistics }), null, 'the same again')
}

export const readingContract = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('in parts of any size', (t) => partsContract(t, open))
  await t.test('what is made of it', (t) => keptContract(t, open))
}
