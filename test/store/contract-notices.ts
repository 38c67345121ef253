/** Events without a mail: each in the commit of what it tells of, and none for what changed nothing. */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import { suppressionList } from '../../src/lifecycle/suppress.js'
import type { LogFilter, LogRow } from '../../src/store/port/log.js'
import type { Store } from '../../src/store/port/store.js'
import type { SuppressionRow } from '../../src/store/port/tenants.js'
import {
  addWorkspace,
  foldAlarms,
  HOUR,
  newAccount,
  type OpenStore,
  page,
  T0,
  type TestAccount,
} from './fixture.js'

const KEEP = { bodiesMs: 100 * HOUR, emailsMs: 100 * HOUR, deadlines: false }

const everything = (at: TestAccount, over: Partial<LogFilter> = {}): LogFilter => ({
  accountId: at.accountId,
  workspaceId: null,
  accountWide: true,
  mode: null,
  types: null,
  emailId: null,
  recipient: null,
  change: null,
  createdAfter: null,
  createdBefore: null,
  ...over,
})

/** Oldest first. */
const told = async (
  store: Store,
  at: TestAccount,
  over: Partial<LogFilter> = {},
): Promise<readonly LogRow[]> =>
  [...(await store.log(everything(at, over), page({ limit: 100 }))).rows].reverse()

const types = async (store: Store, at: TestAccount, over: Partial<LogFilter> = {}) =>
  (await told(store, at, over)).map(({ type }) => type)

const listed = (at: TestAccount, email: string, over: Partial<SuppressionRow> = {}): SuppressionRow => ({
  id: newId('sup', T0),
  accountId: at.accountId,
  list: at.workspace.id,
  email,
  origin: 'manual',
  sourceId: null,
  reason: 'she asked us on the phone',
  expiresAt: null,
  createdAt: T0,
  ...over,
})

const suppressionTests = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await t.test('none of an import', async (t) => {
    const at = await newAccount(store)
    await store.addSuppression(listed(at, 'there@x.test'))
    const emails = ['a@x.test', 'there@x.test', 'b@x.test']
    await store.importSuppressions(emails.map((email) => listed(at, email, { origin: 'complaint' })))
    t.match(
      (await told(store, at)).map(({ type, data }) => [type, data?.email]),
      [['suppression.added', 'there@x.test']],
    )
  })
  await t.test('what a stranger wrote is a note, and of the account', async (t) => {
    const at = await newAccount(store)
    const data = { from: 'ann@far.test', subject: 'stop', text: 'please' }
    await store.addNotice({
      ...{ type: 'postmaster.received', accountId: at.accountId, workspaceId: null, mode: 'live' },
      ...{ now: T0, data },
    })
    t.match(await told(store, at), [{ type: 'postmaster.received', change: false, applied: true, data }])
    t.equal((await told(store, at, { change: false })).length, 1)
    t.same(await told(store, at, { change: true }), [], 'endpoints are not told')
    t.same(await told(store, at, { workspaceId: at.workspace.id, accountWide: false }), [])
  })

  await t.test('added and removed, once each', async (t) => {
    const at = await newAccount(store)
    const row = await store.addSuppression(listed(at, 'ana@x.test'))
    await store.addSuppression(listed(at, 'ana@x.test'))
    t.equal(await store.removeSuppression(at.workspace.id, 'nobody@x.test'), null)
    await store.removeSuppression(at.workspace.id, row.id)
    await store.removeSuppression(at.workspace.id, row.id)
    const [added, removed, ...more] = await told(store, at)
    t.same(more, [])
    t.match(added, {
      type: 'suppression.added',
      workspaceId: at.workspace.id,
      mode: 'live',
      change: true,
      mail: null,
    })
    t.strictSame(added?.data, {
      suppression_id: row.id,
      email: 'ana@x.test',
      origin: 'manual',
      scope: 'workspace',
      source_id: null,
      reason: null,
      expires_at: null,
    })
    t.match(removed, { type: 'suppression.removed', data: { suppression_id: row.id, cause: 'removed' } })
  })

  await t.test('of whom: the workspace, its tests, the account', async (t) => {
    const at = await newAccount(store)
    const bounce = { origin: 'bounce', sourceId: 'em_1', reason: 'unknown_user' } as const
    await store.addSuppression(listed(at, 'a@x.test', bounce))
    await store.addSuppression(listed(at, 'b@x.test', { list: suppressionList(at.workspace.id, 'test') }))
    await store.addSuppression(listed(at, 'c@x.test', { list: at.accountId }))
    t.match(await told(store, at), [
      { workspaceId: at.workspace.id, mode: 'live', data: { reason: 'unknown_user', source_id: 'em_1' } },
      { workspaceId: at.workspace.id, mode: 'test', data: { scope: 'workspace' } },
      { workspaceId: null, mode: 'live', data: { scope: 'account' } },
    ])
    const mine = { workspaceId: at.workspace.id, accountWide: false, mode: 'live' } as const
    t.match(await told(store, at, mine), [{ data: { email: 'a@x.test' } }])
    t.equal((await told(store, at, mine)).length, 1)
    t.same(await told(store, await newAccount(store)), [])
  })

  await t.test('an end that was set is told when it has come', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    await store.addSuppression(listed(at, 'brief@x.test', { expiresAt: T0 + HOUR }))
    await store.sweep(T0 + HOUR - 1, KEEP)
    t.same(await types(store, at), ['suppression.added'])
    await store.sweep(T0 + HOUR + 1, KEEP)
    await store.sweep(T0 + HOUR + 2, KEEP)
    t.match(await told(store, at), [
      { data: { expires_at: '2026-11-20T11:00:00.000Z' } },
      { type: 'suppression.removed', data: { cause: 'expired' } },
    ])
    t.equal((await told(store, at)).length, 2)
    await store.addSuppression(listed(at, 'again@x.test', { expiresAt: T0 + HOUR }))
    await store.addSuppression(listed(at, 'again@x.test', { createdAt: T0 + 2 * HOUR }))
    t.same(
      await types(store, at),
      ['added', 'removed', 'added', 'removed', 'added'].map((verb) => `suppression.${verb}`),
    )
  })

  await t.test('a complaint that outlives its workspace moves to the list of the account', async (t) => {
    const store = await open(t)
    const other = await newAccount(store)
    const at = await addWorkspace(store, other, 'gone')
    await store.addSuppression(listed(at, 'c@x.test', { origin: 'complaint', sourceId: 'em_1' }))
    await store.addSuppression(listed(at, 'd@x.test'))
    await store.deleteWorkspace(at.accountId, at.workspace.id, 'x', T0)
    await store.sweep(T0 + 1, KEEP)
    const [moved, ...more] = await told(store, other)
    t.same(more, [])
    t.match(moved, {
      type: 'suppression.added',
      workspaceId: null,
      data: { email: 'c@x.test', source_id: null },
    })
  })
}

const watchTests = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('an alarm, with its figures, once', async (t) => {
    const store = await open(t)
    const at = await addWorkspace(store, await newAccount(store), 'shop', { onAlarm: 'hold' })
    const count = {
      workspaceId: at.workspace.id,
      span: T0,
      tried: 750,
      complaints: 6,
      hardBounces: 0,
      deferrals: 0,
    }
    const [turn] = await foldAlarms(store, { from: null, to: 'a', counts: [count], now: T0 })
    await foldAlarms(store, { from: null, to: 'a', counts: [count], now: T0 })
    await foldAlarms(store, { from: 'a', to: 'b', counts: [count], now: T0 + 1 })
    const [alarm, ...more] = await told(store, at, { types: ['workspace.rate_alarm'] })
    t.same(more, [])
    t.match(alarm, { workspaceId: at.workspace.id, mode: 'live', change: true, createdAt: T0 })
    t.strictSame(alarm?.data, {
      workspace_id: at.workspace.id,
      alarm: 'complaints',
      rate: 0.008,
      count: 6,
      tried: 750,
      limit: { rate: 0.003, at_least: 5 },
      window_seconds: 86_400,
      cause: null,
      hold_id: turn?.hold?.id,
    })
  })

  await t.test('an outage and its end', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const notice = (type: 'upstream.down' | 'upstream.up') =>
      ({
        type,
        accountId: at.accountId,
        workspaceId: null,
        mode: 'live',
        now: T0,
        data: { upstream_id: 'up_1' },
      }) as const
    await store.noteOutage('up_1', T0, notice('upstream.down'))
    await store.noteOutage('up_1', T0, notice('upstream.down'))
    await store.noteOutage('up_1', null, notice('upstream.up'))
    await store.noteOutage('up_1', null, notice('upstream.up'))
    t.same(await types(store, at), ['upstream.down', 'upstream.up'])
    t.same(await types(store, at, { accountWide: false, workspaceId: at.workspace.id }), [])
  })

  await t.test('a change of a domain, and none for one that came too late', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const row = {
      id: newId('dom'),
      accountId: at.accountId,
      workspaceId: at.workspace.id,
      name: 'a.example',
      keys: [],
      verifiedAt: null,
      checkedAt: null,
      createdAt: T0,
      updatedAt: T0,
    }
    await store.createDomain(row)
    const after = { ...row, verifiedAt: T0 + 1, updatedAt: T0 + 1 }
    const notice = {
      type: 'domain.verified',
      accountId: at.accountId,
      workspaceId: at.workspace.id,
      mode: 'live',
      now: T0 + 1,
      data: { domain_id: row.id },
    } as const
    t.equal(await store.updateDomain(after, T0, notice), true)
    t.equal(await store.updateDomain(after, T0, notice), false)
    t.same(await types(store, at), ['domain.verified'])
  })
}

export const noticesContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await suppressionTests(t, store, open)
  await watchTests(t, open)
}
