/** The database's file is removed, renamed or replaced under a store that has it open. */
import { copyFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Store } from '../../src/store/port/store.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { accepted, newAccount } from './fixture.js'

const openOn = async (t: Test, dataDir: string): Promise<Store> => {
  const store = openSqliteStore({ dataDir, daemon: true })
  t.teardown(() => store.close())
  await store.open()
  return store
}

const leftLogs = (dataDir: string): string[] =>
  readdirSync(dataDir).filter((name) => name.startsWith('postern.db-wal.left-'))

const WAYS: Readonly<Record<string, (file: string, spare: string) => void>> = {
  removed: (file) => rmSync(file),
  renamed: (file) => renameSync(file, `${file}.old`),
  replaced: (file, spare) => renameSync(spare, file),
}

for (const [way, lose] of Object.entries(WAYS)) {
  for (const busy of [true, false]) {
    t.test(`${way}, ${busy ? 'with the next mail' : 'and nothing written'}`, async (t) => {
      const dataDir = join(t.testdir(), 'data')
      const file = join(dataDir, 'postern.db')
      const store = await openOn(t, dataDir)
      const at = await newAccount(store)
      await accepted(store, at)
      const spare = join(dataDir, '..', 'copy.db')
      await store.backup(spare)
      lose(file, spare)
      if (busy) await t.rejects(accepted(store, at), { message: /no longer the database that was opened/ })
      t.match((await store.broken).message, way === 'replaced' ? /another file/ : /moved or removed/)
      await t.rejects(accepted(store, at), 'nothing more is promised')
      t.equal(leftLogs(dataDir).length, 1, 'its log is out of the way of another database')
    })
  }
}

t.test('a database that is put back with its log has all that was acknowledged', async (t) => {
  const dataDir = t.testdir()
  const file = join(dataDir, 'postern.db')
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  const mails = [await accepted(store, at), await accepted(store, at)]
  renameSync(file, `${file}.old`)
  await store.broken
  await store.close()
  await t.rejects(openSqliteStore({ dataDir, daemon: true }).open(), {
    name: 'DamagedFileError',
    message: /postern\.db is gone, but not the end of it, .*postern\.db-wal\.left-.*; put the database back/,
  })
  t.notOk(readdirSync(dataDir).includes('postern.db'), 'no empty one was made')
  renameSync(`${file}.old`, file)
  renameSync(join(dataDir, String(leftLogs(dataDir)[0])), `${file}-wal`)
  const again = await openOn(t, dataDir)
  t.same(await again.check(), [])
  t.equal((await again.knownEmails(mails.map(({ id }) => id))).length, 2)
})

t.test('a log without its database, as a killed daemon leaves it', async (t) => {
  const folder = t.testdir({ other: {} })
  const [dataDir, other] = [join(folder, 'data'), join(folder, 'other')]
  const store = await openOn(t, dataDir)
  await newAccount(store)
  copyFileSync(join(dataDir, 'postern.db-wal'), join(other, 'postern.db-wal'))
  await t.rejects(openSqliteStore({ dataDir: other, daemon: true }).open(), /put the database back/)
})
