/**
 * NAME      contract-operations - whoever runs the queue
 */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { Rows } from '../../src/lifecycle/page.js'
import type {
  HoldRow,
  QueueAction,
  QueueEntry,
  QueueFilter,
  QueueGroup,
  QueueOrder,
  QueueScope,
} from '../../src/store/port/operations.js'
import type { Store } from '../../src/store/port/store.js'
import type { PoolRow } from '../../src/store/port/tenants.js'
import {
  accepted,
  addWorkspace,
  claimOne,
  HOUR,
  mailFor,
  newAccount,
  type OpenStore,
  ofLease,
  page,
  scopeOf,
  statusOf,
  T0,
  type TestAccount,
  timeline,
  toOne,
} from './fixture.js'

const REASON = 'the template was broken'

const over = (at: TestAccount, part: Partial<QueueScope> = {}): QueueScope => ({
  accountId: at.accountId,
  workspaceId: null,
  poolId: null,
  domain: null,
  emailId: null,
  ...part,
})

const ways = ({ poolId }: TestAccount) => ({ poolId, routes: [] })

const order = (action: QueueAction, scope: QueueScope, more: Partial<QueueOrder> = {}): QueueOrder => ({
  action,
  scope,
  to: null,
  reason: REASON,
  now: T0,
  ...more,
})

const holdOf = (scope: QueueScope): HoldRow => ({
  ...scope,
  id: newId('hold'),
  reason: REASON,
  owner: 'operator',
  createdAt: T0,
})

/** A live pool, so that nothing here is the sandbox. */
const inPool = async (store: Store, at: TestAccount, name: string): Promise<TestAccount> => {
  const row: PoolRow = {
    id: newId('pool'),
    accountId: at.accountId,
    name,
    kind: 'relay',
    returnPath: 'verp',
    notifySuccess: true,
    relayedMeans: 'delivered',
    upstreams: [],
    createdAt: T0,
    updatedAt: T0,
  }
  await store.createPool(row)
  return { ...at, poolId: row.id }
}

const lastEvent = async (store: Store, emailId: string) => (await store.events(emailId, page())).rows[0]
const claim = (store: Store, at: TestAccount, now = T0) => store.claim(at.poolId, 50, now + HOUR, now)

export const operationsContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  const home = async () => inPool(store, await newAccount(store), 'main')

  await t.test('a hold rests what waits and what comes, until it is lifted', async (t) => {
    const at = await home()
    const one = await accepted(store, at)
    const scope = over(at, { workspaceId: at.workspace.id })
    t.equal(await store.hold(holdOf(scope)), 1)
    const later = await accepted(store, at)
    t.same(await claim(store, at), [], 'nothing is given out')
    t.equal(await store.deletePool(at.accountId, at.poolId), 'in_use', 'held mail needs its pool')
    t.same(await store.queueCount(scope), { waiting: 0, held: 2, underWay: 0 })
    t.match(await lastEvent(store, one.id), {
      source: 'operator',
      reason: REASON,
      detail: { action: 'held' },
    })
    t.match(await store.holds(at.accountId), [{ reason: REASON, workspaceId: at.workspace.id }])

    const other = await addWorkspace(store, at, 'other')
    await accepted(store, other)
    t.equal((await claim(store, at)).length, 1, 'others go on')

    t.equal(await store.operate(order('release', scope)), 2)
    t.same(await store.holds(at.accountId), [])
    t.same(
      (await claim(store, at)).map((claimed) => claimed.emailId),
      [one.id, later.id],
      'they keep their place in the line',
    )
    t.match(await lastEvent(store, later.id), {
      source: 'operator',
      reason: REASON,
      detail: { action: 'released' },
    })
  })

  await t.test('a hold stops a lease that has not begun', async (t) => {
    const at = await home()
    await accepted(store, at)
    const leased = await claimOne(store, at, T0)
    await store.hold(holdOf(over(at, { poolId: at.poolId })))
    const mark = { ...leased, attempt: 1, upstreamId: 'up_x', at: T0 }
    t.same(await store.attempting([mark]), [false])
    await store.release([leased], T0)
    t.same(await claim(store, at), [])
    t.match((await store.queueEntries(over(at), page())).rows, [
      { held: /^hold_/, underWay: false, dueAt: null },
    ])
  })

  await t.test('what waits of some mails, and in which pools something is due', async (t) => {
    const at = await home()
    const own = newId('pool')
    const pool = await store.pool(at.accountId, at.poolId)
    if (pool === null) throw new Error('no pool')
    await store.createPool({ ...pool, id: own, name: 'own', kind: 'relay' })
    const there = { ...at, poolId: own }
    const mail = await accepted(store, there, { recipients: [toOne('a@x.test'), toOne('b@x.test')] })
    const other = await accepted(store, at)
    t.same((await store.duePools(T0 - 1)).includes(own), false)
    t.ok((await store.duePools(T0)).includes(own))
    t.equal(await store.nextDue([own]), T0)
    t.equal(await store.nextDue([own, at.poolId]), T0)
    t.equal(await store.nextDue(['pool_x']), null)
    const [leased] = await store.claim(own, 1, T0 + HOUR, T0)
    if (leased === undefined) throw new Error('nothing to claim')
    await store.attempting([{ ...leased, attempt: 1, upstreamId: 'up_x', at: T0 }])
    const entries = await store.entriesOf([mail.id, other.id, 'em_x'])
    const facts = entries.map(({ emailId, poolId, underWay, attempting }) => ({
      ...{ emailId, poolId },
      ...{ underWay, attempting },
    }))
    t.same(
      facts.filter(({ underWay }) => !underWay),
      [
        { emailId: mail.id, poolId: own, underWay: false, attempting: false },
        { emailId: other.id, poolId: at.poolId, underWay: false, attempting: false },
      ],
    )
    t.match(
      facts.filter(({ underWay }) => underWay),
      [{ emailId: mail.id, attempting: true }],
    )
    await store.settle([ofLease(leased)])
    t.same((await store.entriesOf([mail.id])).length, 1, 'what has left waits no more')
    const [last] = await store.claim(own, 9, T0 + HOUR, T0)
    if (last === undefined) throw new Error('nothing to claim')
    t.notOk((await store.duePools(T0)).includes(own))
    await store.settle([ofLease(last)])
  })

  await t.test('holds by recipient domain and by email; overlapping ones', async (t) => {
    const at = await home()
    const mail = await accepted(store, at, { recipients: [toOne('A@Slow.example'), toOne('b@fast.example')] })
    const other = await accepted(store, at, { recipients: [toOne('c@slow.example')] })
    const domain = over(at, { domain: 'slow.example' })
    const email = over(at, { emailId: other.id })
    t.equal(await store.hold(holdOf(domain)), 2)
    t.equal(await store.hold(holdOf(email)), 0, 'held already')
    t.same(
      (await claim(store, at)).map((claimed) => claimed.address),
      ['b@fast.example'],
    )
    t.equal(await store.operate(order('release', domain)), 2)
    t.same(
      (await claim(store, at)).map((claimed) => claimed.emailId),
      [mail.id],
      'what another hold keeps is caught again',
    )
    t.equal(await store.operate(order('release', email)), 1)
    t.equal((await claim(store, at)).length, 1)
  })

  await t.test('a hold meets an appointment when its time comes', async (t) => {
    const at = await home()
    const mail = await accepted(store, at, { scheduledAt: T0 + HOUR })
    const scope = over(at, { workspaceId: at.workspace.id })
    t.equal(await store.hold(holdOf(scope)), 0)
    t.equal(await store.reschedule(scopeOf(at), mail.id, T0 + 2 * HOUR, T0), 'done')
    t.same(await claim(store, at, T0 + 3 * HOUR), [])
    t.equal(await statusOf(store, at, mail.id), 'queued')
    await store.operate(order('release', scope))
    t.equal((await claim(store, at, T0 + 3 * HOUR)).length, 1)
  })

  await t.test('retry makes what is deferred due now', async (t) => {
    const at = await home()
    const mail = await accepted(store, at)
    const scheduled = await accepted(store, at, { scheduledAt: T0 + HOUR })
    const leased = await claimOne(store, at, T0)
    await store.settle([ofLease(leased, { seen: 'postponed', retryAt: T0 + HOUR })])
    t.same(await claim(store, at), [])
    t.equal(await store.operate(order('retry', over(at))), 1)
    t.same(
      (await claim(store, at)).map((claimed) => claimed.emailId),
      [mail.id],
    )
    t.equal(await statusOf(store, at, scheduled.id), 'scheduled')
  })

  await t.test('an order about live mail alone counts and changes nothing of the sandbox', async (t) => {
    const at = await home()
    const sandbox = (await store.pool(at.accountId, 'sandbox'))?.id ?? ''
    const mail = await accepted(store, at)
    const test = await accepted(store, { ...at, poolId: sandbox }, { mode: 'test' })
    const scope = over(at, { workspaceId: at.workspace.id })
    t.match(await store.queueCount(scope), { waiting: 2 })
    t.match(await store.queueCount({ ...scope, liveOnly: true }), { waiting: 1 })
    t.equal(await store.operate(order('purge', scope, { liveOnly: true })), 1)
    t.equal(await statusOf(store, at, mail.id), 'bounced')
    t.match((await store.queueEntries(scope, page())).rows, [{ emailId: test.id }])
  })

  await t.test('reroute moves what waits and what is held, never test mail', async (t) => {
    const at = await home()
    const to = await inPool(store, at, 'other')
    const sandbox = (await store.pool(at.accountId, 'sandbox'))?.id ?? ''
    const mail = await accepted(store, at)
    await accepted(store, { ...at, poolId: sandbox }, { mode: 'test' })
    const held = await accepted(store, at)
    await store.hold(holdOf(over(at, { emailId: held.id })))
    const scope = over(at, { workspaceId: at.workspace.id })
    t.equal(await store.operate(order('reroute', scope, { to: to.poolId })), 2)
    t.same(await claim(store, at), [])
    t.same(
      (await claim(store, to)).map((claimed) => [claimed.emailId, claimed.poolId]),
      [[mail.id, to.poolId]],
    )
    t.equal((await store.email(scopeOf(at), mail.id))?.poolId, to.poolId)
    t.match(await lastEvent(store, mail.id), { source: 'operator', detail: { action: 'rerouted' } })
    t.equal(await store.operate(order('reroute', scope, { to: to.poolId })), 0)
    t.equal(await store.deletePool(at.accountId, to.poolId), 'in_use')
  })

  await t.test('a workspace that changes its pool takes along what waits', async (t) => {
    const at = await home()
    const to = await inPool(store, at, 'other')
    await accepted(store, at)
    const moving = { accountId: at.accountId, from: ways(at), to: ways(to), now: T0 }
    t.equal(await store.updateWorkspace(at.workspace.id, { poolId: to.poolId }, moving), 'done')
    t.equal((await claim(store, to)).length, 1)
  })

  await t.test(
    'recipients of one mail wait in pools of their own, and follow when these change',
    async (t) => {
      const at = await home()
      const to = await inPool(store, at, 'other')
      const recipients = [toOne('a@eu.test'), { ...toOne('b@us.test'), poolId: to.poolId }]
      await accepted(store, at, { recipients })
      const routes = [{ domain: 'us.test', poolId: to.poolId }]
      const from = { poolId: at.poolId, routes }
      await store.updateWorkspace(at.workspace.id, { routes })
      t.same((await store.workspace(at.accountId, at.workspace.id))?.routes, routes)
      t.equal(await store.deletePool(at.accountId, to.poolId), 'in_use')
      const moving = { accountId: at.accountId, from, to: ways(at), now: T0 }
      t.equal(await store.updateWorkspace(at.workspace.id, { routes: [] }, moving), 'done')
      t.same(await claim(store, to), [], 'both wait in one pool now')
      const back = { accountId: at.accountId, from: ways(at), to: from, now: T0 }
      t.equal(await store.updateWorkspace(at.workspace.id, { routes }, back), 'done')
      t.same(
        (await claim(store, to)).map(({ address, poolId }) => [address, poolId]),
        [['b@us.test', to.poolId]],
      )
      t.same(
        (await claim(store, at)).map(({ address, poolId }) => [address, poolId]),
        [['a@eu.test', at.poolId]],
      )
    },
  )

  await t.test('what is leased follows: at once before DATA, else with its next attempt', async (t) => {
    const at = await home()
    const to = await inPool(store, at, 'other')
    const leased = await accepted(store, at)
    const idle = await claimOne(store, at, T0)
    const begun = await accepted(store, at)
    const busy = await claimOne(store, at, T0)
    await store.attempting([{ ...busy, attempt: 1, upstreamId: 'up_x', at: T0 }])
    const moving = { accountId: at.accountId, from: ways(at), to: ways(to), now: T0 }
    t.equal(await store.updateWorkspace(at.workspace.id, { poolId: to.poolId }, moving), 'done')
    t.same(await store.attempting([{ ...idle, attempt: 1, upstreamId: 'up_x', at: T0 }]), [false])
    t.same(
      (await claim(store, to)).map(({ emailId, poolId }) => [emailId, poolId]),
      [[leased.id, to.poolId]],
    )
    await store.release([busy], T0)
    t.same(
      (await claim(store, to)).map(({ emailId }) => emailId),
      [begun.id],
    )
  })

  await t.test('purge ends what has not begun, with the reason', async (t) => {
    const at = await home()
    const waiting = await accepted(store, at)
    const leased = await claimOne(store, at, T0)
    const begun = await accepted(store, at)
    const second = await claimOne(store, at, T0)
    await store.attempting([{ ...second, attempt: 1, upstreamId: 'up_x', at: T0 }])
    const held = await accepted(store, at)
    await store.hold(holdOf(over(at, { emailId: held.id })))
    const scheduled = await accepted(store, at, { scheduledAt: T0 + HOUR })
    t.equal(await store.operate(order('purge', over(at, { workspaceId: at.workspace.id }))), 3)
    t.equal(await statusOf(store, at, waiting.id), 'bounced')
    t.equal(await statusOf(store, at, held.id), 'bounced')
    t.equal(await statusOf(store, at, scheduled.id), 'canceled')
    t.equal(await statusOf(store, at, begun.id), 'queued', 'its message is on the wire')
    t.same(await store.attempting([{ ...leased, attempt: 1, upstreamId: 'up_x', at: T0 }]), [false])
    t.match(await lastEvent(store, waiting.id), {
      type: 'email.bounced',
      source: 'operator',
      reason: REASON,
      detail: { action: 'purged' },
    })
    t.same(await timeline(store, held.id), ['queued', 'held', 'bounced'])
    t.same(await store.queueCount(over(at)), { waiting: 0, held: 0, underWay: 1 })
    t.match(await store.settle([ofLease(second)]), [{ applied: true, to: 'sent' }])
  })

  await t.test('mail of an unknown fate is held until it is released', async (t) => {
    const at = await home()
    const mail = await accepted(store, at)
    const leased = await claimOne(store, at, T0)
    await store.settle([
      ofLease(leased, { seen: 'postponed', retryAt: null, reason: 'ambiguous', detail: { ambiguous: true } }),
    ])
    t.match((await store.queueEntries(over(at), page())).rows, [{ held: 'ambiguous', emailId: mail.id }])
    t.ok((await store.heldDepth()).some((row) => row.poolId === at.poolId && row.held === 1))
    t.equal(await store.operate(order('release', over(at, { emailId: mail.id }))), 1)
    t.equal((await claim(store, at)).length, 1)
  })

  await t.test('a scope of another account touches nothing', async (t) => {
    const at = await home()
    const stranger = await home()
    const mail = await accepted(store, at)
    await store.hold(holdOf(over(stranger, { domain: 'example.com' })))
    for (const scope of [over(stranger, { emailId: mail.id }), over(stranger, { poolId: at.poolId })]) {
      t.equal(await store.operate(order('purge', scope)), 0)
      t.same(await store.queueCount(scope), { waiting: 0, held: 0, underWay: 0 })
    }
    t.equal((await claim(store, at)).length, 1)
  })

  await t.test('many, in steps; equal due times are no trap', async (t) => {
    const own = await open(t)
    const at = await inPool(own, await newAccount(own), 'main')
    const mails = Array.from({ length: 1_300 }, () => mailFor(at))
    await own.accept({ mails, idempotency: null, now: T0 })
    const scope = over(at, { poolId: at.poolId })
    t.equal(await own.hold(holdOf(scope)), 1_300)
    t.same(await own.queueCount(scope), { waiting: 0, held: 1_300, underWay: 0 })
    t.equal((await own.queueEntries(scope, page({ limit: 7 }))).rows.length, 7)
    t.equal(await own.operate(order('release', scope)), 1_300)
    t.equal(await own.operate(order('purge', scope)), 1_300)
  })

  await t.test('the queue as a list: soonest first, whole at every limit, both ways', async (t) => {
    const at = await home()
    const second = await addWorkspace(store, at, 'second')
    const other = await inPool(store, at, 'other')
    const places = [at, second, other]
    const made: string[] = []
    for (let i = 0; i < 24; i++) {
      const where = places[i % 3] ?? at
      // some are due at the same moment
      const mail = mailFor(where, { recipients: [toOne(`a${i}@${i % 2 ? 'odd' : 'even'}.example`)] })
      await store.accept({ mails: [mail], idempotency: null, now: T0 + (i % 5) })
      made.push(mail.id)
    }
    for (const id of made.slice(0, 4)) await store.hold(holdOf(over(at, { emailId: id })))
    const leased = await store.claim(other.poolId, 2, T0 + HOUR, T0 + HOUR)
    t.equal(leased.length, 2)
    const walk = async (filter: QueueFilter, limit: number): Promise<readonly QueueEntry[]> => {
      const found: QueueEntry[] = []
      for (let anchor: string | null = null; ; ) {
        const got: Rows<QueueEntry> = await store.queueEntries(filter, page({ limit, anchor, countUpTo: 99 }))
        t.equal(got.hasNewer, anchor !== null && found.length > 0)
        found.push(...got.rows)
        if (!got.hasOlder) {
          t.equal(got.total, found.length)
          // and back again
          const back: QueueEntry[] = []
          for (let up = got.older; ; ) {
            const above: Rows<QueueEntry> = await store.queueEntries(
              filter,
              page({ limit, anchor: up, direction: 'newer' }),
            )
            back.unshift(...above.rows)
            t.equal(above.hasOlder, above.rows.length < back.length)
            if (!above.hasNewer) break
            up = above.newer
          }
          t.same(back, found, 'the same from below')
          return found
        }
        anchor = got.older
      }
    }
    const all = await walk(over(at), 100)
    t.equal(all.length, 24)
    for (const limit of [1, 5, 7]) t.same(await walk(over(at), limit), all, `limit ${limit}`)
    const states = all.map(({ underWay, held }) => (held !== null ? 'h' : underWay ? 'u' : 'w')).join('')
    t.equal(states, `${'w'.repeat(18)}uuhhhh`)
    const due = all.slice(0, 18).map(({ dueAt }) => dueAt ?? 0)
    t.same(
      due,
      [...due].sort((a, b) => a - b),
    )
    const some = (wanted: (entry: QueueEntry) => boolean) => all.filter(wanted)
    t.same(
      await walk(over(at, { workspaceId: second.workspace.id }), 3),
      some((one) => one.workspaceId === second.workspace.id),
    )
    t.same(
      await walk(over(at, { poolId: other.poolId }), 3),
      some((one) => one.poolId === other.poolId),
    )
    t.same(
      await walk(over(at, { domain: 'odd.example' }), 2),
      some((one) => one.address.endsWith('@odd.example')),
    )
    for (const id of [made[0], leased[0]?.emailId, all[0]?.emailId])
      t.same(
        await walk(over(at, { emailId: id ?? '' }), 1),
        some((one) => one.emailId === id),
      )
    t.same(await walk({ ...over(at), state: 'held' }, 3), all.slice(20))
    t.same(await walk({ ...over(at), state: 'under_way' }, 1), all.slice(18, 20))
    t.same(await walk({ ...over(at), state: 'waiting' }, 4), all.slice(0, 18))
    const stranger = await home()
    const none = await store.queueEntries(over(stranger), page({ countUpTo: 9 }))
    t.match(none, { rows: [], hasOlder: false, hasNewer: false, total: 0 })
    const test = await newAccount(store)
    await accepted(store, test, { mode: 'test' })
    t.equal((await walk(over(test), 5)).length, 1)
    t.same(await walk({ ...over(test), liveOnly: true }, 5), [], 'what is for the sandbox is not live')
    await accepted(store, stranger)
    t.equal(
      (await store.queueEntries(over(stranger), page({ anchor: none.newer, direction: 'newer' }))).rows
        .length,
      1,
    )
  })

  await t.test('one hold is lifted; what another covers stays, and its own half is finished', async (t) => {
    const at = await home()
    const mail = await accepted(store, at)
    const mine = { ...holdOf(over(at, { workspaceId: at.workspace.id })), owner: 'workspace' as const }
    const theirs = holdOf(over(at, { workspaceId: at.workspace.id }))
    t.same([await store.hold(mine), await store.hold(theirs)], [1, 0])
    t.match((await store.listHolds(at.accountId, page())).rows, [
      { id: theirs.id },
      { id: mine.id, owner: 'workspace' },
    ])
    t.same((await store.listHolds(at.accountId, page(), 'ws_none')).rows, [])
    t.equal(await store.operate(order('release', over(at), { hold: mine.id })), 1)
    t.match(await store.holds(at.accountId), [{ id: theirs.id }], 'of the same scope, and not lifted')
    t.same(await claim(store, at), [], 'the other holds it now')
    t.match(await store.entriesOf([mail.id]), [{ held: theirs.id }])
    const stranger = await home()
    t.equal(await store.operate(order('release', over(stranger), { hold: theirs.id })), 0)
    t.match(await store.holds(at.accountId), [{ id: theirs.id }])
    t.equal(await store.operate(order('release', over(at), { hold: theirs.id })), 1)
    t.equal(await store.operate(order('release', over(at), { hold: theirs.id })), 0)
    t.equal((await claim(store, at)).length, 1)
  })

  await t.test('depths of one account, and of one workspace', async (t) => {
    const at = await home()
    const second = await addWorkspace(store, at, 'deep')
    await accepted(store, at)
    await accepted(store, second)
    const held = await accepted(store, second)
    await store.hold(holdOf(over(at, { emailId: held.id })))
    const { accountId } = at
    const of = { accountId, workspaceId: second.workspace.id }
    t.equal((await store.depth({ accountId, workspaceId: null })).length, 2)
    t.match(await store.depth(of), [{ workspaceId: second.workspace.id, due: 1 }])
    t.match(await store.heldDepth(of), [{ workspaceId: second.workspace.id, held: 1 }])
    t.same(await store.heldDepth({ accountId, workspaceId: at.workspace.id }), [])
  })

  await t.test('how old what waits is, by each of its parts', async (t) => {
    const at = await home()
    const second = await addWorkspace(store, at, 'aged')
    await accepted(store, at)
    await accepted(store, second)
    const held = await accepted(store, second)
    await store.hold(holdOf(over(at, { emailId: held.id })))
    const ages = (by: QueueGroup, most: number, later: number) =>
      store.queueAges(over(at), by, most, T0 + later)
    const { rows, complete, scheduled } = await ages('workspace', 1_000, 2 * HOUR)
    t.same([rows.length, complete, scheduled], [2, true, 0], 'what is held is not in it')
    t.match(rows, [{ recipients: 1, ages: [0, 0, 0, 1, 0], lastResponse: null }, { recipients: 1 }])
    t.ok((rows[0]?.oldestAt ?? 0) > 0)
    t.match((await ages('pool', 1_000, 0)).rows, [{ recipients: 2, key: at.poolId }])
    t.match((await ages('domain', 1_000, 50 * HOUR)).rows, [{ recipients: 2, ages: [0, 0, 0, 0, 2] }])
    t.equal((await ages('domain', 1, 0)).complete, false, 'it looks at no more than it was told')
    t.same((await store.queueAges(over(await home()), 'pool', 9, T0)).rows, [])
  })
}
