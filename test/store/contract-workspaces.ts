/** Workspaces that rest. */
import type { Test } from 'tap'
import type { Store } from '../../src/store/port.js'
import {
  accepted,
  addWorkspace,
  type Ground,
  ground,
  HOUR,
  type OpenStore,
  ofLease,
  scopeOf,
  T0,
  timeline,
} from './fixture.js'

const claim = (store: Store, at: Ground, now: number) => store.claim(at.poolId, 10, now + HOUR, now)

/** A workspace and its neighbour, each with a mail that is due. */
const two = async (store: Store) => {
  const other = await ground(store)
  const at = await addWorkspace(store, other, 'shop')
  return { at, other, mail: await accepted(store, at), beside: await accepted(store, other) }
}

const restingTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('what waits rests, and what comes later', async (t) => {
    const { at, mail, beside } = await two(store)
    t.equal(await store.suspendWorkspace(at.workspace, 'unpaid', T0), 1)
    t.match(await store.workspace(at.accountId, at.workspace.id), {
      suspendedAt: T0,
      suspendedReason: 'unpaid',
    })
    const late = await accepted(store, at)
    const soon = await accepted(store, at, { scheduledAt: T0 + HOUR })
    t.same(
      (await claim(store, at, T0 + 2 * HOUR)).map(({ emailId }) => emailId),
      [beside.id],
    )
    const scope = {
      accountId: at.accountId,
      workspaceId: at.workspace.id,
      poolId: null,
      domain: null,
      emailId: null,
    }
    t.match(await store.queueCount(scope), { waiting: 0, held: 3, underWay: 0 })
    await store.operate({ action: 'release', scope, to: null, reason: 'x', now: T0 })
    t.match(await store.queueCount(scope), { waiting: 0, held: 3 }, 'a release lifts no suspension')
    t.match((await timeline(store, mail.id)).join(), /unpaid|queued/)
    t.equal(await store.cancel(scopeOf(at), soon.id, T0 + 2 * HOUR), 'not_scheduled', 'its time had come')

    t.equal(await store.resumeWorkspace(at.workspace.id, T0 + 5 * HOUR), 3)
    t.match(await store.workspace(at.accountId, at.workspace.id), {
      suspendedAt: null,
      suspendedReason: null,
    })
    const claimed = (await claim(store, at, T0 + 5 * HOUR)).map(({ emailId }) => emailId)
    for (const { id } of [mail, late, soon]) t.ok(claimed.includes(id))
  })

  await t.test('its lifetime stands still', async (t) => {
    const { at, mail, beside } = await two(store)
    const first = await claim(store, at, T0)
    const retryAt = T0 + HOUR
    await store.settle(first.map((one) => ofLease(one, { seen: 'postponed', retryAt, at: T0 })))
    await store.suspendWorkspace(at.workspace, null, T0 + HOUR / 2)
    await store.resumeWorkspace(at.workspace.id, T0 + 10 * HOUR)
    const again = await claim(store, at, T0 + 10 * HOUR)
    const of = (id: string) => again.find(({ emailId }) => emailId === id)
    t.match(of(mail.id), { attempts: 1, queuedAt: (of(beside.id)?.queuedAt ?? 0) + 9.5 * HOUR })
  })

  await t.test('suspended twice, resumed twice', async (t) => {
    const { at, mail } = await two(store)
    for (const [from, to] of [
      [T0, T0 + HOUR],
      [T0 + 2 * HOUR, T0 + 4 * HOUR],
    ] as const) {
      t.equal(await store.suspendWorkspace(at.workspace, 'x', from), 1)
      t.equal(await store.suspendWorkspace(at.workspace, 'y', from + 1), 0)
      t.match(await store.workspace(at.accountId, at.workspace.id), {
        suspendedAt: from,
        suspendedReason: 'y',
      })
      t.equal(await store.resumeWorkspace(at.workspace.id, to), 1)
      t.equal(await store.resumeWorkspace(at.workspace.id, to + 1), 0)
    }
    const [claimed] = (await claim(store, at, T0 + 4 * HOUR)).filter(({ emailId }) => emailId === mail.id)
    t.equal(claimed?.queuedAt, T0 + 3 * HOUR)
  })

  await t.test('what is leased and has not begun, begins no more', async (t) => {
    const { at, mail } = await two(store)
    const leases = await claim(store, at, T0)
    await store.suspendWorkspace(at.workspace, null, T0)
    const marks = leases.map((one) => ({ ...one, attempt: 1, upstreamId: 'up_1', at: T0 }))
    t.same(
      await store.attempting(marks),
      leases.map(({ emailId }) => emailId !== mail.id),
    )
  })
}

export const workspacesContract = async (t: Test, store: Store, _open: OpenStore): Promise<void> => {
  await t.test('resting', (t) => restingTests(t, store))
}
