/** The index of words on disk: nothing of a mail stays in it when the mail is erased, and older databases come into it. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Store } from '../../src/store/port/store.js'
import { answeredLater } from '../../src/store/sql/query.js'
import { searchReads } from '../../src/store/sql/search/reads.js'
import { integrityFaults } from '../../src/store/sqlite/backup.js'
import { Database, openReader } from '../../src/store/sqlite/connect.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { WORDS } from '../../src/store/sqlite/search.js'
import { createStatements } from '../../src/store/sqlite/statements.js'
import { deepContract, searchFor } from './contract-search.js'
import { accepted, addWorkspace, HOUR, indexMails, newAccount, page, T0 } from './fixture.js'

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
  while ((await indexMails(store, 100)) > 0) {}
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

t.test('who sends is no recipient', async (t) => {
  const { store, dir } = await openStore(t)
  const at = await newAccount(store)
  await accepted(store, at, { from: 'ops@acme.test', subject: 'Aardvark' })
  await index(store)
  const left = tokensIn(dir)
  t.ok(left.includes('cacme.test'))
  t.notOk(left.includes('dacme.test'), 'the index knows no case: letters must differ')
})

t.test('below twenty thousand that are not meant, on the first page', async (t) => {
  const { store, dir } = await openStore(t)
  await deepContract(t, store, (count) => {
    const db = new Database(join(dir, 'postern.db'))
    const columns = db.prepare("SELECT name FROM pragma_table_xinfo('emails') WHERE hidden = 0").pluck().all()
    const values = columns.map((name) =>
      name === 'ord' ? 'ord + i' : name === 'id' ? "id || 'c' || i" : name,
    )
    db.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO emails (${columns.join(', ')}) SELECT ${values.join(', ')}
       FROM n, (SELECT * FROM emails ORDER BY ord DESC LIMIT 1) AS one`,
    ).run(count)
    db.exec('UPDATE order_state SET last = (SELECT max(ord) FROM emails)')
    db.close()
  })
})

t.test('half a second of work is a page, which tells how far it looked', async (t) => {
  const { store, dir } = await openStore(t)
  const at = await newAccount(store)
  await accepted(store, at, { subject: 'deep', createdAt: T0 })
  for (let i = 1; i <= 300; i++) await accepted(store, at, { subject: 'high', createdAt: T0 + i * 1000 })
  await index(store)
  const db = openReader(join(dir, 'postern.db'))
  t.teardown(() => db.close())
  const spend = (): void => {
    for (const until = performance.now() + 4; performance.now() < until; ) {}
  }
  const mailsAt: typeof WORDS.mailsAt = function* (ords) {
    spend()
    return yield* WORDS.mailsAt(ords)
  }
  const reads = answeredLater(searchReads({ ...WORDS, mailsAt }), createStatements(db).askLater)
  let anchor: string | null = null
  const looked: (number | null)[] = []
  const found: string[] = []
  for (let more = true; more; ) {
    const hop = await reads.searchEmails(searchFor(at, '-subject:high'), page({ limit: 2, anchor }))
    found.push(...hop.rows.map(({ subject }) => subject))
    looked.push(hop.searchedTo)
    t.equal(hop.searchedTo !== null, hop.hasOlder, 'says so while it goes on')
    more = hop.hasOlder
    anchor = hop.older
  }
  t.same(found, ['deep'])
  const times = looked.slice(0, -1) as number[]
  t.ok(times.length > 0 && looked.at(-1) === null)
  t.same(
    times,
    [...times].sort((a, b) => b - a),
  )
  t.ok(times.every((time) => time > T0 && time <= T0 + 300_000))
})
