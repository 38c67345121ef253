/**
 * What 0.9.0 and 0.10.0 left is brought up to date: it has the tables, columns, indexes and triggers of a new database, in
 * the same order, every row, and all that it said before is said again. What was under way goes on. What is older is refused.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { moveStore } from '../../src/store/open.js'
import type { Store } from '../../src/store/port/store.js'
import { migrateServer } from '../../src/store/postgres/begin.js'
import { openPostgresStore } from '../../src/store/postgres/open.js'
import { SCHEMA } from '../../src/store/postgres/schema/steps.js'
import type { Db } from '../../src/store/sqlite/connect.js'
import { openWriter, prepareFile } from '../../src/store/sqlite/connect.js'
import { migrate } from '../../src/store/sqlite/migrate/migrate.js'
import { NEWEST, STEPS } from '../../src/store/sqlite/migrate/steps.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { EARLIER, type Earlier, type Left, loadEarlier, makeEarlier, SCHEMAS } from '../parts/earlier.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { accepted, newAccount, page, T0 } from './fixture.js'
import { differences, readAll } from './reads-of-all.js'

type Tables = Readonly<Record<string, readonly string[]>>

/** Without comments, quotes and the form of the text. */
const plainSql = (text: string): string =>
  text
    .replace(/--[^\n]*/g, '')
    .replaceAll('"', '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([(),]) ?/g, '$1')

/** All but parts of the index of words, which come with mail: by table, in the order in which they were made. */
const schemaOf = (db: Db): Tables => {
  const found: Record<string, string[]> = {}
  const rows = db.prepare(
    'SELECT type, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid',
  )
  for (const { tbl_name: table, sql } of rows.all() as { tbl_name: string; sql: string }[])
    if (!/^search_\d/.test(table)) found[table] = [...(found[table] ?? []), plainSql(sql)]
  return found
}

const NAMES = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'search_[0-9]*'
  AND name NOT GLOB 'sqlite_*' ORDER BY name`

/** Rows by table, as text in an order of their own, of these columns; unsaid, of all that a table has. */
const rowsOf = (db: Db, of?: Tables) => {
  const columns: Record<string, readonly string[]> = {}
  const rows: Record<string, readonly string[]> = {}
  for (const table of of === undefined ? db.prepare<[], string>(NAMES).pluck().all() : Object.keys(of)) {
    columns[table] =
      of?.[table] ?? db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table)
    const all = db
      .prepare(`SELECT ${columns[table].join(', ')} FROM ${table}`)
      .raw()
      .all()
    rows[table] = all.map((row) => JSON.stringify(row)).sort()
  }
  return { columns, rows }
}

/** Of what is there now only what was said then: members may have come. */
const asThen = (now: unknown, then: unknown): unknown => {
  if (Array.isArray(then) && Array.isArray(now)) return now.map((one, i) => asThen(one, then[i]))
  if (then === null || now === null || typeof then !== 'object' || typeof now !== 'object') return now
  return Object.fromEntries(
    Object.entries(then).map(([name, value]) => [
      name,
      asThen((now as Record<string, unknown>)[name], value),
    ]),
  )
}

const saysTheSame = async (t: Test, store: Store, { reads }: Left): Promise<void> => {
  const now = await readAll(store, 60)
  t.ok(Object.keys(reads).length > 200)
  for (const [name, then] of Object.entries(reads)) t.same(asThen(now[name], then), then, name)
  t.same(await store.check(), [])
}

/** It was on its way when the daemon died; and new mail is taken. */
const goesOn = async (t: Test, store: Store, { dying }: Left): Promise<void> => {
  const [account] = await store.accounts()
  const scope = { accountId: account?.id ?? '', workspaceId: null, mode: null }
  t.match(await store.recover('earlier', Date.now()), { ambiguous: 1 })
  t.match((await store.events(dying, page())).rows[0], { reason: 'ambiguous' })
  t.match(await store.email(scope, dying), { status: 'queued', recipients: [{ address: 'dying@sink.test' }] })
  const all = { ...scope, status: null, to: null, tag: null, createdAfter: null, createdBefore: null }
  const ofBuilds = store.emails(all, page({ anchor: dying }))
  await t.rejects(ofBuilds, { code: 'validation.cursor_invalid' }, 'as cursors before 0.9.0 said it')
  const mail = await accepted(store, await newAccount(store))
  t.match((await store.events(mail.id, page())).rows, [{ type: 'email.queued' }])
}

/** Tables of which these installations left no row. */
const EMPTY_THEN = new Set([
  ...['carried_bodies', 'identities', 'incidents', 'owed_dsns', 'pending_suppressions', 'queue_orders'],
  ...['remembered', 'replays', 'resumes'],
])

const NEXT = ['ALTER TABLE emails ADD COLUMN novelty TEXT', 'CREATE TABLE novelties (id TEXT PRIMARY KEY)']

t.test('SQLite', async (t) => {
  const fresh = (t: Test, steps?: readonly string[]): Db => {
    const folder = mkdtempSync(join(tmpdir(), 'postern-new-'))
    const db = openWriter(prepareFile(folder))
    t.teardown(() => {
      db.close()
      rmSync(folder, { recursive: true })
    })
    migrate(db, T0, '1.0.0', steps)
    return db
  }

  for (const version of EARLIER) {
    t.test(`of ${version}`, async (t) => {
      const dataDir = join(t.testdir(), 'data')
      const left = makeEarlier(dataDir, version)
      const file = join(dataDir, 'postern.db')
      const db = openWriter(file)
      t.equal(db.pragma('user_version', { simple: true }), SCHEMAS[version].sqlite)
      const before = rowsOf(db)
      t.same(
        Object.keys(before.rows).filter((table) => before.rows[table]?.length === 0),
        [...EMPTY_THEN],
      )
      migrate(db, T0, '1.0.0')
      t.equal(db.pragma('user_version', { simple: true }), NEWEST)
      t.same(schemaOf(db), schemaOf(fresh(t)))
      t.same(rowsOf(db, before.columns).rows, { ...before.rows, made_by: ['["1.0.0"]'] })
      db.close()
      const store = openSqliteStore({ dataDir, daemon: true })
      t.teardown(() => store.close())
      await store.open()
      await saysTheSame(t, store, left)
      await goesOn(t, store, left)
    })
  }

  t.test('a daemon migrates, after a copy of what was there', async (t) => {
    const dataDir = join(t.testdir(), 'data')
    makeEarlier(dataDir, '0.9.0')
    const read = (file: string) => {
      const db = openWriter(file)
      // a copy has the octets that the folder keeps in files
      const { bodies = [], ...rows } = rowsOf(db).rows
      const found = [db.pragma('user_version', { simple: true }), bodies.length, rows]
      db.close()
      return found
    }
    const before = read(join(dataDir, 'postern.db'))
    const said: Record<string, unknown>[] = []
    const log = { info: (fields: Record<string, unknown>) => said.push(fields) } as never
    const store = openSqliteStore({ dataDir, daemon: true, log })
    await store.open()
    await store.close()
    const copies = readdirSync(dataDir).filter((name) => /^before-migration-43-.*\.db$/.test(name))
    t.equal(copies.length, 1)
    t.same(read(join(dataDir, String(copies[0]))), before)
    t.match(said, [
      { event: 'migrating', copy: String },
      { event: 'migrated', from: 43, ms: Number },
    ])
  })

  t.test('a new database takes the next step after its tables, as an old one does', async (t) => {
    const steps = [...STEPS, ...NEXT]
    const made = fresh(t, steps)
    t.equal(made.pragma('user_version', { simple: true }), NEWEST + 2)
    t.ok('novelties' in schemaOf(made))
    const folder = t.testdir()
    for (const version of EARLIER) {
      const dataDir = join(folder, version)
      makeEarlier(dataDir, version)
      const db = openWriter(join(dataDir, 'postern.db'))
      migrate(db, T0, '2.0.0', steps)
      t.same(schemaOf(db), schemaOf(made), version)
      db.close()
    }
    t.throws(() => migrate(made, T0, '1.0.0'), {
      name: 'NewerDatabaseError',
      message: `the database has schema version ${NEWEST + 2}, this Postern knows ${NEWEST}: install Postern 1.0.0 or newer`,
    })
  })

  t.test('what is older is refused, and not touched', async (t) => {
    const dataDir = join(t.testdir(), 'data')
    makeEarlier(dataDir, '0.9.0')
    const file = join(dataDir, 'postern.db')
    const db = openWriter(file)
    db.pragma('user_version = 42')
    t.throws(() => migrate(db, T0, '1.0.0'), { name: 'OlderDatabaseError' })
    db.close()
    const bytes = readFileSync(file)
    const store = openSqliteStore({ dataDir, daemon: true })
    await t.rejects(store.open(), {
      name: 'OlderDatabaseError',
      message:
        'the database has schema version 42, this Postern opens 43 and newer: open it once with Postern 0.9 or 0.10, then with this one',
    })
    await store.close()
    t.ok(readFileSync(file).equals(bytes))
  })
})

const CATALOG = `
  SELECT c.relname || ' ' || a.attnum || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull::text
    || ' ' || coalesce((SELECT collname FROM pg_collation WHERE oid = a.attcollation), '') || ' ' || a.attcompression::text
    || ' ' || a.attgenerated::text || ' ' || a.attstorage::text || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v')
  UNION ALL SELECT relname || ' ' || relkind::text || ' ' || coalesce(reloptions::text, '') FROM pg_class
    WHERE relnamespace = 'public'::regnamespace
  UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace
  UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t WHERE NOT tgisinternal
  UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT viewname || ' ' || definition FROM pg_views WHERE schemaname = 'public'
  ORDER BY 1`

t.test('PostgreSQL', { skip: noPostgres() }, async (t) => {
  const server = await postgres()
  const nameIn = (urls: string): string => urls.split('/').at(-1) ?? ''
  const asks = (urls: string) => (text: string) => server.sql(nameIn(urls), text)
  const fresh = asks(await server.withTables())(CATALOG)

  for (const version of EARLIER) {
    t.test(`of ${version}`, async (t) => {
      const { urls, ...left } = loadEarlier(server, version)
      const ask = asks(urls)
      t.equal(ask('SELECT version FROM schema_version'), String(SCHEMAS[version].postgres))
      const names = ask(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1",
      )
      const columns = (table: string): string =>
        ask(
          `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
             WHERE attrelid = '${table}'::regclass AND attnum > 0`,
        )
      const then = names.split('\n').map((table) => [table, columns(table)] as const)
      const rows = () =>
        Object.fromEntries(
          then.map(([table, columns]) => [
            table,
            ask(
              `SELECT count(*), md5(string_agg(r::text, '|' ORDER BY r::text)) FROM (SELECT ${columns} FROM ${table}) r`,
            ),
          ]),
        )
      const { schema_version: _, ...before } = rows()
      t.same(await migrateServer(urls, '1.0.0'), { from: SCHEMAS[version].postgres, to: SCHEMA })
      t.equal(ask(CATALOG), fresh)
      const { schema_version: __, ...after } = rows()
      t.same(after, before)
      // the daemon that was killed begins again
      const owner = ask("SELECT owner FROM writers WHERE role = 'main'")
      const store = openPostgresStore({ urls, lock: () => ({ owner, unlock() {} }) })
      t.teardown(() => store.close())
      await store.open()
      await saysTheSame(t, store, left)
      await goesOn(t, store, left)
    })
  }

  t.test('what is older is refused, and not touched', async (t) => {
    const { urls } = loadEarlier(server, '0.9.0')
    const ask = asks(urls)
    ask('UPDATE schema_version SET version = 5')
    const before = ask(CATALOG)
    const message =
      'the database has schema version 5, this Postern opens 6 and newer: open it once with Postern 0.9 or 0.10, then with this one'
    await t.rejects(migrateServer(urls, '1.0.0'), { name: 'OlderDatabaseError', message })
    const store = openPostgresStore({ urls })
    await t.rejects(store.open(), { name: 'OlderDatabaseError', message })
    await store.close()
    t.equal(ask(CATALOG), before)
    t.equal(ask('SELECT version FROM schema_version'), '5')
  })

  for (const version of EARLIER) {
    t.test(`a folder of ${version} moves`, async (t) => {
      const folder = t.testdir()
      const [dataDir, copy] = ['data', 'copy'].map((name) => join(folder, name)) as [string, string]
      for (const folder of [dataDir, copy]) {
        makeEarlier(folder, version as Earlier)
        const store = openSqliteStore({ dataDir: folder, daemon: true })
        await store.open()
        await store.recover('earlier', T0)
        await store.close()
      }
      const urls = server.database()
      const urlFile = join(dataDir, 'url')
      writeFileSync(urlFile, urls, { mode: 0o600 })
      t.same((await moveStore({ dataDir, urlFile, version: '1.0.0', say: () => {} })).missing, [])
      const [before, after] = [openSqliteStore({ dataDir: copy, daemon: true }), openPostgresStore({ urls })]
      t.teardown(() => Promise.all([before.close(), after.close()]))
      await before.open()
      await after.open()
      t.match(await differences(before, after), { differ: [], missing: [], mails: 5 })
    })
  }
})
