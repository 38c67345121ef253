/** The index of words on disk: nothing of a mail stays in it when the mail is erased, and older databases come into it. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { silentLog } from '../../src/base/log.js'
import { createIndexing } from '../../src/followers/indexing.js'
import type { Store } from '../../src/store/port/store.js'
import { integrityFaults } from '../../src/store/sqlite/backup.js'
import { Database } from '../../src/store/sqlite/driver.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { eventually } from '../parts/eventually.js'
import { searchFor } from './contract-search.js'
import { accepted, addWorkspace, HOUR, newAccount, page, T0 } from './fixture.js'

const DAY = 24 * HOUR
const KEEP = { bodiesMs: 10 * DAY, emailsMs: 10 * DAY, logMs: 4 * DAY }

const openStore = async (t: Test): Promise<{ store: Store; dir: string }> => {
  const dir = t.testdir()
  const store = openSqliteStore({ dataDir: dir, daemon: true })
  await store.open()
  t.teardown(() => store.close())
  return { store, dir }
}

const index = async (store: Store): Promise<void> => {
  while ((await store.indexMails(100)) > 0) {}
}

/** Every token that the pages of the index still hold, with the places of its mails. */
const tokensIn = (dir: string): readonly string[] => {
  const db = new Database(join(dir, 'postern.db'))
  try {
    t.same(integrityFaults(db), [])
    const parts = db.prepare('SELECT first FROM search_parts').pluck().all() as number[]
    return parts.flatMap((first) => {
      db.exec(`CREATE VIRTUAL TABLE temp.tokens_${first} USING fts5vocab(main, search_${first}, instance)`)
      return db.prepare(`SELECT DISTINCT term FROM temp.tokens_${first}`).pluck().all() as string[]
    })
  } finally {
    db.close()
  }
}

t.test('what goes with its workspace', async (t) => {
  const { store, dir } = await openStore(t)
  const at = await newAccount(store)
  const other = await addWorkspace(store, at, 'other')
  await accepted(store, other, { subject: 'Aardvark of another' })
  await index(store)
  await accepted(store, other, { subject: 'Badger came late' })
  await accepted(store, at, { subject: 'Zebra stays' })
  await store.deleteWorkspace(at.accountId, other.workspace.id, 'gone', T0)
  await store.sweep(T0, KEEP)
  await index(store)
  const left = tokensIn(dir)
  t.notOk(left.some((token) => token.includes('aardvark') || token.includes('badger')))
  t.ok(left.includes('szebra'))
})

t.test('as a service, from the first mail that there is; two at once', async (t) => {
  const { store } = await openStore(t)
  const at = await newAccount(store)
  for (let i = 0; i < 600; i++) await accepted(store, at, { subject: `number ${i}` })
  const both = [1, 2].map(() => createIndexing({ store, log: silentLog() }))
  for (const one of both) await one.start()
  await eventually('all are found', async () => (await store.notIndexedSince()) === null)
  for (const one of both) await one.stop()
  const { total } = await store.searchEmails(searchFor(at, 'number'), page({ countUpTo: 1_000, limit: 100 }))
  t.ok(total === null || total === 600, `${total}`)
  t.equal((await store.searchEmails(searchFor(at, 'number 417'), page())).rows.length, 1)
})

t.test('one that was overtaken by another, which is gone then, goes on', async (t) => {
  const { store } = await openStore(t)
  const at = await newAccount(store)
  for (let i = 0; i < 3; i++) await accepted(store, at, { subject: `number ${i}` })
  let overtaken = 0
  const indexMails = async (limit: number): Promise<number> => {
    if (overtaken > 0) return store.indexMails(limit)
    const [, own = 0] = await Promise.all([store.indexMails(1), store.indexMails(limit)])
    if (own === 0) overtaken += 1
    return own
  }
  const indexing = createIndexing({ store: { ...store, indexMails }, log: silentLog() })
  await indexing.start()
  await eventually('all are found', async () => (await store.notIndexedSince()) === null, { ms: 10_000 })
  await indexing.stop()
  t.equal(overtaken, 1)
})

t.test('who sends is no recipient', async (t) => {
  const { store, dir } = await openStore(t)
  const at = await newAccount(store)
  await accepted(store, at, { from: 'ops@acme.test', subject: 'Aardvark' })
  await index(store)
  const left = tokensIn(dir)
  t.ok(left.includes('cacme.test'))
  t.notOk(left.includes('dacme.test'), 'the index knows no case: letters must differ')
})
