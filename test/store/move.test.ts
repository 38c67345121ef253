/**
 * A store that moves from a data folder into PostgreSQL: all that can be read is the same there, and so are the rows.
 * What moves was made by the contract, which leaves something of everything.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { databaseFile } from '../../src/base/folder.js'
import { MOVED, STAYS } from '../../src/store/move.js'
import { moveStore, undoMove } from '../../src/store/open.js'
import type { Store } from '../../src/store/port/store.js'
import { openPostgresStore } from '../../src/store/postgres/open.js'
import { Database } from '../../src/store/sqlite/connect.js'
import { comeBack } from '../../src/store/sqlite/migrate/migrate.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { contract, FAMILY_NAMES, type FamilyName } from './contract.js'
import { mailFor, newAccount, T0 } from './fixture.js'
import { differences } from './reads-of-all.js'

const CHILD = join(import.meta.dirname, 'move-child.js')

/** What they leave is what moves. The others leave nothing, or not in the store that they share. */
const LEAVING: ReadonlySet<FamilyName> = new Set<FamilyName>([
  ...(['idempotency', 'ledger', 'tenants', 'identity', 'audit'] as const),
  ...(['operations', 'domains', 'sender dsns', 'webhooks', 'incidents', 'jobs', 'carry', 'texts'] as const),
])

const OTHERS = Object.fromEntries(
  FAMILY_NAMES.filter((name) => !LEAVING.has(name)).map((name) => [name, 'leaves nothing that moves']),
)

/** The first store that is asked for is the one that they share. */
const made = async (t: Test): Promise<string> => {
  const folders: string[] = []
  await t.test('the contract leaves something of everything', (inner) =>
    contract(
      inner,
      async (inner) => {
        const dataDir = mkdtempSync(join(tmpdir(), 'postern-move-'))
        t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
        folders.push(dataDir)
        const store = openSqliteStore({ dataDir, daemon: folders.length === 1 })
        inner.teardown(() => store.close())
        await store.open()
        return store
      },
      OTHERS,
    ),
  )
  return folders[0] as string
}

const folderOf = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-move-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const moveTo = async (t: Test, dataDir: string, urls: string) => {
  const urlFile = join(folderOf(t), 'url')
  writeFileSync(urlFile, urls, { mode: 0o600 })
  return { dataDir, urlFile, version: '1.0.0', say: () => {} }
}

/** Something that waits, in a folder of its own. */
const small = async (t: Test): Promise<string> => {
  const dataDir = folderOf(t)
  const store = openSqliteStore({ dataDir, daemon: true })
  await store.open()
  await newAccount(store)
  await store.close()
  return dataDir
}

t.test('every table of a folder moves, or stays for a reason', async (t) => {
  const db = new Database(databaseFile(await small(t)))
  const names = db.prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all()
  const ours = names.filter((name) => !/^(?:sqlite_|search_\w+_|moved_to$)/.test(name))
  for (const name of ours) t.ok(name in MOVED !== name in STAYS, name)
  db.close()
})

t.test('move', { skip: noPostgres() }, async (t) => {
  const server = await postgres()

  await t.test('all is there, and the folder is closed', async (t) => {
    const dataDir = await made(t)
    const urls = server.database()
    const { tables, missing } = await moveStore(await moveTo(t, dataDir, urls))
    t.ok((tables.emails?.rows ?? 0) > 100)
    t.same(missing, [])
    const closed = openSqliteStore({ dataDir, daemon: true })
    await t.rejects(closed.open(), {
      name: 'NewerDatabaseError',
      message: /moved to PostgreSQL at 127.0.0.1:\d+\/t_/,
    })

    const copy = join(folderOf(t), 'copy')
    cpSync(dataDir, copy, { recursive: true })
    const db = new Database(databaseFile(copy))
    t.match(
      db.prepare('SELECT version FROM made_by').pluck().get(),
      /its mail moved to 127/,
      'older ones say it, too',
    )
    comeBack(db)
    db.close()
    const before = openSqliteStore({ dataDir: copy, daemon: true })
    t.teardown(() => before.close())
    await before.open()
    const after = openPostgresStore({ urls })
    t.teardown(() => after.close())
    await after.open()
    const { differ, missing: cannot, mails } = await differences(before, after)
    t.same(differ, [])
    t.ok(mails > 5)
    if (cannot.length > 0) t.comment(`PostgreSQL cannot tell yet: ${cannot.join(', ')}`)
    const at = await newAccount(after)
    const mail = mailFor(at)
    await after.accept({ mails: [mail], idempotency: null, now: T0 })
    const last = server.sql(
      urls.split('/').at(-1) as string,
      'SELECT id FROM emails ORDER BY ord DESC LIMIT 1',
    )
    t.equal(last, mail.id, 'what is new stands above')
  })

  await t.test(
    'cut off at any point, one of the two can be served at most, and the same command goes on',
    async (t) => {
      const dataDir = await small(t)
      const urls = server.database()
      const { urlFile } = await moveTo(t, dataDir, urls)
      const serves = async (): Promise<readonly boolean[]> => {
        const opens = async (store: Store): Promise<boolean> => {
          try {
            await store.open()
            return true
          } catch (error) {
            t.match((error as Error).name, /^(?:NewerDatabase|DatabaseRefused)Error$/)
            return false
          } finally {
            await store.close()
          }
        }
        return [
          await opens(openSqliteStore({ dataDir, daemon: true })),
          await opens(openPostgresStore({ urls })),
        ]
      }
      const run = (verb: 'move' | 'undo', point = 'none'): string | null =>
        spawnSync(process.execPath, [CHILD, verb, dataDir, urlFile, point], { stdio: 'inherit' }).signal
      const [HERE, NOWHERE, THERE] = [
        [true, false],
        [false, false],
        [false, true],
      ]

      for (const table of [
        'begin',
        'marked',
        'recovered',
        ...Object.keys(MOVED).filter((_, i) => i % 8 === 0),
        'copied',
      ]) {
        t.equal(run('move', `move.${table}`), 'SIGKILL', table)
        t.same(await serves(), HERE, table)
      }
      t.equal(run('move', 'move.departed'), 'SIGKILL')
      t.same(await serves(), NOWHERE)
      t.equal(run('undo', 'undo.compared'), 'SIGKILL')
      t.same(await serves(), NOWHERE)
      t.equal(run('move'), null)
      t.same(await serves(), THERE)
      t.equal(run('undo', 'undo.compared'), 'SIGKILL')
      t.same(await serves(), THERE)
      t.equal(run('undo', 'undo.closed'), 'SIGKILL')
      t.same(await serves(), NOWHERE)
      t.equal(run('undo'), null)
      t.same(await serves(), HERE)
      t.equal(run('move', 'move.opened'), 'SIGKILL')
      t.same(await serves(), THERE)
      t.equal(run('undo', 'undo.back'), 'SIGKILL')
      t.same(await serves(), HERE)
    },
  )

  await t.test('what is not empty, and what was used, is refused in a line', async (t) => {
    const dataDir = await small(t)
    const urls = server.database()
    const options = await moveTo(t, dataDir, urls)
    const used = server.database()
    const other = openPostgresStore({ urls: used })
    await other.open()
    await other.close()
    await t.rejects(moveStore(await moveTo(t, dataDir, used)), {
      message: /has a store already: name an empty/,
    })
    await moveStore(options)
    await t.rejects(moveStore(options), { message: /is in 127.* already/ })
    await t.rejects(moveStore(await moveTo(t, await small(t), urls)), {
      message: /has the store of .* already/,
    })
    await t.rejects(undoMove(await moveTo(t, dataDir, used)), { message: /does not have it/ })
    const after = openPostgresStore({ urls })
    await after.open()
    await t.rejects(undoMove(options), { message: /is in use .*: stop all daemons/ })
    await newAccount(after)
    await after.close()
    await t.rejects(undoMove(options), { message: /was used since the move \(accounts, / })
    const folder = await small(t)
    const running = openSqliteStore({ dataDir: folder, daemon: true })
    await running.open()
    t.teardown(() => running.close())
    await t.rejects(moveStore(await moveTo(t, folder, server.database())), { name: 'StoreBusyError' })
  })
})
