/**
 * What only the SQLite adapter promises: files, lock, durability, group commit,
 * hot leases, two clients, backup, and its behaviour when the disk is full.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import type { Claimed } from '../../src/lifecycle/facts.js'
import type { Store } from '../../src/store/port/store.js'
import { NewerDatabaseError, StoreBusyError } from '../../src/store/port/upkeep.js'
import { Database, openWriter, prepareFile } from '../../src/store/sqlite/connect.js'
import { connectStore } from '../../src/store/sqlite/connected-store.js'
import { migrate } from '../../src/store/sqlite/migrate/migrate.js'
import { openSqliteStore, shareSqliteStore } from '../../src/store/sqlite/open.js'
import { CLAIMED, type ClaimedArray, toWire, type WriterCall } from '../../src/store/sqlite/thread/wire.js'
import { BrokenStore, createBatch } from '../../src/store/sqlite/thread/writer-thread.js'
import { createWriteContext } from '../../src/store/sqlite/write/context.js'
import { createVerbs } from '../../src/store/sqlite/write/verbs.js'
import {
  accepted,
  addWorkspace,
  claimOne,
  filterOf,
  HOUR,
  mailFor,
  newAccount,
  ofLease,
  page,
  report,
  scopeOf,
  T0,
  timeline,
} from './fixture.js'

const openOn = async (t: Test, dataDir: string, daemon = true): Promise<Store> => {
  const store = openSqliteStore({ dataDir, daemon })
  t.teardown(() => store.close())
  await store.open()
  return store
}

t.test('files are for their owner alone', async (t) => {
  const dataDir = join(t.testdir(), 'new')
  await openOn(t, dataDir)
  t.equal(statSync(dataDir).mode & 0o777, 0o700)
  for (const name of ['postern.db', 'postern.db-wal', 'daemon.lock']) {
    t.equal(statSync(join(dataDir, name)).mode & 0o777, 0o600, name)
  }
})

t.test('one daemon per folder; others may open beside it', async (t) => {
  const dataDir = t.testdir()
  const daemon = await openOn(t, dataDir)
  await t.rejects(openSqliteStore({ dataDir, daemon: true }).open(), StoreBusyError)
  const beside = await openOn(t, dataDir, false)
  const at = await newAccount(beside)
  const mail = await accepted(beside, at)
  t.equal((await daemon.email(scopeOf(at), mail.id))?.id, mail.id, 'the daemon sees it at once')
  await daemon.close()
  await openOn(t, dataDir)
  t.pass('free again')
})

/** How many of this process there are. */
const writers = (): number =>
  readdirSync('/proc/self/task').filter(
    (id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8') === 'postern-writer\n',
  ).length

t.test(
  'what only reads has no writer, and leaves no log behind',
  { skip: existsSync('/proc/self/task') ? false : 'no /proc here' },
  async (t) => {
    const dataDir = t.testdir()
    const first = await openOn(t, dataDir)
    const at = await newAccount(first)
    await first.close()
    const before = writers()
    const store = await openOn(t, dataDir, false)
    t.equal((await store.accounts()).filter(({ id }) => id === at.accountId).length, 1)
    t.equal(writers(), before, 'it has read without one')
    await store.close()
    t.same(
      readdirSync(dataDir).filter((name) => name.startsWith('postern.db')),
      ['postern.db'],
    )
    const writing = await openOn(t, dataDir, false)
    const mail = await accepted(writing, at)
    t.equal(writers(), before + 1, 'it came with the first that was written')
    t.equal((await writing.email(scopeOf(at), mail.id))?.id, mail.id)
    await writing.close()
    t.equal(writers(), before, 'and went with the store')
  },
)

t.test('a writer that can not begin later fails what was to be written', async (t) => {
  const dataDir = t.testdir()
  const first = await openOn(t, dataDir)
  const at = await newAccount(first)
  await first.close()
  const store = await openOn(t, dataDir, false)
  const db = new Database(join(dataDir, 'postern.db'))
  db.pragma('user_version = 99')
  db.close()
  await t.rejects(accepted(store, at), NewerDatabaseError)
  await t.rejects(accepted(store, at), NewerDatabaseError, 'and whatever comes after it')
  t.ok((await store.accounts()).length > 0, 'what is read is answered')
})

t.test('a newer database is refused untouched', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir)
  await store.close()
  const db = new Database(join(dataDir, 'postern.db'))
  db.pragma('user_version = 99')
  db.close()
  await t.rejects(openSqliteStore({ dataDir, daemon: true }).open(), NewerDatabaseError)
  await t.rejects(openSqliteStore({ dataDir, daemon: true }).open(), NewerDatabaseError, 'the lock is free')
})

t.test('the writer is durable: WAL and synchronous=FULL, read back', async (t) => {
  const db = openWriter(prepareFile(t.testdir()))
  t.equal(db.pragma('journal_mode', { simple: true }), 'wal')
  t.equal(db.pragma('synchronous', { simple: true }), 2)
  t.equal(db.pragma('foreign_keys', { simple: true }), 1)
  db.close()
})

t.test('a savepoint needs no file', async (t) => {
  const child = join(import.meta.dirname, 'no-descriptors-child.js')
  t.equal(execFileSync(process.execPath, [child, t.testdir()], { encoding: 'utf8' }), '10000')
})

t.test('a crowd shares commits', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  const before = statSync(join(dataDir, 'postern.db-wal')).size
  await Promise.all(Array.from({ length: 200 }, () => accepted(store, at)))
  const crowd = statSync(join(dataDir, 'postern.db-wal')).size - before
  for (let i = 0; i < 20; i++) await accepted(store, at)
  const alone = statSync(join(dataDir, 'postern.db-wal')).size - before - crowd
  t.ok(crowd / 200 < alone / 20 / 2, `log bytes per mail: ${crowd / 200} in a crowd, ${alone / 20} alone`)
})

t.test('rates survive a restart', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  for (let i = 0; i < 5; i++) await store.consume('key_1', 7, 1, 5)
  await accepted(store, at)
  await store.close()
  const again = await openOn(t, dataDir)
  t.same(await again.consume('key_1', 7, 1, 5), { allowed: false, used: 5 })
})

t.test('recover takes over what another boot left', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  await accepted(store, at)
  const old = await claimOne(store, at, T0)
  await store.close()
  const next = await openOn(t, dataDir)
  t.same(await next.claim(at.poolId, 1, T0 + 9 * HOUR, T0 + 8 * HOUR), [], 'not by time alone')
  t.same(await next.recover('earlier', T0 + 1), { released: 1, ambiguous: 0 })
  t.match(await next.settle([ofLease(old)]), [{ applied: false }], 'the old boot is fenced off')
  t.equal((await claimOne(next, at, T0 + 1)).attempts, 0)
})

t.test('an attempt that was told of before the crash is not ambiguous', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  const mail = await accepted(store, at)
  const claimed = await claimOne(store, at, T0)
  await store.attempting([{ ...claimed, attempt: 1, upstreamId: 'up_1', at: T0 }])
  await store.settle([report(claimed.recipientId, { seen: 'dsn-delivered' })])
  await store.close()
  const next = await openOn(t, dataDir)
  t.same(await next.recover('earlier', T0 + 1), { released: 1, ambiguous: 0 })
  t.same(await timeline(next, mail.id), ['queued', 'delivered'])
  t.same(await next.claim(at.poolId, 9, T0 + 9 * HOUR, T0 + 8 * HOUR), [], 'nor is it sent again')
})

t.test('a backup under load is whole', async (t) => {
  const root = t.testdir({ copy: {} })
  const dataDir = join(root, 'original')
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  const before = await accepted(store, at)
  let running = true
  const load = (async () => {
    while (running) await Promise.all(Array.from({ length: 20 }, () => accepted(store, at)))
  })()
  const path = join(root, 'copy', 'postern.db')
  await store.backup(path)
  running = false
  await load
  t.equal(statSync(path).mode & 0o777, 0o600)
  const copy = await openOn(t, join(root, 'copy'))
  t.equal((await copy.email(scopeOf(at), before.id))?.id, before.id)
  t.same(await copy.check(), [])
})

const hotTests = async (t: Test): Promise<void> => {
  await t.test('hot mail reaches the taker with its bytes, after the commit, up to a bound', async (t) => {
    const store = await openOn(t, t.testdir())
    const at = await newAccount(store)
    const other = await addWorkspace(store, at, 'other')
    const queue = await connectStore(shareSqliteStore(store))
    t.teardown(() => queue.close())
    const taken: Claimed[] = []
    queue.onLeased((claimed) => taken.push(...claimed))
    t.equal(await queue.nextDue(), null)
    t.same(await queue.claim(at.poolId, 1, T0 + HOUR, T0), []) // the order to listen has arrived by now
    const mails = await Promise.all(Array.from({ length: 510 }, () => accepted(store, at)))
    const urgent = await accepted(store, other)
    await queue.attempting([])
    t.equal(taken.length, 501, '500 of one workspace, and the other has room')
    t.equal(taken.at(-1)?.emailId, urgent.id)
    t.same(Buffer.from(taken[0]?.raw ?? []), Buffer.from(mails[0]?.raw ?? []))
    t.match(taken[0], { leaseGen: 1, attempts: 0, poolId: at.poolId })
    const rest = await queue.claim(at.poolId, 100, T0 + HOUR, T0)
    t.equal(rest.length, 10, 'the others wait in the store')
    const marks = taken.map((one) => ({ ...one, attempt: 1, upstreamId: 'up_1', at: T0 }))
    t.ok((await queue.attempting(marks)).every((mine) => mine))
    t.equal((await queue.settle(taken.map((one) => ofLease(one)))).length, 501)
    taken.length = 0
    await accepted(store, at)
    await queue.attempting([])
    t.equal(taken.length, 1, 'room again')
  })

  await t.test('mail of a pool that is not ready stays in the store and wakes nobody', async (t) => {
    const store = await openOn(t, t.testdir())
    const at = await newAccount(store)
    await store.updateWorkspace(at.workspace.id, { ambiguous: 'hold' })
    const queue = await connectStore(shareSqliteStore(store))
    t.teardown(() => queue.close())
    const taken: Claimed[] = []
    let woken = 0
    queue.ready([])
    queue.onLeased((claimed) => taken.push(...claimed))
    queue.onDue(() => woken++)
    await queue.attempting([])
    const early = await accepted(store, at)
    await queue.attempting([])
    t.same([taken.length, woken], [0, 0])
    t.equal(await queue.nextDue([]), null)
    t.equal(await queue.nextDue([at.poolId]), T0)
    queue.ready([at.poolId])
    t.match(await queue.claim(at.poolId, 9, T0 + HOUR, T0), [{ emailId: early.id, ambiguous: 'hold' }])
    const late = await accepted(store, at)
    await queue.attempting([])
    t.match(taken, [{ emailId: late.id, ambiguous: 'hold' }])
  })

  await t.test('the queue works from another thread', async (t) => {
    const store = await openOn(t, t.testdir())
    const at = await newAccount(store)
    const port = shareSqliteStore(store)
    const code = `
      const { workerData, parentPort } = require('node:worker_threads')
      import(workerData.url).then(async ({ connectStore }) => {
        const queue = await connectStore(workerData.port)
        const [claimed] = await queue.claim(workerData.poolId, 1, ${T0 + HOUR}, ${T0})
        const pools = await queue.allPools()
        const body = await queue.body(claimed.emailId)
        await queue.close()
        parentPort.postMessage([claimed.emailId, pools.length, body.byteLength])
      })`
    const mail = await accepted(store, at)
    const url = new URL('../../src/store/sqlite/connected-store.js', import.meta.url).href
    const worker = new Worker(code, {
      eval: true,
      workerData: { port, url, poolId: at.poolId },
      transferList: [port],
    })
    const answer = await new Promise((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
    t.same(answer, [mail.id, (await store.allPools()).length, mail.raw.byteLength])
    await worker.terminate()
  })
}

t.test('hot leases and clients', hotTests)

const QUIET = {
  rules: new SharedArrayBuffer(4),
  pass: () => {},
  tightness: { isTight: false, full: () => {} },
  fence: () => {},
  fileFence: () => {},
  beat: () => {},
}

t.test('a full disk refuses mail and settles what was sent', async (t) => {
  const db = openWriter(prepareFile(t.testdir()))
  migrate(db, T0, '0.0.0')
  const context = createWriteContext(db)
  const batch = createBatch(context, createVerbs(context), QUIET)
  const workspace = db.prepare('SELECT id, account_id FROM workspaces').get() as {
    id: string
    account_id: string
  }
  const poolId = String(db.prepare('SELECT id FROM pools').pluck().get())
  const at = { accountId: workspace.account_id, workspace: { id: workspace.id }, poolId } as Parameters<
    typeof mailFor
  >[0]
  const accept = (id: number, size: number): WriterCall => [
    id,
    'accept',
    [toWire({ mails: [mailFor(at, { raw: new Uint8Array(size) })], idempotency: null, now: T0 })],
  ]
  t.match(batch([accept(0, 100)]), [[0, 'value', 'accepted']])
  const [answer] = batch([[1, 'claim', [poolId, 1, T0 + HOUR, T0]]])
  const [row] = (answer?.[2] ?? []) as ClaimedArray[]
  if (row === undefined) throw new Error('nothing claimed')
  const claimed = CLAIMED.unpack(row)
  db.pragma(`max_page_count = ${Number(db.pragma('page_count', { simple: true })) + 2}`)
  const answers = batch([accept(2, 1_000_000), [3, 'settle', [[ofLease(claimed)]]]])
  t.match(
    answers.find((answer) => answer[0] === 2),
    [2, 'fault', { fault: 'service.unavailable' }],
  )
  t.match(
    answers.find((answer) => answer[0] === 3),
    [3, 'value', [{ applied: true, to: 'sent' }]],
  )
  db.pragma('max_page_count = 1000000')
  t.match(batch([accept(4, 1_000_000)]), [[4, 'value', 'accepted']], 'room again')
  db.close()
})

t.test('a daemon that was taken for dead writes no more', async (t) => {
  const dataDir = t.testdir()
  const zombie = await openOn(t, dataDir)
  const at = await newAccount(zombie)
  const kept = await accepted(zombie, at)
  rmSync(join(dataDir, 'daemon.lock')) // or else the lock would keep the other one out
  const heir = await openOn(t, dataDir)
  await t.rejects(accepted(zombie, at), { message: /another daemon has opened this database/ })
  t.match((await zombie.broken).message, /another daemon/)
  t.equal((await heir.emails(filterOf(at), page())).rows.length, 1)
  t.match(await claimOne(heir, at, T0), { emailId: kept.id })
})

t.test('an error of the disk is the end', async (t) => {
  const db = openWriter(prepareFile(t.testdir()))
  migrate(db, T0, '0.0.0')
  const context = createWriteContext(db)
  const broken = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' })
  const verbs = {
    ...createVerbs(context),
    releaseKey: () => {
      throw broken
    },
  }
  const batch = createBatch(context, verbs, QUIET)
  t.throws(() => batch([[1, 'releaseKey', []]]), BrokenStore)
  db.close()
})

t.test('a verb that fails by a bug fails alone, and is no refusal', async (t) => {
  const dataDir = t.testdir()
  const store = await openOn(t, dataDir)
  const at = await newAccount(store)
  const db = new Database(join(dataDir, 'postern.db'))
  db.exec('DROP TABLE bodies')
  db.close()
  const error = await accepted(store, at).catch((thrown) => thrown)
  t.type(error, Error)
  t.notOk(error instanceof Fault)
  t.same(await store.suppressed(at.workspace.id, [], T0), [], 'the store goes on')
})

t.test('hot mail that crosses with the taker leaving is due again', async (t) => {
  const store = await openOn(t, t.testdir())
  const at = await newAccount(store)
  const stop = store.onLeased(() => {})
  await store.attempting([]) // the order to listen has arrived by now
  const arriving = Array.from({ length: 20 }, () => accepted(store, at))
  stop()
  await Promise.all(arriving)
  await store.attempting([])
  const claimed = await store.claim(at.poolId, 100, Date.now() + HOUR, Date.now() + 1000)
  t.equal(claimed.length, 20)
})
