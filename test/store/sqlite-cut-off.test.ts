/**
 * kill -9 between the steps of an order: whoever opens the store next finishes it, in a sweep.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Store } from '../../src/store/port/store.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { accepted, HOUR, page, T0 } from './fixture.js'

const CHILD = join(import.meta.dirname, 'cut-off-child.js')
const KEEP = { bodiesMs: 1e13, emailsMs: 1e13 }
/** More than one step of an order. */
const MAILS = 150

const runToDeath = (t: Test, what: string, point: string, hit: number): Promise<string> => {
  const dataDir = t.testdir()
  const child = spawn(process.execPath, [CHILD, dataDir, what, point, String(hit), String(MAILS)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('close', (code, signal) =>
      signal === 'SIGKILL' ? resolve(dataDir) : reject(new Error(`the child ended by ${signal ?? code}`)),
    )
  })
}

const reopen = async (t: Test, dataDir: string): Promise<Store> => {
  const store = openSqliteStore({ dataDir, daemon: true })
  t.teardown(() => store.close())
  await store.open()
  return store
}

/** Two sweeps: what is there in both, nobody works on. */
const swept = async (store: Store): Promise<void> => {
  await store.sweep(T0, KEEP)
  await store.sweep(T0, KEEP)
}

const queueOf = async (store: Store) => {
  const accountId = (await store.accounts())[0]?.id ?? ''
  const scope = { accountId, workspaceId: null, poolId: null, domain: null, emailId: null }
  return { scope, rows: (await store.queueEntries(scope, page({ limit: 1000 }))).rows }
}

for (const point of ['orderStep.before-commit', 'orderStep.after-commit']) {
  t.test(`a hold cut off at ${point}`, async (t) => {
    const store = await reopen(t, await runToDeath(t, 'hold', point, 1))
    await swept(store)
    const { rows } = await queueOf(store)
    t.equal(rows.filter(({ held }) => held === 'hold_1').length, MAILS)
  })

  t.test(`a release cut off at ${point}`, async (t) => {
    // the hold takes two steps and a last look
    const store = await reopen(t, await runToDeath(t, 'release', point, 4))
    const before = await queueOf(store)
    t.ok(before.rows.filter(({ held }) => held !== null).length >= MAILS - 100, 'some of it is still held')
    await swept(store)
    const { rows } = await queueOf(store)
    t.same(
      rows.filter(({ held }) => held !== null),
      [],
    )
    t.equal(rows.length, MAILS)
  })

  t.test(`a purge cut off at ${point}, and a mail that came after it`, async (t) => {
    const store = await reopen(t, await runToDeath(t, 'purge', point, 1))
    const { scope, rows: left } = await queueOf(store)
    t.ok(left.length >= MAILS - 100)
    const { accountId } = scope
    const workspace = await store.workspace(accountId, 'default')
    const pool = await store.pool(accountId, 'first')
    if (workspace === null || pool === null) throw new Error('no pool')
    const mail = await accepted(store, { accountId, workspace, poolId: pool.id })
    await swept(store)
    const { rows } = await queueOf(store)
    t.same(
      rows.map(({ emailId }) => emailId),
      [mail.id],
    )
    t.equal(
      await store.operate({ action: 'purge', scope, to: null, reason: 'x', now: T0 }),
      1,
      'but by its own order',
    )
  })

  t.test(`a workspace moved to another pool, cut off at ${point}`, async (t) => {
    const store = await reopen(t, await runToDeath(t, 'move', point, 1))
    const { scope } = await queueOf(store)
    const pool = await store.pool(scope.accountId, 'second')
    await swept(store)
    t.equal((await store.claim(pool?.id ?? '', 1000, T0 + HOUR, T0)).length, MAILS)
  })
}

t.test('moved twice: what the first move left goes where the second leads', async (t) => {
  const store = await reopen(t, await runToDeath(t, 'move', 'updateWorkspace.after-commit', 1))
  const { scope } = await queueOf(store)
  const workspace = await store.workspace(scope.accountId, 'default')
  const second = await store.pool(scope.accountId, 'second')
  const first = await store.pool(scope.accountId, 'first')
  if (workspace === null || first === null || second === null) throw new Error('no pools')
  const moving = {
    accountId: scope.accountId,
    from: { poolId: second.id, routes: [] },
    to: { poolId: first.id, routes: [] },
    now: T0,
  }
  t.equal(await store.updateWorkspace(workspace.id, { poolId: first.id }, moving), 'done')
  t.equal((await store.claim(first.id, 1000, T0 + HOUR, T0)).length, MAILS)
})

t.test('the same move given again finishes it at once', async (t) => {
  const store = await reopen(t, await runToDeath(t, 'move', 'updateWorkspace.after-commit', 1))
  const { scope } = await queueOf(store)
  const workspace = await store.workspace(scope.accountId, 'default')
  const second = await store.pool(scope.accountId, 'second')
  if (workspace === null || second === null) throw new Error('no pool')
  t.equal(await store.updateWorkspace(workspace.id, { name: 'Other' }), 'done')
  t.same(await store.claim(second.id, 1000, T0 + HOUR, T0), [], 'another change does not concern it')
  t.equal(await store.updateWorkspace(workspace.id, { poolId: second.id }), 'done')
  t.equal((await store.claim(second.id, 1000, T0 + HOUR, T0)).length, MAILS)
})
