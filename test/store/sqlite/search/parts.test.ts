/**
 * The index in parts: a query goes over all of them, one by one they go when their mail is gone, what stays behind is
 * still found, and the database is whole at every step.
 */
import t, { type Test } from 'tap'
import { ordAt } from '../../../../src/store/sql/pages.js'
import { answered } from '../../../../src/store/sql/query.js'
import { readingReads } from '../../../../src/store/sql/reading.js'
import { searchReads } from '../../../../src/store/sql/search/reads.js'
import { integrityFaults } from '../../../../src/store/sqlite/backup.js'
import { openReader } from '../../../../src/store/sqlite/connect.js'
import { createUnindex, indexLead, WORDS } from '../../../../src/store/sqlite/search.js'
import { createStatements, logEnds } from '../../../../src/store/sqlite/statements.js'
import { toWire } from '../../../../src/store/sqlite/thread/wire.js'
import { searchFor } from '../../contract-search.js'
import { HOUR, mailFor, page, T0, toOne } from '../../fixture.js'
import { openWriterVerbs } from '../writer.js'

const DAY = 24 * HOUR
const DAYS = 20

const open = (t: Test) => {
  let now = T0
  const { file, db, context, verbs, at } = openWriterVerbs(t, () => now)
  const read = openReader(file)
  t.teardown(() => read.close())
  const sql = createStatements(read)
  const reads = { ...answered(searchReads(WORDS), sql.ask), ...answered(readingReads(logEnds), sql.ask) }
  return {
    ...{ db, read, context, verbs, reads },
    parts: (): number[] => db.prepare('SELECT first FROM search_parts').pluck().all() as number[],
    accept(day: number): void {
      now = T0 + day * DAY
      const recipients = [toOne('a@b.test', { suppressed: true })]
      const mail = mailFor(at, { createdAt: now, subject: `Report of day${day} kept`, recipients })
      verbs.accept(toWire({ mails: [mail], idempotency: null, now }))
      context.order.keep()
    },
    index(): void {
      const { search: from } = reads.readPlaces()
      const part = reads.readLog('mails', from ?? '1', null, 100)
      if (part === 'gone') throw new Error('search goes by mails')
      t.ok(verbs.keepRead({ to: part.mark, search: { from, mails: part.mails } }))
    },
    /** The days of the mails that are found. */
    async found(query: string, direction: 'older' | 'newer' = 'older'): Promise<readonly string[]> {
      const anchor = direction === 'newer' ? '0' : null
      const { rows } = reads.searchEmails(searchFor(at, query), page({ limit: 100, direction, anchor }))
      return rows.map(({ subject }) => subject.replace(/\D/g, ''))
    },
  }
}

t.test('parts', async (t) => {
  const { db, read, verbs, parts, accept, index, found } = open(t)
  for (let day = 0; day < DAYS; day++) {
    accept(day)
    index()
  }
  const made = parts()
  t.ok(made.length > 4 && made.length < DAYS, `${made.length}`)
  const all = Array.from({ length: DAYS }, (_, day) => String(DAYS - 1 - day))
  t.same(await found('report'), all)
  t.same(await found('report', 'newer'), all)
  t.same(await found('day7'), ['7'])

  const keep = { bodiesMs: 10 * DAY, emailsMs: 10 * DAY }
  let steps = 0
  for (let again = true; again; steps++) {
    again = verbs.sweepStep(T0 + DAYS * DAY, keep).again
    const check = openReader(db.name)
    t.same(integrityFaults(check), [])
    check.close()
    t.same(await found('day15'), ['15'])
  }
  const left = parts()
  t.ok(left.length < made.length && left.length > 1, `${left.length} in ${steps} steps`)
  t.ok((left[1] as number) > ordAt(T0 + 10 * DAY), 'the oldest one has mail')
  const tables = read.prepare("SELECT count(*) FROM sqlite_schema WHERE name GLOB 'search_[0-9]*'").pluck()
  t.equal(tables.get(), left.length * 4, 'with its data, index and settings')
  t.same(await found('report'), all.slice(0, 10))
})

t.test('what stays behind a part', async (t) => {
  const { db, context, verbs, parts, accept, index, found } = open(t)
  for (let day = 0; day < 9; day++) {
    accept(day)
    index()
  }
  const [first, second] = parts() as [number, number]
  db.prepare('DELETE FROM emails WHERE ord > ? AND ord < ?').run(first, second)
  const unindex = createUnindex(context)
  while (unindex.drop(second) > 0) {}
  t.equal(parts()[0], second)
  t.same(await found('day0'), ['0'], 'it is found')
  t.same(await found('day0', 'newer'), ['0'])
  t.same(await found('nothing'), [])
  unindex.remove(first)
  unindex.move(first, 1)
  t.same(verbs.sweepStep(T0, { bodiesMs: DAY, emailsMs: DAY }).again, false)
})

t.test('a part with too much left does not go, and what is old leaves it singly', async (t) => {
  const { db, context, parts, accept, index } = open(t)
  for (let n = 0; n < 260; n++) accept(0)
  for (let n = 0; n < 3; n++) index()
  for (const day of [8, 16]) {
    accept(day)
    index()
  }
  const [first, second] = parts() as [number, number]
  const indexed = db.prepare(
    `SELECT rowid FROM search_${first} WHERE search_${first} MATCH 'sreport' ORDER BY rowid`,
  )
  const before = indexed.pluck().all() as number[]
  t.equal(before.length, 260)
  const unindex = createUnindex(context)
  unindex.age(before[0] as number)
  t.equal(indexed.all().length, 260, 'it goes with its part')
  t.equal(unindex.drop(second), 0)
  unindex.age(before[1] as number)
  t.equal(indexed.all().length, 259)
  db.prepare('DELETE FROM emails WHERE ord < ?').run(second)
  while (unindex.drop(second) > 0) {}
  t.equal(parts()[0], second)
})

t.test('much that is no more, and a lead that is asked often', async (t) => {
  const { db, read, accept, index, found } = open(t)
  for (let day = 0; day < 3; day++) {
    accept(day)
    index()
  }
  const last = db.prepare('SELECT max(first) FROM search_parts').pluck().get() as number
  const add = db.prepare(`INSERT INTO search_${last} (rowid, tokens) VALUES (?, 'sreport w1 w2')`)
  db.prepare('DELETE FROM emails WHERE ord < ?').run(last)
  db.transaction(() => {
    for (let n = 1; n <= 20_000; n++) add.run(last - n)
  })()
  t.same(await found('report'), ['2'], 'all of it on one page')
  t.same(await found('report', 'newer'), ['2'])

  const { ask } = createStatements(read)
  const lead = indexLead({ wanted: ['sreport'], unwanted: [] })
  const range = { from: last + 1, to: last + 2 }
  for (let times = 0; times < 100; times++) t.same(ask(lead.take('newer', range, 1)).ords, [])
})
