/**
 * Housekeeping on PostgreSQL: what is old goes whole, also when two daemons sweep at once, and nothing else does.
 */
import t, { type Test } from 'tap'
import { type Connection, connect } from '../../../src/store/postgres/connection.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import {
  accepted,
  claimOne,
  follow,
  HOUR,
  indexMails,
  mailFor,
  newAccount,
  ofLease,
  page,
  scopeOf,
  T0,
  toOne,
} from '../fixture.js'
import { opened } from './database.js'

const skip = { skip: noPostgres() }

const TABLES = ['emails', 'bodies', 'recipient_rows', 'queue', 'tags', 'events', 'search_words', 'owed_dsns']

t.test('what is old goes, what is under way stays', skip, async (t) => {
  const server = await postgres()
  const urls = await server.withTables()
  const name = new URL(urls).pathname.slice(1)
  const counts = () => TABLES.map((table) => Number(server.sql(name, `SELECT count(*) FROM ${table}`)))
  const [one, two] = [await opened(t, urls), await opened(t, urls)]
  const at = await newAccount(one)
  const before = counts()
  const tags = [{ name: 'a', value: 'b' }]
  const mails = Array.from({ length: 450 }, () =>
    mailFor(at, { tags, recipients: [toOne('a@x.test'), toOne('b@x.test')] }),
  )
  await one.accept({ mails, idempotency: null, now: T0 })
  const waits = await accepted(one, at)
  while ((await indexMails(one, 1000)) > 0) {}
  const scope = { accountId: at.accountId, workspaceId: null, poolId: null, domain: 'x.test', emailId: null }
  const purge = { action: 'purge' as const, scope, to: null, reason: 'gone', now: T0 }
  t.equal(await one.operate(purge), 900)
  const keep = { bodiesMs: 24 * HOUR, emailsMs: 48 * HOUR }
  t.equal(await one.sweep(T0 + 24 * HOUR, keep), 0)

  const removed = await Promise.all([one, two].map((store) => store.sweep(T0 + 25 * HOUR, keep)))
  t.ok(removed.reduce((sum, n) => sum + n) >= 450)
  t.equal(await one.body(mails[0]?.id ?? ''), null)
  t.not(await one.body(waits.id), null)
  t.equal((await one.email(scopeOf(at), mails[0]?.id ?? ''))?.status, 'bounced')

  await Promise.all([one, two].map((store) => store.sweep(T0 + 49 * HOUR, keep)))
  await one.sweep(T0 + 49 * HOUR, keep)
  t.same(
    (await one.emails({ ...filter, accountId: at.accountId, workspaceId: at.workspace.id }, page())).rows.map(
      ({ id }) => id,
    ),
    [waits.id],
  )
  const [emails, bodies, people, queue, tagged, , , owed] = counts()
  const words = Number(
    server.sql(name, 'SELECT count(*) FROM search_words WHERE ord NOT IN (SELECT ord FROM emails)'),
  )
  t.same([emails, bodies, people, queue, tagged, words, owed], [1, 1, 1, 1, 0, 0, 0])
  t.equal(before[0], 0)
})

const filter = { mode: null, status: null, to: null, tag: null, createdAfter: null, createdBefore: null }

t.test('answers, windows and what was told of no mail have their time', skip, async (t) => {
  const server = await postgres()
  const urls = await server.withTables()
  const name = new URL(urls).pathname.slice(1)
  const count = (table: string) => Number(server.sql(name, `SELECT count(*) FROM ${table}`))
  const store = await opened(t, urls)
  const at = await newAccount(store)
  const now = Date.now()
  const key = { workspaceId: at.workspace.id, mode: 'live' as const, key: 'k', fingerprint: 'f', token: 't' }
  await store.claimKey({ ...key, lockedUntil: now + 1, now })
  await store.consume('bucket', 0, 1, 10)
  const type = 'suppression.added' as const
  const owner = { accountId: at.accountId, workspaceId: at.workspace.id, mode: 'live' as const }
  await store.addNotice({ ...owner, type, now, data: {} })
  const keep = { bodiesMs: HOUR, emailsMs: HOUR, logMs: 48 * HOUR, reportsMs: HOUR }
  await store.sweep(now, keep)
  t.same([count('idempotency'), count('rate_windows'), count('events')], [1, 1, 1])
  await store.sweep(now + 49 * HOUR, keep)
  t.same([count('idempotency'), count('rate_windows')], [0, 0])
  t.equal(count('events'), 1, 'the log follows what is stored, and not the clock')
})

t.test('who follows a log at rest is behind nothing, however long nothing comes', skip, async (t) => {
  const store = await opened(t, (await postgres()).database())
  await newAccount(store)
  const keep = { bodiesMs: HOUR, emailsMs: HOUR }
  await store.sweep(Date.now(), { ...keep, logMs: 2 * HOUR })
  const { newest } = await store.logEnds()
  await store.sweep(Date.now(), { ...keep, logMs: HOUR })
  t.match(await follow(store, null, newest, 10), { rows: [], isEnd: true })
})

const urlOf = async () => {
  const server = await postgres()
  const urls = await server.withTables()
  const name = new URL(urls).pathname.slice(1)
  const sql = (text: string): string => server.sql(name, text)
  /** Beside all stores, and without their conditions. */
  const beside = async (t: Test): Promise<Connection> => {
    const connection = await connect(serversOf(urls), 'beside')
    t.teardown(() => connection.close())
    await connection.query({ text: 'SET idle_in_transaction_session_timeout = 0', values: [] })
    return connection
  }
  const someoneWaits = () =>
    eventually('somebody waits for a lock', () => sql('SELECT 1 FROM pg_locks WHERE NOT granted') !== '')
  return { urls, sql, beside, someoneWaits }
}

t.test('what comes while its mail goes is not left behind', skip, async (t) => {
  const late = {
    // as the statement of settle does that tells of it: it has the recipient, and the mail stays as it is
    events: `UPDATE recipient_rows SET attempts = attempts;
      INSERT INTO events (ord, email, scope, kind, flags, occurred_at, late)
      SELECT max(v.ord) + 1, e.ord, 2, 1, 0, 0, 0 FROM events v, emails e GROUP BY e.ord`,
    search_words: `UPDATE search_state SET place = (SELECT max(ord) FROM emails);
      INSERT INTO search_words (ord, words) SELECT ord, '' FROM emails`,
  }
  for (const [table, text] of Object.entries(late)) {
    const { urls, sql, beside, someoneWaits } = await urlOf()
    const store = await opened(t, urls)
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    await store.settle([ofLease(await claimOne(store, at, T0))])
    const connection = await beside(t)
    await connection.query({ text: `BEGIN; ${text}`, values: [] })
    const sweep = store.sweep(T0 + 50 * HOUR, { bodiesMs: HOUR, emailsMs: HOUR })
    await someoneWaits()
    await connection.query({ text: 'COMMIT', values: [] })
    await sweep
    t.equal(await store.email(scopeOf(at), mail.id), null)
    t.equal(sql(`SELECT count(*) FROM ${table}`), '0', table)
  }
})

t.test('old mail goes while verbs of tenants are under way', skip, async (t) => {
  const { urls, sql, beside, someoneWaits } = await urlOf()
  const store = await opened(t, urls)
  const at = await newAccount(store)
  await accepted(store, at)
  await store.settle([ofLease(await claimOne(store, at, T0))])
  await store.consume('bucket', 0, 1, 10)
  const connection = await beside(t)
  await connection.query({ text: 'BEGIN; SELECT last FROM order_state FOR UPDATE', values: [] })
  const now = Date.now() + 50 * HOUR
  const sweep = store.sweep(now, { bodiesMs: HOUR, emailsMs: HOUR, deadlines: false })
  await eventually(
    'mail and windows are gone',
    () => sql('SELECT count(*) FROM emails, rate_windows') === '0',
  )
  await someoneWaits()
  t.equal(sql('SELECT count(*) FROM bodies'), '0')
  await connection.query({ text: 'COMMIT', values: [] })
  t.equal(await sweep, 3)
})
