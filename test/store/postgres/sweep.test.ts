/**
 * Housekeeping on PostgreSQL: what is old goes whole, also when two daemons sweep at once, and nothing else does.
 */
import t, { type Test } from 'tap'
import type { Store } from '../../../src/store/port/store.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { accepted, HOUR, mailFor, newAccount, page, scopeOf, T0, toOne } from '../fixture.js'

const skip = { skip: noPostgres() }

const open = async (t: Test, urls: string): Promise<Store> => {
  const store = openPostgresStore({ urls })
  t.teardown(() => store.close())
  await store.open()
  return store
}

const TABLES = ['emails', 'bodies', 'recipient_rows', 'queue', 'tags', 'events', 'search_words', 'owed_dsns']

t.test('what is old goes, what is under way stays', skip, async (t) => {
  const server = await postgres()
  const urls = server.database()
  const name = new URL(urls).pathname.slice(1)
  const counts = () => TABLES.map((table) => Number(server.sql(name, `SELECT count(*) FROM ${table}`)))
  const [one, two] = [await open(t, urls), await open(t, urls)]
  const at = await newAccount(one)
  const before = counts()
  const tags = [{ name: 'a', value: 'b' }]
  const mails = Array.from({ length: 450 }, () =>
    mailFor(at, { tags, recipients: [toOne('a@x.test'), toOne('b@x.test')] }),
  )
  await one.accept({ mails, idempotency: null, now: T0 })
  const waits = await accepted(one, at)
  while ((await one.indexMails(1000)) > 0) {}
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
  const urls = server.database()
  const name = new URL(urls).pathname.slice(1)
  const count = (table: string) => Number(server.sql(name, `SELECT count(*) FROM ${table}`))
  const store = await open(t, urls)
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
