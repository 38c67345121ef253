/**
 * Orders of operators on PostgreSQL: what the contract can not see of steps that two daemons take.
 */
import t from 'tap'
import { newId } from '../../../src/base/id.js'
import type { QueueAction, QueueScope } from '../../../src/store/port/operations.js'
import type { Store } from '../../../src/store/port/store.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import {
  accepted,
  HOUR,
  mailFor,
  newAccount,
  page,
  T0,
  type TestAccount,
  timeline,
  toOne,
} from '../fixture.js'
import { opened } from './database.js'

const skip = { skip: noPostgres() }

const over = (at: TestAccount, part: Partial<QueueScope> = {}): QueueScope => ({
  ...{ accountId: at.accountId, workspaceId: null, poolId: null, domain: null, emailId: null },
  ...part,
})

const order = (action: QueueAction, scope: QueueScope, now = T0) => ({
  ...{ action, scope, to: null, reason: 'an order', now },
})

const holdOf = (scope: QueueScope, now = T0) => ({
  ...{ ...scope, id: newId('hold'), reason: 'a hold', owner: 'operator' as const, createdAt: now },
})

/** In a pool of its own, as nothing for the sandbox is moved. */
const inPool = async (store: Store, at: TestAccount, name: string): Promise<TestAccount> => {
  const id = newId('pool')
  await store.createPool({
    ...{ id, accountId: at.accountId, name, kind: 'relay', returnPath: 'verp', notifySuccess: true },
    ...{ relayedMeans: 'delivered', upstreams: [], createdAt: T0, updatedAt: T0 },
  })
  return { ...at, poolId: id }
}

t.test('holds, releases, reroutes and retries', skip, async (t) => {
  const store = await opened(t, await (await postgres()).withTables())
  const at = await inPool(store, await newAccount(store), 'main')
  const mail = await accepted(store, at, { recipients: [toOne('a@x.test'), toOne('b@y.test')] })
  const scope = over(at)
  t.equal(await store.hold(holdOf({ ...scope, domain: 'y.test' })), 1)
  t.same(await store.queueCount(scope), { waiting: 1, held: 1, underWay: 0 })
  t.same((await timeline(store, mail.id)).sort(), ['held', 'queued', 'queued'])

  const to = await inPool(store, at, 'other')
  t.equal(await store.operate({ ...order('reroute', scope), to: to.poolId }), 2)
  t.same(
    (await store.entriesOf([mail.id])).map(({ poolId }) => poolId),
    [to.poolId, to.poolId],
  )
  t.equal(await store.deletePool(at.accountId, to.poolId), 'in_use')
  t.equal(await store.operate({ ...order('reroute', scope), to: to.poolId }), 0)

  t.equal(await store.operate(order('release', { ...scope, domain: 'y.test' }, T0 + HOUR)), 1)
  t.same(await store.queueCount(scope), { waiting: 2, held: 0, underWay: 0 })
  const [later] = (await store.entriesOf([mail.id])).filter(({ address }) => address === 'b@y.test')
  t.equal(later?.dueAt, T0, 'it is due when it would have been')
  t.equal(await store.operate(order('retry', scope, T0 + HOUR)), 0, 'nothing waits for later')
})

t.test('a suspended workspace rests, also after it was resumed in another daemon', skip, async (t) => {
  const urls = await (await postgres()).withTables()
  const [one, two] = [await opened(t, urls), await opened(t, urls)]
  const at = await inPool(one, await newAccount(one), 'main')
  await Promise.all(Array.from({ length: 230 }, () => accepted(one, at)))
  t.equal(await two.suspendWorkspace(at.workspace, 'unpaid', T0), 230)
  t.equal(await one.suspendWorkspace(at.workspace, 'still', T0 + 1), 0)
  const both = await Promise.all([one, two].map((store) => store.resumeWorkspace(at.workspace.id, T0 + HOUR)))
  t.equal((both[0] ?? 0) + (both[1] ?? 0), 230, 'each is set free once')
  t.same(await one.queueCount(over(at)), { waiting: 230, held: 0, underWay: 0 })
})

t.test('two daemons work on one order: what was done is passed over', skip, async (t) => {
  const urls = await (await postgres()).withTables()
  const [one, two] = [await opened(t, urls), await opened(t, urls)]
  const at = await inPool(one, await newAccount(one), 'main')
  const mails = Array.from({ length: 600 }, () => mailFor(at))
  await one.accept({ mails, idempotency: null, now: T0 })
  const to = await inPool(one, at, 'other')
  const routing = { from: { poolId: at.poolId, routes: [] }, to: { poolId: to.poolId, routes: [] } }
  const moving = { accountId: at.accountId, ...routing, now: T0 }
  const moved = await Promise.all(
    // the second finds the order of the first in the table, and both do it
    [one, two].map((store) => store.updateWorkspace(at.workspace.id, { poolId: to.poolId }, moving)),
  )
  t.same(moved, ['done', 'done'])
  t.same(await one.queueCount(over(at, { poolId: to.poolId })), { waiting: 600, held: 0, underWay: 0 })
  const events = await Promise.all(mails.map(({ id }) => timeline(one, id)))
  t.ok(events.every((types) => types.join() === 'queued,rerouted'))
})

t.test('a lot leaves, and comes back', skip, async (t) => {
  const store = await opened(t, await (await postgres()).withTables())
  const at = await inPool(store, await newAccount(store), 'main')
  const mail = await accepted(store, at)
  const held = await accepted(store, at, { recipients: [toOne('a@x.test'), toOne('b@y.test')] })
  await store.hold(holdOf(over(at, { domain: 'y.test' })))
  const id = newId('lot')
  const lot = { id, accountId: at.accountId, file: '/tmp/x', state: 'marking' as const, createdAt: T0 }
  await store.addLot(lot)
  t.equal(await store.markLot(id, over(at), 'moving', T0), 1, 'a mail of which something is held stays')
  t.same((await store.exported(id, '')).ids, [mail.id])
  t.match(await store.carried(mail.id), { id: mail.id, pool: 'main', recipients: [{ held: 'exported' }] })
  t.equal(await store.closeLot(id), true)
  t.equal(await store.endLot(id, 'taken_back', T0), 1)
  t.match(await store.lots(at.accountId), [{ id, state: 'taken_back', recipients: 0 }])
  t.same(
    (await store.queueEntries(over(at), page())).rows.map(({ emailId, held }) => [emailId, held === null]),
    [
      [mail.id, true],
      [held.id, true],
      [held.id, false],
    ],
  )
})
