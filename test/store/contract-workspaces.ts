/** Workspaces that rest, and that are deleted. */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import { ALL_EXTRAS, type Extras } from '../../src/lifecycle/extras.js'
import type { Store } from '../../src/store/port/store.js'
import {
  accepted,
  addWorkspace,
  HOUR,
  newAccount,
  type OpenStore,
  ofLease,
  page,
  scopeOf,
  T0,
  type TestAccount,
  timeline,
} from './fixture.js'

const claim = (store: Store, at: TestAccount, now: number) => store.claim(at.poolId, 10, now + HOUR, now)

/** A workspace and its neighbour, each with a mail that is due. */
const two = async (store: Store) => {
  const other = await newAccount(store)
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

const KEEP = { bodiesMs: 900 * HOUR, emailsMs: 900 * HOUR }

/** Everything of the database as text, but for what SQLite has not overwritten yet. */
const dump = async (store: Store, at: TestAccount, ids: readonly string[]): Promise<string> => {
  const parts: unknown[] = []
  for (const id of ids) {
    parts.push(await store.carried(id), await store.body(id), await store.content(id))
    parts.push((await store.events(id, page({ limit: 100 }))).rows)
  }
  parts.push((await store.suppressions(at.workspace.id, null, page({ limit: 100 }))).rows)
  return JSON.stringify(parts)
}

const PRIVATE = /ana@|secret-subject|no-reply@acme|hello|said-by-mta|sender@|kind-of-tag|text-of-extra/
const ALL_TEXTS: Extras = Object.fromEntries(
  ALL_EXTRAS.filter(({ kind }) => kind === 'text').map(({ name }) => [name, 'text-of-extra']),
)

const ANY_ENTRY = {
  ...{ action: null, actorId: null, objectId: null, workspaceId: null, since: null, until: null },
}

const deletedTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('never the default one, and none twice', async (t) => {
    const at = await newAccount(store)
    const { id } = at.workspace
    t.equal(await store.deleteWorkspace(at.accountId, id, 'x', T0), 'is_default')
    const shop = await addWorkspace(store, at, 'shop')
    t.equal(await store.deleteWorkspace('acct_other', shop.workspace.id, 'x', T0), 'not_found')
    t.equal(await store.deleteWorkspace(at.accountId, shop.workspace.id, 'x', T0), 'done')
    t.equal(await store.deleteWorkspace(at.accountId, shop.workspace.id, 'x', T0), 'not_found')
    t.equal(await store.workspace(at.accountId, shop.workspace.id), null)
    t.equal(await store.workspace(at.accountId, 'shop'), null)
    t.equal((await store.workspaces(at.accountId, page())).rows.length, 1)
    const again = await addWorkspace(store, at, 'shop')
    t.match(await store.workspace(at.accountId, 'shop'), { id: again.workspace.id }, 'the slug is free')
  })

  await t.test('what waits ends in silence, what is on the wire as it ends, and all is erased', async (t) => {
    const other = await newAccount(store)
    const at = await addWorkspace(store, other, 'shop')
    const rich = {
      subject: 'secret-subject',
      mailFrom: 'sender@acme.test',
      tags: [{ name: 'a', value: 'kind-of-tag' }],
      extras: ALL_TEXTS,
    }
    const wired = await accepted(store, at, rich)
    const [lease] = await claim(store, at, T0)
    if (lease === undefined) throw new Error('nothing is due')
    await store.attempting([{ ...lease, attempt: 1, upstreamId: 'up_1', at: T0 }])
    const large = await accepted(store, at, { ...rich, raw: Buffer.alloc(100_000, 'hello') })
    const planned = await accepted(store, at, { ...rich, scheduledAt: T0 + HOUR })
    const leased = await accepted(store, at, rich)
    const beside = await accepted(store, other, rich)
    const [unbegun] = await store.claim(at.poolId, 1, T0 + HOUR, T0)
    for (const [list, origin, email] of [
      [at.workspace.id, 'complaint', 'c@x.test'],
      [at.workspace.id, 'bounce', 'b@x.test'],
      [`${at.workspace.id}/test`, 'complaint', 't@x.test'],
      [at.accountId, 'manual', 'already@x.test'],
      [at.workspace.id, 'complaint', 'already@x.test'],
    ] as const)
      await store.addSuppression({
        id: newId('sup'),
        accountId: at.accountId,
        list,
        email,
        origin,
        sourceId: null,
        reason: null,
        expiresAt: null,
        createdAt: T0,
      })

    const actor = { kind: 'person', id: 'usr_1', name: 'Ana', address: null } as const
    await store.by(actor).addSuppression({
      ...{ id: newId('sup'), accountId: at.accountId, list: at.workspace.id, email: 'ana@d.test' },
      ...{ origin: 'manual', sourceId: null, reason: null, expiresAt: null, createdAt: T0 },
    })
    const audited = async () =>
      JSON.stringify(
        (
          await store.audit(
            at.accountId,
            { ...ANY_ENTRY, workspaceId: at.workspace.id },
            page({ limit: 100 }),
          )
        ).rows,
      )
    t.match(await audited(), /ana@d\.test/)

    t.equal(await store.deleteWorkspace(at.accountId, at.workspace.id, 'left us', T0 + 1), 'done')
    const ids = [wired.id, large.id, planned.id, leased.id]
    for (const id of ids) t.equal(await store.email(scopeOf(other), id), null, 'gone from every read')
    const statusOf = async (id: string) => (await store.carried(id))?.email.status
    t.same(await Promise.all(ids.map(statusOf)), ['queued', 'bounced', 'canceled', 'bounced'])
    t.match((await store.carried(large.id))?.recipients, [{ reason: 'workspace_deleted' }])
    t.same(
      (await claim(store, at, T0 + 20 * HOUR)).filter(({ workspaceId }) => workspaceId === at.workspace.id),
      [],
    )
    if (unbegun !== undefined && unbegun.workspaceId === at.workspace.id)
      t.same(await store.attempting([{ ...unbegun, attempt: 1, upstreamId: 'up_1', at: T0 }]), [false])
    t.same(
      (await store.pendingDsns(T0 + 99 * HOUR, 100)).filter(({ emailId }) => ids.includes(emailId)),
      [],
      'nobody is told',
    )

    await store.sweep(T0 + 2, KEEP)
    t.notMatch(await dump(store, at, ids.slice(1)), PRIVATE, 'erased')
    t.match(await dump(store, at, [wired.id]), /ana@/, 'but not what is on the wire')
    const reply = { code: 450, enhanced: null, text: 'said-by-mta' }
    await store.settle([
      ofLease(lease, { seen: 'postponed', retryAt: T0 + HOUR, at: T0 + 3, reply, attempt: 1 }),
    ])
    await store.sweep(T0 + 4, KEEP)
    await store.sweep(T0 + 5, KEEP)
    t.equal(await statusOf(wired.id), 'bounced', 'it is not tried again')
    t.notMatch(await dump(store, at, ids), PRIVATE)
    t.match(await audited(), /suppression\.created/)
    t.notMatch(await audited(), PRIVATE)
    t.match(await store.carried(large.id), { email: { total: 1, bounced: 1, size: 100_000 } }, 'numbers stay')
    t.equal(await store.body(large.id), null)
    t.match(await dump(store, other, [beside.id]), /secret-subject.*ana@/, 'and so does all of the others')

    const lists = async (list: string) =>
      (await store.suppressions(list, null, page({ limit: 10 }))).rows.map(({ email }) => email).sort()
    t.same(await lists(at.accountId), ['already@x.test', 'c@x.test'])
    t.same(await lists(at.workspace.id), [])
    t.same(await lists(`${at.workspace.id}/test`), [])
    t.match(await store.recipient(wired.recipients[0]?.id ?? ''), { isDeleted: true, address: '' })
    t.same(await store.check(), [])
  })
}

export const workspacesContract = async (t: Test, store: Store, _open: OpenStore): Promise<void> => {
  await t.test('resting', (t) => restingTests(t, store))
  await t.test('deleted', (t) => deletedTests(t, store))
}
