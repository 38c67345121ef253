/** Large bodies are files beside the database: whole, private, carried by a backup, gone after retention. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Store } from '../../src/store/port/store.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { smallDisk } from '../parts/mount.js'
import { accepted, claimOne, HOUR, mailFor, newAccount, ofLease, T0 } from './fixture.js'

const large = (size = 200_000): Buffer => Buffer.alloc(size, 'line of a body\r\n')

const openOn = async (t: Test, dataDir: string, daemon = true): Promise<Store> => {
  const store = openSqliteStore({ dataDir, daemon })
  t.teardown(() => store.close())
  await store.open()
  return store
}

const filesIn = (dataDir: string): string[] =>
  existsSync(join(dataDir, 'bodies'))
    ? readdirSync(join(dataDir, 'bodies')).flatMap((shard) => readdirSync(join(dataDir, 'bodies', shard)))
    : []
const fileOf = (dataDir: string, id: string): string => join(dataDir, 'bodies', id.slice(-2), id)

t.test('a large body is a file, a small one a row', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  const big = await accepted(store, at, { raw: large() })
  const small = await accepted(store, at)
  t.same(filesIn(dataDir), [big.id])
  t.equal(statSync(fileOf(dataDir, big.id)).mode & 0o777, 0o600)
  t.equal(statSync(join(dataDir, 'bodies')).mode & 0o777, 0o700)
  t.same(Buffer.from((await store.body(big.id)) ?? ''), large())
  t.same(Buffer.from((await store.body(small.id)) ?? ''), Buffer.from(small.raw))
  const claimed = await store.claim(at.poolId, 10, T0 + HOUR, T0)
  t.same(
    claimed.map(({ emailId, size, raw }) => [emailId, size, raw === null]),
    [
      [big.id, 200_000, true],
      [small.id, small.raw.byteLength, false],
    ],
  )
})

t.test('hot mail with a large body leaves its bytes where they are', async (t) => {
  const store = await openOn(t, t.testdir())
  const at = await newAccount(store)
  const taken = new Promise<readonly unknown[]>((resolve) => {
    const stop = store.onLeased((claimed) => {
      stop()
      resolve(claimed)
    })
  })
  await store.attempting([])
  const mail = await accepted(store, at, { raw: large() })
  t.match(await taken, [{ emailId: mail.id, size: 200_000, raw: null }])
})

t.test('a disk without room for another folder refuses, and takes the next when there is room', async (t) => {
  const disk = smallDisk(64, 40)
  if (typeof disk === 'string') return void t.comment(`no disk of our own: ${disk}`)
  const dataDir = join(disk.path, 'data')
  mkdirSync(dataDir, { mode: 0o700 })
  const store = openSqliteStore({ dataDir, daemon: true })
  await store.open()
  t.teardown(async () => {
    await store.close()
    disk.remove()
  })
  const at = await newAccount(store)
  await accepted(store, at, { raw: large() })
  const fillers = Array.from({ length: statfsSync(disk.path).ffree }, (_, n) => join(disk.path, `${n}`))
  for (const file of fillers) writeFileSync(file, '')
  await t.rejects(accepted(store, at, { raw: large() }), { code: 'service.unavailable' })
  await accepted(store, at)
  for (const file of fillers) rmSync(file)
  const { id } = await accepted(store, at, { raw: large() })
  t.same(Buffer.from((await store.body(id)) ?? ''), large())
})

t.test('what was refused takes no room', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  const answer = {
    workspaceId: at.workspace.id,
    mode: 'live',
    key: 'k',
    token: 'lost',
    status: 202,
    body: '',
  } as const
  const batch = { mails: [mailFor(at, { raw: large() })], idempotency: answer, now: T0 }
  t.equal(await store.accept(batch), 'lock_lost')
  t.same(filesIn(dataDir), [])
})

t.test('retention takes the file after the row', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  const mail = await accepted(store, at, { raw: large() })
  const keep = { bodiesMs: HOUR, emailsMs: 99 * HOUR }
  await store.sweep(T0 + 2 * HOUR, keep)
  t.same(filesIn(dataDir), [mail.id], 'still under way')
  await store.settle([ofLease(await claimOne(store, at, T0))])
  await store.sweep(T0 + 2 * HOUR, keep)
  t.same(filesIn(dataDir), [])
  t.equal(await store.body(mail.id), null)
})

t.test('orphans go, and nothing else does', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  const kept = await accepted(store, at, { raw: large() })
  const now = Date.now()
  const old = new Date(now - 2 * HOUR)
  const put = (id: string, at: Date | null): void => {
    const path = fileOf(dataDir, id)
    writeFileSync(path, 'x')
    if (at !== null) utimesSync(path, at, at)
  }
  const shard = kept.id.slice(-2)
  // ids of one moment differ in their last letters only
  const [a, b, c] = ['00', '01', '02', '03']
    .filter((mark) => mark !== kept.id.slice(-4, -2))
    .map((mark) => `${kept.id.slice(0, -4)}${mark}${shard}`)
  const [orphan = '', draft, young = ''] = [a, `${b}.part`, c]
  put(orphan, old)
  writeFileSync(join(dataDir, 'bodies', shard, draft), 'x')
  utimesSync(join(dataDir, 'bodies', shard, draft), old, old)
  put(young, null)
  utimesSync(fileOf(dataDir, kept.id), old, old)
  await store.sweep(now, { bodiesMs: 9e12, emailsMs: 9e12 })
  t.same(filesIn(dataDir).sort(), [kept.id, young].sort())
})

t.test('a missing file is told, and the store goes on', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir, false)
  const at = await newAccount(store)
  const mail = await accepted(store, at, { raw: large() })
  t.same(await store.check(), [])
  rmSync(fileOf(dataDir, mail.id))
  await t.rejects(store.body(mail.id), { name: 'MissingBodyError', message: mail.id })
  t.match(await store.check(), [new RegExp(`the body of ${mail.id} is missing`)])
  t.ok(await accepted(store, at))
})

t.test('a backup is one file with all bodies in it', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  const mail = await accepted(store, at, { raw: large() })
  const lost = await accepted(store, at, { raw: large() })
  rmSync(fileOf(dataDir, lost.id))
  const copy = join(dataDir, 'copy.db')
  t.same((await store.backup(copy)).missing, [lost.id], 'what could not be copied is told')
  const restored = join(dataDir, 'restored')
  mkdirSync(restored, { mode: 0o700 })
  renameSync(copy, join(restored, 'postern.db'))
  const again = await openOn(t, restored, false)
  t.same(Buffer.from((await again.body(mail.id)) ?? ''), large())
  t.equal(await again.body(lost.id).catch(() => null), null)
})

t.test('the log is gone after a clean end', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  for (let i = 0; i < 20; i++) await accepted(store, at)
  await store.close()
  t.notOk(existsSync(join(dataDir, 'postern.db-wal')))
})

t.test('what retention frees goes back to the system', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir, false)
  const at = await newAccount(store)
  const file = join(dataDir, 'postern.db')
  const mails = Array.from({ length: 400 }, () =>
    mailFor(at, { raw: Buffer.alloc(60_000, 'x'), recipients: [] }),
  )
  await store.accept({ mails, idempotency: null, now: T0 })
  await store.sweep(T0 + 2 * HOUR, { bodiesMs: HOUR, emailsMs: HOUR })
  await store.close()
  t.ok(statSync(file).size < 12_000_000, `${statSync(file).size} bytes are left of 24 MB`)
})
