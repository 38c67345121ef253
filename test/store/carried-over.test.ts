/**
 * A database of 0.1.0 is carried over: every row is there, in the order of its
 * lists, the copy comes first, and what was under way goes on.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Database, type Db } from '../../src/store/sqlite/connect.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { ANSWERS, makeOld } from '../parts/of-0.1.0.js'
import { follow, page } from './fixture.js'

const TABLES = ['emails', 'recipients', 'tags', 'bodies', 'owed_dsns', 'idempotency', 'rate_windows']
const OF_TENANTS = ['accounts', 'workspaces', 'pools', 'keys', 'credentials', 'users', 'sessions']
const REST = ['suppressions', 'domains', 'holds']
/** Columns that a table has no more, or has in another form; workspaces have got pools of their own, and mend line ends. */
const GONE: Readonly<Record<string, readonly string[]>> = {
  tags: ['email_id'],
  owed_dsns: ['event_id'],
  workspaces: ['pool_id', 'line_endings'],
  emails: ['pool'],
  recipients: ['pool', 'email_id'],
}

/** Each table's rows as text, sorted, by the columns that 0.1.0 had. */
const contents = (file: string, columnsOf: (table: string, db: Db) => string[]) => {
  const db = new Database(file, { readonly: true })
  const found = Object.fromEntries(
    [...TABLES, ...OF_TENANTS, ...REST].map((table) => {
      const columns = columnsOf(table, db)
      const rows = db
        .prepare(`SELECT ${columns.join(', ')} FROM ${table}`)
        .raw()
        .all()
      return [table, rows.map((row) => JSON.stringify(row)).sort()]
    }),
  )
  db.close()
  return found
}

/** The columns that every event kept; of the rest the names changed. */
const eventsOf = (file: string): readonly Record<string, unknown>[] => {
  const db = new Database(file, { readonly: true })
  const rows = db.prepare('SELECT * FROM events ORDER BY email_id, id').all() as Record<string, unknown>[]
  db.close()
  return rows
}

t.test('every event comes along, in the timeline of its mail and not in the log', async (t) => {
  const dataDir = join(t.testdir(), 'data')
  makeOld(dataDir)
  const before = eventsOf(join(dataDir, 'postern.db'))
  t.ok(before.length > 10)
  const store = openSqliteStore({ dataDir, daemon: true })
  t.teardown(() => store.close())
  await store.open()
  for (const emailId of new Set(before.map((row) => String(row.email_id)))) {
    const { rows } = await store.events(emailId, page({ limit: 1000 }))
    t.same(
      [...rows]
        .reverse()
        .map(({ id, recipientId, source, occurredAt, createdAt, attempt, applied, reason, ...rest }) => ({
          ...{ id, recipientId, source, occurredAt, createdAt, attempt, applied, reason },
          more: [rest.reply, rest.mta, rest.detail],
        })),
      before
        .filter((row) => row.email_id === emailId)
        .map((row) => {
          const more = row.more === null ? {} : JSON.parse(String(row.more))
          return {
            id: row.id,
            recipientId: row.recipient_id,
            source: row.source,
            occurredAt: row.occurred_at,
            createdAt: row.created_at,
            attempt: row.attempt,
            applied: row.applied === 1,
            reason: row.reason,
            more: [more.reply ?? null, more.mta ?? null, more.detail ?? null],
          }
        }),
    )
  }
  t.match(await follow(store, null, null, 1000), { rows: [], isEnd: true }, 'history is told to nobody')
})

t.test('every row comes along, after a copy', async (t) => {
  const dataDir = join(t.testdir(), 'data')
  makeOld(dataDir)
  const file = join(dataDir, 'postern.db')
  const columns = new Map<string, string[]>()
  const before = contents(file, (table, db) => {
    const names = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table)
    columns.set(
      table,
      names.filter((name) => !GONE[table]?.includes(name)),
    )
    return columns.get(table) as string[]
  })
  const said: Record<string, unknown>[] = []
  const log = { info: (fields: Record<string, unknown>) => said.push(fields) } as never
  const store = openSqliteStore({ dataDir, daemon: true, log })
  t.teardown(() => store.close())
  await store.open()
  t.same(await store.check(), [])
  const after = contents(file, (table) => columns.get(table) as string[])
  for (const table of Object.keys(before)) {
    t.ok((before[table]?.length ?? 0) > 0, `${table} has rows`)
    const there = after[table]?.filter((row) => table !== 'pools' || before[table]?.includes(row))
    t.same(there, before[table], table)
  }
  const copies = readdirSync(dataDir).filter((name) => /^before-migration-8-.*\.db$/.test(name))
  t.equal(copies.length, 1)
  t.same(
    contents(join(dataDir, String(copies[0])), (table) => columns.get(table) as string[]),
    before,
    'the copy is the old one',
  )
  t.match(said, [
    { event: 'migrating', copy: String },
    { event: 'migrated', from: 8, ms: Number },
  ])
})

t.test('what was under way goes on', async (t) => {
  const dataDir = join(t.testdir(), 'data')
  makeOld(dataDir)
  const store = openSqliteStore({ dataDir, daemon: true })
  t.teardown(() => store.close())
  await store.open()
  const scope = { accountId: ANSWERS.accountId, workspaceId: null, mode: null }
  const { ids } = ANSWERS
  t.match(await store.recover('earlier', Date.now()), { ambiguous: 2 }, 'both of its recipients')
  t.match(await store.email(scope, ids.killed), { status: 'queued' })
  t.match((await store.events(ids.killed, page())).rows[0], { reason: 'ambiguous' })
  t.match(await store.email(scope, ids.later), { counts: { scheduled: 1 } })
  const owed = await store.pendingDsns(Date.now() + 86_400_000, 10)
  const bounced = (await store.events(ids.smtp, page())).rows.find(
    ({ id }) => id === 'evt_01m869aav4egabgs2ycrrg564n',
  )
  t.equal(owed[0]?.recipients[0]?.occurredAt, bounced?.occurredAt, 'the report tells of the same event')
  t.same(owed[0]?.recipients[0]?.reply, bounced?.reply)
  t.equal(await store.cancel(scope, ids.later, Date.now()), 'done')
  t.ok(await store.body(ids.leased))
  t.match(await store.findEmails('<m1@client.test>', 5), [{ id: ids.smtp }])
})

t.test('retention reaches what was carried over, past rows from the future', async (t) => {
  const dataDir = join(t.testdir(), 'data')
  makeOld(dataDir, 1_000)
  const store = openSqliteStore({ dataDir, daemon: true })
  t.teardown(() => store.close())
  await store.open()
  const at = Date.UTC(2026, 10, 22, 9)
  const keep = { bodiesMs: 7 * 86_400_000, emailsMs: 20 * 86_400_000 }
  await store.sweep(at, keep)
  const db = new Database(join(dataDir, 'postern.db'), { readonly: true })
  t.teardown(() => db.close())
  const count = (sql: string) => db.prepare(sql).pluck().get()
  t.equal(count("SELECT count(*) FROM emails WHERE id LIKE 'em_01k0%'"), 0)
  t.equal(
    count("SELECT count(*) FROM events WHERE email NOT IN (SELECT ord FROM emails) OR id LIKE 'evt_01k0%'"),
    0,
  )
  t.equal(count('SELECT count(*) FROM bodies WHERE n > 1000 AND n < 10000000'), 0)
  t.equal(count(`SELECT count(*) FROM emails WHERE id = '${ANSWERS.ids.future}'`), 1)
  t.equal(await store.sweep(at, keep), 0, 'nothing more')
})

t.test('a large one: what it took', async (t) => {
  const dataDir = join(t.testdir(), 'data')
  const count = 100_000
  makeOld(dataDir, count)
  const file = join(dataDir, 'postern.db')
  const size = statSync(file).size
  const broke: string[] = []
  let took: unknown
  const log = {
    info: (fields: { ms?: number }) => {
      took = fields.ms ?? took
    },
    fatal: ({ reason }: { reason: string }) => broke.push(reason),
  } as never
  const store = openSqliteStore({ dataDir, daemon: true, log })
  t.teardown(() => store.close())
  await store.open()
  const wal = statSync(`${file}-wal`).size
  const none = { mode: null, status: null, to: null, tag: null, createdAfter: null, createdBefore: null }
  const filter = { accountId: ANSWERS.accountId, workspaceId: null, ...none }
  const bottom = await store.emails(filter, page({ direction: 'newer', limit: 2 }))
  const mb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
  t.comment(
    `${count} mails, ${mb(size)}: ${took} ms; the copy as much again, the log up to ${mb(wal)}, afterwards ${mb(statSync(file).size)}`,
  )
  t.match(bottom.rows[0]?.id, /^em_01k0/)
  t.match(await store.emails({ ...filter, to: 'u77777@dest.test' }, page()), {
    rows: [{ status: 'delivered' }],
  })
  await store.close() // the folder is large: it would be half gone before a teardown has closed what it holds
  t.same(broke, [])
})
