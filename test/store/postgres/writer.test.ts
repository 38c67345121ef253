/** Writers on one database: places, fences, lost connections. */
import t, { type Test } from 'tap'
import { type Connection, connect } from '../../../src/store/postgres/connection.js'
import { createBeat, createObserver } from '../../../src/store/postgres/heartbeat.js'
import { LEAST } from '../../../src/store/postgres/mails.js'
import { createHints, type Hints, listening, startNotifying } from '../../../src/store/postgres/notify.js'
import { answer } from '../../../src/store/postgres/run.js'
import { migrate } from '../../../src/store/postgres/schema/migrate.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import {
  joinAsWriter,
  type PostgresWriter,
  placeAfter,
  writerOf,
} from '../../../src/store/postgres/writer.js'
import { ordAt } from '../../../src/store/sql/pages.js'
import { type Asking, all, first, run } from '../../../src/store/sql/query.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, postgres } from '../../parts/postgres.js'

const T0 = Date.UTC(2026, 10, 20)

t.test('places rise, whatever the clock says, and are of their writer', async (t) => {
  let last = ordAt(T0) + 17
  for (const now of [T0, T0 - 5000, T0, T0 + 1, ...Array<number>(200).fill(T0 + 1), T0 - 1]) {
    const next = placeAfter(last, now, 5)
    t.ok(next > last && Number.isSafeInteger(next))
    t.equal(writerOf(next), 5)
    last = next
  }
  t.ok(last < ordAt(T0 + 20), 'a millisecond holds 16')
})

interface At {
  readonly database: string
  open(): Promise<Connection>
  join(owner: string, hints?: Hints, opening?: typeof listening): Promise<PostgresWriter>
  sql(text: string): string
}

const fresh = async (t: Test): Promise<At> => {
  const cluster = await postgres()
  const url = cluster.database()
  const database = url.split('/').at(-1) ?? ''
  const open = () => connect(serversOf(url), 'writer-test')
  const connection = await open()
  await migrate(connection, { postern: '', now: T0, fill: function* () {} })
  await connection.close()
  return {
    database,
    open,
    sql: (text) => cluster.sql(database, text),
    async join(owner, hints, opening) {
      const reach = hints && opening ? opening(open, owner, hints) : open
      const writer = await joinAsWriter(owner, reach, undefined, hints)
      t.teardown(() => writer.leave())
      return writer
    },
  }
}

const add = (writer: PostgresWriter, value: string): Promise<number> =>
  writer.write(function* () {
    const ord = writer.places.next()
    yield* run('INSERT INTO jobs_seen SELECT ?, ?, count(*) FROM jobs_seen', ord, value)
    return ord
  })

const SEEN = 'CREATE TABLE jobs_seen (ord bigint, value text, others bigint)'

t.test('writers side by side', { skip: noPostgres() }, async (t) => {
  const at = await fresh(t)
  at.sql(SEEN)
  const writers = await Promise.all(['a', 'b', 'c'].map((owner) => at.join(owner)))
  t.equal(new Set(writers.map(({ n }) => n)).size, 3)
  const given = await Promise.all(
    Array.from({ length: 30 }, (_, i) => add(writers[i % 3] as PostgresWriter, `v${i}`)),
  )
  t.equal(new Set(given).size, 30)
  t.equal(
    at.sql(
      'SELECT count(*) FROM (SELECT ord, lag(ord) OVER (ORDER BY others) AS b FROM jobs_seen) x WHERE b > ord',
    ),
    '0',
    'they rise in the order in which they were committed',
  )
  for (const { n } of writers)
    t.equal(
      at.sql(
        `SELECT count(*) FROM jobs_seen, writers WHERE n = ${n} AND (ord % 4096) / 16 = n AND ord > frontier`,
      ),
      '0',
    )
})

t.test('a writer that stores nothing is above what others have stored', { skip: noPostgres() }, async (t) => {
  const at = await fresh(t)
  at.sql(SEEN)
  // nobody beats here
  const [hints, elsewhere] = [createHints(), createHints()]
  const [busy, idle] = await Promise.all(['busy', 'idle'].map((owner) => at.join(owner, hints)))
  if (busy === undefined || idle === undefined) throw new Error('expected two')
  const isTold = (ord: number): boolean => Number(at.sql(LEAST)) >= ord
  for (const value of ['first', 'at once behind it']) {
    const ord = await add(busy, value)
    await eventually(`${value}: it is read`, () => isTold(ord))
  }
  t.ok(
    (await add(idle, 'its own')) > Number(at.sql(`SELECT max(ord) FROM jobs_seen WHERE value <> 'its own'`)),
  )

  await at.join('far', elsewhere, listening)
  const connection = await at.open()
  const send = (verb: () => Asking<unknown>): Promise<unknown> => answer(connection, verb())
  const end = startNotifying({ owner: 'busy', hints, hasOthers: () => true, send })
  const ord = await add(busy, 'for another daemon')
  await eventually('it is read beside a writer of another daemon', () => isTold(ord))
  await end()
  await connection.close()
})

t.test('who joins stands above what others are about to commit', { skip: noPostgres() }, async (t) => {
  const at = await fresh(t)
  const { n } = await at.join('a')
  const other = await at.open()
  t.teardown(() => other.close())
  const ask = (text: string, ...values: readonly unknown[]) => other.query({ text, values })
  const ahead = ordAt(Date.now() + 3600_000)
  await ask('BEGIN')
  await ask('UPDATE writers SET frontier = ? WHERE n = ?', ahead, n)
  const joining = at.join('b')
  const waiting =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  await eventually('it waits', () => at.sql(waiting) === '1')
  await ask('COMMIT')
  const second = await joining
  t.ok(second.places.next() > ahead)
})

t.test('an epoch that was ended writes nothing more', { skip: noPostgres() }, async (t) => {
  const at = await fresh(t)
  at.sql(SEEN)
  const writer = await at.join('a')
  await add(writer, 'before')
  at.sql(`UPDATE writers SET epoch = epoch + 1, owner = NULL, boot = NULL WHERE n = ${writer.n}`)
  await t.rejects(add(writer, 'after'), { name: 'TakenOverError' })
  t.equal(at.sql('SELECT string_agg(value, $$ $$) FROM jobs_seen'), 'before')
})

t.test('who is silent for 30 s is taken over, and who lives is not', { skip: noPostgres() }, async (t) => {
  const at = await fresh(t)
  at.sql(SEEN)
  const [silent, living, observer] = await Promise.all(['a', 'b', 'c'].map((owner) => at.join(owner)))
  if (silent === undefined || living === undefined || observer === undefined)
    throw new Error('expected three')
  let now = 0
  const beat = createBeat(observer, () => now)
  const livingBeat = createBeat(living, () => 0)
  for (; now < 30_000; now += 5000) {
    await livingBeat()
    await beat()
    await add(now > 0 ? living : silent, `at ${now}`)
  }
  await livingBeat()
  await beat()
  t.equal(at.sql('SELECT string_agg(owner, $$ $$ ORDER BY owner) FROM writers'), 'a b c', 'not yet')
  now += 5000
  await livingBeat()
  await beat()
  t.equal(at.sql('SELECT string_agg(owner, $$ $$ ORDER BY owner) FROM writers'), 'b c')
  await t.rejects(add(silent, 'late'), { name: 'TakenOverError' })
  await add(living, 'on')
  t.equal(at.sql("SELECT count(*) FROM jobs_seen WHERE value IN ('late', 'on')"), '1')
  const least =
    'SELECT CASE WHEN max(ord) <= min(frontier) THEN 1 ELSE 0 END FROM jobs_seen, writers WHERE boot IS NOT NULL'
  await beat()
  t.equal(at.sql(least), '1', 'an idle writer does not hold the log back')
})

t.test('who has a clock that is ahead is not told late', { skip: noPostgres() }, async (t) => {
  const { open, join, sql } = await fresh(t)
  sql(SEEN)
  const one = await join('one')
  const ahead = await joinAsWriter('ahead', open, () => Date.now() + 3_600_000)
  t.teardown(() => ahead.leave())
  const place = await add(ahead, 'an hour ahead')
  const [beat, other] = [createBeat(one), createBeat(ahead)]
  for (let i = 0; i < 2; i++) {
    await other()
    await beat()
  }
  t.ok(Number((await one.look(first(LEAST)))?.least) > place, 'all is there up to it')
  t.ok((await add(one, 'after it')) > place, 'what is committed later stands above')
})

t.test(
  'each knows its boot as it is stored, and gives its row back by it',
  { skip: noPostgres() },
  async (t) => {
    const { open, sql } = await fresh(t)
    const writers: PostgresWriter[] = []
    for (let i = 0; i < 24; i++) writers.push(await joinAsWriter(`d${i}`, open))
    const stored = sql('SELECT string_agg(boot::text, $$ $$ ORDER BY n) FROM writers WHERE boot IS NOT NULL')
    t.equal(stored, writers.map(({ boot }) => String(boot)).join(' '))
    for (const writer of writers) await writer.leave()
    t.equal(sql('SELECT count(*) FROM writers WHERE owner IS NOT NULL'), '0')
  },
)

t.test('who finds all places taken is told so', { skip: noPostgres() }, async (t) => {
  const { join, sql } = await fresh(t)
  sql("UPDATE writers SET owner = 'somebody', boot = n")
  await t.rejects(join('one more'), {
    name: 'StoreBusyError',
    message: /^all 256 places for writers are taken/,
  })
  sql('UPDATE writers SET owner = NULL, boot = NULL WHERE n = 255')
  t.equal((await join('one more')).n, 255)
})

t.test('after an outage of the observer nobody is taken over', async (t) => {
  let now = 0
  const observe = createObserver(() => now)
  const row = { n: 1, boot: 65, heartbeat: 7, owner: 'd' }
  t.same(observe([row]), [])
  now = 90_000
  t.same(observe([row]), [], 'its own heartbeats did not arrive either')
  for (let i = 0; i < 5; i++) {
    now += 5000
    t.same(observe([row]), [])
  }
  now += 5000
  t.same(observe([row]), [row])
  now += 5000
  t.same(observe([{ ...row, heartbeat: 8 }]), [])
})

t.test('one that cannot be ended keeps nobody from ending the others', { skip: noPostgres() }, async (t) => {
  const at = await fresh(t)
  const [, , observer] = await Promise.all(['stuck', 'dead', 'observer'].map((owner) => at.join(owner)))
  if (observer === undefined) throw new Error('expected three')
  const left = (): string => at.sql('SELECT string_agg(owner, $$ $$ ORDER BY owner) FROM writers')
  at.sql(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'it is stuck'; END$$;
    CREATE TRIGGER stuck BEFORE UPDATE ON writers FOR EACH ROW WHEN (OLD.owner = 'stuck') EXECUTE FUNCTION refuse()`)
  let now = 0
  const beat = createBeat(observer, () => now)
  for (; now < 30_000; now += 5000) await beat()
  t.equal(left(), 'dead observer stuck')
  await t.rejects(beat(), /it is stuck/)
  t.equal(left(), 'observer stuck')
  at.sql('DROP TRIGGER stuck ON writers')
})

t.test('a sign of life goes before what waits', { skip: noPostgres() }, async (t) => {
  const writer = await (await fresh(t)).join('a')
  const look = () => writer.look(first('SELECT heartbeat FROM writers WHERE n = ?', writer.n))
  const before = await look()
  const waited = writer.inTurn(look)
  await createBeat(writer)()
  t.ok(Number((await waited)?.heartbeat) > Number(before?.heartbeat))
})

const cut = (at: At): void => {
  at.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'postern/%'")
}

t.test('a lost connection: once, whenever it happens', { skip: noPostgres() }, async (t) => {
  const at = await fresh(t)
  at.sql(SEEN)
  const writer = await at.join('a')
  await add(writer, 'one')
  cut(at)
  await add(writer, 'two')
  let tries = 0
  await writer.write(function* (): Asking<void> {
    tries += 1
    if (tries === 1) cut(at)
    yield* run('INSERT INTO jobs_seen (ord, value) VALUES (?, ?)', writer.places.next(), 'three')
  })
  t.equal(tries, 2, 'what is surely not there is done again')
  t.equal(at.sql('SELECT string_agg(value, $$ $$ ORDER BY ord) FROM jobs_seen'), 'one two three')
})

t.test('a commit whose answer is lost is looked up, not done again', { skip: noPostgres() }, async (t) => {
  const at = await fresh(t)
  at.sql(SEEN)
  let isCut = true
  const writer = await joinAsWriter('a', async () => {
    const connection = await at.open()
    return {
      ...connection,
      get isLost() {
        return connection.isLost
      },
      async query(query) {
        const found = await connection.query(query)
        if (query.text !== 'COMMIT' || isCut) return found
        isCut = true
        cut(at)
        return connection.query({ text: 'SELECT 1', values: [] })
      },
    }
  })
  t.teardown(() => writer.leave())
  isCut = false
  await add(writer, 'once')
  t.equal(isCut, true)
  t.equal(at.sql('SELECT count(*) FROM jobs_seen'), '1')
})

t.test('the server stops and comes back', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const at = await fresh(t)
  at.sql(SEEN)
  const writer = await at.join('a')
  await cluster.stop('immediate')
  await t.rejects(add(writer, 'while it is away'), { code: 'service.unavailable' })
  await cluster.start()
  await add(writer, 'after')
  const connection = await at.open()
  t.same(await answer(connection, all('SELECT value FROM jobs_seen')), [{ value: 'after' }])
  await connection.close()
})
