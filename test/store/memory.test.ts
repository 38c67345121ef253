/** What is remembered is as fresh as what is read, whoever wrote. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextCallback } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openReader, openWriter, prepareFile } from '../../src/store/sqlite/connect.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { createMemory, createSnapshot } from '../../src/store/sqlite/read/known.js'
import { sessionFor, userFor } from './contract-identity.js'
import { credentialFor, poolFor } from './contract-tenants.js'
import { newAccount } from './fixture.js'

const folder = (test: Test): string => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-memory-'))
  test.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

t.test('one read serves until such a row changes', async (t) => {
  const file = prepareFile(folder(t))
  const writer = openWriter(file)
  writer.exec('CREATE TABLE changes (n INTEGER NOT NULL); INSERT INTO changes VALUES (0)')
  writer.exec('CREATE TABLE things (name TEXT)')
  const reader = openReader(file)
  const remember = createMemory(reader, createSnapshot(reader))
  const count = reader.prepare<[], number>('SELECT count(*) FROM things').pluck()
  let reads = 0
  const things = (): number | undefined =>
    remember('things', () => {
      reads++
      return count.get()
    })
  t.equal(things(), 0)
  await nextCallback()
  t.equal(things(), 0)
  t.equal(reads, 1)
  writer.exec("BEGIN; INSERT INTO things VALUES ('a'); UPDATE changes SET n = n + 1")
  await nextCallback()
  t.equal(things(), 0, 'what is not committed is not there')
  await Promise.resolve()
  writer.exec('COMMIT')
  t.equal(things(), 0, 'one callback reads one state')
  await nextCallback()
  t.equal(things(), 1, 'the next one sees it')
  await nextCallback()
  t.equal(things(), 1)
  t.equal(reads, 2)
  writer.exec('CREATE TABLE mails (id TEXT)')
  await nextCallback()
  t.equal(things(), 1)
  t.equal(reads, 2, 'a commit that is about mail alone costs no read')
  reader.close()
  writer.close()
})

t.test('a snapshot that the disk has ended is no fault of the next one', async (t) => {
  const file = prepareFile(folder(t))
  const reader = openReader(file)
  const enter = createSnapshot(reader)
  const first = enter()
  // so does SQLite when a page can not be read
  reader.exec('ROLLBACK')
  await nextCallback()
  t.equal(enter(), first + 1)
  t.ok(reader.inTransaction)
  await nextCallback()
  t.notOk(reader.inTransaction)
  reader.close()
})

t.test('it forgets rather than grow without end', async (t) => {
  const file = prepareFile(folder(t))
  const writer = openWriter(file)
  writer.exec('CREATE TABLE changes (n INTEGER NOT NULL); INSERT INTO changes VALUES (0)')
  writer.exec('CREATE TABLE things (name TEXT)')
  const reader = openReader(file)
  const remember = createMemory(reader, createSnapshot(reader))
  let reads = 0
  for (let i = 0; i < 5_000; i++) remember(`guess ${i}`, () => reads++)
  remember('guess 0', () => reads++)
  t.equal(reads, 5_001, 'the first guess was forgotten')
  reader.close()
  writer.close()
})

t.test('what another process changes is seen by the next read', async (t) => {
  const dataDir = folder(t)
  const daemon = openSqliteStore({ dataDir, daemon: true })
  const other = openSqliteStore({ dataDir, daemon: false })
  await daemon.open()
  await other.open()
  t.teardown(async () => {
    await other.close()
    await daemon.close()
  })
  const { accountId, workspace } = await newAccount(daemon)
  t.equal((await daemon.workspace(accountId, workspace.id))?.name, 'Default')
  for (let i = 0; i < 20; i++) {
    await other.updateWorkspace(workspace.id, { name: `Name ${i}` })
    t.equal((await daemon.workspace(accountId, workspace.id))?.name, `Name ${i}`)
    t.equal((await daemon.workspace(accountId, 'default'))?.name, `Name ${i}`, 'by its slug too')
  }
})

t.test('whatever a mail asks for is forgotten by the change of another process', async (t) => {
  const dataDir = folder(t)
  const daemon = openSqliteStore({ dataDir, daemon: true })
  const other = openSqliteStore({ dataDir, daemon: false })
  await daemon.open()
  await other.open()
  t.teardown(async () => {
    await other.close()
    await daemon.close()
  })
  const at = await newAccount(daemon)
  const { accountId } = at
  const pool = poolFor(at, { name: 'first' })
  await daemon.createPool(pool)
  t.equal((await daemon.pool(accountId, pool.id))?.name, 'first')
  t.equal((await daemon.pool(accountId, 'first'))?.id, pool.id)
  t.same(await daemon.credentialsByRange(), [])
  t.same(await daemon.credentialsByUsername('app'), [])
  await other.updatePool({ ...pool, name: 'second' })
  t.equal((await daemon.pool(accountId, pool.id))?.name, 'second')
  t.equal(await daemon.pool(accountId, 'first'), null)
  const one = credentialFor(at, { username: 'app', cidr: '10.0.0.0/8' })
  await other.createCredential(one)
  t.equal((await daemon.credentialsByRange()).length, 1)
  t.equal((await daemon.credentialsByUsername('app')).length, 1)
  await other.revokeCredential(accountId, one.id)
  t.same(await daemon.credentialsByRange(), [])
  // the last owner may not be shut out
  const ana = userFor(at, { role: 'member' })
  const session = sessionFor(at, { userId: ana.id })
  await other.createUser(ana)
  await other.createSession(session)
  t.equal((await daemon.sessionByLookup(session.lookup))?.id, session.id)
  t.equal((await daemon.user(accountId, ana.id))?.disabledAt, null)
  await other.updateUser(accountId, ana.id, { disabledAt: ana.createdAt })
  t.equal((await daemon.user(accountId, ana.id))?.disabledAt, ana.createdAt, 'who may no longer come')
  await other.revokeSession(accountId, session.id)
  t.equal(await daemon.sessionByLookup(session.lookup), null, 'a session that has ended')
})
