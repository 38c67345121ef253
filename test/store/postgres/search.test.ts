/** The index of words on PostgreSQL: what of it is looked at in one go, how far it goes with several writers, what leaves it. */
import t, { type Test } from 'tap'
import { connect } from '../../../src/store/postgres/connection.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { answer } from '../../../src/store/postgres/run.js'
import { lexemesOf, spanAt, unindex, WIDEST, WORDS } from '../../../src/store/postgres/search.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { ordAt } from '../../../src/store/sql/pages.js'
import { type Asking, all, first, run } from '../../../src/store/sql/query.js'
import type { Direction } from '../../../src/store/sql/search/tokens.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { deepContract, searchFor } from '../contract-search.js'
import { accepted, indexMails, newAccount, page, T0 } from '../fixture.js'

const open = async (t: Test) => {
  const urls = await (await postgres()).withTables()
  const store = openPostgresStore({ urls })
  await store.open()
  const connection = await connect(serversOf(urls), 'search-test')
  t.teardown(async () => {
    await connection.close()
    await store.close()
  })
  const at = await newAccount(store)
  const found = async (q: string): Promise<readonly string[]> =>
    (await store.searchEmails(searchFor(at, q), page({ limit: 100 }))).rows.map(({ subject }) => subject)
  return { store, at, found, ask: <T>(asking: Asking<T>) => answer(connection, asking) }
}

t.test('spans lie within longer ones, and each mail is in one of each length', async (t) => {
  const ord = ordAt(T0) + 77
  for (let level = 0; level < WIDEST; level++) {
    const { from, to, name } = spanAt(ord, level)
    t.ok(from <= ord && ord < to && Number.isSafeInteger(to))
    t.ok(lexemesOf(ord, '').includes(name))
    const wider = spanAt(ord, level + 1)
    t.ok(wider.from <= from && to <= wider.to)
  }
})

t.test('a lead offers each place once, in order', { skip: noPostgres() }, async (t) => {
  const { ask } = await open(t)
  const ords = Array.from({ length: 600 }, (_, n) => ordAt(T0 - 2 ** (n % 41) - n * 37) + n)
  const rows = ords.map((ord, n) => ({ ord, words: lexemesOf(ord, n % 3 === 0 ? 'sodd m1' : 'sodd') }))
  await ask(
    run(
      'INSERT INTO search_words SELECT ord, array_to_tsvector(words) FROM json_to_recordset(CAST(? AS JSON)) AS g (ord bigint, words text[])',
      JSON.stringify(rows),
    ),
  )
  const wanted = ords.filter((_, n) => n % 3 > 0).sort((a, b) => a - b)
  for (const direction of ['older', 'newer'] as const satisfies readonly Direction[])
    for (const limit of [1, 7, 100, 1000]) {
      const lead = WORDS.lead({ wanted: [{ any: ['sodd', 'snone'] }], unwanted: ['m1'] })
      const seen: number[] = []
      for (let left = { from: 0, to: ordAt(T0) + 4096 }; left.from < left.to; ) {
        const { ords: some, rest } = await ask(lead.take(direction, left, limit))
        seen.push(...some)
        left = rest
      }
      t.same(direction === 'older' ? seen.reverse() : seen, wanted, `${direction}, ${limit} at a time`)
    }
})

t.test('a place that may still be filled is not passed', { skip: noPostgres() }, async (t) => {
  const { store, at, found, ask } = await open(t)
  await accepted(store, at, { subject: 'first' })
  const { last } = (await ask(first('SELECT max(ord) AS last FROM emails'))) as { last: number }
  await ask(run("UPDATE writers SET owner = 'other', boot = 4095, frontier = ? WHERE n = 63", last))
  await accepted(store, at, { subject: 'second' })
  t.equal(await indexMails(store, 10), 1, 'another writer may still commit what it has begun')
  t.same(await found('first'), ['first'])
  t.same(await found('second'), [])
  await ask(run('UPDATE writers SET frontier = (SELECT max(frontier) FROM writers) WHERE n = 63'))
  t.equal(await indexMails(store, 10), 1)
  t.same(await found('second'), ['second'])
})

t.test('long words, and what no index can hold', { skip: noPostgres() }, async (t) => {
  const { store, at, found } = await open(t)
  const long = `${'x'.repeat(498)}${'𐐨'.repeat(40)}`
  await accepted(store, at, { subject: `long ${long}` })
  await accepted(store, at, { subject: `it's \\ a 'quote' :* & ${'y'.repeat(3000)}` })
  t.equal(await indexMails(store, 10), 2)
  t.same(await found('x'.repeat(200)), [`long ${long}`], 'it begins so')
  t.same(await found(`"${'x'.repeat(200)}"`), [])
  t.equal((await found("it's 'quote'")).length, 1)
})

t.test('what leaves the index and comes back', { skip: noPostgres() }, async (t) => {
  const { store, at, found, ask } = await open(t)
  await accepted(store, at, { subject: 'aardvark' })
  await accepted(store, at, { subject: 'badger' })
  await indexMails(store, 10)
  const ords = (await ask(all('SELECT ord FROM emails ORDER BY ord'))).map(({ ord }) => ord as number)
  const pools = async (): Promise<unknown> =>
    (
      await ask(
        first(
          "SELECT string_agg(substring(words::text FROM '''p\\d+'''), ' ' ORDER BY ord) AS p FROM search_words",
        ),
      )
    )?.p
  const before = await pools()
  await ask(unindex.remove([ords[0] as number]))
  t.same([await found('aardvark'), await found('badger')], [[], ['badger']])
  await ask(unindex.restore([ords[0] as number]))
  t.same(await found('aardvark'), ['aardvark'])
  t.equal(await pools(), before)
  const own = Number(String(before).match(/\d+/)?.[0])
  await ask(unindex.move([ords[1] as number], own, 77))
  t.match(await pools(), /^'p\d+' 'p77'$/)
  await ask(unindex.move([ords[1] as number], 77, own))
  t.equal(await pools(), before)
})

t.test('below twenty thousand that are not meant, on the first page', { skip: noPostgres() }, async (t) => {
  const { store, ask } = await open(t)
  await deepContract(t, store, async (count) => {
    const columns = await ask(
      all(
        "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = 'emails' AND is_generated = 'NEVER'",
      ),
    )
    const names = columns.map(({ name }) => name as string)
    const values = names.map((name) => (name === 'ord' ? 'ord + i' : name === 'id' ? "id || 'c' || i" : name))
    await ask(
      run(
        `INSERT INTO emails (${names.join(', ')}) SELECT ${values.join(', ')}
         FROM generate_series(1, CAST(? AS INT)) AS i, (SELECT * FROM emails ORDER BY ord DESC LIMIT 1) AS one`,
        count,
      ),
    )
  })
})
